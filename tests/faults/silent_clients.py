"""Clients that connect and say nothing, or stop in the middle: the owner is answered all the while."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from row import Progress, Row, silent

import recollect

BEGINNINGS: Mapping[str, bytes] = {
    "nothing at all": b"",
    "half a request line": b"POST /api/v1/sea",
    "headers without an end": b"POST /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: 1\r\n",
    "an upload without a body": b"POST /api/v1/import?name=a.md HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Authorization: Bearer %s\r\nContent-Type: application/octet-stream\r\nContent-Length: 9999\r\n\r\n",
    "half a search": b"POST /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b'Authorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"query',
    "half a message to MCP": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b'Authorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"json',
}
OWNER_TIMEOUT_SECONDS = 30


def row(clients: int = 1_500, progress: Progress = silent) -> Row:
    """Let *clients* of a read-only token fall silent, ask as the owner, then close them all at once and ask again."""
    failures: list[str] = []
    with _served() as (port, stranger), contextlib.ExitStack() as held:
        for number in range(clients):
            beginning = list(BEGINNINGS.values())[number % len(BEGINNINGS)]
            with contextlib.suppress(OSError):
                connection = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
                connection.sendall(beginning.replace(b"%s", stranger.encode()))
            if number % 100 == 99:
                failures += _ask(port, f"beside {number + 1} silent clients")
            progress(number + 1, clients)
        held.close()
        failures += _ask(port, "after all of them closed")
    asked = clients // 100 + 1
    return Row(
        title="Silent clients",
        done=f"{clients:,} connections of one address and one read-only token that send {', '.join(BEGINNINGS)} "
        f"and then nothing; {asked} searches of the owner in between and after all closed at once",
        lost=f"{len(failures)} of {asked} searches were not answered",
        unproven="clients of many addresses at once; a proxy in front has its own limits",
        failures=tuple(failures),
    )


@contextlib.contextmanager
def _served() -> Iterator[tuple[int, str]]:
    """Serve a small store in a process of its own; yield its port and a read-only token."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "store.db")
        with recollect.open(path, model="none") as db:
            db.add("We ship on Tuesdays", project="atlas")
            token = db.tokens.create(name="stranger", project="atlas", read_only=True).secret
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
        env = {**kept, "RECOLLECT_DB": str(path), "RECOLLECT_MODEL": "none", "HOME": folder, "RECOLLECT_CONFIG": ""}
        command = [sys.executable, "-P", "-m", "recollect", "serve", "--port", "0"]
        log = Path(folder, "log")
        with log.open("wb") as stderr:
            server = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=stderr)  # noqa: S603
        try:
            yield _port(server, log), token
        finally:
            server.kill()
            server.wait()


def _port(server: "subprocess.Popen[bytes]", log: Path) -> int:
    while server.poll() is None:
        found = re.search(rb"127\.0\.0\.1:(\d+)", log.read_bytes())
        if found:
            return int(found[1])
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(0.05)
    raise RuntimeError(log.read_text(encoding="utf-8"))


def _ask(port: int, when: str) -> list[str]:
    """Search as the owner; return what went wrong, in a line."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/search",
        json.dumps({"query": "when do we ship"}).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=OWNER_TIMEOUT_SECONDS) as response:  # noqa: S310
            found = json.loads(response.read())["hits"]
    except (OSError, urllib.error.URLError, ValueError) as error:
        return [f"{when}: {error}"]
    return [] if found else [f"{when}: nothing was found"]
