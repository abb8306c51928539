"""Parts of arrays answer as the reference does, however documents are spread over them."""

import json
import random
import stat
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from recollect.profile import load_profile
from recollect.records import FIELDS, AnyOf, Bigram, Phrase, TokenizedMemory, Word, WordQuery
from recollect.stores import bm25
from recollect.stores.bm25 import FORMS
from recollect.stores.segments import postings, ranking, signatures
from recollect.stores.segments.build import build
from recollect.stores.segments.files import BLOCK, HEADER, SegmentDamaged, load, save, verify
from recollect.stores.segments.measures import USUAL as MEASURE
from recollect.stores.segments.measures import measure_of
from recollect.stores.segments.merge import merge
from recollect.stores.segments.part import MAX_CACHED_WEIGHTS, Part
from recollect.stores.segments.ranking import PartView, Searcher, frequencies, matching, rank, vocabulary
from recollect.stores.segments.rows import COLUMNS, IndexRow, index_row
from recollect.stores.segments.spellings import containing, near
from recollect.stores.token_text import tokens_of
from segment_worlds import PROJECTS, USUAL, WORDS, made_up_document, made_up_query, made_up_world

NOTHING = "\n" * (len(FIELDS) - 1)
SEEDS = st.integers(min_value=0, max_value=1 << 40)


def row(number: int, body: str, *, project: str = "ada", title: str = "") -> IndexRow:
    text = f"{title}\n{body}" + "\n" * (len(FIELDS) - 2)
    return IndexRow(id=number, project=project, stem=text, exact=text)


def by_field(part: Part, name: str) -> list[list[int]]:
    """Return the counts by field that numbers of combinations stand for."""
    form = name.partition(".")[0]
    combos = part.arrays[f"{form}.combos"]
    found: list[list[int]] = np.vstack((combos, np.zeros_like(combos[:1], shape=(1, len(FIELDS)))))[
        part.arrays[name]
    ].tolist()
    return found


def same_arrays(one: Part, other: Part) -> bool:
    """Tell whether two parts hold the same; combinations of counts may be numbered otherwise."""
    numbers = {f"{form}.codes" for form in FORMS}
    plain = one.arrays.keys() - numbers - {f"{form}.combos" for form in FORMS}
    return (
        one.arrays.keys() == other.arrays.keys()
        and all(np.array_equal(one.arrays[name], other.arrays[name]) for name in plain)
        and all(by_field(one, name) == by_field(other, name) for name in numbers)
    )


# --- answers --------------------------------------------------------------------------------


@given(seed=SEEDS)
def test_any_question_is_answered_as_by_the_reference(seed: int) -> None:
    draw = random.Random(seed)
    world, query = made_up_world(draw), made_up_query(draw)
    limit, score_ids = draw.choice([0, 1, 3, 10]), draw.sample(range(1, 100), 30)

    found = rank(query, world.searched, stats=world.stats, limit=limit, score_ids=score_ids)

    assert found == world.reference(query, limit=limit, score_ids=score_ids)


@given(seed=SEEDS)
def test_a_question_that_is_asked_again_for_others_is_answered_as_by_the_reference(seed: int) -> None:
    draw = random.Random(seed)
    world = made_up_world(draw)
    one, other = made_up_query(draw), made_up_query(draw)
    asked = [(one, 10), (one, 0), (one, 3), (other, 0), (one, 0)]
    some = [draw.sample(range(1, 100), 30) for _ in asked]

    found = [
        rank(query, world.searched, stats=world.stats, limit=limit, score_ids=ids)
        for (query, limit), ids in zip(asked, some, strict=True)
    ]

    assert found == [
        world.reference(query, limit=limit, score_ids=ids) for (query, limit), ids in zip(asked, some, strict=True)
    ]


def test_the_sums_of_a_question_are_not_those_of_another_store() -> None:
    query = WordQuery(expression=Word(text="same"), weights=USUAL, idf="lucene")
    stats = bm25.CollectionStats(rows=2, stem=4, exact=4)
    one, other = (
        Searcher([PartView(part=build([row(number, text) for number, text in enumerate(texts, start=1)]))])
        for texts in (("same words", "other words"), ("other words", "same words"))
    )

    found = [rank(query, asked, stats=stats, limit=0, score_ids=[1, 2]) for asked in (one, other, one)]

    assert [list(each.by_id) for each in found] == [[1], [2], [1]]


@given(seed=SEEDS)
def test_all_that_matches_is_found(seed: int) -> None:
    draw = random.Random(seed)
    world, query = made_up_world(draw), made_up_query(draw)

    found = matching(query, world.searched).tolist()

    assert sorted(found) == sorted(world.matching(query))


@given(seed=SEEDS)
def test_words_are_counted_in_title_and_body(seed: int) -> None:
    world = made_up_world(random.Random(seed))

    counted = {form: vocabulary(world.searched.views, form) for form in FORMS}
    asked = {form: frequencies(world.searched.views, form, WORDS) for form in FORMS}

    assert counted == {form: world.vocabulary(form) for form in FORMS}
    assert asked == {form: {word: counted[form].get(word, 0) for word in WORDS} for form in FORMS}


@pytest.mark.parametrize("fold", [1, 8])
@pytest.mark.parametrize("seed", range(12))
def test_large_parts_are_answered_as_by_the_reference(seed: int, fold: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "FOLD", fold)
    monkeypatch.setattr(ranking, "EXTRA_CANDIDATES", seed % 4)
    monkeypatch.setattr(postings, "SPARSE", 4)
    monkeypatch.setattr(postings, "SCANNED", 40 if seed % 2 else 0)
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(60)]
    world = made_up_world(draw, most=400, words=words)
    queries = [made_up_query(draw, words) for _ in range(12)]

    found = [rank(query, world.searched, stats=world.stats, limit=5, score_ids=range(1, 300)) for query in queries]

    assert found == [world.reference(query, limit=5, score_ids=range(1, 300)) for query in queries]


def test_equal_scores_are_ordered_by_id_across_parts() -> None:
    parts = [build([row(number, "same words") for number in range(first, 40, 3)]) for first in (1, 2, 3)]
    query = WordQuery(expression=Word(text="same"), weights=USUAL, idf="lucene")
    stats = bm25.CollectionStats(rows=39, stem=78, exact=78)

    found = rank(query, Searcher([PartView(part=part) for part in parts]), stats=stats, limit=7)

    assert [hit.id for hit in found.top] == [1, 2, 3, 4, 5, 6, 7]


def test_a_question_without_views_finds_nothing() -> None:
    query = WordQuery(expression=AnyOf(parts=(Word(text="a"), Bigram(first="a", second="b"))), weights=USUAL)

    found = rank(query, Searcher([]), stats=bm25.stats_of({}), limit=10, score_ids=[1])

    assert (found.top, found.by_id, found.total, found.document_frequencies) == ((), {}, 0, {"a": 0})


def test_a_pair_that_stands_very_often_in_one_document_counts_each_time() -> None:
    tokens = TokenizedMemory(stem={"body": ("ha",) * 70_000}, exact={"body": ("ha",) * 70_000})
    query = WordQuery(
        expression=AnyOf(parts=(Bigram(first="ha", second="ha"), Phrase(texts=("ha", "ha", "ha")))), weights=USUAL
    )
    part = build([index_row(1, "ada", tokens), row(2, "ha ha ho")])
    held = {1: tokens, 2: TokenizedMemory(stem={"body": ("ha", "ha", "ho")}, exact={"body": ("ha", "ha", "ho")})}

    found = rank(query, Searcher([PartView(part=part)]), stats=bm25.stats_of(held), limit=2)

    assert found == bm25.rank(
        query,
        read=lambda leaf: bm25.postings_of(leaf, held, query.weights),
        stats=bm25.stats_of(held),
        admits=lambda rows: rows,
        limit=2,
    )


def spelt(part: Part) -> list[str]:
    """Return the tokens of *part* in order."""
    blob, offsets = part.arrays["exact.blob"].tobytes(), part.arrays["exact.offsets"].tolist()
    terms = [blob[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(offsets)]
    assert terms == sorted(set(terms))
    return [terms[number] for number in part.arrays["running.tokens"].tolist() if number < len(terms)]


@pytest.mark.parametrize("letters", ["ab", "aé", "a中\U0001f600", "a\0", "\ud800b"])
def test_tokens_of_any_length_are_told_apart_wherever_they_differ(letters: str) -> None:
    draw = random.Random(11)
    tokens = [
        "".join(draw.choices(letters, (9, *(1,) * (len(letters) - 1)), k=draw.randint(1, 20))) for _ in range(4_000)
    ]

    part = build([row(1, " ".join(tokens[:1_500])), row(2, " ".join(tokens[1_500:]))])

    assert spelt(part) == tokens


def test_stored_bounds_are_those_of_the_default_profile() -> None:
    words = load_profile("default").words

    assert measure_of(words.fields, words.k1, words.b) == MEASURE


# --- spellings ------------------------------------------------------------------------------


LETTERS = st.text(alphabet="abcdéß日я1-", min_size=1, max_size=7)


@given(words=st.lists(LETTERS, min_size=1, max_size=40), asked=LETTERS, reach=st.integers(1, 2), cut=st.integers(0, 40))
def test_near_words_are_those_of_a_plain_scan(words: list[str], asked: str, reach: int, cut: int) -> None:
    parts = [build([row(number, word) for number, word in enumerate(some)]) for some in (words[:cut], words[cut:])]
    views = [PartView(part=part) for part in parts]

    found = near(views, asked, reach)

    counted = ((word, OSA.distance(asked, word), words.count(word)) for word in set(words))
    alike = [each for each in counted if each[1] <= reach and each[0][0] == asked[0] and each[0].isalpha()]
    assert found == sorted(alike, key=lambda each: (each[1], each[0]))


PIECES = st.lists(st.text(alphabet="abcdé日", min_size=1, max_size=3), max_size=5)


@given(words=st.lists(LETTERS, min_size=1, max_size=40), pieces=PIECES, cut=st.integers(0, 40))
def test_words_that_hold_a_part_are_those_of_a_plain_scan(words: list[str], pieces: list[str], cut: int) -> None:
    parts = [build([row(number, word) for number, word in enumerate(some)]) for some in (words[:cut], words[cut:])]

    found = containing([PartView(part=part) for part in parts], pieces)

    for piece in pieces:
        held = {word for word in words if piece in word and word != piece and word.isalpha()}
        assert found[piece] == [(word, words.count(word)) for word in sorted(held)]


def test_bits_are_counted_without_the_newest_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    values = np.array([0, 1, 255, 1 << 31, (1 << 32) - 1], dtype=np.uint32)

    assert signatures.bits_of(values).tolist() == [0, 1, 8, 1, 32]


# --- building, merging, files ---------------------------------------------------------------


def made_up_rows(draw: random.Random, ids: Iterable[int]) -> list[IndexRow]:
    return [index_row(number, draw.choice(PROJECTS), made_up_document(draw, WORDS)) for number in ids]


@given(seed=SEEDS)
def test_merged_parts_equal_one_that_is_built_of_the_living(seed: int) -> None:
    draw = random.Random(seed)
    rows = made_up_rows(draw, range(1, draw.randint(2, 30)))
    dead = {each.id for each in rows if draw.random() < 0.3}
    heaps: list[list[IndexRow]] = [[], [], []]
    for each in rows:
        draw.choice(heaps).append(each)

    merged = merge([(part, ~np.isin(part.ids, list(dead))) for part in map(build, heaps)])

    assert same_arrays(merged, build([each for each in rows if each.id not in dead]))


def test_a_merge_in_small_steps_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(5)
    rows = made_up_rows(draw, range(1, 200))
    whole = build(rows)
    monkeypatch.setattr("recollect.stores.segments.merge.CHUNK", 50)
    monkeypatch.setattr("recollect.stores.segments.merge.SLICE", 7)

    merged = merge([(build(rows[start::3]), None) for start in range(3)])

    assert same_arrays(merged, whole)


def test_nothing_of_the_dead_is_left_in_a_merged_part(tmp_path: Path) -> None:
    columns = tuple("secret.md" if name == "source" else {"text": "x"}.get(kind, 0) for name, kind in COLUMNS.items())
    text = "hidden\nwords" + "\n" * (len(FIELDS) - 2)
    gone = IndexRow(id=1, project="private", stem=text, exact=text, columns=columns)
    part = build([gone, row(2, "plain text")])

    save(merge([(part, part.ids != 1)]), tmp_path / "part")

    written = b"".join(file.read_bytes() for file in (tmp_path / "part").iterdir())
    assert not [word for word in (b"hidden", b"words", b"secret", b"private") if word in written]


@given(seed=SEEDS)
def test_a_part_that_was_saved_is_the_same(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    draw = random.Random(seed)
    part = build(made_up_rows(draw, range(draw.randint(0, 12))))
    folder = tmp_path_factory.mktemp("parts") / "part"

    save(part, folder)
    again = load(folder)

    assert same_arrays(part, again)
    assert verify(again) == []
    again.close()


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    save(build([row(1, "a b")]), tmp_path / "part")

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "part").iterdir()}

    assert stat.S_IMODE((tmp_path / "part").stat().st_mode) == 0o700
    assert modes == {HEADER: 0o600, BLOCK: 0o600}


@pytest.mark.parametrize("damage", ["header", "short", "long", "gone", "empty", "entry"])
def test_a_damaged_part_is_refused(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "part"
    save(build([row(1, "a b")]), folder)
    header, block = folder / HEADER, folder / BLOCK
    match damage:
        case "header":
            header.write_text(header.read_text().replace('"rows": 1', '"rows": 2'))
        case "short":
            block.write_bytes(block.read_bytes()[:-1])
        case "long":
            block.write_bytes(block.read_bytes() + b"\0")
        case "gone":
            block.unlink()
        case "empty":
            header.write_text("")
        case "entry":
            header.write_text(json.dumps({**json.loads(header.read_text()), "arrays": {}}))

    with pytest.raises(SegmentDamaged):
        load(folder)


def test_a_changed_byte_is_told_by_its_checksum(tmp_path: Path) -> None:
    folder = tmp_path / "part"
    save(build([row(1, "alpha beta")]), folder)
    block = folder / BLOCK
    block.write_bytes(block.read_bytes().replace(b"alphabeta", b"alphaBeta", 1))

    damaged = verify(load(folder))

    assert damaged == ["stem.blob"]


def test_rows_of_projects_are_ranges_and_found_by_id() -> None:
    part = build(
        [row(5, "x", project="b"), row(2, "y", project="a"), row(9, "z", project="a"), row(1, "w", project="c")]
    )

    assert part.ids.tolist() == [2, 9, 5, 1]
    assert (part.ranges(None), part.ranges(["a", "b"]), part.ranges(["a", "c"])) == (
        [(0, 4)],
        [(0, 3)],
        [(0, 2), (3, 4)],
    )
    assert part.rows_of([9, 3, 1, 5, 99]).tolist() == [1, -1, 3, 2, -1]


def test_columns_are_kept_by_row() -> None:
    values = [
        ("note", "memory", "b.md", "", 1, 5, 6, 7, 0.5, True),
        ("fact", "turn", "a.md", "t", 2, 8, 9, 10, 0.8, False),
    ]
    rows = [IndexRow(id=at, project="p", stem=NOTHING, exact=NOTHING, columns=each) for at, each in enumerate(values)]
    parts = [(build([each]), None) for each in rows]

    for part in (build(rows), merge(parts)):
        sources = part.names("source")
        assert [sources[code] for code in part.column("source").tolist()] == ["b.md", "a.md"]
        assert part.column("happened_at").tolist() == [5, 8]
        assert part.column("confidence").tolist() == [0.5, 0.8]
        assert part.column("pinned").tolist() == [True, False]


def test_a_row_without_all_fields_is_refused() -> None:
    with pytest.raises(ValueError, match="fields"):
        build([IndexRow(id=1, project="p", stem="a\nb", exact=NOTHING)])


@given(seed=SEEDS)
def test_tokens_of_a_text_are_those_it_was_made_of(seed: int) -> None:
    tokens = made_up_document(random.Random(seed), WORDS)

    made = index_row(1, "p", tokens)

    assert (tokens_of(made.stem), tokens_of(made.exact)) == (tokens.stem, tokens.exact)


def test_an_index_keeps_what_it_worked_out_for_few_settings() -> None:
    index = build([row(1, "a b"), row(2, "b c")]).form("stem")

    for weight in range(200):
        index.counts((float(weight),) * index.combos.shape[1])

    assert len(index.weighted) <= MAX_CACHED_WEIGHTS
