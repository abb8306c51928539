"""Two versions of the analyser on one store: the newer makes the index, the older reads it and lets it be."""

import json
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from kit import EVEN, NOON, plain
from recollect.errors import StoreError
from recollect.records import ALL_PROJECTS, AnyOf, Filter, Forget, Insert, Memory, TokenizedMemory, Word, WordQuery
from recollect.stores.contract import Store
from recollect.stores.segments.files import HEADER
from recollect.stores.sqlite import open_sqlite


def second(memory: Memory, wordings: Sequence[str]) -> TokenizedMemory:
    """Make what `plain` makes, and the stem of a word in capitals too: what version 2 of the rules is to find."""
    made = plain(memory, wordings)
    return replace(made, stem={**made.stem, "body": (*made.stem.get("body", ()), f"rules2-{len(memory.content)}")})


def older(path: Path) -> Store:
    return open_sqlite(path, plain, analyser=1)


def newer(path: Path) -> Store:
    return open_sqlite(path, second, analyser=2)


def found(store: Store, *words: str) -> list[int]:
    query = WordQuery(expression=AnyOf(parts=tuple(Word(text=word) for word in words)), weights=EVEN)
    return sorted(hit.id for hit in store.match_words(query, scope=ALL_PROJECTS, where=Filter(), limit=5_000).top)


def add(store: Store, *texts: str) -> tuple[int, ...]:
    return store.apply([Insert(memory=Memory(content=text)) for text in texts], at=NOON)


def state(path: Path) -> tuple[int, int]:
    """Return who made the index, and its lineage, which every rebuild draws again."""
    with apsw.Connection(str(path)) as db:
        counters = dict(db.execute("select key, value from meta"))
    return counters["analyser"], counters["lineage"]


def segments(path: Path) -> set[str]:
    with apsw.Connection(str(path)) as db:
        return {name for (name,) in db.execute("select name from segment")}


@pytest.mark.parametrize("first", ["older", "newer"])
@pytest.mark.parametrize("size", [3, 2_400])
def test_two_versions_write_in_turn_and_find_everything_without_a_rebuild(
    tmp_path: Path, first: str, size: int
) -> None:
    path = tmp_path / "a.db"
    begun = older(path)
    add(begun, *(f"note{n} cats" for n in range(size)))
    begun.settle()
    begun.close()
    sides = [older(path), newer(path)]
    made = state(path)
    turns = sides if first == "older" else sides[::-1]

    for turn in range(10):
        for side in turns:
            add(side, f"cats turn{turn}")
            assert [len(found(each, f"turn{turn}")) for each in sides] == [turns.index(side) + 1] * 2

    assert state(path) == made
    assert made[0] == 2
    for side in sides:
        assert len(found(side, "cat")) == size + 20
        side.close()
    reopened = [older(path), newer(path)]
    assert state(path) == made
    assert [len(found(each, "cat")) for each in reopened] == [size + 20] * 2


def test_what_the_older_one_added_gets_its_tokens_with_the_next_write_of_the_newer_one(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    new, old = newer(path), older(path)
    (added,) = add(old, "the lighthouse")
    with apsw.Connection(str(path)) as db:
        before = db.execute("select count(*) from tokens").get

    assert found(new, "rules2-14") == [added]
    add(new, "something quite different")

    with apsw.Connection(str(path)) as db:
        assert (before, db.execute("select count(*) from tokens").get) == (0, 2)
    assert found(new, "rules2-14") == [added]
    assert new.check(deep=True) == ()


def test_the_older_one_forgets_and_revises_what_the_newer_one_indexed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    new, old = newer(path), older(path)
    one, two = add(new, "red cats here", "blue cats here")

    old.apply([Forget(id=one)], at=NOON)

    assert [found(each, "cat") for each in (old, new)] == [[two]] * 2
    assert new.check(deep=True) == ()


def test_two_versions_write_side_by_side_from_threads(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    older(path).close()
    sides = [older(path), newer(path)]
    made = state(path)

    def write(store: Store) -> None:
        for turn in range(10):
            add(store, f"cats {turn}")
            found(store, "cat")

    threads = [threading.Thread(target=write, args=(side,)) for side in sides]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert state(path) == made
    assert [len(found(each, "cat")) for each in sides] == [20, 20]


def test_the_older_one_says_what_it_is_and_refuses_to_rebuild(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    newer(path).close()
    old = older(path)
    add(old, "one")

    assert [line for line in old.check(deep=True) if "newer recollect" in line]
    with pytest.raises(StoreError, match="newer recollect"):
        old.rebuild()


def test_a_store_with_the_earlier_name_of_its_analyser_is_rebuilt_once(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = older(path)
    add(store, "a cat")
    store.close()
    with apsw.Connection(str(path)) as db:
        number = zlib.crc32(b"3 snowball-3.0.1 unicode-14.0.0")
        db.execute("update meta set value = ? where key = 'analyser'", (number,))
    before = state(path)

    lineages = []
    for _ in range(3):
        again = older(path)
        lineages.append(state(path))
        assert found(again, "cat") == [1]
        again.close()

    assert before not in lineages
    assert len(set(lineages)) == 1
    assert lineages[0][0] == 1


def test_a_segment_of_a_newer_format_is_read_around_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = older(path)
    add(store, *(f"note{n} cats" for n in range(2_400)))
    store.settle()
    store.close()
    names = segments(path)
    (header,) = tmp_path.rglob(f"{next(iter(names))}/{HEADER}")
    told = json.loads(header.read_text())
    told.pop("checksum")
    told["format"] += 1
    header.write_text(json.dumps({**told, "checksum": zlib.crc32(json.dumps(told, sort_keys=True).encode())}))

    again = older(path)
    assert len(found(again, "cat")) == 2_400
    add(again, *(f"more{n} cats" for n in range(1_200)))
    again.settle()

    assert names <= segments(path)
    assert header.exists()
    assert len(found(again, "cat")) == 3_600
