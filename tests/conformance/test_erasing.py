"""What is erased leaves nothing behind: not in rows of its own, nor in what others say of it."""

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from kit import NOON, asking
from recollect import InputError, Recollection
from recollect.errors import UnknownMemory
from recollect.recall.lens import Lens
from recollect.records import (
    ALL_PROJECTS,
    NO_FILTER,
    Context,
    EmbeddedMemory,
    Fact,
    FactQuery,
    Feedback,
    Filter,
    Generation,
    Insert,
    Memory,
    Merge,
    Passage,
    Piece,
    Recall,
    Recalled,
    Revise,
    Scope,
    Source,
)
from recollect.stores.contract import Store
from recollect.vectors import pack

P = Scope(projects=frozenset({"p"}))
ERASED = "the marimba stands in the attic of Brunhilde"
FACT = Fact(subject="marimba", predicate="is", object="attic", type="location", confidence=0.9, decay_rate=0.01)


def put(store: Store, content: str, **about: object) -> int:
    (row,) = store.apply([Insert(memory=Memory(content=content, **about), facts=(FACT,))], at=NOON)  # type: ignore[arg-type]
    return row


def everything(store: Store, row: int) -> list[object]:
    """Return every answer of *store* that could tell of memory *row*."""
    return [
        store.load([row], scope=ALL_PROJECTS),
        store.wordings([row], scope=ALL_PROJECTS),
        store.history([row], scope=ALL_PROJECTS),
        store.facts(FactQuery(memory_ids=(row,), include_superseded=True), scope=ALL_PROJECTS),
        store.vectors("f", [row], scope=ALL_PROJECTS),
        store.recalls(scope=ALL_PROJECTS, memory_id=row),
        store.usage(scope=ALL_PROJECTS),
        [word for word, count in store.document_frequencies(scope=ALL_PROJECTS).items() if word == "marimba" and count],
    ]


def embed(store: Store, *rows: int) -> None:
    held = store.load(rows, scope=ALL_PROJECTS)
    vectors = {row: (pack([row, 1.0, 0.0]),) for row in rows}
    made = [
        EmbeddedMemory(
            memory_id=row, meaning=held[row].meaning, passages=(Passage(start=0, stop=1, vector=vectors[row][0]),)
        )
        for row in rows
    ]
    generation = Generation(fingerprint="f", dimensions=3, model="m", context_weights=(0.5, 0.25))
    store.put_vectors(generation, made)


def test_nothing_answers_for_an_erased_memory(store: Store) -> None:
    kept, row = put(store, "a cat"), put(store, ERASED, tags=("x",), external_id="e", title="Marimba")
    store.apply([Merge(id=row, confidence=0.9, wording="marimba, attic"), Feedback(id=row, verdict="used")], at=NOON)
    embed(store, kept, row)
    store.log_recall([Recall(query="where", mode="m", outcome="answered", at=NOON, hits=(hit(row),))])

    gone = store.erase(ids=[row], scope=ALL_PROJECTS)

    assert (gone.wordings, gone.events, gone.facts, len(gone.vectors), gone.recalls) == (1, 3, 1, 1, 1)
    assert [memory.content for memory in gone.memories] == [ERASED]
    assert not any(everything(store, row))
    assert store.known("default", external_ids=[("memory", "e")]).by_external_id == {}
    assert store.stats(scope=ALL_PROJECTS).memories == 1
    assert store.check() == ()


def hit(row: int) -> Recalled:
    return Recalled(memory_id=row, rank=1, score=1.0, shown=True)


def test_an_id_is_never_given_again(store: Store) -> None:
    row = put(store, ERASED)

    store.erase(ids=[row], scope=ALL_PROJECTS)

    assert put(store, "a cat") == row + 1


def test_what_is_forgotten_can_be_erased(db: Recollection) -> None:
    row = db.add(ERASED).id
    db.forget(row)

    report = db.purge([row])

    assert report.ids == (row,)
    with pytest.raises(UnknownMemory):
        db.show(row)


def test_an_unknown_id_erases_nothing(store: Store) -> None:
    row = put(store, ERASED)

    with pytest.raises(UnknownMemory):
        store.erase(ids=[row, 99], scope=ALL_PROJECTS)

    assert store.load([row], scope=ALL_PROJECTS)


def test_a_project_cannot_erase_what_another_has(db: Recollection) -> None:
    row = db.in_project("a").add(ERASED, source="x.md").id
    other = db.in_project("b")

    for wish in ({"source": "x.md"}, {"older_than": NOON + timedelta(days=1)}):
        assert other.purge(**wish).ids == ()  # type: ignore[arg-type]
    with pytest.raises(UnknownMemory):
        other.purge([row])
    with pytest.raises(InputError, match="not in view"):
        other.purge(project="a")

    assert db.show(row).memory.content == ERASED


def test_a_dry_run_tells_what_would_go_and_leaves_it(db: Recollection) -> None:
    row = db.add(ERASED).id

    report = db.purge([row], dry_run=True)

    assert (report.ids, report.events, report.dry_run) == ((row,), 1, True)
    assert [memory.content for memory in report.listed] == [ERASED]
    assert db.show(row).memory.content == ERASED


def test_a_selection_is_what_fits_all_that_is_given(db: Recollection) -> None:
    old, new = (NOON - timedelta(days=days) for days in (100, 1))
    rows = [
        db.add("one apple", source="a/x.md", observed_at=old).id,
        db.add("two pears", source="a/x.md", observed_at=new).id,
        db.add("three figs", source="b/y.md", observed_at=old).id,
    ]

    assert db.purge(source="a", dry_run=True).ids == (rows[0], rows[1])
    assert db.purge(older_than="90d", dry_run=True).ids == (rows[0], rows[2])
    assert db.purge(source="a", older_than="90d", dry_run=True).ids == (rows[0],)
    assert db.purge([rows[1]], source="b", dry_run=True).ids == ()
    assert db.purge(project="default", dry_run=True).ids == tuple(rows)
    with pytest.raises(InputError, match="say what to purge"):
        db.purge()


# --- what others say of it ----------------------------------------------------------------------


def test_what_it_superseded_is_superseded_by_what_superseded_it(store: Store) -> None:
    first, second, third, alone = (put(store, text) for text in ("a cat", ERASED, "a dog", "a fox"))
    held = store.load([first, second, alone], scope=ALL_PROJECTS)
    for row, by in ((first, second), (second, third)):
        store.apply([Revise(memory=with_(held[row], superseded_by=by), verb="supersede")], at=NOON)

    store.erase(ids=[second], scope=ALL_PROJECTS)
    chain = store.load([first], scope=ALL_PROJECTS)[first].superseded_by
    store.erase(ids=[third], scope=ALL_PROJECTS)
    left = store.load([first], scope=ALL_PROJECTS)[first]

    assert chain == third
    assert left.superseded_by == third
    assert store.browse(scope=ALL_PROJECTS, where=NO_FILTER, limit=9).ids == (alone,)


def with_(memory: Memory, **changes: object) -> Memory:
    return replace(memory, **changes)  # type: ignore[arg-type]


def test_evidence_in_the_events_of_others_goes(store: Store) -> None:
    row = put(store, ERASED)
    evidence = {"decision": "conflicts", "of": row, "differs": ["Brunhilde", "attic"], "jaccard": 0.6}
    (other,) = store.apply([Insert(memory=Memory(content="a cat"), detail=evidence)], at=NOON)
    revised = with_(store.load([other], scope=ALL_PROJECTS)[other], superseded_by=row, content="a dog")
    store.apply([Revise(memory=revised, verb="supersede", detail={"by": row, "differs": ["attic"]})], at=NOON)
    store.apply([Feedback(id=other, verdict="used", query="whose is the marimba?", session="s")], at=NOON)

    store.erase(ids=[row], scope=ALL_PROJECTS)

    details = [event.detail for event in store.history([other], scope=ALL_PROJECTS)[other]]
    assert details == [{"decision": "conflicts"}, {"content": "a cat"}, {"verdict": "used", "session": "s"}]


def test_a_wording_that_another_memory_took_from_it_goes(db: Recollection) -> None:
    kept = db.add("The nightly backup of the database runs at two").id
    gone = db.add("The nightly backup of the database runs at two o'clock, says Zacharias").id
    merge = Merge(
        id=kept, confidence=0.8, wording=db.show(gone).memory.content, detail={"by": "consolidate", "of": gone}
    )
    db.store.apply([merge], at=NOON)
    assert [hit.id for hit in db.search("Zacharias").hits] != []

    db.purge([gone])

    assert db.show(kept).wordings == ()
    assert db.search("Zacharias", mode="keyword").hits == ()
    assert db.store.check() == ()


def test_its_words_leave_the_context_of_the_turns_around_it(store: Store) -> None:
    said = ["Ann: the cat sleeps", f"Bob: {ERASED}", "Ann: good to know", "Bob: and the dog runs"]
    context = (Context(after=said[1]), Context(), Context(before=said[1]), Context(around=f"{said[1]}\n{said[0]}"))
    rows = [
        put(store, text, thread="t", turn=at, context=around)
        for at, (text, around) in enumerate(zip(said, context, strict=True))
    ]
    embed(store, *rows)
    before = store.vectors("f", rows, scope=ALL_PROJECTS)

    store.erase(ids=[rows[1]], scope=ALL_PROJECTS)

    left = store.load(rows, scope=ALL_PROJECTS)
    after = store.vectors("f", rows, scope=ALL_PROJECTS)
    assert [memory.context for memory in left.values()] == [Context(), Context(), Context(around=said[0])]
    assert store.match_words(asking("brunhilde"), scope=ALL_PROJECTS, where=NO_FILTER, limit=9).total == 0
    assert after[rows[0]][0].context_vector != before[rows[0]][0].context_vector
    assert after[rows[2]][0].context_vector != before[rows[2]][0].context_vector
    assert store.check() == ()


def test_searches_that_found_or_quote_it_leave_the_log(store: Store) -> None:
    row, other = put(store, ERASED), put(store, "the garden stands in bloom")
    store.log_recall(
        [
            Recall(query="music", mode="m", outcome="answered", at=NOON, hits=(hit(row), hit(other))),
            Recall(query="MARIMBA?", mode="m", outcome="none", at=NOON),
            Recall(query="what stands in the attic", mode="m", outcome="none", at=NOON, hits=(hit(other),)),
            Recall(query="what stands in bloom", mode="m", outcome="answered", at=NOON, hits=(hit(other),)),
        ]
    )

    gone = store.erase(ids=[row], scope=ALL_PROJECTS)

    assert gone.recalls == 3
    assert [each.query for each in store.recalls(scope=ALL_PROJECTS)] == ["what stands in bloom"]


def test_the_ledger_of_a_session_no_longer_names_it(store: Store) -> None:
    row, other = put(store, ERASED), put(store, "a cat")
    store.put_note("injected", "s", {str(row): "00ff", str(other): "11ee"})
    store.put_note("injected", "t", {str(row): "00ff"})

    store.erase(ids=[row], scope=ALL_PROJECTS)

    assert store.notes("injected") == {"s": {str(other): "11ee"}}


def test_a_source_goes_with_the_last_memory_from_it(store: Store) -> None:
    rows = [put(store, text, source="/n/a.md") for text in ("a cat", "a dog")]
    pieces = [Piece(digest=bytes([row]), memory_id=row) for row in rows]
    store.record_source("/n/a.md", Source(fingerprint="1", pieces=tuple(pieces)), project="default")

    first = store.erase(ids=rows[:1], scope=ALL_PROJECTS)
    kept = store.sources(below="/", project="default")
    second = store.erase(ids=rows[1:], scope=ALL_PROJECTS)

    assert (first.sources, second.sources) == ((), ("/n/a.md",))
    assert [piece.memory_id for piece in kept["/n/a.md"].pieces] == rows[1:]
    assert store.sources(below="/", project="default") == {}


def test_a_source_that_is_erased_takes_its_wording_of_what_other_sources_say_too(store: Store) -> None:
    row = put(store, "a cat sleeps", source="/n/a.md")
    detail = {"decision": "restates", "source": "/n/b.md"}
    store.apply([Merge(id=row, confidence=0.8, wording="a cat is sleeping", detail=detail)], at=NOON)
    for name in ("/n/a.md", "/n/b.md"):
        store.record_source(
            name, Source(fingerprint="1", pieces=(Piece(digest=b"d", memory_id=row),)), project="default"
        )

    gone = store.erase(where=Filter(sources=("/n/b.md",)), scope=ALL_PROJECTS)

    assert (gone.memories, gone.sources) == ((), ("/n/b.md",))
    assert store.wordings([row], scope=ALL_PROJECTS) == {}
    assert list(store.sources(below="/", project="default")) == ["/n/a.md"]
    assert all("/n/b.md" not in str(event.detail) for event in store.history([row], scope=ALL_PROJECTS)[row])


def test_a_source_keeps_what_is_not_selected_from_it(store: Store) -> None:
    first, other = put(store, "a cat", source="/n/b.md"), put(store, "a dog", source="/n/a.md")
    pieces = [Piece(digest=bytes([row]), memory_id=row) for row in (first, other)]
    store.record_source("/n/b.md", Source(fingerprint="1", pieces=tuple(pieces)), project="default")

    store.erase(ids=[first], where=Filter(sources=("/n/b.md",)), scope=ALL_PROJECTS)

    assert [piece.memory_id for piece in store.sources(below="/", project="default")["/n/b.md"].pieces] == [other]


def test_one_id_may_stand_alone_and_what_is_none_is_refused(db: Recollection) -> None:
    row = db.add(ERASED).id

    for wrong in (["1"], [2**64], "1", [None]):
        with pytest.raises(InputError, match=r"ids cannot be|is not an id"):
            db.purge(wrong)  # type: ignore[arg-type]

    assert db.purge(row).ids == (row,)


def test_no_ids_are_none_whatever_else_is_given(db: Recollection) -> None:
    db.add(ERASED)

    assert db.purge([], project="default").ids == ()
    assert db.list().total == 1


def test_a_project_is_erased_with_its_name(store: Store) -> None:
    put(store, ERASED, project="p")
    other = put(store, "a cat", project="q")
    store.log_recall([Recall(query="cats", mode="m", outcome="none", at=NOON, scope=P)])
    store.put_note("lens", "both", {"projects": ["p", "q"], "boosts": {"project:p": 2.0, "type:note": 2.0}})
    store.put_note("lens", "one", {"projects": ["p"], "boosts": {}})
    store.put_note("lens", "theirs", {"boosts": {}}, project="p")
    store.record_source("/n/a.md", Source(fingerprint="1", pieces=(Piece(digest=b"d", memory_id=99),)), project="p")

    gone = store.erase(scope=P)

    assert gone.projects == ("p",)
    assert store.stats(scope=ALL_PROJECTS).projects == {"q": 1}
    assert store.recalls(scope=ALL_PROJECTS) == ()
    assert store.notes("lens") == {"both": {"projects": ["q"], "boosts": {"type:note": 2.0}}}
    assert store.load([other], scope=ALL_PROJECTS)
    assert (store.notes("lens", project="p"), store.sources(below="/", project="p")) == ({}, {})


def test_a_lens_on_a_project_that_is_erased_still_works(db: Recollection) -> None:
    db.in_project("p").add(ERASED)
    db.in_project("q").add("the cat sleeps")
    db.lenses.keep(Lens(name="both", projects=("p", "q")))

    db.purge(project="p")

    assert [hit.memory.content for hit in db.search("cat", lens="both").hits] == ["the cat sleeps"]


# --- bytes ----------------------------------------------------------------------------------------


def test_what_nobody_else_holds_is_searched_for_and_not_found(db: Recollection) -> None:
    db.add("the attic is dusty and the drawer is empty")
    row = db.add(ERASED, title="Where the Marimba is", tags=("instruments",), metadata={"room": "Dachkammer"}).id
    db.search("marimba", session="s")

    report = db.purge([row], verify=True)

    assert report.verified
    assert report.is_clean
    assert report.probes > 5


def test_the_text_of_a_chat_is_gone_from_every_answer(db: Recollection, tmp_path: Path) -> None:
    lines = ["Ann: hello there", "Bob: my pin is quetzal nine", "Ann: thanks a lot", "Bob: see you tomorrow"]
    chat = tmp_path / "chat.txt"
    chat.write_text("\n".join(lines), encoding="utf-8")
    db.import_(chat)
    (row,) = [hit.id for hit in db.search("quetzal", mode="keyword").hits if "quetzal" in hit.memory.content]

    report = db.purge([row], verify=True)

    assert report.is_clean
    assert db.search("quetzal", mode="keyword").hits == ()
    assert "quetzal" not in str([memory.context for memory in db.list(limit=9).memories])


# --- the recall log -------------------------------------------------------------------------------


def recall(query: str, *, days: int = 0, scope: Scope = ALL_PROJECTS) -> Recall:
    return Recall(query=query, mode="m", outcome="none", at=NOON - timedelta(days=days), scope=scope)


def test_the_log_is_pruned_by_age(store: Store) -> None:
    store.log_recall([recall("old", days=200), recall("older", days=300), recall("new")])

    count = store.prune_recalls(scope=ALL_PROJECTS, before=NOON - timedelta(days=180))

    assert count == 2
    assert [each.query for each in store.recalls(scope=ALL_PROJECTS)] == ["new"]


def test_the_log_is_pruned_by_size_the_oldest_first(store: Store) -> None:
    logged = [recall(f"query {number}") for number in range(9)]
    store.log_recall(logged)

    count = store.prune_recalls(scope=ALL_PROJECTS, max_bytes=3 * logged[0].size)

    assert count == 6
    assert [each.query for each in store.recalls(scope=ALL_PROJECTS)] == ["query 8", "query 7", "query 6"]
    assert store.stats(scope=ALL_PROJECTS).log.bytes == 3 * logged[0].size


def test_a_slice_looks_at_the_oldest_only(store: Store) -> None:
    store.log_recall([recall("a", days=9), recall("b"), recall("c", days=9)])

    first = store.prune_recalls(scope=ALL_PROJECTS, before=NOON, most=2)
    second = store.prune_recalls(scope=ALL_PROJECTS, max_bytes=1, most=1)

    assert (first, second) == (1, 1)
    assert [each.query for each in store.recalls(scope=ALL_PROJECTS)] == ["c"]


def test_a_project_prunes_its_own_searches(store: Store) -> None:
    store.log_recall([recall("mine", days=9, scope=P), recall("all", days=9)])

    assert store.prune_recalls(scope=P, before=NOON) == 1
    assert [each.query for each in store.recalls(scope=ALL_PROJECTS)] == ["all"]


def test_a_search_that_is_logged_takes_what_is_too_old_with_it(db: Recollection) -> None:
    db.store.log_recall([recall("ancient", days=400), recall("recent", days=4)])

    db.search("today", session="s")
    db.flush()

    assert [each.query for each in db.log.recent()] == ["today", "recent"]


def test_the_size_of_the_log_is_told(store: Store) -> None:
    store.log_recall([recall("a", days=3), recall("ä")])

    log = store.stats(scope=ALL_PROJECTS).log

    assert (log.recalls, log.oldest) == (2, NOON - timedelta(days=3))
    assert log.bytes == recall("a").size + recall("ä").size


def test_an_erasure_reads_events_and_the_log_in_slices_and_misses_none(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.stores.sql.erasing.SLICE", 2)
    monkeypatch.setattr("recollect.stores.sql.recalls.SLICE", 2)
    gone = put(store, ERASED)
    others = [put(store, f"Something else, number {at}") for at in range(5)]
    store.apply([Feedback(id=row, verdict="useful", query="where is the marimba") for row in others], at=NOON)
    searches = ["the marimba", *(f"other {at}" for at in range(4)), "marimba again", "marimba once more"]
    store.log_recall([Recall(query=each, mode="keyword", outcome="none", at=NOON) for each in searches])

    erased = store.erase(ids=[gone], scope=ALL_PROJECTS)

    judged = store.history(others, scope=ALL_PROJECTS, verbs=["feedback"])
    assert [event.detail for events in judged.values() for event in events] == [{"verdict": "useful"}] * 5
    assert [each.query for each in store.recalls(scope=ALL_PROJECTS, oldest_first=True)] == searches[1:5]
    assert erased.recalls == 3
