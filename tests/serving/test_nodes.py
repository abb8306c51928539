"""Several serving processes over one schema: equal answers, and what one wrote the other shows in its next answer."""

import json
import re
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from served import JSON, process, surroundings, wait_for_line

from postgres_server import fresh_database

pytestmark = pytest.mark.full  # needs a PostgreSQL server


def answer(port: str, operation: str, **values: Any) -> Any:
    url = f"http://127.0.0.1:{port}/api/v1/{operation}"
    asked = urllib.request.Request(url, json.dumps(values).encode(), JSON)
    with urllib.request.urlopen(asked, timeout=300) as response:  # noqa: S310
        return json.loads(response.read())


def found(port: str) -> list[tuple[int, str, float]]:
    """Return what a node finds; how new a memory is moves its score from one second to the next, by very little."""
    hits = answer(port, "search", query="web team")["hits"]
    return [(hit["id"], hit["snippet"], round(hit["score"], 4)) for hit in hits]


def port_of(started: "subprocess.Popen[bytes]") -> str:
    """Return the port that a server says it has, once it serves."""
    wait_for_line(started, "serving")
    assert started.stderr is not None
    return re.findall(r"127\.0\.0\.1:(\d+)", started.stderr.readline().decode())[0]


def test_what_is_written_through_one_node_the_next_answer_of_another_shows(tmp_path: Path) -> None:
    address = fresh_database()
    homes = [tmp_path / name for name in ("one", "two")]
    for home in homes:
        home.mkdir()
    env = [{**surroundings(home), "RECOLLECT_DB": address} for home in homes]
    serve = ("serve", "--port", "0")
    with process(*serve, env=env[0]) as first, process(*serve, env=env[1]) as second:
        one, two = (port_of(each) for each in (first, second))

        told = [[found(port) for port in (one, two)]]
        for number, text in enumerate(("The web team meets on Mondays", "The web team has lunch", "A web of teams")):
            answer((one, two)[number % 2], "add", text=text)
            told.append([found(port) for port in (one, two)])

    assert all(mine == yours for mine, yours in told)
    assert [len(mine) for mine, _ in told] == [0, 1, 2, 3]
