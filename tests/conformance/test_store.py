"""What a caller may rely on, told to every store."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from kit import NOON, asking, in_text, keywords
from recollect.errors import InputError, UnknownMemory
from recollect.records import (
    ALL_PROJECTS,
    AllOf,
    AndNot,
    AnyOf,
    Context,
    Filter,
    Forget,
    Insert,
    Memory,
    Merge,
    Phrase,
    Piece,
    Position,
    Prefix,
    Restore,
    Revise,
    Scope,
    Source,
    SourceHead,
    Word,
)
from recollect.stores.contract import Store

ANY = Filter()
DAY = timedelta(days=1)


def add(store: Store, *memories: Memory | str) -> tuple[int, ...]:
    whole = [Memory(content=each) if isinstance(each, str) else each for each in memories]
    return store.apply([Insert(memory=memory) for memory in whole], at=NOON)


def found(store: Store, *words: str, scope: Scope = ALL_PROJECTS, where: Filter = ANY, limit: int = 20) -> list[int]:
    return [match.id for match in store.match_words(asking(*words), scope=scope, where=where, limit=limit).top]


def test_what_was_added_is_loaded_as_it_was_with_its_id_and_dates(store: Store) -> None:
    memory = Memory(
        content="We ship on Fridays\n\tand “never” on 日曜日",
        external_id="x-1",
        kind="observation",
        project="shop",
        type="decision",
        title="Ships",
        tags=("release", "habit"),
        source="notes/a.md",
        line=3,
        section="A > B",
        confidence=0.35,
        pinned=True,
        trust="agent",
        thread="t",
        turn=4,
        context=Context(before="earlier", around="beyond"),
        metadata={"workerRole": "writer", "n": [1, {"deep": None}]},
        observed_at=NOON - DAY,
    )

    (row,) = add(store, memory)

    expected = replace(memory, id=row, created_at=NOON, updated_at=NOON)
    assert store.load([row], scope=ALL_PROJECTS) == {row: expected}


def test_loading_keeps_the_order_asked_for_and_passes_over_unknown_ids(store: Store) -> None:
    one, two = add(store, "one", "two")

    loaded = store.load([two, 999, one], scope=ALL_PROJECTS)

    assert list(loaded) == [two, one]


@pytest.mark.req("C-07")
@pytest.mark.case(66)
def test_more_relevant_comes_first_and_equal_scores_are_ordered_by_id(store: Store) -> None:
    long, short, same = add(store, "cat and many other words here", "cat", "cat")
    add(store, "dog", "dog dog", "bird", "fish", "cow", "horse")

    assert found(store, "cat") == [short, same, long]


def test_a_question_on_stems_finds_other_forms_and_one_on_exact_forms_does_not(store: Store) -> None:
    (row,) = add(store, "retries")

    stem = store.match_words(keywords(Word(text="retrie")), scope=ALL_PROJECTS, where=ANY, limit=5)
    exact = store.match_words(keywords(Word(text="retrie", form="exact")), scope=ALL_PROJECTS, where=ANY, limit=5)

    assert [match.id for match in stem.top] == [row]
    assert exact.top == ()


@pytest.mark.req("N-12")
def test_expressions_mean_what_they_say(store: Store) -> None:
    both, first, second, apart = add(store, "red fox", "red", "fox", "fox in a red coat")

    def ask(expression: AnyOf | AllOf | AndNot | Phrase | Prefix) -> set[int]:
        return {m.id for m in store.match_words(keywords(expression), scope=ALL_PROJECTS, where=ANY, limit=9).top}

    red, fox = Word(text="red", form="exact"), Word(text="fox", form="exact")
    assert ask(AnyOf(parts=(red, fox))) == {both, first, second, apart}
    assert ask(AllOf(parts=(red, fox))) == {both, apart}
    assert ask(AndNot(wanted=red, unwanted=fox)) == {first}
    assert ask(Phrase(texts=("red", "fox"))) == {both}
    assert ask(Prefix(text="re")) == {both, first, apart}
    assert ask(AndNot(wanted=AnyOf(parts=(red, fox)), unwanted=Phrase(texts=("red", "fox")))) == {first, second, apart}


def test_a_phrase_does_not_reach_across_fields(store: Store) -> None:
    add(store, Memory(title="red", content="fox"))

    matches = store.match_words(keywords(Phrase(texts=("red", "fox"))), scope=ALL_PROJECTS, where=ANY, limit=9)

    assert matches.top == ()


@pytest.mark.req("N-11")
def test_a_field_weighs_as_told_and_a_field_of_no_weight_is_not_searched(store: Store) -> None:
    body, title = add(store, Memory(title="x", content="cat"), Memory(title="cat", content="x"))
    add(store, "dog", "bird", "fish", "cow", "horse")

    heavy = store.match_words(asking("cat", title=3.0), scope=ALL_PROJECTS, where=ANY, limit=9)
    none = store.match_words(asking("cat", title=0.0), scope=ALL_PROJECTS, where=ANY, limit=9)

    assert [match.id for match in heavy.top] == [title, body]
    assert [match.id for match in none.top] == [body]


def test_coverage_is_the_share_of_the_question_a_memory_holds(store: Store) -> None:
    both, one = add(store, "cat dog", "cat")
    add(store, *"abcdefgh")

    top = store.match_words(asking("cat", "dog"), scope=ALL_PROJECTS, where=ANY, limit=9).top

    assert {match.id: round(match.coverage, 3) for match in top}[both] == 1.0
    assert 0.0 < {match.id: match.coverage for match in top}[one] < 0.5


def test_ids_asked_for_get_the_score_they_would_have_had(store: Store) -> None:
    rows = add(store, "cat", "cat cat dog", "dog", "bird", "cow")
    whole = store.match_words(asking("cat", "dog"), scope=ALL_PROJECTS, where=ANY, limit=9)

    short = store.match_words(asking("cat", "dog"), scope=ALL_PROJECTS, where=ANY, limit=1, score_ids=rows)

    assert short.top == whole.top[:1]
    assert short.total == whole.total == 3
    assert short.by_id == {match.id: match for match in whole.top}


@pytest.mark.req("E-19")
def test_scope_is_inside_every_question(store: Store) -> None:
    mine, theirs = add(store, Memory(content="cat", project="mine"), Memory(content="cat", project="theirs"))
    only = Scope(projects=frozenset({"mine"}))

    assert found(store, "cat", scope=only) == [mine]
    assert list(store.load([mine, theirs], scope=only)) == [mine]
    assert store.browse(scope=only, where=ANY, limit=9).ids == (mine,)
    assert in_text(store, ["cat"], scope=only, where=ANY) == {mine: 1}
    assert list(store.history([mine, theirs], scope=only)) == [mine]
    assert store.stats(scope=only).memories == 1
    assert found(store, "cat", scope=Scope(projects=frozenset())) == []


def test_a_shared_store_ranks_each_project_as_if_it_were_alone(store: Store) -> None:
    add(store, *(Memory(content=text, project="a") for text in ("cat", "cat dog", "bird", "cow", "fish")))
    alone = store.match_words(asking("cat", "dog"), scope=ALL_PROJECTS, where=ANY, limit=9)
    add(store, *(Memory(content="dog " * 3, project="b") for _ in range(20)))

    shared = store.match_words(asking("cat", "dog"), scope=Scope(projects=frozenset({"a"})), where=ANY, limit=9)

    assert shared == alone


@pytest.mark.req("O-06", "E-19")
def test_filters_are_inside_every_question_and_combine(store: Store) -> None:
    add(
        store,
        Memory(content="cat", type="decision", tags=("a",), source="notes/a.md"),
        Memory(content="cat", tags=("a", "b"), source="notes/b.md", observed_at=NOON - DAY),
        Memory(content="cat", tags=("c",), kind="observation", source="other/c.md"),
    )

    for where, expected in (
        (Filter(types=("decision",)), {1}),
        (Filter(types=("decision", "note")), {1, 2, 3}),
        (Filter(tags=("a",)), {1, 2}),
        (Filter(tags=("a", "c")), {1, 2, 3}),
        (Filter(kinds=("observation",)), {3}),
        (Filter(sources=("notes",)), {1, 2}),
        (Filter(sources=("notes/",)), {1, 2}),
        (Filter(sources=("b.md",)), {2}),
        (Filter(sources=("otes/b.md",)), set()),
        (Filter(since=NOON), {1, 3}),
        (Filter(until=NOON), {2}),
        (Filter(since=NOON - DAY, until=NOON + DAY), {1, 2, 3}),
        (Filter(types=("note",), tags=("a",)), {2}),
    ):
        assert set(found(store, "cat", where=where)) == expected
        assert set(store.browse(scope=ALL_PROJECTS, where=where, limit=9).ids) == expected
        assert set(in_text(store, ["cat"], scope=ALL_PROJECTS, where=where)) == expected


@pytest.mark.case(112)
@pytest.mark.parametrize("empty", [Filter(types=()), Filter(tags=()), Filter(kinds=()), Filter(sources=())])
def test_an_empty_filter_list_matches_nothing(store: Store, empty: Filter) -> None:
    add(store, "cat")

    assert found(store, "cat", where=empty) == []
    assert store.browse(scope=ALL_PROJECTS, where=empty, limit=9).total == 0


@pytest.mark.req("C-10")
def test_a_forgotten_memory_is_found_nowhere_until_it_is_restored(store: Store) -> None:
    gone, stays = add(store, "cat", "cat food")

    store.apply([Forget(id=gone)], at=NOON + DAY)
    hidden = found(store, "cat"), store.browse(scope=ALL_PROJECTS, where=ANY, limit=9).ids
    kept = store.load([gone], scope=ALL_PROJECTS)[gone]
    store.apply([Restore(id=gone)], at=NOON + 2 * DAY)

    assert hidden == ([stays], (stays,))
    assert kept.deleted_at == NOON + DAY
    assert set(found(store, "cat")) == {gone, stays}
    assert [event.verb for event in store.history([gone], scope=ALL_PROJECTS)[gone]] == ["add", "forget", "restore"]


def test_forgotten_words_no_longer_count_for_the_others(store: Store) -> None:
    (kept,) = add(store, "cat dog")
    add(store, *"abcdefgh")
    before = store.match_words(asking("cat"), scope=ALL_PROJECTS, where=ANY, limit=9)
    extra = add(store, "cat", "cat cat", "cat dog")

    store.apply([Forget(id=row) for row in extra], at=NOON)

    assert store.match_words(asking("cat"), scope=ALL_PROJECTS, where=ANY, limit=9) == before
    assert found(store, "dog") == [kept]


def test_a_revision_is_found_by_its_new_words_only_and_keeps_the_old_ones_in_its_history(store: Store) -> None:
    (row,) = add(store, Memory(content="old words", tags=("x",)))
    memory = store.load([row], scope=ALL_PROJECTS)[row]

    store.apply([Revise(memory=replace(memory, content="new text", tags=("y",)))], at=NOON + DAY)

    assert found(store, "old") == []
    assert found(store, "new", where=Filter(tags=("y",))) == [row]
    assert found(store, "new", where=Filter(tags=("x",))) == []
    assert store.load([row], scope=ALL_PROJECTS)[row].updated_at == NOON + DAY
    assert store.history([row], scope=ALL_PROJECTS)[row][-1].detail["content"] == "old words"


def test_the_last_events_come_first_and_only_those_of_the_scope(store: Store) -> None:
    one, other = add(store, Memory(content="deploy", project="web"), Memory(content="backup", project="ops"))
    memory = store.load([one], scope=ALL_PROJECTS)[one]
    store.apply([Revise(memory=replace(memory, pinned=True), verb="pin"), Forget(id=other)], at=NOON + DAY)

    told = store.events(scope=ALL_PROJECTS, limit=3)
    web = store.events(scope=Scope(projects=frozenset({"web"})), limit=9)

    assert [(event.memory_id, event.verb) for event in told] == [(other, "forget"), (one, "pin"), (other, "add")]
    assert [(event.memory_id, event.verb) for event in web] == [(one, "pin"), (one, "add")]
    assert store.events(scope=ALL_PROJECTS, limit=0) == ()


def test_a_merged_wording_finds_its_memory_and_survives_a_revision(store: Store) -> None:
    (row,) = add(store, "deploy on fridays")

    store.apply([Merge(id=row, confidence=0.9, wording="ship each friday", detail={"why": "restates"})], at=NOON)
    memory = store.load([row], scope=ALL_PROJECTS)[row]
    store.apply([Revise(memory=replace(memory, title="Rule"))], at=NOON)

    assert found(store, "ship") == [row]
    assert memory.confidence == 0.9
    assert store.wordings([row], scope=ALL_PROJECTS) == {row: ("ship each friday",)}
    assert [event.verb for event in store.history([row], scope=ALL_PROJECTS)[row]] == ["add", "reinforce", "update"]


def test_a_superseded_memory_is_hidden_unless_asked_for(store: Store) -> None:
    old, new = add(store, "timezone pst", "timezone est")
    memory = store.load([old], scope=ALL_PROJECTS)[old]

    store.apply([Revise(memory=replace(memory, superseded_by=new), verb="supersede")], at=NOON)

    assert found(store, "timezone") == [new]
    assert set(found(store, "timezone", where=Filter(include_superseded=True))) == {old, new}
    assert store.browse(scope=ALL_PROJECTS, where=ANY, limit=9).ids == (new,)


def test_writes_are_all_or_none(store: Store) -> None:
    add(store, "cat")

    with pytest.raises(UnknownMemory):
        store.apply([Insert(memory=Memory(content="dog")), Forget(id=999)], at=NOON)

    assert found(store, "dog") == []
    assert store.stats(scope=ALL_PROJECTS).memories == 1


def test_a_failed_transaction_leaves_nothing_behind(store: Store) -> None:
    def fail() -> None:
        with store.transaction():
            add(store, "cat")
            source = Source(fingerprint="f", pieces=(Piece(digest=b"d", memory_id=1),))
            store.record_source("a.md", source, project="default")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert found(store, "cat") == []
    assert store.sources(below="a.md", project="default") == {}


@pytest.mark.req("E-09")
def test_an_external_id_names_one_memory_of_a_project_and_kind(store: Store) -> None:
    (row,) = add(store, Memory(content="one", external_id="x"))
    add(store, Memory(content="one", external_id="x", project="other"))
    add(store, Memory(content="one", external_id="x", kind="message"))

    with pytest.raises(InputError):
        add(store, Memory(content="two", external_id="x"))

    assert store.known("default", external_ids=[("memory", "x"), ("memory", "y")]).by_external_id == {
        ("memory", "x"): row
    }


def test_a_store_knows_the_contents_and_wordings_it_holds(store: Store) -> None:
    one, gone = add(store, "one  thing", "gone thing")
    store.apply([Merge(id=one, confidence=0.8, wording="a single thing"), Forget(id=gone)], at=NOON)
    asked = [("memory", Memory(content=text).digest) for text in ("one thing", "a single thing", "gone thing", "new")]

    known = store.known("default", digests=asked)

    assert known.by_digest == {asked[0]: one, asked[1]: one}
    assert store.known("other", digests=asked).by_digest == {}


def test_near_duplicates_share_a_key(store: Store) -> None:
    one, two, _ = add(store, "a b c", "a b d", "x y z")
    add(store, Memory(content="a b", project="other"))

    keys = plain_keys("a b q")

    assert store.known("default", minhashes=[keys, (), plain_keys("k l")]).near == ((one, two), (), ())


def plain_keys(text: str) -> tuple[int, ...]:
    from kit import plain  # noqa: PLC0415

    return plain(Memory(content=text), ()).minhash


@pytest.mark.case(71)
def test_text_search_counts_the_needles_in_title_and_content(store: Store) -> None:
    two, one = add(store, Memory(title="Kraków", content="ABC 数据库"), Memory(content="xabcx"))
    add(store, "nothing")

    counts = in_text(store, ["abc", "数据"], scope=ALL_PROJECTS, where=ANY, limit=9)

    assert list(counts.items()) == [(two, 2), (one, 1)]
    assert in_text(store, ["abc", "数据"], scope=ALL_PROJECTS, where=ANY, limit=1) == {two: 2}


@pytest.mark.req("E-15")
def test_browsing_among_some_without_a_count_tells_whether_there_are_any(store: Store) -> None:
    one, two, _ = add(store, "one", "two", "three")

    page = store.browse(scope=ALL_PROJECTS, where=ANY, limit=1, among=[one, two], count=False)
    none = store.browse(scope=ALL_PROJECTS, where=ANY, limit=1, among=[99], count=False)

    assert (page.ids, page.total) == ((two,), 1)
    assert (none.ids, none.total) == ((), 0)


def test_browsing_shows_the_newest_first(store: Store) -> None:
    today, old, also_today = add(
        store, "today", Memory(content="old", observed_at=NOON - 9 * DAY), Memory(content="same day")
    )

    page = store.browse(scope=ALL_PROJECTS, where=ANY, limit=2)
    rest = store.browse(scope=ALL_PROJECTS, where=ANY, limit=2, offset=2)
    after = store.browse(scope=ALL_PROJECTS, where=ANY, limit=2, after=Position(when=NOON, id=also_today))

    assert (page.ids, page.total) == ((also_today, today), 3)
    assert rest.ids == (old,)
    assert (after.ids, after.total) == ((today, old), 3)


def test_sources_are_remembered_with_their_pieces_until_they_have_none(store: Store) -> None:
    pieces = (Piece(digest=b"1", memory_id=1, section="A"), Piece(digest=b"2", memory_id=2))
    last = Source(fingerprint="f2", pieces=pieces, device=7, root="notes")
    store.record_source("notes/a.md", Source(fingerprint="f1", pieces=pieces), project="p")
    store.record_source("notes/a.md", last, project="p")
    store.record_source("notesb.md", Source(fingerprint="g", pieces=pieces[:1]), project="p")

    assert store.sources(below="notes", project="p") == {"notes/a.md": last}
    store.record_source("notes/a.md", Source(fingerprint=""), project="p")
    assert store.sources(below="notes", project="p") == {}


def test_what_one_project_imported_is_nothing_to_another(store: Store) -> None:
    mine = Source(fingerprint="f", pieces=(Piece(digest=b"1", memory_id=1),))
    yours = Source(fingerprint="g", pieces=(Piece(digest=b"2", memory_id=2, gone=True),))
    store.record_source("notes/a.md", mine, project="mine")
    store.record_source("notes/a.md", yours, project="yours")

    assert store.sources(below="/", project="mine") == {}
    assert store.sources(below="notes", project="mine") == {"notes/a.md": mine}
    store.record_source("notes/a.md", Source(fingerprint=""), project="mine")
    assert store.sources(below="notes", project="yours") == {"notes/a.md": yours}
    assert (mine.held, yours.held) == (mine.pieces, ())


def _piece(words: bytes, row: int, *, gone: bool = False) -> Piece:
    return Piece(digest=words, memory_id=row, gone=gone)


def test_a_source_is_known_without_its_pieces(store: Store) -> None:
    pieces = (_piece(b"a", 1), _piece(b"b", 2, gone=True), _piece(b"c", 3))
    source = Source(fingerprint="f", pieces=pieces, device=4, root="/n", stamp="10 20 30 40")
    store.record_source("/n/a.jsonl", source, project="p")

    heads = store.source_heads(below="/n", project="p")

    head = SourceHead(fingerprint="f", device=4, root="/n", stamp="10 20 30 40", held=2)
    assert (heads, store.source_heads(below="/n", project="q")) == ({"/n/a.jsonl": head}, {})
    assert store.sources(below="/n", project="p") == {"/n/a.jsonl": source}


def test_pieces_are_found_by_place_and_by_digest(store: Store) -> None:
    pieces = (_piece(b"a", 1), _piece(b"b", 2), _piece(b"a", 3, gone=True), _piece(b"c", 4))
    store.record_source("/n/a.jsonl", Source(fingerprint="f", pieces=pieces), project="p")

    page = store.pieces("/n/a.jsonl", project="p", after=0, limit=2)
    found = store.pieces("/n/a.jsonl", project="p", digests=[b"a", b"c", b"z"])

    assert list(page.items()) == [(1, pieces[1]), (2, pieces[2])]
    assert list(found.items()) == [(0, pieces[0]), (2, pieces[2]), (3, pieces[3])]
    assert store.pieces("/n/a.jsonl", project="q") == store.pieces("/n/b.jsonl", project="p") == {}


def test_a_source_grows_and_changes_piece_by_piece(store: Store) -> None:
    head = Source(fingerprint="", device=1)
    store.record_source("/n/a.jsonl", replace(head, pieces=(_piece(b"a", 1), _piece(b"b", 2))), project="p")
    before = store.version()

    first = store.change_source(
        "/n/a.jsonl",
        Source(fingerprint="f", device=2, stamp="s", pieces=(_piece(b"c", 3),)),
        project="p",
        changed={0: _piece(b"a", 1, gone=True), 1: None},
    )

    assert (first, store.version() > before) == (2, True)
    assert store.pieces("/n/a.jsonl", project="p") == {0: _piece(b"a", 1, gone=True), 2: _piece(b"c", 3)}
    assert store.source_heads(below="/n", project="p")["/n/a.jsonl"] == SourceHead(
        fingerprint="f", device=2, stamp="s", held=1
    )


def test_a_source_that_is_left_without_pieces_is_forgotten(store: Store) -> None:
    store.change_source("/n/a.jsonl", Source(fingerprint="f", pieces=(_piece(b"a", 1),)), project="p")

    store.change_source("/n/a.jsonl", Source(fingerprint="f"), project="p", changed={0: None})

    assert (store.sources(below="/n", project="p"), store.source_heads(below="/n", project="p")) == ({}, {})


def test_who_holds_a_memory_is_told_for_every_project(store: Store) -> None:
    for project, name, gone in (("q", "/b", False), ("p", "/b", False), ("p", "/a", False), ("p", "/c", True)):
        store.record_source(name, Source(fingerprint="", pieces=(_piece(b"a", 7, gone=gone),) * 2), project=project)

    held = store.holders([7, 8])

    assert held == {7: (("p", "/a"), ("p", "/b"), ("q", "/b"))}


def test_the_tally_counts_what_is_there(store: Store) -> None:
    a, b = add(store, Memory(content="a", type="decision", source="s"), Memory(content="b", project="p"))
    store.apply([Forget(id=b), Merge(id=a, confidence=0.9, wording="aa")], at=NOON)

    tally = store.stats(scope=ALL_PROJECTS)

    assert (tally.memories, tally.forgotten, tally.variants, tally.sources, tally.events) == (1, 1, 1, 1, 4)
    assert (dict(tally.projects), dict(tally.types)) == ({"default": 1}, {"decision": 1})


def test_the_version_grows_with_every_write(store: Store) -> None:
    before = store.version()

    add(store, "cat")

    assert store.version() > before


@pytest.mark.req("N-07")
def test_the_index_is_made_anew_from_the_memories_with_the_same_answers(store: Store) -> None:
    rows = add(store, "cat dog", "dog", "bird", "cow")
    store.apply([Forget(id=rows[1]), Merge(id=rows[0], confidence=1.0, wording="kitten")], at=NOON)
    before = [store.match_words(asking(word), scope=ALL_PROJECTS, where=ANY, limit=9) for word in ("dog", "kitten")]
    seen: list[tuple[int, int, str]] = []

    count = store.rebuild(lambda *told: seen.append(told))

    after = [store.match_words(asking(word), scope=ALL_PROJECTS, where=ANY, limit=9) for word in ("dog", "kitten")]
    assert (count, seen[-1]) == (3, (3, 3, "memories"))
    assert after == before
    assert store.check(deep=True) == ()


def test_odd_characters_are_kept_as_they_are(store: Store) -> None:
    texts = ["\x00nul", "'\"; drop table memory; --", "a\u0301 \U0001f600", "%_*", "new\r\nline\ttab"]

    rows = add(store, *texts)

    assert [memory.content for memory in store.load(rows, scope=ALL_PROJECTS).values()] == texts


def test_conversations_come_by_when_they_began_from_either_end(store: Store) -> None:
    told = [("b", 2), ("a", 1), ("b", 5), ("c", 3), (None, 0)]
    add(store, *(Memory(content=f"{name} {day}", thread=name, observed_at=NOON + day * DAY) for name, day in told))
    add(store, Memory(content="elsewhere", project="shop", thread="d", observed_at=NOON))
    here = Scope(projects=frozenset({Memory(content="").project}))

    first = store.conversations(scope=here, where=ANY, limit=2)
    latest = store.conversations(scope=here, where=Filter(until=NOON + 3 * DAY), limit=9, offset=1, latest=True)

    assert [(each.thread, each.start, each.end) for each in first] == [
        ("a", NOON + DAY, NOON + DAY),
        ("b", NOON + 2 * DAY, NOON + 5 * DAY),
    ]
    assert [each.thread for each in latest] == ["a"]
