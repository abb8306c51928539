"""Measure how fast memories are imported without a model: one file, one command, one core.

Beside it stands a floor in the same run: the same rows written by apsw into one plain table and one FTS5 table,
with nothing parsed, checked, redacted, compared or logged.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common import Ran, made_up_texts, median, print_table, recollect, run, stay_on_one_core, verdict, watched

AIM = 5000
"""Memories a second."""

CORTEX = 2894
"""What Cortex says of itself."""

FLOOR = """
import json, sys, apsw
rows = [json.loads(line)["content"] for line in open(sys.argv[1], encoding="utf-8")]
db = apsw.Connection(sys.argv[2])
db.pragma("journal_mode", "wal")
db.execute("create table memory (id integer primary key, content text not null)")
db.execute("create virtual table word using fts5 (content, content = '', tokenize = 'porter')")
db.execute("begin immediate")
db.executemany("insert into memory values (?, ?)", enumerate(rows, start=1))
db.executemany("insert into word (rowid, content) values (?, ?)", enumerate(rows, start=1))
db.execute("commit")
"""


def write_file(path: Path, count: int) -> float:
    """Write *count* made-up memories as JSONL and return how many words one has on the mean."""
    texts = made_up_texts(count)
    path.write_text("".join(json.dumps({"content": text}) + "\n" for text in texts), encoding="utf-8")
    return sum(len(text.split()) for text in texts) / count


def imported(source: Path, folder: Path, count: int) -> Ran:
    """Import *source* into a new store as a user would, and check that all of it is there."""
    store = folder / "notes.db"
    ran = run(recollect("--db", str(store), "--json", "import", str(source)), environment=UNTOUCHED)
    new = json.loads(ran.output)["memories"]["new"]
    if new != count:
        sys.exit(f"{count} memories were to be imported, {new} were")
    return ran


UNTOUCHED = {
    "RECOLLECT_CONFIG": "",
    "RECOLLECT_PROFILE": "default",
    "RECOLLECT_PROJECT": "",
    "RECOLLECT_MODEL": "none",
}
"""So that the user's own settings do not count, and words alone are at work."""


def floor(source: Path, folder: Path) -> Ran:
    """Write the same texts with nothing but apsw."""
    return run([sys.executable, "-c", FLOOR, str(source), str(folder / "floor.db")])


def rounds(source: Path, count: int, times: int) -> tuple[list[Ran], list[Ran]]:
    """Run both, one after the other, *times* times."""
    ours, theirs = [], []
    for _ in watched(range(times), of=times, what="round"):
        with tempfile.TemporaryDirectory() as home:
            ours.append(imported(source, Path(home), count))
            theirs.append(floor(source, Path(home)))
    return ours, theirs


def row(name: str, ran: Sequence[Ran], count: int) -> dict[str, str]:
    seconds = median(each.seconds for each in ran)
    return {
        "": name,
        "seconds": f"{seconds:.2f}",
        "of computing": f"{median(each.computed for each in ran):.2f}",
        "memories/s": f"{count / seconds:,.0f}",
        "peak memory": f"{median(each.megabytes for each in ran):.0f} MB",
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 memories, once")
    options = parser.parse_args()
    count, times = (2000, 1) if options.quick else (10_000, 3)
    where = stay_on_one_core()
    with tempfile.TemporaryDirectory() as home:
        source = Path(home, "memories.jsonl")
        words = write_file(source, count)
        ours, theirs = rounds(source, count, times)
    print(f"{count:,} memories of {words:.0f} words in one JSONL file, {where}, median of {times}\n")
    print_table([row("recollect import", ours, count), row("floor: apsw, one table, one FTS5", theirs, count)])
    ratio = median(each.seconds for each in ours) / median(each.seconds for each in theirs)
    speed = count / median(each.seconds for each in ours)
    print(f"\nrecollect takes {ratio:.1f} times the floor")
    print(f"aim {AIM:,}/s: {verdict(held=speed >= AIM)} ({speed / AIM:.2f} of it; {speed / CORTEX:.2f} of Cortex)")


if __name__ == "__main__":
    main()
