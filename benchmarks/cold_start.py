"""Measure what one search costs as a process of its own, beside a Python that does nothing.

The store holds 10,000 memories, as the other benchmark imports them. Both commands take turns, so that
whatever else the machine does falls on both alike.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from common import Ran, median, print_table, recollect, run, verdict, watched
from import_speed import UNTOUCHED, imported, write_file

AIM = 8.0
"""How many times an empty Python a search may take; with a warm process it is 3 (`fronts.py`)."""

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "recollect --help": recollect("--help"),
    "recollect search": recollect("--db", "{store}", "search", "{words}"),
    "the same, a word mistyped": recollect("--db", "{store}", "search", "{words}x"),
}


def commands(store: Path, words: str) -> dict[str, list[str]]:
    """Return what is measured, by the name it is shown under."""
    return {name: [part.format(store=store, words=words) for part in command] for name, command in COMMANDS.items()}


def asked(source: Path) -> str:
    """Return three words that a memory in the middle of the file holds, one of them rare, the last one long."""
    lines = source.read_text(encoding="utf-8").splitlines()
    words = [word for word in json.loads(lines[len(lines) // 2])["content"].split() if word.isalpha()]
    return " ".join([*words[-2:], max(words, key=lambda word: (len(word), word))])


def rounds(chosen: dict[str, list[str]], times: int) -> dict[str, list[Ran]]:
    """Run each of *chosen* once to warm the disk, then *times* times in turn."""
    for command in chosen.values():
        run(command, environment=UNTOUCHED)
    ran: dict[str, list[Ran]] = {name: [] for name in chosen}
    for _ in watched(range(times), of=times, what="round"):
        for name, command in chosen.items():
            ran[name].append(run(command, environment=UNTOUCHED))
    return ran


def rows(ran: dict[str, list[Ran]]) -> list[dict[str, str]]:
    first = next(iter(ran.values()))
    return [
        {
            "": name,
            "milliseconds": f"{1000 * median(each.seconds for each in times):.0f}",
            "of computing": f"{1000 * median(each.computed for each in times):.0f}",
            "times python": f"{ratio(times, first):.2f}",
        }
        for name, times in ran.items()
    ]


def ratio(ours: list[Ran], theirs: list[Ran]) -> float:
    return median(each.seconds for each in ours) / median(each.seconds for each in theirs)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 memories, five rounds")
    options = parser.parse_args()
    count, times = (2000, 5) if options.quick else (10_000, 15)
    with tempfile.TemporaryDirectory() as home:
        source = Path(home, "memories.jsonl")
        write_file(source, count)
        imported(source, Path(home), count)
        ran = rounds(commands(Path(home, "notes.db"), asked(source)), times)
    print(f"One command as a process, a store of {count:,} memories, median of {times}\n")
    print_table(rows(ran))
    found = ratio(ran["recollect search"], ran["python -c pass"])
    print(f"\naim under {AIM:.0f} times an empty Python: {verdict(held=found < AIM)} ({found:.2f})")


if __name__ == "__main__":
    main()
