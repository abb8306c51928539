"""Load a server on loopback: 64 connections ask what is cached, what is not, and write; nothing may fail or be lost.

The server is a process of its own; beside it stands a bare Starlette route on the same uvicorn, which sends the same
bytes. --soak asks for ten minutes and tells the server's memory; --kill ends it by SIGKILL under load and looks for
every write that was acknowledged.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import recollect
from common import made_up_texts, median, print_table, verdict, vocabulary
from recollect.surfaces.client import read_address

BARE = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

BODY = sys.stdin.buffer.read()

async def answer(request):
    return Response(BODY, media_type="application/json")

app = Starlette(routes=[Route("/", answer)])
uvicorn.run(app, port=int(sys.argv[1]), log_config=None, access_log=False, http="h11", ws="none")
"""
MEMORIES = 2000
ROUNDS = 3
CACHED = 10
"""How many questions are asked over and over."""
Request = Callable[[int], bytes]


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a load gave: seconds of each answer, failures by kind, the texts whose writes were acknowledged."""

    seconds: list[float] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    written: list[str] = field(default_factory=list)
    lasted: float = 0.0
    computed: float = 0.0
    """How many seconds the server computed."""

    @property
    def per_second(self) -> float:
        """How many answers came in a second."""
        return len(self.seconds) / max(self.lasted, 1e-9)

    def quantile(self, share: float) -> float:
        """Return the milliseconds within which *share* of the answers came."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


# --- the client -----------------------------------------------------------------------------


def get(path: str) -> bytes:
    """Return the bytes of a GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


def post(path: str, value: object) -> bytes:
    """Return the bytes of a POST request."""
    body = json.dumps(value).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Hold a connection open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> tuple[int, bytes]:
    """Send *request* on a connection and return the status and the body of its answer."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    return int(head[9:12]), await reader.readexactly(length)


async def load(port: int, request: Request, *, connections: int, seconds: float) -> Tally:
    """Ask by so many connections, for so long; each sends its next request when it has its answer."""
    tally, numbers = Tally(), iter(range(10**9))
    started = time.perf_counter()

    async def one() -> None:
        async with connected(port) as (reader, writer):
            while time.perf_counter() - started < seconds:
                wanted = request(next(numbers))
                begun = time.perf_counter()
                status, body = await ask(reader, writer, wanted)
                tally.seconds.append(time.perf_counter() - begun)
                if status != 200:
                    tally.failed[f"{status} {body[:200]!r}"] += 1
                elif wanted.startswith(b"POST /api/v1/add"):
                    tally.written.append(json.loads(wanted.partition(b"\r\n\r\n")[2])["text"])

    for outcome in await asyncio.gather(*(one() for _ in range(connections)), return_exceptions=True):
        if isinstance(outcome, BaseException):
            tally.failed[type(outcome).__name__] += 1
    tally.lasted = time.perf_counter() - started
    return tally


# --- what is asked --------------------------------------------------------------------------


def questions(seed: int = 3) -> list[str]:
    """Return the questions that are asked over and over."""
    chance, words = random.Random(seed), vocabulary(3000, seed=7)
    return [" ".join(chance.choices(words[60:], k=3)) for _ in range(CACHED)]


def kinds(model: str) -> dict[str, Request]:
    """Return how each kind of request is made from its number; without a model words are asked alone."""
    mode = "&mode=keyword" if model == "none" else ""
    asked, words = (
        [get(f"/api/v1/search?query={quote(each)}&limit=5{mode}") for each in questions()],
        vocabulary(3000, seed=7),
    )

    def cached(number: int) -> bytes:
        return asked[number % CACHED]

    def uncached(number: int) -> bytes:
        asked = f"{words[60 + number % 2900]}%20{words[60 + number * 7 % 2900]}%20{number}"
        return get(f"/api/v1/search?query={asked}&limit=5{mode}")

    def writes(number: int) -> bytes:
        text = f"{words[60 + number % 2900]} {words[61 + number * 31 % 2900]} number {number} of {time.time_ns()}"
        return post("/api/v1/add", {"text": text})

    def mixed(number: int) -> bytes:
        kind = writes if number % 50 == 0 else uncached if number % 10 == 1 else cached
        return kind(number)

    return {"cached": cached, "uncached": uncached, "writes": writes, "mixed": mixed}


# --- the servers ----------------------------------------------------------------------------


@contextmanager
def server(store: Path, model: str) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """Serve *store* by a process of its own; give it and its port."""
    words = ["serve", "--db", str(store), "--port", "0", "--model", model]
    with subprocess.Popen([sys.executable, "-m", "recollect", *words], stderr=subprocess.DEVNULL) as process:
        try:
            place = None
            while place is None or place.pid != process.pid:
                time.sleep(0.05)
                place = read_address(str(store))
                if process.poll() is not None:
                    sys.exit("the server did not start")
            yield process, int(place.http.rpartition(":")[2])
        finally:
            process.terminate()


@contextmanager
def bare(body: bytes) -> Iterator[tuple[int, int]]:
    """Serve *body* by a bare route; give the process and its port."""
    port = 20_000 + os.getpid() % 20_000
    with subprocess.Popen([sys.executable, "-c", BARE, str(port)], stdin=subprocess.PIPE) as process:
        if process.stdin is not None:
            process.stdin.write(body)
            process.stdin.close()
        try:
            until = time.monotonic() + 30
            while time.monotonic() < until:
                with suppress(OSError):
                    asyncio.run(_touch(port))
                    break
                time.sleep(0.05)
            yield process.pid, port
        finally:
            process.terminate()


async def _touch(port: int) -> None:
    async with connected(port) as (reader, writer):
        await ask(reader, writer, get("/"))


def megabytes(pid: int) -> float:
    """Return how much memory a process holds."""
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout  # noqa: S607
    return int(told) / 1024 if told.strip() else 0.0


# --- what is measured -----------------------------------------------------------------------


def measure(given: argparse.Namespace, store: Path) -> bool:
    """Ask each kind for a while and print what it took; tell whether all that must hold does."""
    made = kinds(given.model)
    tallies: dict[str, Tally] = {}
    with server(store, given.model) as (process, port):
        _, body = asyncio.run(_once(port, made["cached"](0)))
        with bare(body) as (beside, other):
            ask_bare = get("/")
            for number in range(ROUNDS):  # in turns, so that what else the machine does meets both
                turn, seconds = number + 1, given.seconds / 6
                tallies[f"bare {turn}"] = _load(other, lambda _: ask_bare, given, seconds=seconds, pid=beside)
                tallies[f"cached {turn}"] = _load(port, made["cached"], given, seconds=seconds, pid=process.pid)
        for name, seconds in (("uncached", given.seconds / 3), ("writes", given.seconds / 3), ("mixed", given.seconds)):
            tallies[name] = _load(port, made[name], given, seconds=seconds, pid=process.pid)
    print(f"{given.connections} connections, an answer of {len(body)} bytes, {MEMORIES} memories, model {given.model}")
    print_table([_row(name, each) for name, each in tallies.items()])
    cached = median(tallies[f"cached {each}"].per_second for each in range(1, ROUNDS + 1))
    ratio = cached / tallies["uncached"].per_second
    failed = sum((each.failed for each in tallies.values()), Counter())
    held = [ratio >= 3, not failed, _kept(store, tallies["writes"].written + tallies["mixed"].written)]
    print(f"cached against uncached searches: {ratio:.1f} times as many (at least 3) {verdict(held=held[0])}")
    print(f"errors: {sum(failed.values())} {dict(failed) or ''} {verdict(held=held[1])}")
    print(f"every acknowledged write is in the store: {verdict(held=held[2])}")
    return all(held)


async def _once(port: int, request: bytes) -> tuple[int, bytes]:
    async with connected(port) as (reader, writer):
        return await ask(reader, writer, request)


def _load(port: int, request: Request, given: argparse.Namespace, *, seconds: float, pid: int) -> Tally:
    before = computed(pid)
    tally = asyncio.run(load(port, request, connections=given.connections, seconds=seconds))
    tally.computed = computed(pid) - before
    return tally


def computed(pid: int) -> float:
    """Return how many seconds a process has computed, where the system tells."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def _row(name: str, tally: Tally) -> dict[str, str]:
    return {
        "asked": name,
        "answers": f"{len(tally.seconds)}",
        "per second": f"{tally.per_second:.0f}",
        "p50 ms": f"{tally.quantile(0.5):.1f}",
        "p99 ms": f"{tally.quantile(0.99):.1f}",
        "server us": f"{1e6 * tally.computed / max(1, len(tally.seconds)):.0f}",
        "errors": f"{sum(tally.failed.values())}",
    }


def _kept(store: Path, written: list[str]) -> bool:
    """Tell whether each of *written* is in the store, whole."""
    with recollect.open(store, model="none") as db:
        held = {each["content"] for each in db.archive(everything=True) if each["record"] == "memory"}
        held |= {text for each in db.archive(everything=True) for text in each.get("wordings", ())}
    return all(text in held for text in written)


def soak(given: argparse.Namespace, store: Path) -> bool:
    """Ask a mix for as many minutes as given, and print the server's memory; tell whether it stays bounded."""
    rows, failed = [], Counter[str]()
    with server(store, given.model) as (process, port):
        before = 0
        for minute in sorted({1, min(5, given.minutes), given.minutes}):
            tally = _load(port, kinds(given.model)["mixed"], given, seconds=60 * (minute - before), pid=process.pid)
            before, failed = minute, failed + tally.failed
            rows.append((minute, megabytes(process.pid)))
            print(f"minute {minute}: {rows[-1][1]:.0f} MB, {tally.per_second:.0f} requests a second", flush=True)
    held = not failed and rows[-1][1] <= 1.25 * rows[0][1] + 20
    print(f"no error, memory bounded: {dict(failed) or ''} {verdict(held=held)}")
    return held


def kill(given: argparse.Namespace, store: Path) -> bool:
    """End the server by SIGKILL in the middle of writes; tell whether every acknowledged one is kept."""
    with server(store, given.model) as (process, port):

        async def both() -> Tally:
            task = asyncio.create_task(
                load(port, kinds(given.model)["writes"], connections=given.connections, seconds=60)
            )
            await asyncio.sleep(3)
            process.send_signal(signal.SIGKILL)
            return await task

        tally = asyncio.run(both())
    held = bool(tally.written) and _kept(store, tally.written)
    print(f"{len(tally.written)} writes acknowledged before SIGKILL; all of them kept: {verdict(held=held)}")
    return held


def main() -> None:
    """Fill a store, then do what was asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="how long the mix is asked; the others a third each"
    )
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--model", default="none", help="the embedding model (none)")
    parser.add_argument("--soak", action="store_true", help="ask a mix for --minutes and tell the memory")
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--kill", action="store_true", help="end the server by SIGKILL under load")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        with recollect.open(store, model=given.model) as db:
            for text in made_up_texts(MEMORIES):
                db.add(text)
        do = soak if given.soak else kill if given.kill else measure
        sys.exit(0 if do(given, store) else 1)


if __name__ == "__main__":
    main()
