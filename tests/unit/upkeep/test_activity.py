"""What happened lately is told in order, with who asked and what an agent was told."""

import pytest

from kit import Clock
from recollect import InputError, Recollection
from recollect import open as open_recollection
from recollect.records import Memory
from recollect.remember.failed_imports import note_failures
from recollect.upkeep.consolidate import MergeProposal
from recollect.upkeep.review import review


@pytest.fixture
def db() -> Recollection:
    return open_recollection(":memory:", model="none", clock=Clock())


def test_learning_changing_recalling_and_injecting_are_told_apart(db: Recollection) -> None:
    db.add("We deploy on Fridays", trust="agent")
    db.pin(1)
    db.search("deploy", session="one")
    db.flush()
    db.inject("deploy on Fridays", session="two", precise=False)
    db.flush()

    told = {(entry.what, entry.verb, entry.by, entry.ids) for entry in db.activity()}

    assert told >= {
        ("learned", "add", "agent", (1,)),
        ("changed", "pin", "agent", (1,)),
        ("recalled", "answered", "one", (1,)),
    }
    assert [entry.by for entry in db.activity(session="two")] == ["two"]


def test_the_last_comes_first_and_no_more_than_asked_for(db: Recollection) -> None:
    for number in range(5):
        db.add(f"Shelf {number} holds machine {number * 13}")

    entries = db.activity(limit=2)

    assert [entry.ids for entry in entries] == [(5,), (4,)]


def test_a_project_sees_what_happened_in_it_alone(db: Recollection) -> None:
    db.add("We deploy on Fridays", project="web")
    db.add("The printer needs CRLF", project="depot")

    entries = db.in_project("web").activity()

    assert [(entry.ids, entry.project) for entry in entries] == [((1,), "web")]


def test_a_long_memory_is_told_by_its_beginning(db: Recollection) -> None:
    db.add("word " * 200)

    (entry,) = db.activity()

    assert len(entry.text) == 160
    assert entry.text.endswith("…")


def test_contradictions_agents_words_and_secrets_need_a_person(db: Recollection) -> None:
    db.add("The price cache expires after ten minutes")
    db.add("The price cache does not expire after ten minutes")
    db.add("The gate is blue", trust="agent")
    db.add("Use ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5 for the mirror")

    items = {item.key: item for item in db.review()}

    assert set(items) == {"conflict:2:1", "trust:3", "secret:4"}
    assert [memory.id for memory in items["conflict:2:1"].memories] == [2, 1]


def test_what_is_settled_is_not_asked_until_it_is_asked_again(db: Recollection) -> None:
    db.add("The gate is blue", trust="untrusted")

    db.settle("trust:1")
    settled = db.review()
    db.settle("trust:1", again=True)

    assert settled == ()
    assert [item.about for item in db.review()] == ["From an untrusted source."]
    with pytest.raises(InputError, match="no question 'trust:9' was settled"):
        db.settle("trust:9", again=True)


def test_what_was_superseded_or_forgotten_needs_nobody(db: Recollection) -> None:
    db.add("The gate is blue", trust="agent")
    db.add("The door is red", trust="agent")

    db.forget(1)
    db.supersede(2, db.add("The doors of both halls were painted green in May").id)

    assert db.review() == ()


def test_a_proposed_merge_is_a_question(db: Recollection) -> None:
    db.add("The gate is blue")
    db.add("Lemons grow in the garden")
    proposal = MergeProposal(kept=1, gone=2, evidence={})

    (item,) = review(db.store, scope=db.scope, project="", merges=[proposal])

    assert (item.kind, item.key, [memory.id for memory in item.memories]) == ("merge", "merge:2:1", [2, 1])


def test_a_file_that_failed_is_asked_about_until_it_is_read(db: Recollection) -> None:
    note_failures(db.store, {"notes/a.md": "not UTF-8"}, [], project="")
    failed = db.review()
    note_failures(db.store, {}, ["notes/a.md"], project="")

    assert [(item.kind, item.about, item.memories) for item in failed] == [("import", "notes/a.md: not UTF-8", ())]
    assert db.review() == ()


def test_a_question_belongs_to_its_project(db: Recollection) -> None:
    db.add("The gate is blue", trust="agent", project="web")
    db.in_project("web").settle("trust:1")

    assert db.in_project("web").review() == ()
    assert [item.memories[0].project for item in db.review()] == ["web"]
    assert db.in_project("depot").review() == ()
    assert isinstance(db.review()[0].memories[0], Memory)
