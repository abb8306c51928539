"""The operations over HTTP: the same answers as everywhere, in the same shapes."""

import json

import pytest
from served import Served

from recollect.operations import OPERATIONS
from recollect.serialize import serialize


@pytest.mark.req("E-18")
@pytest.mark.parametrize("verb", ["search", "decisions", "changes", "how-it-works"])
def test_each_search_has_a_route_that_answers_as_the_library_does(server: Served, verb: str) -> None:
    asked = server.ask("GET", f"/api/v1/{verb}?query=when+do+we+deploy&limit=5")
    sent = server.post(verb, query="when do we deploy", limit=5)
    direct = serialize(getattr(server.db, verb.replace("-", "_"))("when do we deploy", limit=5))

    assert asked.status == sent.status == 200
    assert asked.value["hits"][0]["id"] == 1
    assert [*asked.value] == [*direct]
    assert asked.value["query"] == sent.value["query"] == direct["query"]  # each verb adds words of its own
    told = [[(hit["id"], hit["snippet"], hit["memory"]) for hit in each["hits"]] for each in (asked.value, sent.value)]
    assert told == [[(hit["id"], hit["snippet"], hit["memory"]) for hit in direct["hits"]]] * 2


def test_every_operation_that_is_not_local_has_a_route_and_stands_in_the_description(server: Served) -> None:
    described = server.ask("GET", "/api/v1/openapi.json").value["paths"]

    offered = {name for name, each in OPERATIONS.items() if each.rights.is_offered}
    assert {f"/api/v1/{name}" for name in offered} | {"/api/v1/import"} == set(described)
    assert "get" not in described["/api/v1/forget"]


def test_a_memory_is_added_shown_forgotten_and_restored(server: Served) -> None:
    added = server.post("add", text="Bea prefers tea", tag=["team"], trust="owner")
    row = added.value["id"]

    shown = server.ask("GET", f"/api/v1/show?id={row}")
    forgotten = server.post("forget", id=row) if "id" in _taken("forget") else server.post("forget", ids=[str(row)])
    gone = server.ask("GET", "/api/v1/search?query=tea")
    back = server.post("restore", id=row) if "id" in _taken("restore") else server.post("restore", ids=[str(row)])

    assert (shown.value["content"], shown.value["tags"]) == ("Bea prefers tea", ["team"])
    assert (forgotten.status, back.status) == (200, 200)
    assert gone.value["hits"] == []
    assert server.ask("GET", "/api/v1/search?query=tea").value["hits"]


def _taken(verb: str) -> set[str]:
    return {each.name for each in OPERATIONS[verb].parameters}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/api/v1/show?id=99", None, 404, "unknown_id"),
        ("GET", "/api/v1/nothing", None, 404, "unknown_operation"),
        ("GET", "/api/v1/add", None, 405, "method"),
        ("DELETE", "/api/v1/search", None, 405, "method"),
        ("GET", "/api/v1/search", None, 400, "bad_input"),
        ("GET", "/api/v1/search?query=a&limit=many", None, 400, "bad_input"),
        ("GET", "/api/v1/search?query=a&query=b", None, 400, "bad_input"),
        ("GET", "/api/v1/search?query=a&alpha=7", None, 400, "bad_input"),
        ("GET", "/api/v1/search?query=a&colour=red", None, 400, "bad_input"),
        ("GET", "/api/v1/search?query=a&lens=none", None, 400, "bad_input"),
        ("POST", "/api/v1/search", "{", 400, "bad_input"),
        ("POST", "/api/v1/search", "[]", 400, "bad_input"),
        ("POST", "/api/v1/search", '{"query": 7}', 400, "bad_input"),
        ("POST", "/api/v1/search", '{"query": "a", "tag": 7}', 400, "bad_input"),
        ("POST", "/api/v1/add", '{"text": "a", "confidence": true}', 400, "bad_input"),
    ],
)
def test_what_cannot_be_understood_is_a_problem_with_our_error_in_it(
    server: Served, method: str, path: str, body: str | None, status: int, code: str
) -> None:
    headers = {"Content-Type": "application/json"} if body else {}

    said = server.ask(method, path, body, **headers)

    assert (said.status, said.code) == (status, code)
    assert said.value["status"] == status
    assert said.value["detail"] == said.value["error"]["message"]


def test_a_body_that_is_not_json_by_its_type_is_refused(server: Served) -> None:
    said = server.ask("POST", "/api/v1/add", "text=a", **{"Content-Type": "application/x-www-form-urlencoded"})

    assert (said.status, said.code) == (415, "not_json")


def test_an_answer_is_not_sent_again_while_nothing_changed(server: Served) -> None:
    first = server.ask("GET", "/api/v1/list")
    again = server.ask("GET", "/api/v1/list", If_None_Match=first.headers["etag"])
    server.post("add", text="Something new")
    changed = server.ask("GET", "/api/v1/list", If_None_Match=first.headers["etag"])

    assert (again.status, again.body) == (304, b"")
    assert changed.status == 200
    assert changed.headers["etag"] != first.headers["etag"]


@pytest.mark.req("N-15")
def test_a_program_brings_its_own_vectors(server: Served) -> None:
    for text, vector in {"the red door": [1, 0.0, 0.0], "a walk along the river": [0.6, 0.8, 0]}.items():
        server.post("add", text=text, vector=vector)

    found = server.post("search", query="", embedding=[2, 0, 0], mode="semantic", profile="nornicdb")

    assert [(hit["memory"]["content"], round(hit["semantic_score"], 6)) for hit in found.value["hits"]] == [
        ("the red door", 1.0),
        ("a walk along the river", 0.6),
    ]


@pytest.mark.parametrize("vector", [[], "1,2", [1, "2"], [True], [0, 0, 0]])
def test_what_is_no_vector_is_refused(server: Served, vector: object) -> None:
    said = server.post("search", query="deploy", embedding=vector)

    assert (said.status, said.code) == (400, "bad_query" if vector == [0, 0, 0] else "bad_input")


@pytest.mark.req("E-02")
def test_a_second_search_is_answered_from_memory_and_a_write_is_seen_at_once(server: Served) -> None:
    for _ in range(3):
        server.ask("GET", "/api/v1/search?query=deploy&mode=keyword")
    executed = server.warm.answers.executed
    server.post("add", text="We deploy twice a day now")
    after = server.ask("GET", "/api/v1/search?query=deploy&mode=keyword")

    assert executed == 1
    assert len(after.value["hits"]) == 2


def test_a_write_that_is_sent_twice_under_one_key_is_done_once(server: Served) -> None:
    first = server.ask("POST", "/api/v1/add", '{"text": "once"}', Content_Type="application/json", Idempotency_Key="k1")
    second = server.ask(
        "POST", "/api/v1/add", '{"text": "once"}', Content_Type="application/json", Idempotency_Key="k1"
    )
    other = server.ask("POST", "/api/v1/add", '{"text": "more"}', Content_Type="application/json", Idempotency_Key="k1")

    assert first.body == second.body
    assert second.headers["idempotent-replay"] == "true"
    assert (other.status, other.code) == (422, "key_reused")
    events = server.db.show(first.value["id"]).events
    assert [each.verb for each in events] == ["add"]


def test_lines_are_imported_with_a_result_each_and_a_bad_one_stops_no_other(server: Served) -> None:
    body = '{"text": "first line", "type": "note"}\n\nnot json\n{"colour": 1}\n{"text": "last line"}'

    said = server.ask("POST", "/api/v1/import", body, Content_Type="application/x-ndjson")

    results = [json.loads(line) for line in said.body.splitlines()]
    assert [each["line"] for each in results] == [1, 3, 4, 5]
    assert ["id" in each for each in results] == [True, False, False, True]
    assert server.db.search("last line", mode="keyword").hits


def test_an_import_tells_its_progress_as_events_to_who_asks_for_them(server: Served) -> None:
    body = "\n".join(json.dumps({"text": f"memory number {number}"}) for number in range(120))

    said = server.ask("POST", "/api/v1/import", body, Content_Type="application/x-ndjson", Accept="text/event-stream")

    events = said.body.decode().strip().split("\n\n")
    assert said.headers["content-type"].startswith("text/event-stream")
    assert len(events) == 121
    assert events[-1] == 'event: done\ndata: {"added": 120, "failed": 0}'


def test_an_export_streams_every_memory(server: Served) -> None:
    said = server.ask("GET", "/api/v1/export")

    records = [json.loads(line) for line in said.body.splitlines()]
    assert [each["content"] for each in records if each["record"] == "memory"] == [
        "We deploy on Fridays since May",
        "The staging database listens on port 5433",
    ]


def test_no_parameter_names_a_file_on_the_server(server: Served) -> None:
    said = server.post("export", path="stolen.jsonl")

    assert (said.status, said.code) == (400, "bad_input")


def test_health_readiness_and_metrics_are_told_without_what_was_asked(server: Served) -> None:
    server.ask("GET", "/api/v1/search?query=zanzibar&mode=keyword")

    health, ready, metrics = (server.ask("GET", path) for path in ("/healthz", "/readyz", "/metrics"))

    assert (health.value, ready.value) == ({"status": "ok"}, {"status": "ready"})
    text = metrics.body.decode()
    assert 'recollect_requests_total{operation="search",status="200"} 1.0' in text
    assert "recollect_search_duration_seconds_count 1.0" in text
    assert "recollect_build_info" in text
    assert "zanzibar" not in text


def test_a_search_that_takes_too_long_is_given_up(server: Served) -> None:
    said = server.ask("GET", "/api/v1/search?query=deploy&timeout=0&mode=keyword")

    assert (said.status, said.code) == (504, "timeout")


def test_a_query_longer_than_anybody_asks_is_refused(server: Served) -> None:
    said = server.post("search", query="a" * 20_000)

    assert (said.status, said.code) == (400, "bad_input")
