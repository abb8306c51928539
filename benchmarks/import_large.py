"""Measure imports of much: one JSONL file of gigabytes, and a folder of 20,000 small files.

The file is imported at two sizes, so that one sees whether memory grows with it; then again unchanged, and again with
some lines more. Beside the folder stands `find | xargs cat`, which reads the same bytes and does nothing with them.
All of it is made up in a temporary folder, which is removed in the end.
"""

import argparse
import json
import sys
import tempfile
from itertools import count
from pathlib import Path

from common import Ran, made_up_texts, print_table, recollect, run, verdict
from import_speed import UNTOUCHED

BLOCK = 5000
"""How many records are made up at a time."""
MOST = 300
"""Megabytes of memory that an import of any size may take."""
CAT = "find '{folder}' -type f -print0 | xargs -0 cat > '{out}'"


def write_records(path: Path, megabytes: float, *, first: int = 0) -> int:
    """Add records of about 1 KB to *path* until it has so many *megabytes*; return how many there are then."""
    size, number = path.stat().st_size if path.exists() else 0, first
    with path.open("a", encoding="utf-8") as file:
        for block in count(first):
            for text in made_up_texts(BLOCK, words=120, seed=block):
                line = json.dumps({"id": f"r-{number}", "session": f"s-{number // 40}", "content": text}) + "\n"
                size, number = size + file.write(line), number + 1
                if size >= megabytes * 1_000_000:
                    return number
    return number


def write_files(folder: Path, number: int) -> None:
    """Write *number* notes of 60 words, 200 in a folder."""
    for at, text in enumerate(made_up_texts(number, words=60)):
        place = folder / f"{at // 200:03}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"note-{at}.md").write_text(f"# Note {at}\n\n{text}\n", encoding="utf-8")


def imported(source: Path, store: Path, *, new: int, unchanged: int = 0) -> Ran:
    """Import *source* as a user would, and check what came of it."""
    ran = run(recollect("--db", str(store), "--json", "import", str(source)), environment=UNTOUCHED)
    told = json.loads(ran.output)["memories"]
    if (told["new"], told["unchanged"]) != (new, unchanged):
        sys.exit(f"{new} new and {unchanged} unchanged memories were to be imported, it was {told}")
    return ran


def row(name: str, ran: Ran, number: int) -> dict[str, str]:
    return {
        "": name,
        "seconds": f"{ran.seconds:.1f}",
        "of computing": f"{ran.computed:.1f}",
        "each second": f"{number / max(ran.seconds, 0.001):,.0f}",
        "peak memory": f"{ran.megabytes:.0f} MB",
    }


def large(megabytes: float, folder: Path) -> None:
    """Measure one large file."""
    source, rows, peaks = folder / "records.jsonl", [], {}
    for size in (megabytes / 10, megabytes):
        number, store = 0, folder / f"{size:.0f}.db"
        source.unlink(missing_ok=True)
        number = write_records(source, size)
        ran = imported(source, store, new=number)
        peaks[size] = ran.megabytes
        rows.append(row(f"{size:,.0f} MB, {number:,} records", ran, number))
    rows.append(row("again, unchanged", imported(source, store, new=0, unchanged=number), number))
    more = write_records(source, megabytes * 1.001, first=number) - number
    rows.append(row(f"again, {more:,} more", imported(source, store, new=more, unchanged=number), more))
    print_table(rows)
    first, last = peaks.values()
    slope = (last - first) / (megabytes * 0.9 / 1000)
    print(
        f"\nmemory grows by {slope:.1f} MB for each GB; {last + slope * max(0, 2000 - megabytes) / 1000:.0f} MB at 2 GB"
    )
    print(f"aim under {MOST} MB: {verdict(held=max(peaks.values()) < MOST)}\n")


def small(number: int, folder: Path) -> None:
    """Measure a folder of many small files."""
    notes, store = folder / "notes", folder / "notes.db"
    write_files(notes, number)
    cat = run(["sh", "-c", CAT.format(folder=notes, out=folder / "all")])
    first = imported(notes, store, new=number)
    # The first time the files are so new that they may still be changing, so that they are read once more.
    second = imported(notes, store, new=0, unchanged=number)
    third = imported(notes, store, new=0, unchanged=number)
    print_table(
        [
            row(f"{number:,} files, find | xargs cat", cat, number),
            row("import", first, number),
            row("import again", second, number),
            row("import once more", third, number),
        ]
    )
    print(f"\nan import takes {first.seconds / cat.seconds:.0f} times as long as reading, one of unchanged files")
    print(f"{third.seconds / cat.seconds:.1f} times")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=2000, help="how large the file is (2000); 0 leaves it out")
    parser.add_argument("--files", type=int, default=20_000, help="how many small files (20000); 0 leaves them out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        if options.megabytes:
            large(options.megabytes, Path(home))
        if options.files:
            small(options.files, Path(home))


if __name__ == "__main__":
    main()
