"""Who may change what: lower trust and pins, how sure a writer can be, and what a reader is told."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kit import NOON, archived
from recollect import Memory, Recollection
from recollect.errors import AccessError, InputError
from recollect.operations import OPERATIONS
from recollect.profile import load_profile
from recollect.recall.inject import Style
from recollect.records import ALL_PROJECTS, Event, Insert, Revise, Scope, Trust
from recollect.serialize import serialize
from recollect.stores.contract import Store
from recollect.trust import CONFIDENCE_CAPS

LIMIT = "The API rate limit is 100 requests per minute"
HIGHER = "The API rate limit is 5000 requests per minute"
HIGHEST = "The API rate limit is 9000 requests per minute"
RUFF = "always run ruff before pyright for linting"
RUFF_AGAIN = "always run ruff before pyright for the linting"


def kept(db: Recollection, row: int) -> tuple[Any, ...]:
    """All of a memory that a writer could change."""
    shown = db.show(row)
    return replace(shown.memory, updated_at=NOON), shown.wordings, shown.facts


def told(db: Recollection, verb: str, **given: Any) -> tuple[str, Any]:
    operation = OPERATIONS[verb]
    answer = operation.answer(db, operation.parse(given))
    return answer.text(), serialize(answer.value)


# --- intake ---------------------------------------------------------------------------------


def test_a_captured_note_conflicts_with_a_pinned_memory_and_leaves_it_as_it_is(db: Recollection) -> None:
    owner = db.add(LIMIT).id
    db.pin(owner)
    before = kept(db, owner)

    (result,) = db.capture(f"Note: {HIGHER}")

    assert (result.decision, result.of, result.id != owner) == ("conflicts", owner, True)
    assert {key: result.evidence[key] for key in ("trust", "against", "pinned")} == {
        "trust": "agent",
        "against": "owner",
        "pinned": True,
    }
    assert kept(db, owner) == before
    assert {memory.id for memory in db.list().memories} == {owner, result.id}


@pytest.mark.parametrize(("writer", "held"), [("agent", "owner"), ("untrusted", "owner"), ("untrusted", "agent")])
def test_lower_trust_conflicts_where_equal_trust_would_supersede(db: Recollection, writer: str, held: str) -> None:
    old = db.add(LIMIT, trust=held).id
    before = kept(db, old)

    result = db.add(HIGHER, trust=writer)

    assert (result.decision, result.of) == ("conflicts", old)
    assert (result.evidence["trust"], result.evidence["against"]) == (writer, held)
    assert kept(db, old) == before


@pytest.mark.parametrize("text", [LIMIT, LIMIT.upper(), f"  {LIMIT}."])
def test_the_same_words_of_a_lower_writer_are_known_and_change_nothing(db: Recollection, text: str) -> None:
    old = db.add(LIMIT, confidence=0.3, tags=["x"]).id
    before = kept(db, old)

    result = db.add(text, trust="agent", confidence=0.9, tags=["y"], metadata={"z": "1"}, vector=[1.0, 0.0])

    assert (result.id, result.decision, result.written) == (old, "identical", False)
    assert kept(db, old) == before
    assert [event.verb for event in db.show(old).events] == ["add"]
    assert db.generations() == ()


def test_a_lower_writers_other_wording_is_linked_and_not_taken_in(db: Recollection) -> None:
    old = db.add(RUFF).id
    before = kept(db, old)

    result = db.add(RUFF_AGAIN, trust="agent")

    assert (result.decision, result.evidence["proposes"], result.id != old) == ("distinct", old, True)
    assert kept(db, old) == before


def test_a_repeated_claim_is_one_memory_and_a_new_one_takes_its_place(db: Recollection) -> None:
    owner = db.add(LIMIT).id

    first, again, other = (db.add(text, trust="agent") for text in (HIGHER, HIGHER, HIGHEST))

    assert (again.id, again.decision) == (first.id, "identical")
    assert (other.decision, other.of, other.supersedes) == ("conflicts", owner, (first.id,))
    assert {memory.id for memory in db.list().memories} == {owner, other.id}


def test_one_text_cannot_first_agree_and_then_replace(db: Recollection) -> None:
    owner = db.add(LIMIT).id
    before = kept(db, owner)

    agreed, changed = db.capture(f"Note: {LIMIT.upper()}\nNote: The API rate limit is now 5000 requests per minute")

    assert (agreed.decision, changed.decision, changed.of) == ("identical", "conflicts", owner)
    assert kept(db, owner) == before


@pytest.mark.parametrize("text", [LIMIT, LIMIT.upper(), HIGHER])
def test_higher_trust_supersedes_lower_also_with_the_same_words(db: Recollection, text: str) -> None:
    agents = db.add(LIMIT, trust="agent", tags=["spam"], confidence=0.9).id

    owner, again = db.add(text), db.add(text)

    assert (owner.decision, owner.of) == ("updates", agents)
    assert (again.id, again.written) == (owner.id, False)
    assert (db.show(owner.id).memory.trust, db.show(owner.id).memory.tags) == ("owner", ())
    assert [memory.id for memory in db.list().memories] == [owner.id]
    assert db.add(text, trust="agent").id in (owner.id, agents)
    assert [memory.id for memory in db.list().memories] == [owner.id]


def test_the_owner_changes_his_mind_and_both_old_values_go(db: Recollection) -> None:
    mine, theirs = db.add(LIMIT).id, db.add(HIGHER, trust="agent").id

    now = db.add(HIGHER)

    assert set(now.superseded) == {mine, theirs}
    assert [memory.id for memory in db.list().memories] == [now.id]


def test_nothing_that_is_written_supersedes_a_pinned_memory(db: Recollection) -> None:
    pinned = db.add(LIMIT).id
    db.pin(pinned)

    result = db.add("The API rate limit is now 5000 requests per minute")

    assert (result.decision, result.of, result.evidence["pinned"]) == ("conflicts", pinned, True)
    assert db.show(pinned).memory.superseded_by is None


def test_the_owner_himself_may_supersede_and_forget_what_is_pinned(db: Recollection) -> None:
    pinned, agents = db.add(LIMIT).id, db.add("Water boils at sea level", trust="agent").id
    db.pin(pinned)

    db.supersede(pinned, agents)
    superseded = db.show(pinned).memory
    db.forget(pinned)

    assert superseded.superseded_by == agents
    assert db.show(pinned).memory.deleted_at is not None


def test_what_the_owner_pinned_is_his_whoever_wrote_it(db: Recollection) -> None:
    row = db.add(LIMIT, trust="agent").id
    db.pin(row)
    before = kept(db, row)

    assert db.add(HIGHER, trust="agent").decision == "conflicts"
    assert db.add(LIMIT, trust="agent", confidence=0.9).written is False
    assert kept(db, row) == before


def test_oro_merges_no_lower_writer_into_a_higher_one(db: Recollection) -> None:
    db.profile = load_profile("oro")
    owner = db.add(LIMIT, vector=[1.0, 0.0]).id
    before = kept(db, owner)

    result = db.add(HIGHER, vector=[1.0, 0.01], trust="agent", confidence=1.0)

    assert (result.decision, result.id != owner) == ("conflicts", True)
    assert kept(db, owner) == before


# --- records with an id of their own ----------------------------------------------------------


def test_a_lower_writers_record_stands_beside_the_one_that_has_its_id(db: Recollection) -> None:
    owner = db.add("status is open", external_id="t-1").id
    before = kept(db, owner)

    same = db.add("status is open", external_id="t-1", trust="agent", tags=["x"])
    other = db.add("status is closed", external_id="t-1", trust="agent")
    again = db.add("status is lost", external_id="t-1", trust="agent")

    assert (same.id, same.decision, same.written) == (owner, "identical", False)
    assert (other.decision, other.of, other.id != owner) == ("conflicts", owner, True)
    assert (again.id, db.show(again.id).memory.content) == (other.id, "status is lost")
    assert db.show(other.id).memory.external_id == "agent:t-1"
    assert kept(db, owner) == before


def test_one_batch_may_hold_a_known_record_and_another_of_its_id(db: Recollection) -> None:
    owner = db.add("status is open", external_id="t-1").id
    drafts = [Memory(content=f"status is {word}", external_id="t-1", trust="agent") for word in ("open", "closed")]

    same, other = db.add_all(drafts)

    assert (same.id, other.decision) == (owner, "conflicts")
    assert db.show(other.id).memory.content == "status is closed"


def test_the_owner_takes_over_a_record_by_its_id_and_a_pin_stays(db: Recollection) -> None:
    row = db.add("status is open", external_id="t-1", trust="agent").id
    db.pin(row)

    taken = db.add("status is closed", external_id="t-1")

    memory = db.show(row).memory
    assert (taken.id, memory.content, memory.trust, memory.pinned) == (row, "status is closed", "owner", True)


def test_a_record_is_not_hidden_by_plain_words_so_that_its_owner_may_take_it_over(db: Recollection) -> None:
    record = db.add("status is open", external_id="t-1", trust="untrusted").id
    db.add("status is open", trust="agent")

    db.add("status is closed", external_id="t-1")

    assert db.show(record).memory.superseded_by is None
    assert [hit.id for hit in db.search("closed").hits] == [record]


def test_drafts_of_several_writers_in_one_call_keep_their_ranks(db: Recollection) -> None:
    drafts = [Memory(content=text, trust=trust) for text, trust in ((LIMIT, "owner"), (LIMIT, "agent"))]
    drafts += [Memory(content=HIGHER, trust="untrusted"), Memory(content="x", external_id="a")]
    drafts += [Memory(content="y", external_id="a", trust="agent")]

    results = db.add_all(drafts)

    assert [each.decision for each in results] == ["distinct", "identical", "conflicts", "distinct", "conflicts"]
    assert results[2].of == results[0].id
    assert db.show(results[3].id).memory.content == "x"


# --- files --------------------------------------------------------------------------------------


def test_an_agents_import_neither_edits_nor_forgets_what_the_owner_imported(db: Recollection, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text(f"# Limits\n\n{LIMIT}\n\n# Lint\n\n{RUFF}\n", encoding="utf-8")
    db.import_(file)
    before = [kept(db, memory.id) for memory in db.list().memories]

    file.write_text(f"# Limits\n\n{HIGHER}\n", encoding="utf-8")
    db.import_(file, trust="agent")
    file.unlink()
    db.import_(file.parent, trust="agent")

    assert [kept(db, each[0].id) for each in before] == before


def test_a_pinned_memory_outlives_its_file(db: Recollection, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text(f"# Limits\n\n{LIMIT}\n\n# Lint\n\n{RUFF}\n", encoding="utf-8")
    db.import_(file)
    (pinned,) = (hit.id for hit in db.search("API rate").hits)
    db.pin(pinned)

    file.write_text("# Other\n\nnothing of it is left\n", encoding="utf-8")
    db.import_(file)

    assert db.show(pinned).memory.deleted_at is None
    assert [hit.id for hit in db.search("ruff").hits] == []


def test_a_file_that_is_not_the_owners_pins_nothing(db: Recollection, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text(json.dumps({"content": LIMIT, "pinned": True, "confidence": 1.0}) + "\n", encoding="utf-8")

    db.import_(file, trust="agent")

    (memory,) = db.list().memories
    assert (memory.pinned, memory.trust, memory.confidence) == (False, "agent", 1.0)


def test_a_restored_export_of_lower_trust_rewords_nothing(db: Recollection, tmp_path: Path) -> None:
    named, plain = db.add("status is open", external_id="t-1").id, db.add(RUFF).id
    before = [kept(db, row) for row in (named, plain)]
    later = replace(db.show(named).memory, content="status is closed", updated_at=NOON.replace(year=2030))
    lines = [archived(later, ()), archived(db.show(plain).memory, ("ruff goes first",))]
    file = tmp_path / "export.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")

    db.import_(file, trust="agent")

    assert [kept(db, row) for row in (named, plain)] == before


def test_a_restored_export_brings_no_circle_of_successors(db: Recollection, tmp_path: Path) -> None:
    pair = {1: replace(Memory(content=LIMIT), id=1, superseded_by=2), 2: Memory(content=RUFF, id=2, superseded_by=1)}
    file = tmp_path / "export.jsonl"
    file.write_text("".join(json.dumps(archived(each, ())) + "\n" for each in pair.values()), encoding="utf-8")

    db.import_(file)

    assert len(db.list().memories) == 1


# --- how sure a writer can be -------------------------------------------------------------------


@pytest.mark.parametrize("trust", ["owner", "agent", "untrusted"])
def test_what_a_writer_states_is_kept_and_counts_no_further_than_its_trust(db: Recollection, trust: Any) -> None:
    most = CONFIDENCE_CAPS[trust]

    added = db.add("Port: 5432", confidence=1.0, trust=trust).id
    (batch,) = db.add_all([Memory(content="Colour: green", confidence=1.0, trust=trust)])
    (captured,) = db.capture("[MEMORY] type=decision confidence=1.0: the queue is read in batches", trust=trust)

    rows = [added, batch.id, captured.id]
    assert [db.show(row).memory.confidence for row in rows] == [1.0] * 3
    caps = [most, most, min(most, CONFIDENCE_CAPS["agent"])]  # what is captured is an agent's word at most
    assert [each.confidence for each in db.store.traits(rows, scope=ALL_PROJECTS).values()] == caps
    assert all(fact.confidence <= most for fact in db.facts())


def test_the_stated_confidence_of_an_agent_ranks_no_higher_than_its_cap(db: Recollection) -> None:
    agents = db.add("the nightly backup of the ledger runs at two", confidence=1.0, trust="agent").id
    owners = db.add("the nightly backup of the archive runs at two", confidence=0.9).id

    hits = db.search("nightly backup").hits

    scores = {hit.id: round(hit.score, 6) for hit in hits}
    assert scores[agents] == scores[owners]


@pytest.mark.parametrize("trust", ["owner", "agent", "untrusted"])
def test_reinforcing_lifts_no_fact_above_the_cap_of_its_writer(db: Recollection, trust: Any) -> None:
    db.add("Port: 5432", trust=trust)
    (fact,) = db.facts()

    for _ in range(5):
        db.reinforce(fact.id)

    assert db.facts()[0].confidence == CONFIDENCE_CAPS[trust]


def test_a_trust_that_is_none_is_refused(db: Recollection, tmp_path: Path) -> None:
    for write in (
        lambda: db.add(LIMIT, trust="king"),
        lambda: db.capture(f"Note: {LIMIT}", trust="king"),  # type: ignore[arg-type]
        lambda: db.import_(tmp_path, trust="king"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError, match="trust cannot be 'king'") as caught:
            write()
        assert caught.value.hint == "one of owner, agent, untrusted"


# --- upkeep -------------------------------------------------------------------------------------


def as_given(db: Recollection, *memories: Memory) -> list[int]:
    """Store *memories* as they are, as if intake had missed that they are alike."""
    context = db._ingest_context(embed=False)  # noqa: SLF001
    writes = [Insert(memory=memory, facts=context.facts(memory)) for memory in memories]
    return list(db.store.apply(writes, at=NOON))


@pytest.mark.parametrize(
    "pair",
    [
        (Memory(content=RUFF), Memory(content=RUFF_AGAIN, trust="agent", confidence=0.9)),
        (Memory(content=RUFF, trust="agent", confidence=0.9), Memory(content=RUFF_AGAIN)),
        (Memory(content=RUFF), Memory(content=RUFF_AGAIN, pinned=True)),
        (Memory(content=RUFF, trust="agent", pinned=True), Memory(content=RUFF_AGAIN, trust="agent")),
    ],
)
def test_consolidation_links_what_it_may_not_merge(db: Recollection, pair: tuple[Memory, Memory]) -> None:
    one, two = as_given(db, *pair)
    before = [kept(db, row) for row in (one, two)]

    done = db.consolidate(apply=True, floor=0.99)

    assert (done.merges, [(each.id, each.near) for each in done.links]) == ((), [(two, one)])
    held = [row for row in (one, two) if db.show(row).memory.pinned]
    assert [kept(db, row) for row in held] == [each for each in before if each[0].pinned]
    assert all(db.show(row).memory.superseded_by is None for row in (one, two))


def test_a_later_memory_of_equal_trust_is_merged_though_a_lower_one_is_nearer(db: Recollection) -> None:
    _, mine, again = as_given(
        db, Memory(content=RUFF_AGAIN, trust="agent"), Memory(content=RUFF), Memory(content=RUFF_AGAIN)
    )

    done = db.consolidate(apply=True)

    assert [(each.kept, each.gone) for each in done.merges] == [(mine, again)]


def test_a_surer_fact_of_an_agent_supersedes_none_of_the_owners(db: Recollection) -> None:
    owner, agents = as_given(
        db, Memory(content="Port: 5432"), Memory(content="The docs say\n\nPort: 5432", trust="agent")
    )
    mine = db.show(owner).facts[0]
    db.feedback(owner, "wrong")  # half as sure as before

    db.consolidate(apply=True)

    assert db.show(owner).facts[0].state == "active"
    assert db.show(agents).facts[0].state == "superseded"
    assert db.show(owner).facts[0].id == mine.id


def test_facts_of_a_pinned_memory_are_never_superseded(db: Recollection) -> None:
    one, two = as_given(db, Memory(content="Port: 5432"), Memory(content="Note\n\nPort: 5432", pinned=True))

    db.consolidate(apply=True)

    assert [db.show(row).facts[0].state for row in (one, two)] == ["superseded", "active"]


def test_consolidation_shows_a_conflict_it_finds_between_trusts(db: Recollection) -> None:
    one, two = as_given(db, Memory(content=LIMIT), Memory(content=HIGHER, trust="agent"))

    db.consolidate(apply=True)

    assert [(each.one.id, each.other.id) for each in db.conflicts()] == [(two, one)]


# --- what a reader is told --------------------------------------------------------------------------


def test_a_conflict_is_listed_with_both_sides_and_their_origin(db: Recollection) -> None:
    owner, agents = db.add(LIMIT).id, db.add(HIGHER, trust="agent").id

    text, value = told(db, "conflicts")

    assert text == f"#{agents} [note] (from an agent) {HIGHER}\n  contradicts #{owner} [note] {LIMIT}"
    assert [(each["kind"], each["one"]["id"], each["other"]["id"]) for each in value["conflicts"]] == [
        ("memory", agents, owner)
    ]
    assert [value["conflicts"][0][side].get("origin") for side in ("one", "other")] == ["agent", None]


def test_a_conflict_follows_what_took_the_place_of_one_side_and_ends_with_it(db: Recollection) -> None:
    owner, agents = db.add(LIMIT).id, db.add(HIGHER, trust="agent").id
    newer = db.add("Requests to the API are limited to 200 a minute").id
    db.supersede(owner, newer)

    followed = [(each.one.id, each.other.id) for each in db.conflicts()]
    db.forget(newer)

    assert followed == [(newer, agents)]
    assert db.conflicts() == ()


def test_conflicting_facts_are_told_once(db: Recollection) -> None:
    db.add("Port: 5432")
    db.add("Port: 5433", trust="agent")

    assert [each.kind for each in db.conflicts()] == ["attribute"]


def test_search_shows_the_origin_and_the_conflict_when_both_sides_are_there(db: Recollection) -> None:
    owner, agents = db.add(LIMIT).id, db.add(HIGHER, trust="agent").id
    db.add("The API speaks JSON", trust="untrusted")

    text, value = told(db, "search", query="API rate limit", mode="keyword")
    narrow, _ = told(db, "search", query="5000", mode="keyword")

    hits = {hit["id"]: hit for hit in value["hits"]}
    assert (hits[owner]["conflicts"], hits[agents]["conflicts"]) == ([agents], [owner])
    assert (hits[owner]["memory"].get("origin"), hits[agents]["memory"]["origin"]) == (None, "agent")
    assert f"from an agent · conflicts with #{owner}" in text
    assert "· untrusted" in text
    assert narrow.index(LIMIT) < narrow.index(HIGHER)  # what the owner says of it is shown, though "5000" is not in it
    assert f"from an agent · conflicts with #{owner}" in narrow


def test_show_list_and_add_say_whose_word_it_is(db: Recollection) -> None:
    db.add(LIMIT)

    added, value = told(db, "add", text=HIGHER, trust="agent", no_embed=True)
    shown, whole = told(db, "show", id=2)
    listed, page = told(db, "list")

    assert added == "#2 remembered; it conflicts with #1, which is the owner's"
    assert (value["decision"], value["evidence"]) == ("conflicts", {"trust": "agent", "against": "owner"})
    assert "origin: from an agent" in shown
    assert "agent against owner" in shown
    assert whole["origin"] == "agent"
    assert listed.splitlines()[0].endswith(f"[note] (from an agent) {HIGHER}")
    assert [memory.get("origin") for memory in page["memories"]] == ["agent", None]


@pytest.mark.parametrize(
    ("style", "mine", "theirs"),
    [
        ("markdown", "age: 0d, #1 conflicts with #2)", "age: 0d, from an agent, #2 conflicts with #1)"),
        ("compact", "1 note (#1 conflicts with #2): ", "2 note (from an agent, #2 conflicts with #1): "),
        ("xml", 'age="0d" conflicts="2">', 'age="0d" origin="agent" conflicts="1">'),
    ],
)
def test_a_task_is_told_the_origin_and_the_conflict(db: Recollection, style: Style, mine: str, theirs: str) -> None:
    db.add(LIMIT)
    db.add(HIGHER, trust="agent")

    block = db.inject("API rate limit", style=style)

    assert any(mine in line for line in block.text.splitlines() if "100 requests" in line)
    assert any(theirs in line for line in block.text.splitlines() if "5000 requests" in line)
    assert db.capture(block.text) == ()
    assert db.capture("\n".join(line for line in block.text.splitlines() if "<!--" not in line)) == ()


def test_a_conflict_with_an_untrusted_memory_is_not_told_to_a_task(db: Recollection) -> None:
    db.add(LIMIT)
    db.add(HIGHER, trust="untrusted")

    block = db.inject("API rate limit")

    assert block.ids == (1,)
    assert "conflicts" not in block.text


# --- circles, verdicts, events ------------------------------------------------------------------------


def test_a_circle_of_successors_is_refused(db: Recollection) -> None:
    one, two, three = (db.add(text).id for text in (LIMIT, RUFF, "Water boils at sea level"))
    db.supersede(one, two)
    db.supersede(two, three)

    for old, new in ((one, one), (two, one), (three, one)):
        with pytest.raises(InputError) as caught:
            db.supersede(old, new)
        assert caught.value.hint
        assert "\n" not in str(caught.value)

    assert [memory.id for memory in db.list().memories] == [three]


def test_what_was_superseded_can_be_brought_back(db: Recollection) -> None:
    one, two = db.add(LIMIT).id, db.add(RUFF).id
    db.supersede(one, two)

    db.restore(one)
    db.supersede(two, one)

    assert [memory.id for memory in db.list().memories] == [one]


def test_a_verdict_that_is_none_is_refused(db: Recollection) -> None:
    row = db.add(LIMIT).id

    with pytest.raises(InputError, match="verdict cannot be 'lol'") as caught:
        db.feedback(row, "lol")  # type: ignore[arg-type]

    assert caught.value.hint == "one of used, useful, wrong"
    assert [event.verb for event in db.show(row).events] == ["add"]


def test_history_can_be_asked_for_some_verbs(store: Store) -> None:
    one, two = store.apply([Insert(memory=Memory(content=text)) for text in ("a b", "c d")], at=NOON)
    store.apply([Revise(memory=Memory(content="a c", id=one))], at=NOON)

    found = store.history([one, two], scope=ALL_PROJECTS, verbs=("update", "link"))

    assert found == {one: (Event(memory_id=one, verb="update", at=NOON, detail={"content": "a b"}),)}
    assert store.history([one, two], scope=ALL_PROJECTS, verbs=()) == {}


def test_memories_can_be_loaded_with_their_events_at_one_go(store: Store) -> None:
    texts = ("a b", "c d", "e f")
    one, two, three = store.apply([Insert(memory=Memory(content=text)) for text in texts], at=NOON)
    store.apply([Revise(memory=Memory(content=text, id=one)) for text in ("a c", "a d")], at=NOON)
    store.apply([Insert(memory=Memory(content="g h", project="p"))], at=NOON)
    own = Scope(projects=frozenset({Memory(content="").project}))
    asked, verbs = [three, one, 99, two, three + 1], ("update", "link")

    memories, events = store.load_with_events(asked, scope=own, verbs=verbs)

    assert list(memories.items()) == list(store.load(asked, scope=own).items())
    assert events == store.history(asked, scope=own, verbs=verbs)
    assert [event.detail["content"] for event in events[one]] == ["a b", "a c"]
    assert store.load_with_events(asked, scope=own, verbs=("add",))[1] == {}  # which have no details


# --- who forgot ------------------------------------------------------------------------------


def test_an_agent_does_not_restore_what_the_owner_forgot(db: Recollection) -> None:
    row = db.add("The gate is blue", trust="agent").id
    db.forget(row)

    with pytest.raises(AccessError, match="trusted further"):
        db.restore(row, trust="agent")

    db.restore(row)
    assert db.show(row).memory.deleted_at is None


def test_an_agent_restores_what_an_agent_forgot(db: Recollection) -> None:
    row = db.add("The gate is blue", trust="agent").id
    db.forget(row, trust="agent")

    db.restore(row, trust="agent")

    assert db.show(row).memory.deleted_at is None


def test_an_agent_does_not_restore_what_a_word_of_the_owner_took_the_place_of(db: Recollection) -> None:
    old = db.add("The gate is blue", trust="agent").id
    new = db.add("The gate is blue").id
    assert db.show(old).memory.superseded_by == new

    with pytest.raises(AccessError, match="trusted further"):
        db.restore(old, trust="agent")


@pytest.mark.parametrize("trust", ["agent", "untrusted"])
def test_what_the_owner_forgot_stays_forgotten_when_others_add_it_again(db: Recollection, trust: Trust) -> None:
    row = db.add("The gate is blue", trust="untrusted").id
    db.forget(row)

    again = db.add("The gate is blue", trust=trust)

    assert (again.id, again.decision, again.written) == (row, "identical", False)
    assert db.search("gate", mode="keyword").hits == ()


def test_the_owner_may_say_again_or_restore_what_was_forgotten(db: Recollection) -> None:
    row = db.add("The gate is blue", trust="agent").id
    db.forget(row)
    said = db.add("The gate is blue")
    assert db.show(said.id).memory.trust == "owner"

    db.forget(said.id)
    db.restore(row)
    db.forget(row, trust="agent")

    assert db.add("The gate is blue", trust="agent").written


def test_what_was_erased_leaves_no_note_of_its_words(db: Recollection) -> None:
    row = db.add("The gate is blue", trust="agent").id
    db.forget(row)

    db.purge(row)

    assert db.store.notes("forgotten", project="default") == {}
    assert db.add("The gate is blue", trust="agent").written
