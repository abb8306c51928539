"""Queries that nobody means well: whatever is asked, there is an answer or an error of ours, in bounded time.

Run as a script it asks so many of them and tells in a line of JSON what came of it.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from row import SCRATCH, Progress, Row, silent

import recollect
from recollect import Filter, Memory, RecollectError

BATCH = 2_000
MEMORIES = 50
SECONDS_FOR_ONE = 0.05
"""How many seconds of CPU a query may take on average; one alone is not timed, for machines are busy at times."""

WORDS = ("cache", "router", "the", "of", "deploy", "Tuesday", "is", "who", "when", "thing7", "naïve", "Straße", "a")
OPERATORS = (
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "-",
    "+",
    "*",
    "^",
    "~",
    "(",
    ")",
    '"',
    "'",
    "`",
    "{",
    "}",
    "[",
    "]",
    "|",
    "&&",
)
FILTERS = (
    "type:",
    "tag:",
    "since:",
    "until:",
    "on:",
    "project:",
    "source:",
    "kind:",
    "fact_type:",
    "as_of:",
    "x:",
    ":",
)
DATES = (
    "2026-02-30",
    "99999-01-01",
    "0000-00-00",
    "-1d",
    "999999999999d",
    "last week",
    "May 2023",
    "3d",
    "1e9d",
    "NaN",
)
INJECTIONS = (
    "'; drop table memory; --",
    '" OR 1=1 --',
    "NEAR(a b, 99999999999)",
    "stem MATCH 'a'",
    "{title body}: a",
    "%s%n%x",
    "$(reboot)",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "\\x00\\u0000",
    "[MEMORY]",
)
PATTERNS = (
    "(a+)+$",
    ".*" * 30,
    "(?:a|a)*b",
    "[a-",
    "\\",
    "(?P<n>",
    "a{99999}",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "\\b\\B\\Z",
)
LETTERS = (
    "\ud800",
    "\udfff",
    "a\ud83d",
    "\x00",
    "\x1b[2J",
    "\u202e",
    "\u200b" * 5,
    "e\u0301" * 20,
    "\u0300" * 50,
    "👩‍👩‍👧‍👦",
    "メモリ",
    "记忆 搜索",
    "기억",
    "ความจำ",
    "ذاكرة",
    "\u0130\u0131\u017fK",
    "ﬁﬀ",
    "\ufffe\uffff",
    "\U0010ffff",
    "\r\n\t\v\f",
    "½²Ⅷ",
)
LONG: Sequence[Callable[[random.Random], str]] = (
    lambda chance: chance.choice('aé語("-*:') * chance.randrange(1, 3000),
    lambda chance: " ".join(f"w{chance.randrange(10**6)}" for _ in range(chance.randrange(40))),
    lambda chance: "(" * chance.randrange(300) + "a" + ")" * chance.randrange(300),
    lambda chance: " OR ".join(["a"] * chance.randrange(100)),
    lambda chance: " ".join(f"-{chance.choice(WORDS)}" for _ in range(30)),
    lambda chance: " ".join(f"{chance.choice('abcdefgh')}*" for _ in range(20)),
    lambda chance: str(chance.randrange(10**60)),
    lambda chance: "".join(chr(chance.randrange(0x110000)) for _ in range(40)),
)
SHORT = (WORDS, OPERATORS, FILTERS, DATES, INJECTIONS, PATTERNS, LETTERS)
GLUE = ("", " ", " ", " ", ":", '"', "\n")


def query(chance: random.Random) -> str:
    """Return a query of a few pieces that do not belong together."""
    count = chance.choice((0, 1, 1, 2, 3, 4, 6, 12))
    pieces = [chance.choice(chance.choices(SHORT, weights=(6, 4, 3, 1, 1, 1, 2))[0]) for _ in range(count)]
    if chance.random() < 0.05:
        pieces.append(chance.choice(LONG)(chance))
    chance.shuffle(pieces)
    return "".join(piece + chance.choice(GLUE) for piece in pieces)


def options(chance: random.Random) -> Mapping[str, Any]:
    """Return options of a search, most of them none, some without a meaning."""
    chosen: dict[str, Any] = {"mode": chance.choice(("hybrid", "keyword", "semantic"))}
    if chance.random() < 0.2:
        chosen["limit"] = chance.choice((0, 1, 3, 100, -1, 2**40, 2**80))
    if chance.random() < 0.1:
        chosen["alpha"] = chance.choice((0.0, 0.5, 1.0, -1.0, 2.0, float("nan"), float("inf")))
    if chance.random() < 0.1:
        chosen["where"] = where(chance)
    if chance.random() < 0.05:
        chosen["facets"] = True
    if chance.random() < 0.05:
        chosen["intent"] = query(chance)
    if chance.random() < 0.02:
        chosen["lens"] = query(chance)
    if chance.random() < 0.02:
        chosen["profile"] = chance.choice(("cortex", "oro", "boocode", "nornicdb", "engram", "no such profile"))
    return chosen


def where(chance: random.Random) -> Filter:
    """Return a filter of things that may not exist."""
    texts = tuple(query(chance) for _ in range(chance.randrange(3)))
    since = datetime(chance.choice((1, 1970, 2026, 9999)), 1, 1, tzinfo=UTC)
    plain = Filter(since=chance.choice((None, since)), include_superseded=chance.random() < 0.5)
    chosen: dict[str, Any] = {chance.choice(("kinds", "types", "tags", "sources", "fact_types")): texts}
    return replace(plain, **chosen)


# --- asking -------------------------------------------------------------------------------------


def build(path: Path) -> None:
    """Make a small store to ask."""
    chance = random.Random(3)
    texts = [
        " ".join(chance.choices((*WORDS, *LETTERS[8:]), k=6)) + f" entry{n} number{n * n}" for n in range(MEMORIES)
    ]
    with recollect.open(path, model="hashing") as db:
        db.add_all([Memory(content=text, title=f"Entry {n}", tags=("a", f"t{n % 7}")) for n, text in enumerate(texts)])


def main(path: str, first: str, last: str) -> None:
    """Ask the queries from number *first* to before *last*."""
    outcomes: Counter[str] = Counter()
    foreign: list[str] = []
    with recollect.open(path, model="hashing") as db:
        start = time.process_time()
        for number in range(int(first), int(last)):
            chance = random.Random(number)
            text, more = query(chance), options(chance)
            try:
                outcomes[db.search(text, **more).outcome] += 1
            except RecollectError as error:
                outcomes[error.code] += 1
            except Exception as error:  # noqa: BLE001  (that there is such a one is what is looked for)
                foreign.append(f"query {number} {text[:60]!r} {more}: {type(error).__name__}: {error}")
        seconds = time.process_time() - start
    sys.stdout.write(json.dumps({"outcomes": outcomes, "foreign": foreign, "seconds": seconds}))


def ask(path: Path, first: int, last: int) -> Mapping[str, Any]:
    """Ask some queries in a process of their own."""
    limit = 60 + 4 * SECONDS_FOR_ONE * (last - first)
    words = [sys.executable, __file__, str(path), str(first), str(last)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=limit)  # noqa: S603
    except subprocess.TimeoutExpired:
        return {"outcomes": {}, "foreign": [f"queries {first} to {last} took over {limit:.0f} s"], "seconds": limit}
    if done.returncode:
        said = f"queries {first} to {last} ended the process with {done.returncode}: {done.stderr[-300:]}"
        return {"outcomes": {}, "foreign": [said], "seconds": 0.0}
    told: Mapping[str, Any] = json.loads(done.stdout)
    return told


def row(*, queries: int, processes: int = 2, progress: Progress = silent) -> Row:
    """Ask so many hostile queries."""
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    seconds = 0.0
    with tempfile.TemporaryDirectory(dir=SCRATCH) as name, ThreadPoolExecutor(processes) as pool:
        path = Path(name, "store.db")
        build(path)
        for done in pool.map(lambda first: ask(path, first, min(first + BATCH, queries)), range(0, queries, BATCH)):
            outcomes.update(done["outcomes"])
            failures += done["foreign"]
            seconds += done["seconds"]
            progress(outcomes.total(), queries)
    if seconds > SECONDS_FOR_ONE * queries:
        failures.append(f"{queries} queries took {seconds:.0f} s of CPU")
    return Row(
        title="Hostile queries",
        done=f"{queries:,} generated queries (operators, quotes, filters, broken dates, injections, patterns, half "
        f"characters, long tokens, deep parentheses, options without a meaning) on {MEMORIES} memories: "
        f"{', '.join(f'{name} {count:,}' for name, count in sorted(outcomes.items()))}",
        lost=f"{len(failures)} errors that are not ours, ends of the process, or hangs; {seconds:.0f} s of CPU in all",
        unproven="Queries have some thousand characters at most and the store is small; single queries are not timed.",
        failures=tuple(failures),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
