"""Days of a coding agent, with transcripts: the right project, statements instead of turns, silence otherwise."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import InputError, Recollection
from recollect.operations import OPERATIONS
from recollect.operations.projects import ProjectRequest
from recollect.operations.request import Call
from recollect.recall.hook_log import HOOK_LOG
from recollect.records import GLOBAL
from recollect.surfaces.hook import answer

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Recollection]:
    with recollect.open(tmp_path / "store.db", model="none") as store:
        yield store


def repository(tmp_path: Path, name: str, remote: str) -> Path:
    """Make a folder that Git would take for a clone of *remote*."""
    folder = tmp_path / name
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = git@forge.example:{remote}.git\n')
    return folder


def session(folder: Path, day: str, *said: str) -> Path:
    """Write a transcript in which the person and the agent speak in turn."""
    path = folder.parent / "transcripts" / f"{folder.name}-{day}.jsonl"
    path.parent.mkdir(exist_ok=True)
    records = [_record(folder, path.stem, day, number, text) for number, text in enumerate(said)]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return path


def _record(folder: Path, name: str, day: str, number: int, text: str) -> dict[str, Any]:
    role = "assistant" if number % 2 else "user"
    content: Any = [{"type": "text", "text": text}] if number % 2 else text
    return {
        "type": role,
        "uuid": f"{name}-{number}",
        "parentUuid": f"{name}-{number - 1}" if number else None,
        "sessionId": name,
        "timestamp": f"{day}T10:{number:02}:00.000Z",
        "cwd": str(folder),
        "isSidechain": False,
        "message": {"role": role, "content": content},
    }


def told(db: Recollection, folder: Path, prompt: str = "") -> str:
    """Return what a new session in *folder* is told at its start, or for *prompt*."""
    event: dict[str, Any] = {"cwd": str(folder), "hook_event_name": "SessionStart"}
    if prompt:
        event |= {"hook_event_name": "UserPromptSubmit", "prompt": prompt}
    output = answer(event, db).output
    return str(json.loads(output)["hookSpecificOutput"]["additionalContext"]) if output else ""


def call_of(db: Recollection) -> Call:
    return Call(now=db.now(), trust="owner")


def statements(db: Recollection) -> list[recollect.Memory]:
    return [each for each in db.list(limit=500).memories if each.type != "note"]


def test_a_repository_is_told_nothing_of_another_one_with_the_same_folder_name(
    db: Recollection, tmp_path: Path
) -> None:
    bakery = repository(tmp_path / "a", "api", "oven/bakery")
    museum = repository(tmp_path / "b", "api", "arts/museum")
    db.import_(session(bakery, "2026-09-01", "always run the tests with `make check`", "Noted."))
    db.import_(session(museum, "2026-09-02", "always run the tests with `tox -e py`", "Noted."))

    assert "make check" in told(db, bakery, "run the tests")
    assert "tox" not in told(db, bakery, "run the tests") + told(db, bakery)
    assert "tox" in told(db, museum, "run the tests")
    assert "make check" not in told(db, museum, "run the tests") + told(db, museum)


def test_turns_state_no_facts_and_are_no_contradictions(db: Recollection, tmp_path: Path) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    db.import_(session(folder, "2026-09-01", "yes", "Done: 3 files.", "ah right", "Pushed.", "no its fine", "Fixed."))

    assert db.facts() == ()
    assert db.conflicts() == ()


def test_turns_are_no_questions_for_review_and_what_agents_found_is_one(db: Recollection, tmp_path: Path) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    cause = "Found it: the build breaks because `shelf.lock` is old. Fix: run `shelf lock` before `shelf build`."
    both = "Found it: imports fail because `PYTHONPATH` is unset. Remedy: set `PYTHONPATH=src` in `.envrc`."
    db.import_(session(folder, "2026-09-01", "why does the build fail", cause, "and the imports fail too", both))

    (question,) = db.review()

    assert len(question.memories) == 2
    db.settle(question.key)
    assert db.review() == ()


def test_two_roads_for_one_transcript_store_it_once_with_the_same_project_trust_and_dates(
    db: Recollection, tmp_path: Path
) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    path = session(folder, "2026-09-01", "never store covers in the database", "Understood, files only.")
    project = db.project_of(folder, claim=True)
    assert project is not None

    db.in_project(project).import_(path)
    before = {(each.content, each.project, each.trust, each.created_at) for each in db.list(limit=50).memories}
    db.import_(path)

    after = db.list(limit=50).memories
    assert {(each.content, each.project, each.trust, each.created_at) for each in after} == before
    assert len(after) == len(before)
    assert {each.trust for each in after if each.content.startswith("assistant:")} == {"agent"}
    assert {each.trust for each in statements(db)} == {"owner"}
    assert {each.created_at.date().isoformat() for each in after} == {"2026-09-01"}


def test_the_second_session_starts_with_the_rules_of_the_first(db: Recollection, tmp_path: Path) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    rules = "I prefer tenacity over hand-written retry loops. and never use wildcard imports please"
    db.import_(session(folder, "2026-09-01", rules, "Noted.", "let's use Postgres for the search", "Postgres, then."))

    start = told(db, folder)

    assert "tenacity" in start
    assert "wildcard imports" in start
    assert "Postgres" in start


@pytest.mark.parametrize(
    "prompt", ["ok push", "continue", "hmm", "yes", "no its fine", "great work. lunch now", "ok thanks, go on"]
)
def test_an_acknowledgement_is_told_nothing(db: Recollection, tmp_path: Path, prompt: str) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    db.import_(session(folder, "2026-09-01", "ok push", "Pushed.", "never push on a friday, lunch is sacred", "Noted."))

    assert told(db, folder, prompt) == ""


def test_the_newest_word_on_a_subject_is_told_and_dated_by_when_it_was_said(db: Recollection, tmp_path: Path) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    db.import_(session(folder, "2026-09-01", "we deploy shelf on mondays, always after lunch", "Noted."))
    db.import_(session(folder, "2026-10-01", "deploys of shelf moved: we deploy on thursdays now", "Thursdays, then."))

    answered = told(db, folder, "when do we deploy shelf?")

    assert "thursdays" in answered
    assert "mondays" not in answered + told(db, folder)
    assert "age: 0d" not in answered


def test_the_order_of_imports_does_not_decide_which_word_is_the_newest(db: Recollection, tmp_path: Path) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    later = session(folder, "2026-10-01", "deploys of shelf moved: we deploy on thursdays now", "Thursdays, then.")
    db.import_(later)
    db.import_(session(folder, "2026-09-01", "we deploy shelf on mondays, always after lunch", "Noted."))

    assert "mondays" not in told(db, folder)


def test_a_temporary_rule_is_told_while_it_holds_and_marked_afterwards(db: Recollection, tmp_path: Path) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    rule = "until the inventory is over (september 20) every commit needs the number of a ticket"
    db.import_(session(folder, "2026-09-01", rule, "Okay: a ticket in each commit."))

    assert "ticket" not in told(db, folder)
    assert told(db, folder, "write the commit for this change") == ""
    assert "expired 2026-09-21" in told(db, folder, "does every commit still need a ticket number?")


def test_what_holds_in_all_projects_is_told_in_each_and_says_so(db: Recollection, tmp_path: Path) -> None:
    shelf = repository(tmp_path, "shelf", "books/shelf")
    garden = repository(tmp_path, "garden", "plants/garden")
    db.import_(session(shelf, "2026-09-01", "in all my projects: never add emoji to commit messages", "Noted."))

    assert [each.project for each in statements(db)] == [GLOBAL]
    assert "for all projects" in told(db, garden)
    assert "emoji" in told(db, garden, "write the commit message")


def test_a_task_is_told_the_rule_that_governs_it_and_that_it_does_not_name(db: Recollection, tmp_path: Path) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    db.import_(session(folder, "2026-09-01", "money is always an integer in cents, never a float", "Noted."))

    assert "cents" in told(db, folder, "add a discount_amount to the orders and save it")


def test_a_forgotten_statement_does_not_come_back_with_its_transcript(db: Recollection, tmp_path: Path) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    said = ("never sort the shelf by color", "Noted.")
    db.import_(session(folder, "2026-09-01", *said))
    (rule,) = statements(db)

    db.forget(rule.id)
    db.import_(session(folder, "2026-09-01", *said, "next task please", "Which one?"))

    assert statements(db) == []


def test_a_session_that_reads_all_projects_says_where_each_line_is_from(db: Recollection, tmp_path: Path) -> None:
    shelf = repository(tmp_path, "shelf", "books/shelf")
    garden = repository(tmp_path, "garden", "plants/garden")
    db.import_(session(shelf, "2026-09-01", "we ship on wednesdays, never before noon", "Noted."))
    event = {"cwd": str(garden), "hook_event_name": "SessionStart"}

    assert answer(event, db).output == ""
    assert "shelf: we ship on wednesdays" in answer(event, db, reads_all=True).output


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("As a matter of course the adapters ought to stay free of business rules.", "adapters"),
        ("I am not keen on inheritance; kindly compose instead.", "compose"),
        ("jvm 21 max. prod has nothing newer", "21"),
        ("ssh: only through bastion-2, direct is firewalled", "bastion-2"),
        ("Ooh and captions gotta be in sentence case, our writer insists lol", "sentence case"),
        ("retries off, the broker has its own", "retries"),
    ],
)
def test_polite_terse_and_casual_people_are_understood(db: Recollection, tmp_path: Path, said: str, kept: str) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    db.import_(session(folder, "2026-09-01", said, "Understood."))

    (statement,) = statements(db)

    assert kept in statement.content
    assert statement.trust == "owner"


@pytest.mark.parametrize(
    ("offered", "picked"),
    [
        ("Options: (a) a nightly dump, (b) streaming replication, (c) both.", "b"),
        (
            "Which one?\n1. a nightly dump\n2. streaming replication\n3. both",
            "The second, since we lose a day otherwise.",
        ),
        ("Streaming replication: it loses seconds, a dump loses a day.", "good, I follow your advice"),
    ],
)
def test_an_option_that_is_picked_is_a_decision_and_not_the_owners_words(
    db: Recollection, tmp_path: Path, offered: str, picked: str
) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    question = "what should we take for the replica, a dump or streaming?"
    db.import_(session(folder, "2026-09-01", question, offered, picked, "Done."))

    (decision,) = statements(db)

    assert "treaming replication" in decision.content
    assert (decision.type, decision.trust) == ("decision", "agent")


@pytest.mark.parametrize(
    "said",
    [
        "let's always release at midnight haha",
        "my flatmate says one should never use tabs",
        "imagine we rewrote it in COBOL",
        "next: the export, it takes 14 minutes",
        "Good morning! I hope the weekend was nice.",
    ],
)
def test_jokes_hearsay_and_tasks_are_not_rules(db: Recollection, tmp_path: Path, said: str) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    db.import_(session(folder, "2026-09-01", said, "Ha."))

    assert statements(db) == []


def test_a_renamed_project_keeps_its_repository_and_stores_no_transcript_twice(
    db: Recollection, tmp_path: Path
) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    path = session(folder, "2026-09-01", "never sort the shelf by color", "Noted.")
    db.in_project(str(db.project_of(folder, claim=True))).import_(path)
    before = sorted(each.content for each in db.list(limit=50).memories)

    OPERATIONS["project"].answer(db, ProjectRequest(action="rename", name="shelf", other="library"), call_of(db))
    db.in_project(str(db.project_of(folder))).import_(path)

    assert db.project_of(folder) == "library"
    assert sorted(each.content for each in db.list(limit=50).memories) == before
    assert {each.project for each in db.list(limit=50).memories} == {"library"}
    assert "by color" in told(db, folder, "sort the shelf")


def test_a_renamed_project_keeps_all_that_belongs_to_its_memories(db: Recollection) -> None:
    old = db.in_project("shelf")
    port = old.add("The port of the shelf is 5432", tag="net", metadata={"floor": 2}).id
    old.pin(port)
    tea = old.add("Bob likes tea").id
    old.forget(tea, reason="moved away")
    old.add(f"The key is ghp{'_'}aB3dE6gH9jK2mN5pQ8sT1vW4yZ70123456789", redact=False)
    lamp = old.add("The lamp is red").id
    old.supersede(lamp, old.add("The lamp is green now").id)

    def parts(project: str) -> list[str]:
        records = db.in_project(project).archive(everything=True)
        held = [each for each in records if each["record"] == "memory"]
        numbers = {"id", "project", "superseded_by", "facts"}
        for each in held:
            each["events"] = [(event["verb"], event["at"], event["detail"].get("reason")) for event in each["events"]]
        return sorted(str({name: value for name, value in each.items() if name not in numbers}) for each in held)

    before = parts("shelf")
    OPERATIONS["project"].answer(db, ProjectRequest(action="rename", name="shelf", other="library"), call_of(db))

    assert all(word in str(before) for word in ("ghp_aB3", "moved away", "floor"))
    assert parts("library") == before
    assert parts("shelf") == []


def test_projects_are_not_changed_from_within_one(db: Recollection) -> None:
    db.in_project("shelf").add("We sort by author")
    db.in_project("books").add("The index is rebuilt nightly")
    shelf, merge = db.in_project("shelf"), ProjectRequest(action="merge", name="books", other="shelf")

    with pytest.raises(InputError, match="from outside"):
        OPERATIONS["project"].answer(shelf, merge, call_of(db))
    listed = OPERATIONS["project"].answer(shelf, ProjectRequest(), call_of(db)).value

    assert [each.name for each in listed.projects] == ["shelf"]


def test_a_project_is_merged_aliased_and_found_by_a_near_name(db: Recollection, tmp_path: Path) -> None:
    db.in_project("shelf").add("We sort by author")
    db.in_project("books").add("The index is rebuilt nightly")
    other = repository(tmp_path, "fork", "else/fork")

    def do(action: str, name: str, other: str) -> Any:
        return (
            OPERATIONS["project"].answer(db, ProjectRequest(action=action, name=name, other=other), call_of(db)).value
        )

    with pytest.raises(InputError, match="no project 'shelv'") as refused:
        do("rename", "shelv", "library")
    with pytest.raises(InputError, match="already"):
        do("rename", "shelf", "books")
    (merged,) = do("merge", "shelf", "books").projects
    (aliased,) = do("alias", "books", str(other)).projects

    assert refused.value.hint == "did you mean shelf?"
    assert (merged.name, merged.memories) == ("books", 2)
    assert aliased.repositories == ("forge.example/else/fork",)
    assert db.project_of(other) == "books"


def test_the_hook_log_says_what_a_prompt_was_given_and_why_without_its_words(db: Recollection, tmp_path: Path) -> None:
    folder = repository(tmp_path, "shelf", "books/shelf")
    db.import_(session(folder, "2026-09-01", "never sort the shelf by color", "Noted."))
    (rule,) = statements(db)
    event = {"cwd": str(folder), "hook_event_name": "UserPromptSubmit", "session_id": "s1"}

    answer({**event, "prompt": "sort the shelf of my aunt"}, db)
    answer({**event, "prompt": "ok"}, db)

    given, silent = db.log.prompts()
    ((row, why, memory),) = given.given
    assert (row, memory) == (rule.id, rule)
    assert "words" in why
    assert "aunt" not in str(db.store.note(HOOK_LOG, HOOK_LOG))
    assert silent.silent == "the prompt needs nothing"
    assert db.log.prompts(limit=1) == (silent,)
    assert db.in_project("elsewhere").log.prompts() == ()
