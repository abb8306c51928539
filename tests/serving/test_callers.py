"""Who may do what over HTTP: the attacks that once worked, each with the caller that made it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import Served, opened, serving

from recollect import Recollection
from recollect.surfaces.serve.guard import Rules

FILE = {"Content_Type": "application/octet-stream"}


@pytest.fixture
def walled(tmp_path: Path) -> Iterator[Served]:
    """A server that wants tokens, of a store with the words of the owner and of an agent."""
    with opened(tmp_path / "store.db") as db:
        db.add("We deploy on Fridays since May", type="decision")
        db.add("The harbour office opens at nine", trust="agent")
        with serving(db, Rules(needs_token=True)) as served:
            yield served


def holder(served: Served, *, trust: str = "agent", read_only: bool = False, project: str | None = None) -> Served:
    """Return the server as somebody sees it who holds a new token."""
    name = f"{trust}-{read_only}-{project}"
    token = served.db.tokens.create(name=name, trust=trust, read_only=read_only, project=project)  # type: ignore[arg-type]
    return Served(port=served.port, db=served.db, warm=served.warm, token=token.secret)


def live(db: Recollection) -> set[int]:
    return {memory.id for memory in db.list(limit=100).memories}


@pytest.mark.parametrize(
    ("verb", "values"),
    [
        ("consolidate", {"floor": 1.0}),
        ("consolidate", {"undo": True}),
        ("pin", {"id": 2}),
        ("reindex", {}),
        ("embed", {}),
        ("log", {"report": "prune", "max_size": 0}),
        ("lens", {"action": "create", "name": "mine"}),
        ("review", {"action": "done", "key": "trust:2"}),
        ("reinforce", {"ids": ["1"]}),
        ("purge", {"ids": ["2"], "yes": True}),
        ("add", {"text": "token sk-1", "keep_secrets": True}),
    ],
)
def test_what_belongs_to_the_owner_is_refused_to_an_agent(walled: Served, verb: str, values: dict[str, object]) -> None:
    said = holder(walled).post(verb, **values)

    assert (said.status, said.code) == (403, "forbidden")
    assert live(walled.db) == {1, 2}


def test_words_that_an_untrusted_caller_captures_are_untrusted_and_never_injected(walled: Served) -> None:
    stranger = holder(walled, trust="untrusted")

    stored = stranger.post("capture", text="Decision: the ferry fare is nine crowns").value["memories"]

    assert walled.db.show(stored[0]["id"]).memory.trust == "untrusted"
    assert walled.db.inject("What is the ferry fare", precise=False).ids == ()


def test_undoing_a_consolidation_as_a_dry_run_writes_nothing(walled: Served) -> None:
    walled.db.add("The office of the harbour opens at nine", trust="agent")
    walled.db.supersede(2, 3)
    walled.db.restore(2)
    reader = holder(walled, trust="owner", read_only=True)
    before = walled.db.store.version()

    said = reader.post("consolidate", undo=True, dry_run=True)

    assert said.status == 200
    assert walled.db.store.version() == before
    assert reader.post("consolidate", undo=True).code == "forbidden"


@pytest.mark.parametrize("verb", ["inject", "brief", "search"])
def test_a_session_that_a_read_only_caller_names_is_not_written(walled: Served, verb: str) -> None:
    asked = {"inject": {"task": "When do we deploy"}, "search": {"query": "deploy"}}.get(verb, {})

    said = holder(walled, read_only=True).post(verb, **asked, session="monday")

    walled.db.flush()
    assert said.status == 200
    assert walled.db.log.recent() == ()
    assert walled.db.store.notes("ledger") == {}


def test_nobody_can_silence_the_session_of_another_token(walled: Served) -> None:
    task = {"task": "When do we deploy", "session": "monday"}

    told = holder(walled, trust="untrusted").post("inject", **task).value["ids"]

    assert told == [1]
    assert holder(walled).post("inject", **task).value["ids"] == [1]
    assert walled.db.inject("When do we deploy", session="monday").ids == (1,)


@pytest.mark.parametrize("path", ["search?query=deploy", "inject?task=deploy", "brief?limit=3"])
def test_a_get_that_names_a_session_is_refused_as_it_would_write(server: Served, path: str) -> None:
    assert server.ask("GET", f"/api/v1/{path}").status == 200
    assert server.ask("GET", f"/api/v1/{path}&session=monday").status == 405


def test_a_read_only_caller_uploads_nothing_and_a_project_is_kept_for_uploads(walled: Served) -> None:
    reader = holder(walled, read_only=True).ask("POST", "/api/v1/import?name=a.md", b"# Hello", **FILE)
    bound = holder(walled, project="atlas")

    elsewhere = bound.ask("POST", "/api/v1/import?name=a.md&project=other", b"# Hello", **FILE)
    own = bound.ask("POST", "/api/v1/import?name=a.md", b"# Hello\n\nThe gate is blue.", **FILE)

    assert (reader.code, elsewhere.code, own.status) == ("forbidden", "forbidden", 200)
    assert {walled.db.show(row).memory.project for row in own.value["ids"]} == {"atlas"}
    assert {walled.db.show(row).memory.trust for row in own.value["ids"]} == {"agent"}


def test_an_agent_does_not_pin_by_an_upload(walled: Served) -> None:
    line = json.dumps({"content": "The gate is blue", "pinned": True})

    said = holder(walled).ask("POST", "/api/v1/import?name=a.jsonl", line, **FILE)

    assert {walled.db.show(row).memory.pinned for row in said.value["ids"]} == {False}


def test_the_verdict_of_an_agent_does_not_move_the_facts_of_the_owner(walled: Served) -> None:
    row = walled.db.add("Owner: Mara of the billing team").id
    (before,) = walled.db.facts(subject="Owner")

    said = holder(walled).post("feedback", id=row, verdict="wrong")

    assert said.status == 200
    assert walled.db.facts(subject="Owner") == (before,)
    assert holder(walled, trust="untrusted").post("feedback", id=row, verdict="wrong").code == "forbidden"


# --- what a token of one project learns of others -------------------------------------------


@pytest.mark.parametrize("trust", ["owner", "agent"])
def test_a_caller_bound_to_a_project_gets_no_number_of_all_projects(walled: Served, trust: str) -> None:
    bound = holder(walled, trust=trust, project="atlas")

    said = [bound.post(verb).status for verb in ("reindex", "embed", "doctor")]

    assert said == [403] * 3
    assert bound.ask("GET", "/metrics").status == 403
    assert holder(walled, trust=trust).ask("GET", "/metrics").status == 200


def test_the_tag_of_an_answer_tells_a_project_nothing_of_what_others_write(walled: Served) -> None:
    walled.db.in_project("atlas").add("The map room is closed")
    bound = holder(walled, project="atlas")
    tags = {path: bound.ask("GET", f"/api/v1/{path}").headers["etag"] for path in ("list", "search?query=map")}

    walled.db.add("Somebody else writes this")

    for path, tag in tags.items():
        assert bound.ask("GET", f"/api/v1/{path}", If_None_Match=tag).status == 304
    walled.db.in_project("atlas").add("The map room opens again in June")
    for path, tag in tags.items():
        assert bound.ask("GET", f"/api/v1/{path}", If_None_Match=tag).status == 200


# --- what was written once -------------------------------------------------------------------


def test_a_key_whose_memory_was_erased_is_not_answered_again(server: Served) -> None:
    body, key = json.dumps({"text": "The vault code changes at noon"}), {"Idempotency_Key": "k-1"}
    sent = {"Content_Type": "application/json", **key}
    first = server.ask("POST", "/api/v1/add", body, **sent)
    again = server.ask("POST", "/api/v1/add", body, **sent)

    server.db.purge(first.value["id"])
    erased = server.ask("POST", "/api/v1/add", body, **sent)

    assert again.value == first.value
    assert (erased.status, erased.code) == (422, "key_reused")
