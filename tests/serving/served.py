"""A real server on loopback, in a thread of the test or in a process of its own, and a plain client for it."""

import http.client
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

import recollect
from recollect import Recollection
from recollect.surfaces.serve.guard import Rules
from recollect.surfaces.serve.http import build_app
from recollect.surfaces.serve.process import http_config
from recollect.surfaces.serve.warm_store import WarmStore

JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A response: its status, its headers in lower case, its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of the error that it tells of, as problem+json."""
        assert self.headers["content-type"] == "application/problem+json"
        return str(self.value["error"]["code"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server and how to ask it."""

    port: int
    db: Recollection
    warm: WarmStore
    token: str = ""
    more: Mapping[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: bytes | str | None = None, **headers: str) -> Said:
        """Send one request; header names are given with _ for -."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token and "authorization" not in {name.lower() for name in named}:
            named["Authorization"] = f"Bearer {self.token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {**self.more, **named})
            response = connection.getresponse()
            told = {name.lower(): value for name, value in response.getheaders()}
            return Said(status=response.status, headers=told, body=response.read())
        finally:
            connection.close()

    def post(self, operation: str, /, **values: Any) -> Said:
        return self.ask("POST", f"/api/v1/{operation}", json.dumps(values), **{"Content-Type": "application/json"})


@contextmanager
def serving(db: Recollection, rules: Rules | None = None) -> Iterator[Served]:
    """Serve *db* on a free port of loopback."""
    warm = WarmStore(db)
    config = http_config(build_app(warm, rules or Rules()), host="127.0.0.1", port=0)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 300
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Served(port=port, db=db, warm=warm)
    finally:
        server.should_exit = True
        thread.join(300)


@contextmanager
def process(*words: str, env: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `recollect` with *words* until the end of the block."""
    started = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "recollect", *words],
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # a line that came with the one before it must not hide in a buffer from select
    )
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def surroundings(folder: Path) -> dict[str, str]:
    """Return the environment of a user of their own, who has no model."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    return {
        **kept,
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "RECOLLECT_CONFIG": str(folder / "settings.toml"),
        "RECOLLECT_DB": str(folder / "store.db"),
        "RECOLLECT_MODEL": "none",
        "RECOLLECT_OFFLINE": "1",
    }


def wait_for_line(started: "subprocess.Popen[bytes]", words: str) -> str:
    """Return the first line of standard error that holds *words*."""
    assert started.stderr is not None
    until = time.monotonic() + 300
    while time.monotonic() < until:
        ready, _, _ = select.select([started.stderr], [], [], 1)
        if ready:
            line = started.stderr.readline().decode()
            if words in line:
                return line
            if not line:
                break
    raise AssertionError(f"nothing said {words!r}")


def opened(path: Path | str = ":memory:", *, model: str = "none") -> Recollection:
    return recollect.open(path, model=model, background=True)
