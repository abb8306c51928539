"""What the page asks beyond the table: the stream of what happens, and files that come with a request."""

import http.client
import json
import threading
from collections.abc import Callable
from pathlib import Path

from served import Served, opened, process, serving, surroundings, wait_for_line

from recollect.surfaces.serve.guard import Rules

FILE = {"Content-Type": "application/octet-stream"}


def first_entry(
    port: int, token: str = "", *, then: Callable[[], object] = lambda: None
) -> tuple[int, dict[str, object]]:
    """Return the status of the stream and its first entry; call *then* once the stream has begun."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    connection.request("GET", "/api/v1/events", headers=headers)
    response = connection.getresponse()
    if response.status != 200:
        return response.status, {}
    then()
    for line in response:
        if line.startswith(b"data: "):
            connection.close()
            return 200, json.loads(line[6:])
    return response.status, {}


def test_what_is_written_after_the_stream_began_is_told(server: Served) -> None:
    status, entry = first_entry(server.port, then=lambda: server.db.add("The kettle is descaled in June"))

    assert status == 200
    assert (entry["what"], entry["text"]) == ("learned", "The kettle is descaled in June")


def test_a_stream_needs_a_token_where_all_else_does_and_sees_its_project_alone(tmp_path: Path) -> None:
    with opened(tmp_path / "store.db") as db, serving(db, Rules(needs_token=True)) as served:
        secret = db.tokens.create(name="web", project="web").secret

        def write() -> None:
            db.add("Somebody else's word", project="depot")
            db.add("Standup is at nine", project="web")

        refused, _ = first_entry(served.port)
        _, entry = first_entry(served.port, secret, then=write)

    assert refused == 401
    assert entry["text"] == "Standup is at nine"


def test_a_stream_ends_when_its_server_does(server: Served) -> None:
    status, entry = first_entry(server.port, then=lambda: setattr(server.warm, "is_closing", True))

    assert (status, entry) == (200, {})


def test_a_stream_has_no_limit(server: Served) -> None:
    said = server.ask("GET", "/api/v1/events?limit=3")

    assert (said.status, said.code) == (400, "bad_input")


def test_a_file_is_read_as_an_import_reads_it(server: Served) -> None:
    text = "# Kitchen\n\nThe kettle is descaled in June.\n\n# Garden\n\nWater the lemon tree twice a week.\n"

    said = server.ask("POST", "/api/v1/import?name=home/kitchen.md", text, **FILE)
    again = server.ask("POST", "/api/v1/import?name=kitchen.md", text, **FILE)

    assert said.status == 200
    assert (said.value["format"], said.value["memories"]) == ("markdown", {"new": 2, "unchanged": 0})
    assert again.value["memories"] == {"new": 0, "unchanged": 2}
    memory = server.db.show(said.value["ids"][0]).memory
    assert (memory.source, memory.line, memory.section) == ("kitchen.md", 3, "Kitchen")


def test_a_file_without_a_name_or_that_cannot_be_read_is_refused(server: Served) -> None:
    for name in ("", "?name=", "?name=..", "?name=a%00b"):
        assert server.ask("POST", f"/api/v1/import{name}", "text", **FILE).code == "bad_input"

    said = server.ask("POST", "/api/v1/import?name=strange.bin", b"\x00\xff\x00\x01", **FILE)

    assert said.status == 400
    assert said.value["error"]["message"].startswith("strange.bin is binary")


def test_a_search_is_ranked_by_the_profile_it_names_and_by_no_file(server: Served) -> None:
    named = server.post("search", query="deploy", profile="oro").value
    refused = server.post("search", query="deploy", profile="/etc/passwd")

    assert named["profile"] == "oro"
    assert refused.code == "bad_input"


def test_searches_that_found_a_memory_are_told(server: Served) -> None:
    server.db.search("deploy", session="friday")
    server.db.search("staging port", session="friday")
    server.db.flush()

    told = server.post("log", report="recent", memory=1).value

    assert [each["query"] for each in told["recalls"]] == ["deploy"]


def test_a_server_with_an_open_page_ends_at_once(tmp_path: Path) -> None:
    with process("serve", "--port", "0", env=surroundings(tmp_path)) as started:
        wait_for_line(started, "serving")
        assert started.stderr is not None
        page = started.stderr.readline().decode().split()
        port = int(page[1].strip("/").rpartition(":")[2])
        begun = threading.Event()
        threading.Thread(target=first_entry, args=(port,), kwargs={"then": begun.set}, daemon=True).start()
        assert begun.wait(300)
        started.terminate()
        started.wait(60)  # a stream that is not ended goes on for minutes

    assert page[0] == "page"
    assert started.returncode == 0


def test_a_long_memory_tells_its_passages(tmp_path: Path) -> None:
    with opened(tmp_path / "store.db", model="hashing") as db, serving(db) as served:
        words = ". ".join(f"Shelf {number} holds the parts of machine {number * 7}" for number in range(120))
        db.add(words)
        db.flush()
        told = served.post("show", id=1).value

    assert len(told["passages"]) > 1
    assert told["passages"][0][0] == 0
    assert told["passages"][-1][1] == len(told["content"])
