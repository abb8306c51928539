"""Remembering one text after another: what is the same, what is new, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import NOON, STORES
from recollect import Filter, InputError, Memory, Recollection
from recollect.embedders.models import Models
from recollect.profile import load_profile
from recollect.records import ALL_PROJECTS, NO_FILTER
from recollect.remember.context import IngestContext
from recollect.remember.ingest import MERGED, IngestResult, ingest
from recollect.text.analyser import analyse
from recollect.vectors import pack, unpack

FIRST = "always run ruff before pyright for linting"
SECOND = "always run ruff before pyright for linting checks"
KINDS = ("observation", "session_summary", "user_prompt")


def add(db: Recollection, *texts: str) -> list[IngestResult]:
    return [db.add(text) for text in texts]


def batch(db: Recollection, *texts: str) -> list[IngestResult]:
    return list(db.add_all([Memory(content=text) for text in texts]))


BOTH_WAYS = pytest.mark.parametrize("remember", [add, batch], ids=["one by one", "in a batch"])


@BOTH_WAYS
def test_the_same_words_again_change_nothing(db: Recollection, remember: object) -> None:
    first, second = remember(db, "We ship on Tuesday", " We ship\n on Tuesday ")  # type: ignore[operator]

    assert (second.id, second.decision, second.of, second.written) == (first.id, "identical", first.id, False)
    assert [event.verb for event in db.show(first.id).events] == ["add"]
    assert db.stats().memories == 1


@pytest.mark.case(82)
@BOTH_WAYS
def test_other_words_for_the_same_join_it_and_stay_findable(db: Recollection, remember: object) -> None:
    first, second = remember(db, FIRST, SECOND)  # type: ignore[operator]

    shown = db.show(first.id)
    assert (second.id, second.decision, second.of) == (first.id, "restates", first.id)
    assert (shown.memory.content, shown.wordings) == (FIRST, (SECOND,))
    assert [event.verb for event in shown.events] == ["add", "reinforce"]
    assert shown.events[-1].detail["decision"] == "restates"
    assert [hit.id for hit in db.search("checks").hits] == [first.id]
    assert db.stats().memories == 1


@pytest.mark.case(82)
@pytest.mark.req("O-08")
def test_the_surer_of_two_tellings_counts(db: Recollection) -> None:
    row = db.add(FIRST, confidence=0.7).id

    db.add(SECOND, confidence=0.9)
    db.add(FIRST, confidence=0.2)

    assert db.show(row).memory.confidence == 0.9


@pytest.mark.case(83)
@BOTH_WAYS
def test_two_unrelated_memories_are_two(db: Recollection, remember: object) -> None:
    one, two = remember(db, "The deploy runs on Tuesday", "Cats sleep most of the day")  # type: ignore[operator]

    assert (one.decision, two.decision) == ("distinct", "distinct")
    assert db.stats().memories == 2


@BOTH_WAYS
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The limit is 20 calls a minute", "The limit is 30 calls a minute"),
        ("Release 1.0.20 fixes the login", "Release 1.0.21 fixes the login"),
        ("The meeting is on 2026-03-01", "The meeting is on 2026-03-08"),
        ("The cable is 5 m long", "The cable is 5 km long"),
        ("Restart the server after the update", "Do not restart the server after the update"),
    ],
)
def test_a_number_a_version_a_date_a_unit_or_a_not_is_never_a_restatement(
    db: Recollection, remember: object, old: str, new: str
) -> None:
    first, second = remember(db, old, new)  # type: ignore[operator]

    assert second.id != first.id
    assert second.decision not in MERGED
    everything = db.list(where=Filter(include_superseded=True)).memories
    assert {memory.content for memory in everything} == {old, new}


@pytest.mark.case(94)
@BOTH_WAYS
def test_a_new_value_supersedes_the_old_which_is_hidden_and_not_lost(db: Recollection, remember: object) -> None:
    old, new = remember(db, "The deploy timeout is 30 seconds", "The deploy timeout is now 60 seconds")  # type: ignore[operator]

    shown = db.show(old.id)
    assert (new.decision, new.of) == ("updates", old.id)
    assert shown.memory.superseded_by == new.id
    assert (shown.events[-1].verb, shown.events[-1].detail["by"]) == ("supersede", new.id)
    assert db.show(new.id).events[0].detail["of"] == old.id
    assert [hit.id for hit in db.search("timeout").hits] == [new.id]
    both = db.search("timeout", where=Filter(include_superseded=True)).hits
    assert {hit.id for hit in both} == {old.id, new.id}


@BOTH_WAYS
def test_a_contradiction_is_linked_and_both_are_found(db: Recollection, remember: object) -> None:
    old, new = remember(db, "Restart the server after the update", "Do not restart the server after the update")  # type: ignore[operator]

    assert (new.decision, new.of) == ("conflicts", old.id)
    detail = db.show(new.id).events[0].detail
    assert (detail["decision"], detail["of"], detail["differs"]) == ("conflicts", old.id, ["negation"])
    assert new.written
    assert {hit.id for hit in db.search("restart server", profile="engram").hits} == {old.id, new.id}


def test_the_same_words_in_two_projects_are_two_memories(db: Recollection) -> None:
    one, two = db.add("We ship on Tuesday", project="a"), db.add("We ship on Tuesday", project="b")

    assert (one.id != two.id, two.decision) == (True, "distinct")


def test_forgotten_words_may_be_remembered_anew(db: Recollection) -> None:
    first = db.add("We ship on Tuesday")
    db.forget(first.id)

    second = db.add("We ship on Tuesday")

    assert (second.decision, second.id != first.id) == ("distinct", True)
    assert [hit.id for hit in db.search("ship").hits] == [second.id]


# --- records with an id of their own --------------------------------------------------------


def test_an_external_id_names_one_memory_and_updates_it(db: Recollection) -> None:
    first = db.add("status is open", external_id="t-1", tags=["x"], pinned=True)

    same = db.add("status is open", external_id="t-1", tags=["x"], pinned=True)
    changed = db.add("status is closed", external_id="t-1")

    memory = db.show(first.id).memory
    assert (same.id, same.decision, same.written) == (first.id, "identical", False)
    assert (changed.id, changed.written) == (first.id, True)
    assert (memory.content, memory.tags) == ("status is closed", ())
    assert [event.verb for event in db.show(first.id).events] == ["add", "update"]
    assert [hit.id for hit in db.search("open").hits] == []


def test_a_record_with_an_id_is_never_merged_into_another(db: Recollection) -> None:
    plain = db.add(FIRST).id
    ids = [db.add(text, external_id=name).id for name, text in (("a", FIRST), ("b", FIRST), ("c", SECOND))]

    assert len({plain, *ids}) == 4


def test_the_same_id_twice_in_one_batch_is_one_memory(db: Recollection) -> None:
    drafts = [Memory(content=text, external_id="t-1") for text in ("status is open", "status is closed")]

    first, second = db.add_all(drafts)

    assert first.id == second.id
    assert [memory.content for memory in db.list().memories] == ["status is closed"]


@pytest.mark.req("E-09")
@BOTH_WAYS
def test_the_same_id_of_three_kinds_is_three_memories(db: Recollection, remember: object) -> None:
    drafts = [Memory(content=f"{kind} says hello", external_id="1", kind=kind) for kind in KINDS]
    many = remember is batch

    results = db.add_all(drafts) if many else [db.add(each.content, external_id="1", kind=each.kind) for each in drafts]
    again = db.add("session_summary says goodbye", external_id="1", kind="session_summary")

    assert [each.decision for each in results] == ["distinct"] * 3
    assert (again.id, again.decision, again.written) == (results[1].id, "identical", True)
    held = {memory.kind: memory.content for memory in db.list().memories}
    assert held == {
        "observation": "observation says hello",
        "session_summary": "session_summary says goodbye",
        "user_prompt": "user_prompt says hello",
    }


@pytest.mark.req("E-09")
@BOTH_WAYS
@pytest.mark.parametrize("second", [FIRST, SECOND], ids=["the same words", "other words for the same"])
def test_what_two_kinds_say_alike_is_two_memories(db: Recollection, remember: object, second: str) -> None:
    drafts = [Memory(content=FIRST, kind="observation"), Memory(content=second, kind="user_prompt")]
    many = remember is batch

    results = db.add_all(drafts) if many else [db.add(each.content, kind=each.kind) for each in drafts]

    assert [each.decision for each in results] == ["distinct", "distinct"]
    assert {memory.kind for memory in db.list().memories} == {"observation", "user_prompt"}


# --- many at once ---------------------------------------------------------------------------


def test_a_long_batch_is_judged_as_if_told_one_by_one(db: Recollection) -> None:
    texts = [f"Room {n} of the {place} has {n + 2} windows" for n in range(100) for place in ("mill", "barn", "inn")]

    kept = db.add_all([Memory(content=text) for text in (*texts, *texts)])

    assert [each.decision for each in kept[len(texts) :]] == ["identical"] * len(texts)
    assert db.stats().memories == len({each.id for each in kept})
    assert {memory.content for memory, _ in db.export()} == set(texts)


def test_every_reference_in_an_event_names_a_memory_that_exists(db: Recollection) -> None:
    texts = (
        "The deploy timeout is 30 seconds",
        "The deploy timeout is now 60 seconds",
        "Restart the server after the update",
        "Do not restart the server after the update",
        "The worker reads the queue in batches of ten rows",
        "The worker reads the queue in batches of ten rows unless it is paused by somebody",
    )

    kept = db.add_all([Memory(content=text) for text in texts])

    rows = {each.id for each in kept}
    details = [event.detail for row in rows for event in db.show(row).events]
    named = [detail[key] for detail in details for key in ("of", "by", "proposes") if isinstance(detail.get(key), int)]
    assert len(named) >= 3
    assert set(named) <= rows


@pytest.mark.parametrize(("given", "stored"), [(7.0, 1.0), (-1.0, 0.0), (0.25, 0.25)])
def test_a_confidence_is_brought_into_its_bounds(db: Recollection, given: float, stored: float) -> None:
    (kept,) = db.add_all([Memory(content="a thing", confidence=given)])

    assert db.show(kept.id).memory.confidence == stored


def test_a_text_that_is_far_too_long_is_refused(db: Recollection) -> None:
    with pytest.raises(InputError, match="too long"):
        db.add("x" * (10 * 1024 * 1024 + 1))

    assert db.stats().memories == 0


# --- with a model ---------------------------------------------------------------------------

WAL, LAW = "sqlite write ahead logging mode", "write ahead logging mode sqlite"


@pytest.fixture(params=sorted(STORES))
def hashed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recollection]:
    """Every store with the hashing model, to which the order of words does not matter."""
    store, models = STORES[request.param](tmp_path, analyse), Models(name="hashing")
    with Recollection(store=store, profile=load_profile("default"), models=models, clock=lambda: NOON) as opened:
        yield opened


def fingerprint(db: Recollection) -> str:
    return db.models.required().fingerprint


@pytest.mark.req("O-09")
def test_a_high_cosine_links_two_memories_and_never_merges_them(hashed: Recollection) -> None:
    first, second = add(hashed, WAL, LAW)

    detail = hashed.show(second.id).events[0].detail
    assert (second.decision, second.id != first.id) == ("distinct", True)
    assert (detail["proposes"], detail["cosine"]) == (first.id, pytest.approx(1.0))
    assert hashed.stats().memories == 2


def test_what_is_told_has_its_vectors_when_add_returns(hashed: Recollection) -> None:
    rows = [each.id for each in add(hashed, WAL, "cats sleep most of the day", LAW)]

    (generation,) = hashed.store.generations(scope=ALL_PROJECTS)

    assert (generation.memories, generation.pending) == (3, 0)
    assert list(hashed.store.vectors(fingerprint(hashed), rows, scope=ALL_PROJECTS)) == rows


@pytest.mark.parametrize("profile", ["default", "oro"])
def test_where_a_model_fails_words_alone_decide(hashed: Recollection, profile: str) -> None:
    first = hashed.add(WAL)
    model = hashed.models.required()
    model.close()

    rules = load_profile(profile)
    context = IngestContext(store=hashed.store, analyse=analyse, profile=rules, now=NOON, embedder=model)
    same, other = ingest([Memory(content=WAL), Memory(content=LAW)], context)

    assert (same.id, same.decision, other.decision) == (first.id, "identical", "distinct")
    assert hashed.store.pending(model.fingerprint, after=0, limit=9) == (other.id,)


# --- vectors that the caller brings ---------------------------------------------------------


@pytest.mark.req("N-15")
def test_a_vector_of_the_callers_that_fits_stands_beside_those_of_the_model(hashed: Recollection) -> None:
    width = hashed.models.required().dimensions
    kept = hashed.add("a text that no model read", vector=[2.0, *[0.0] * (width - 1)])
    hashed.add("another one")

    (passage,) = hashed.store.vectors(fingerprint(hashed), [kept.id], scope=ALL_PROJECTS)[kept.id]

    assert list(unpack(passage.vector)) == [1.0, *[0.0] * (width - 1)]
    assert [each.pending for each in hashed.store.generations(scope=ALL_PROJECTS)] == [0]


@pytest.mark.req("N-15")
def test_a_vector_of_another_width_has_a_generation_of_its_own(db: Recollection) -> None:
    north, east = db.add("to the north", vector=[0.0, 3.0, 0.0]), db.add("to the east", vector=(4.0, 0.0, 3.0))

    hits = db.store.nearest("external-3", pack([1.0, 0.0, 0.0]), scope=ALL_PROJECTS, where=NO_FILTER, limit=9).top

    assert [(hit.id, hit.score) for hit in hits] == [(east.id, pytest.approx(0.8)), (north.id, 0.0)]


@pytest.mark.req("N-15")
def test_a_vector_may_come_later_with_the_same_words(db: Recollection) -> None:
    first = db.add("to the north")

    again = db.add("to the north", vector=[0.0, 1.0])

    assert again.id == first.id
    assert list(db.store.vectors("external-2", [first.id], scope=ALL_PROJECTS)) == [first.id]


@pytest.mark.req("N-15")
@pytest.mark.parametrize("wrong", [[], [0.0, 0.0], [float("nan"), 1.0], [float("inf")], ["north"], [None], 7])
def test_a_vector_without_a_direction_is_refused_and_nothing_is_stored(db: Recollection, wrong: Any) -> None:
    with pytest.raises(InputError, match="vector"):
        db.add("to the north", vector=wrong)

    assert db.stats().memories == 0


@pytest.mark.req("N-15")
def test_as_many_vectors_as_memories_are_taken(db: Recollection) -> None:
    drafts = [Memory(content="to the north"), Memory(content="to the east")]

    with pytest.raises(InputError, match="1 vectors for 2 memories"):
        db.add_all(drafts, vectors=[[1.0]])

    rows = [each.id for each in db.add_all(drafts, vectors=[[1.0, 0.0], None])]
    assert list(db.store.vectors("external-2", rows, scope=ALL_PROJECTS)) == rows[:1]


@pytest.mark.req("N-15")
def test_a_search_with_a_vector_of_the_callers_finds_what_was_added_with_one(db: Recollection) -> None:
    north, east = db.add("to the north", vector=[0.0, 3.0, 0.0]), db.add("to the east", vector=[4.0, 0.0, 3.0])

    hits = db.search("sunrise", mode="semantic", embedding=(1.0, 0.1, 0.0)).hits

    assert [hit.id for hit in hits] == [east.id, north.id]
