"""A server that stops, in peace or by force, in the middle of writes: what was acknowledged is there, whole."""

import json
import signal
import threading
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest
from served import JSON, process, surroundings, wait_for_line

import recollect
from recollect.surfaces.client import read_address

WRITERS = 50


def writer(port: int, number: int, stop: threading.Event, done: Callable[[str], None]) -> None:
    """Add memories one after the other until the server is gone, and tell which were acknowledged."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    for turn in range(10_000):
        text = f"Writer {number} says {turn}: {'word ' * 20}end of {number}-{turn}"
        try:
            connection.request("POST", "/api/v1/add", json.dumps({"text": text}), JSON)
            response = connection.getresponse()
            body = response.read()
        except (OSError, HTTPException):
            return
        if response.status != 200 or not json.loads(body)["id"] or stop.is_set():
            return
        done(text)


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_every_acknowledged_write_is_kept_and_none_is_half(tmp_path: Path, ended_by: signal.Signals) -> None:
    env = surroundings(tmp_path)
    acknowledged: list[str] = []
    stop, enough = threading.Event(), threading.Semaphore(0)

    def done(text: str) -> None:
        acknowledged.append(text)
        enough.release()

    with process("serve", "--port", "0", env=env) as started:
        wait_for_line(started, "serving")
        place = read_address(env["RECOLLECT_DB"])
        assert place is not None
        port = int(place.http.rpartition(":")[2])
        writers = [threading.Thread(target=writer, args=(port, each, stop, done)) for each in range(WRITERS)]
        for each in writers:
            each.start()
        for _ in range(60):
            enough.acquire(timeout=300)
        started.send_signal(ended_by)
        code = started.wait(300)
        stop.set()
        for each in writers:
            each.join(300)

    with recollect.open(env["RECOLLECT_DB"], model="none") as db:
        kept = {
            text
            for memory in db.list(limit=100_000).memories
            for text in (memory.content, *db.show(memory.id).wordings)
        }
        healthy = db.doctor(deep=True).healthy
    assert code == (0 if ended_by is signal.SIGTERM else -ended_by)
    assert len(acknowledged) >= 60
    assert [text for text in acknowledged if text not in kept] == []
    assert all(text.startswith("Writer ") and text.partition("end of ")[2] for text in kept)
    assert healthy
