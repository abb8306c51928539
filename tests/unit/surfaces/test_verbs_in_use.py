"""The verbs of a memory that lives, as a user types them."""

import json

import pytest
from command import Run


def test_facts_are_listed_reinforced_and_contradicted(run: Run) -> None:
    run("add", "Port: 5432")
    run("add", "Port: 5433", "--external-id", "other")

    told, conflicts = run("facts", "--json"), run("conflicts", "--json")
    reinforced = run("facts", "reinforce", "1", "2")

    assert [(fact["subject"], fact["object"]) for fact in told.value["facts"]] == [("Port", "5433"), ("Port", "5432")]
    assert conflicts.value["conflicts"][0]["kind"] == "attribute"
    assert (reinforced.code, reinforced.out) == (0, "2 facts reinforced\n")
    assert run("facts", "stale").code == 1
    assert run("facts", "reinforce", "99").code == 2
    assert run("facts", "reinforce", "x", "--json").error["code"] == "bad_input"


@pytest.mark.parametrize("verb", ["conflicts", "review"])
def test_no_conflicts_and_nothing_to_review_are_a_success(run: Run, verb: str) -> None:
    run("add", "Port: 5432")

    assert run(verb).code == 0
    assert run("facts", "--subject", "nobody").code == 1


def test_a_task_is_told_once_a_session_and_nothing_is_nothing(run: Run) -> None:
    run("add", "Retries back off with jitter", "--type", "decision")

    first = run("inject", "retries back off", "--session", "s", "--json")
    again = run("inject", "retries back off", "--session", "s")
    nothing = run("inject", "quantum chromodynamics", "--json")

    assert first.value["ids"] == [1]
    assert first.value["text"].startswith("## Relevant Memories\n")
    assert first.value["tokens"] > 0
    assert (again.code, again.out) == (0, "")
    assert nothing.value == {"text": "", "tokens": 0, "ids": []}


@pytest.mark.req("O-23")
def test_a_task_is_told_only_of_the_types_and_tags_that_are_asked_for(run: Run) -> None:
    run("add", "Retries back off with jitter", "--type", "decision", "--tag", "net")
    run("add", "Retries back off in the tests too", "--type", "gotcha", "--tag", "ci")

    def told(*options: str) -> list[int]:
        return run("inject", "retries back off", "--no-precise", *options, "--json").value["ids"]

    assert sorted(told()) == sorted(told("--tag", "ci")) == [1, 2]
    assert told("--type", "decision") == told("--only-tag", "net") == [1]
    assert told("--type", "gotcha") == told("--only-tag", "ci") == [2]
    assert told("--type", "gotcha", "--only-tag", "net") == []


def test_a_workers_output_is_captured_from_standard_input(run: Run) -> None:
    told = run("capture", "-", "--json", stdin=b"[MEMORY] type=gotcha tags=db: Close cursors\nok\n")

    assert told.value["memories"] == [{"id": 1, "decision": "distinct", "of": None, "redacted": 0}]
    assert run("capture", "ok").code == 1


def test_values_supersede_and_a_date_tells_what_was_believed(run: Run) -> None:
    run("add", "The office is in Berlin", "--external-id", "a")
    run("add", "The office is in Lisbon", "--external-id", "b")

    told = run("edit", "supersede", "1", "2")

    assert told.out == "#1 is superseded by #2\n"
    assert [hit["id"] for hit in run("search", "office", "--json").value["hits"]] == [2]
    assert [memory["id"] for memory in run("list", "timeline", "office", "--json").value["memories"]] == [1, 2]
    assert run("search", "office", "--as-of", "2001-01-01").code == 1
    assert run("edit", "supersede", "1", "1").code == 2


@pytest.mark.parametrize(
    ("verb", "lists"),
    [("roots", "list"), ("model", "list"), ("lens", "list"), ("token", "list"), ("review", "list"), ("log", "recent")],
)
def test_a_verb_with_actions_lists_when_none_is_named(run: Run, verb: str, lists: str) -> None:
    run("add", "We ship on Tuesdays")

    alone, told = run(verb), run(verb, lists)

    assert (alone.code, alone.out, alone.err) == (told.code, told.out, told.err)
    assert alone.out


def test_a_lens_is_created_used_listed_and_dropped(run: Run) -> None:
    run("add", "deploy on fridays", "--type", "note")
    run("add", "deploy by vote", "--type", "decision")

    made = run("lens", "create", "decided", "--type", "decision", "--boost", "type:decision=1.5", "--json")
    hits = run("search", "deploy", "--lens", "decided", "--json").value["hits"]

    assert made.value == {"name": "decided", "types": ["decision"], "boosts": {"type:decision": 1.5}}
    assert [hit["id"] for hit in hits] == [2]
    assert [lens["name"] for lens in run("lens", "list", "--json").value["lenses"]] == ["decided"]
    assert run("lens", "drop", "decided").code == 0
    assert run("search", "deploy", "--lens", "decided").code == 2
    assert run("lens", "create", "x", "--boost", "type:decision=loud").code == 2


@pytest.mark.req("C-31")
def test_facts_come_with_the_hits_unless_they_are_turned_off(run: Run) -> None:
    run("add", "Database: PostgreSQL")

    def facts(*options: str) -> list[str]:
        (hit,) = run("search", "database", *options, "--json").value["hits"]
        return [fact["object"] for fact in hit["facts"]]

    assert facts() == facts("--include-facts") == ["PostgreSQL"]
    assert facts("--no-facts") == []


def test_the_log_tells_what_was_recalled_and_what_never_was(run: Run) -> None:
    run("add", "Database: PostgreSQL")
    run("add", "Lunch is at noon")
    run("search", "database", "--session", "s")
    run("search", "xylophone", "--session", "s")

    recent = run("log", "recent", "--json").value["recalls"]

    assert [recall["query"] for recall in recent] == ["xylophone", "database"]
    assert run("log", "never-recalled", "--json").value == {"ids": [2]}
    assert run("log", "unanswered", "--json").value == {"queries": [{"query": "xylophone", "times": 1}]}
    assert [r["query"] for r in run("log", "provenance", "--fact", "1", "--json").value["recalls"]] == ["database"]
    assert run("log", "provenance").code == 2
    assert run("log", "never-used").code == 1
    assert run("log", "never-used").out == "No memory was shown three times and never used.\n"


@pytest.mark.parametrize("verdict", ["used", "useful", "wrong"])
def test_feedback_and_pins_leave_an_event(run: Run, verdict: str) -> None:
    run("add", "Database: PostgreSQL")
    run("feedback", "1", verdict)
    run("pin", "1")
    run("pin", "1", "--off")

    verbs = [event["verb"] for event in run("show", "1", "--json").value["events"]]

    assert [verb for verb in verbs if verb != "reinforce_fact"] == ["add", "feedback", "pin", "unpin"]
    assert run("feedback", "1", "lovely").code == 2


def test_consolidation_is_tried_first(run: Run) -> None:
    run("add", "Cats sleep")

    dry, undone = run("consolidate", "--dry-run", "--json"), run("consolidate", "--undo")

    assert dry.value == {"applied": False, "merges": [], "links": [], "faded": [], "facts": 0}
    assert undone.out == "0 memories are back\n"
    assert json.loads(run("consolidate", "--json").out)["applied"] is True


def test_old_vectors_are_pruned_after_a_look(run: Run) -> None:
    run("add", "We ship on Tuesday", "--model", "hashing")

    nothing = run("model", "prune", "--model", "hashing")
    without = run("model", "prune", "--json")

    assert (nothing.code, nothing.out) == (0, "There are no vectors of other models than hashing.\n")
    assert (without.code, without.error["code"]) == (3, "model")
    assert run("model", "prune", "--dry-run", "--model", "hashing", "--json").value == {"dropped": [], "dry_run": True}
    assert "advice" not in run("doctor", "--model", "hashing", "--json").value


def test_zero_is_a_value_and_not_a_request_for_the_default(run: Run) -> None:
    run("add", "Database: PostgreSQL")

    assert run("facts", "stale", "--days", "0", "--json").value["facts"]
    assert run("facts", "stale", "--below", "0", "--days", "9999", "--json").value["facts"] == []
    assert run("facts", "stale", "--days", "9999", "--json").value["facts"] == []


@pytest.mark.parametrize("words", [("brief", "--limit", "-1"), ("brief", "--budget", "0"), ("brief", "-n", "0")])
def test_a_brief_of_less_than_one_memory_or_token_is_refused(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words)

    assert done.code == 2
    assert "give a whole number of at least 1" in done.err
