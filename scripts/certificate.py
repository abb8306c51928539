#!/usr/bin/env python3
"""Attack the store in every way we know and write down what was lost.

    python scripts/certificate.py [--only WORD]... [--output docs/certificate.md]

It takes about a quarter of an hour. The attacks are in tests/faults, where a short form of each is a test; the exit
code is 1 when something happened that must not. Parts that are done alone are kept, and the last one writes the
certificate.
"""

import argparse
import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "faults"))

import apsw  # noqa: E402
import between_projects  # noqa: E402
import boundaries  # noqa: E402
import damage  # noqa: E402
import document_bombs  # noqa: E402
import erasure  # noqa: E402
import hostile_files  # noqa: E402
import hostile_queries  # noqa: E402
import offline  # noqa: E402
import planted  # noqa: E402
import refusals  # noqa: E402
import rights  # noqa: E402
import silent_clients  # noqa: E402
import writers  # noqa: E402
from row import Progress, Row  # noqa: E402

import recollect  # noqa: E402

PARTS: Mapping[str, Callable[..., Row]] = {
    "boundaries": partial(boundaries.row, torn=8),
    "refusals": refusals.row,
    "killed": partial(writers.killed, rounds=72),
    "crowded": partial(writers.crowded, seconds=45),
    "damage": partial(damage.row, cases=500, commands=20),
    "queries": partial(hostile_queries.row, queries=100_000),
    "files": partial(hostile_files.row, size=100_000),
    "erasure": partial(erasure.row, rounds=25),
    "leaks": between_projects.row,
    "offline": partial(offline.row, seconds=20),
    "rights": rights.row,
    "planted": planted.row,
    "bombs": document_bombs.row,
    "silent": silent_clients.row,
}
"""Every row by a short name, with how much of it is done here."""

KEPT = ROOT / "build" / "certificate"
"""Where the rows are kept until all are there."""
SHOWN = 5
"""How many examples of one kind of trouble are written down."""

HEAD = """# Certificate

Written by `make certificate` on {day} in {minutes:.0f} minutes: recollect {version}, SQLite {sqlite}, Python {python},
{system}. Every row is code in `tests/faults`, and a short form of it is a test.

**{verdict}**

| | what was done | what was lost | what this does not prove |
|---|---|---|---|
"""


def document(rows: Sequence[Row], *, seconds: float, today: datetime) -> Iterator[str]:
    """Yield the certificate, part by part."""
    held = sum(not (row.failures or row.known) for row in rows)
    yield HEAD.format(
        day=f"{today:%Y-%m-%d}",
        minutes=max(1, seconds / 60),
        version=recollect.__version__,
        sqlite=apsw.sqlite_lib_version(),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        verdict=f"All {len(rows)} rows hold." if held == len(rows) else f"{held} of {len(rows)} rows hold; see below.",
    )
    yield from (f"| **{row.title}** | {row.done} | {row.lost} | {row.unproven} |\n" for row in rows)
    yield from _examples("Failed", {row.title: row.failures for row in rows})
    yield from _examples("Known and not yet mended", {row.title: row.known for row in rows})


def _examples(heading: str, lines: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if not any(lines.values()):
        return
    yield f"\n## {heading}\n\n"
    for title, each in lines.items():
        if each:
            more = f" (the first {SHOWN} of {len(each)})" if len(each) > SHOWN else ""
            yield f"**{title}**{more}\n\n"
            yield from (f"- {_of_no_machine(line)[:300]}\n" for line in each[:SHOWN])
            yield "\n"


def _of_no_machine(line: str) -> str:
    """Return *line* on one line, without the folders of this machine."""
    return re.sub(r"(?<![\w.])/(?:\S+/)+", "", " ".join(line.split()))


def told(name: str) -> Progress:
    """Return what shows how far the part *name* is, to a terminal only."""
    if not sys.stderr.isatty():
        return lambda _done, _total: None

    def progress(done: int, total: int) -> None:
        sys.stderr.write(f"\r\x1b[K{name} {done}/{total}")
        sys.stderr.flush()

    return progress


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those it has waited for."""
    return sum(os.times()[:4])


def run(name: str) -> dict[str, Any]:
    """Do the part *name* and say in a line what came of it; a part that cannot be done has failed."""
    start, used = time.monotonic(), cpu_seconds()
    try:
        row = PARTS[name](progress=told(name))
    except Exception as error:  # noqa: BLE001  (the other parts are done all the same)
        failed = f"{type(error).__name__}: {error}"
        row = Row(title=name, done="", lost="it could not be done", unproven="", failures=(failed,))
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    took = f"{time.monotonic() - start:.0f} s, {cpu_seconds() - used:.0f} s of CPU"
    sys.stdout.write(f"{name} ({took}): {row.lost}\n")
    sys.stdout.writelines(f"  FAILED {line[:300]}\n" for line in row.failures[:SHOWN])
    sys.stdout.flush()
    return {"row": asdict(row), "seconds": time.monotonic() - start}


def main(arguments: Sequence[str]) -> int:
    """Do every part, or the one asked for; write the certificate when all were done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(PARTS), action="append", help="one row alone (may be repeated)")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "certificate.md")
    given = parser.parse_args(arguments)
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in given.only or PARTS:
        KEPT.joinpath(f"{name}.json").write_text(json.dumps(run(name)), encoding="utf-8")
    done = {name: KEPT / f"{name}.json" for name in PARTS}
    if not all(path.exists() for path in done.values()):
        return 0
    kept = [json.loads(path.read_text(encoding="utf-8")) for path in done.values()]
    rows = [Row(**each["row"]) for each in kept]
    text = "".join(document(rows, seconds=sum(each["seconds"] for each in kept), today=datetime.now(UTC)))
    given.output.write_text(text.rstrip() + "\n", encoding="utf-8")
    for path in done.values():
        path.unlink()
    return int(any(row.failures for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
