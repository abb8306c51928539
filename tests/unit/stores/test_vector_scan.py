"""Vectors in segments: scanned by codes where they are many, ignored where damaged, gone where erased."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest

from kit import NOON, plain
from recollect.records import ALL_PROJECTS, EmbeddedMemory, Filter, Generation, Insert, Memory, Passage, VectorHits
from recollect.stores.nearest.codes import read_codes, write_codes
from recollect.stores.nearest.files import has_codes
from recollect.stores.sql import SqlStore
from recollect.stores.sqlite import open_sqlite
from recollect.stores.sqlite.vectors import SegmentScan, Sizes

ROWS, WIDTH = 1_500, 32
MODEL = Generation(fingerprint="model", dimensions=WIDTH, model="m")
SMALL = Sizes(quantised=1_024, sealed=1_024)


@pytest.fixture(scope="module")
def vectors() -> Any:
    made = np.random.default_rng(7).standard_normal((ROWS, WIDTH), dtype=np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.fixture
def store(tmp_path: Path, vectors: Any) -> SqlStore:
    """A store of 1,500 passages that takes itself for a large one."""
    return filled(tmp_path / "notes.db", vectors)


def opened(path: Path, sizes: Sizes = SMALL) -> SqlStore:
    store = open_sqlite(path, plain)
    store.scan = SegmentScan(store.engine.segments, sizes=sizes)
    return store


def filled(path: Path, vectors: Any) -> SqlStore:
    store = opened(path)
    put(store, noted(store, len(vectors)), vectors)
    return store


def noted(store: SqlStore, many: int) -> tuple[int, ...]:
    return store.apply([Insert(memory=Memory(content=f"m{number}")) for number in range(many)], at=NOON)


def put(store: SqlStore, ids: Any, vectors: Any) -> None:
    """Give each memory a vector, or one for each of its passages."""
    held = store.load(ids, scope=ALL_PROJECTS)
    store.put_vectors(
        MODEL,
        [
            EmbeddedMemory(
                memory_id=row,
                meaning=held[row].meaning,
                passages=tuple(
                    Passage(start=at, stop=at + 1, vector=vector.tobytes())
                    for at, vector in enumerate(given.reshape(-1, WIDTH))
                ),
            )
            for row, given in zip(ids, vectors, strict=True)
        ],
    )


def ask(store: SqlStore, query: Any, **how: Any) -> VectorHits:
    options: dict[str, Any] = {"scope": ALL_PROJECTS, "where": Filter(), "limit": 10, **how}
    return store.nearest("model", query.tobytes(), **options)


def segments(store: SqlStore) -> list[Path]:
    folder = store.engine.segments / "vectors"
    return [each for each in folder.iterdir() if each.is_dir()]


@pytest.mark.req("N-09")
def test_a_large_store_is_scanned_by_codes_and_ranked_by_vectors(store: SqlStore, vectors: Any) -> None:
    (folder,) = segments(store)
    coded = read_codes(folder / "plain.codes", rows=ROWS, dimensions=WIDTH)

    found = [ask(store, query) for query in vectors[:50]]
    exact = [ask(store, query, exact=True) for query in vectors[:50]]

    pairs = [({hit.id for hit in one.top}, {hit.id for hit in two.top}) for one, two in zip(found, exact, strict=True)]
    assert coded is not None
    assert sum(len(one & two) for one, two in pairs) >= 0.999 * 500
    assert [one.top[0] for one in found] == [two.top[0] for two in exact]


def test_vectors_that_have_codes_are_kept_once(store: SqlStore, vectors: Any) -> None:
    (folder,) = segments(store)

    assert not any(vectors[9].tobytes() in each.read_bytes() for each in folder.iterdir())


@pytest.fixture(scope="module")
def spiky() -> Any:
    """Vectors of which a few dimensions are all but the same large number, as some models make them."""
    made = np.random.default_rng(5).standard_normal((2 * ROWS, WIDTH), dtype=np.float32)
    made[:, :3] += 40
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.mark.req("N-09")
def test_codes_that_miss_some_of_the_nearest_are_not_kept_and_the_answers_are_exact(tmp_path: Path, spiky: Any) -> None:
    store = filled(tmp_path / "notes.db", spiky[:ROWS])

    found = [ask(store, query, limit=100) for query in spiky[ROWS : ROWS + 20]]
    exact = [ask(store, query, limit=100, exact=True) for query in spiky[ROWS : ROWS + 20]]

    assert made_of(store) == [(ROWS, False)]
    assert found == exact


def test_codes_that_missed_some_are_tried_again_only_with_twice_as_many_rows(tmp_path: Path, spiky: Any) -> None:
    sizes = Sizes(quantised=1_024, sealed=256)
    store = opened(tmp_path / "notes.db", sizes)
    ids = noted(store, 2 * ROWS)
    put(store, ids[:1_100], spiky[:1_100])
    tried = [told(store, "refused")]
    made = segments(store)
    for _ in range(3):
        store.scan.settle(store.engine, whole=True, at_rest=True)
    kept = segments(store)
    for start, stop in ((1_100, 1_900), (1_900, 2 * ROWS)):
        put(store, ids[start:stop], spiky[start:stop])
        store.scan.settle(store.engine, whole=True, at_rest=True)
        tried.append(told(store, "refused"))

    assert kept == made
    assert tried == [[1_100], [1_100], [2 * ROWS]]


def told(store: SqlStore, key: str) -> list[int]:
    """Return what the headers of the segments in use tell of the codes of their passages."""
    with store.engine.session() as session:
        names = [name for (name,) in session.rows("select name from vector_segment order by upto")]
    headers = (store.engine.segments / "vectors" / name / "header" for name in names)
    return [json.loads(each.read_text(encoding="utf-8"))[key]["plain"] for each in headers]


def test_a_code_book_that_faiss_learnt_is_used_on(tmp_path: Path, vectors: Any) -> None:
    one = faiss.IndexFlatIP(WIDTH)
    one.add(np.zeros((1, WIDTH), dtype="f4"))
    index = faiss.IndexIVFPQFastScan(one, WIDTH, 1, WIDTH, 4, faiss.METRIC_INNER_PRODUCT)
    index.by_residual = False
    index.train(vectors)
    index.add(vectors)
    faiss.write_index(index, str(tmp_path / "book"))

    write_codes(vectors, tmp_path / "codes", tmp_path / "book")
    codes = read_codes(tmp_path / "codes", rows=ROWS, dimensions=WIDTH)

    assert codes is not None
    for query in vectors[:50]:
        products, rows = index.search(query[None], 20)
        near, found = sorted(zip(*products, *rows, strict=True)), codes.candidates(query, None, 20)
        assert near == sorted(zip(found[1], found[0], strict=True))


def test_the_best_of_several_passages_speaks_whichever_the_codes_brought(tmp_path: Path, vectors: Any) -> None:
    store = opened(tmp_path / "notes.db")
    put(store, noted(store, ROWS // 3), vectors.reshape(-1, 3, WIDTH))

    for query in vectors[:50]:
        found, exact = ask(store, query, limit=20).top, ask(store, query, limit=20, exact=True).top
        known = {hit.id: hit for hit in exact}

        assert found[0] == exact[0]
        assert [hit for hit in found if hit.id in known] == [hit for hit in exact if hit in found]
        assert len(found) == 20
        assert sum(hit in exact for hit in found) >= 19


def test_segments_of_an_import_are_merged_and_get_codes_when_they_are_many(tmp_path: Path, vectors: Any) -> None:
    sizes = Sizes(quantised=1_300, sealed=256)
    store = opened(tmp_path / "notes.db", sizes)
    ids = noted(store, ROWS)
    put(store, ids[:400], vectors[:400])
    few = made_of(store)
    put(store, ids[400:], vectors[400:])
    many = made_of(store)
    expected = ask(store, vectors[7], exact=True).top
    store.close()
    again = opened(tmp_path / "notes.db", sizes)

    assert (few, many, made_of(again)) == ([(400, False)], [(1_500, True)], [(1_500, True)])
    assert ask(again, vectors[7]).top == expected


def test_when_a_store_is_closed_no_segment_is_left_that_another_replaced(tmp_path: Path, vectors: Any) -> None:
    store = opened(tmp_path / "notes.db", Sizes(quantised=1_300, sealed=256))
    for some in np.array_split(noted(store, ROWS), 5):
        put(store, some.tolist(), vectors[some - 1])
    during = len(segments(store))
    store.close()

    assert during > len(segments(store)) == 1
    assert made_of(opened(tmp_path / "notes.db")) == [(ROWS, True)]


def test_what_a_killed_process_left_goes_with_the_next_write_of_another(store: SqlStore) -> None:
    store.close()
    left = store.engine.segments / "vectors" / ("0" * 32)
    left.mkdir()
    os.utime(left, (0, 0))

    opened(store.engine.segments.with_name("notes.db")).apply([Insert(memory=Memory(content="m"))], at=NOON)

    assert not left.exists()


def test_who_finds_a_segment_gone_asks_the_rows_and_then_for_the_one_in_its_place(
    store: SqlStore, vectors: Any
) -> None:
    expected = ask(store, vectors[5], exact=True).top
    store.close()
    path, (folder,) = store.engine.segments.with_name("notes.db"), segments(store)
    writer, reader = opened(path), opened(path)
    shutil.rmtree(folder)
    first = ask(reader, vectors[5]).top
    before = used_by(reader)
    writer.settle()

    assert first == ask(reader, vectors[5], exact=True).top == expected
    assert (before, used_by(reader)) == ([], [each.name for each in segments(store)])


def used_by(store: SqlStore) -> list[str]:
    """Return the segments that a store answers from."""
    return list(store.scan._views[1].segments)  # noqa: SLF001


def made_of(store: SqlStore) -> list[tuple[int, bool]]:
    """Return how many passages each segment has, and whether it has codes."""
    with store.engine.session() as session:
        rows = session.rows("select name, passages from vector_segment order by upto")
    return [(many, has_codes(store.engine.segments / "vectors" / name)) for name, many in rows]


@pytest.mark.req("N-09")
def test_a_filter_is_a_mask_before_the_scan_so_that_all_wanted_are_found(tmp_path: Path, vectors: Any) -> None:
    store = opened(tmp_path / "notes.db")
    drafts = [Memory(content=f"m{at}", type="decision" if at % 3 == 0 else "note") for at in range(ROWS)]
    put(store, store.apply([Insert(memory=each) for each in drafts], at=NOON), vectors)

    some = ask(store, vectors[0], where=Filter(types=("decision",)), limit=200)
    all_ = ask(store, vectors[0], where=Filter(types=("decision",)), limit=ROWS)

    assert len(some.top) == 200
    assert {hit.id % 3 for hit in some.top} == {1}
    assert len(all_.top) == all_.total == ROWS // 3


@pytest.mark.req("N-09")
def test_without_the_library_every_vector_is_compared(store: SqlStore, vectors: Any) -> None:
    expected = [hit.id for hit in ask(store, vectors[3], limit=5, exact=True).top]

    found = in_another_process(store, vectors[3], f"sys.modules['faiss'] = None\nsizes = {SMALL!r}")

    assert found == str(expected)


@pytest.mark.parametrize("name", ["header", "arrays", "plain.codes"])
def test_a_damaged_segment_is_ignored_told_of_and_made_anew(store: SqlStore, vectors: Any, name: str) -> None:
    expected = ask(store, vectors[5], exact=True).top
    store.close()
    (folder,) = segments(store)
    (folder / name).write_bytes(b"spoilt")
    again = opened(store.engine.segments.with_name("notes.db"))

    found, told = ask(again, vectors[5]).top, [line for line in again.check() if "of vectors is damaged" in line]
    again.settle()

    assert found == expected
    assert bool(told) is (name != "plain.codes")
    assert [line for line in again.check() if "of vectors is damaged" in line] == []


def test_a_byte_that_changed_is_told_by_a_deep_check(store: SqlStore) -> None:
    (folder,) = segments(store)
    held = bytearray((folder / "plain.codes").read_bytes())
    held[-100] ^= 1
    (folder / "plain.codes").write_bytes(held)

    assert [line for line in store.check(deep=True) if "of vectors is damaged" in line] != []


def test_an_erased_memory_leaves_no_vector_in_any_file(store: SqlStore, vectors: Any) -> None:
    probe = vectors[9].tobytes()
    before = store.traces([probe[:64]])

    erased = store.erase(scope=ALL_PROJECTS, ids=[10])
    stood = store.scrub()

    assert erased.vectors == (probe,)
    assert stood == ()
    assert before.found == ()  # while it is somebody's own it is no trace
    assert store.traces([probe[:64]]).found == ()
    assert not any(probe[:64] in file.read_bytes() for file in store.engine.segments.rglob("*") if file.is_file())
    assert len(segments(store)) == 1


def test_segments_are_for_their_owner_alone(store: SqlStore) -> None:
    every = [store.engine.segments, *store.engine.segments.rglob("*")]

    assert {each.stat().st_mode & 0o777 for each in every if each.is_dir()} == {0o700}
    assert {each.stat().st_mode & 0o777 for each in every if each.is_file()} == {0o600}


def test_what_is_written_after_sealing_is_found_at_once_and_what_is_replaced_no_more(
    store: SqlStore, vectors: Any
) -> None:
    put(store, [1], [vectors[1]])
    (fresh,) = store.apply([Insert(memory=Memory(content="fresh"))], at=NOON)
    put(store, [fresh], [vectors[1]])

    found = ask(store, vectors[1], limit=3)

    assert [hit.id for hit in found.top] == [1, 2, fresh]
    assert ask(store, vectors[0], limit=1).top[0].id != 1


def test_threads_search_side_by_side_with_the_same_answers(store: SqlStore, vectors: Any) -> None:
    expected = [ask(store, query) for query in vectors[:40]]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: ask(store, query), vectors[:40]))

    assert found == expected


def take_back(store: SqlStore, vectors: Any) -> None:
    with store.transaction():
        put(store, [1], [vectors[1]])
        ask(store, vectors[1])
        raise ZeroDivisionError


def test_what_was_never_committed_is_not_remembered(store: SqlStore, vectors: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        take_back(store, vectors)
    put(store, [3], [vectors[4]])

    assert [hit.id for hit in ask(store, vectors[0], limit=1).top] == [1]
    assert [hit.id for hit in ask(store, vectors[4], limit=2).top] == [3, 5]


COLD = f"""
import sys
sys.path.append({str(Path(__file__).parents[2])!r})
from pathlib import Path
from kit import plain
from recollect.records import ALL_PROJECTS, Filter
from recollect.stores.sqlite import open_sqlite
from recollect.stores.sqlite.vectors import SegmentScan, Sizes
sizes = None
HERE
store = open_sqlite(Path(sys.argv[1]), plain)
store.scan = SegmentScan(store.engine.segments, sizes=sizes)
vector = bytes.fromhex(sys.argv[2])
print([hit.id for hit in store.nearest("model", vector, scope=ALL_PROJECTS, where=Filter(), limit=5).top])
assert not sys.modules.get("faiss")
"""


def in_another_process(store: SqlStore, query: Any, before: str = "") -> str:
    """Return what a new process finds, which must not load the library of the scan."""
    path = store.engine.segments.with_name("notes.db")
    told = subprocess.run(  # noqa: S603
        [sys.executable, "-c", COLD.replace("HERE", before), str(path), query.tobytes().hex()],
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout.strip()


def test_a_new_process_maps_what_another_sealed_and_loads_no_library_for_few(tmp_path: Path, vectors: Any) -> None:
    store = opened(tmp_path / "notes.db", Sizes(sealed=1_024))
    put(store, noted(store, ROWS), vectors)
    expected = [hit.id for hit in ask(store, vectors[2], limit=5).top]

    found = in_another_process(store, vectors[2])

    assert found == str(expected)
