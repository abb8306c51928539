"""Sections start, import and folder: commands as a user runs them, each a process of its own, in turns."""

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.common import Ran, made_up_texts, median, recollect, run
from benchmarks.speed.material import folder_of, read_questions
from benchmarks.speed.progress import say
from benchmarks.speed.results import Result
from benchmarks.speed.worker import PLAIN, index_of

STARTS = 11
IMPORTS = 3
ABSTRACTS = 5183
FILES = 20_000
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
"""The same rows with nothing parsed, checked, redacted, compared or logged."""
EMPTY = "import sys, recollect; recollect.open(sys.argv[1], model='none').close()"
CAT = "find '{folder}' -type f -print0 | xargs -0 cat > '{out}'"


def start(text: str, size: int) -> list[Result]:
    """Search as a process: on an empty store and on one of this *size*, beside a Python that does nothing."""
    material = folder_of(text, size)
    store = index_of("recollect", material)[0] / "notes.db"
    words = read_questions(material)[0].split()[:3]
    with tempfile.TemporaryDirectory() as home:
        empty = Path(home, "empty.db")
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "recollect --help": recollect("--help"),
            "search, empty": recollect("--db", str(empty), "search", *words),
            "search": recollect("--db", str(store), "search", *words),
            "search, mistyped": recollect("--db", str(store), "search", *words[:2], f"{words[2]}qx"),
        }
        run([sys.executable, "-c", EMPTY, str(empty)], environment=PLAIN)
        taken = _in_turns(commands, STARTS, f"{text} {size:,}: start")
    return [_timed("start", row, ran, text=text, size=size) for row, ran in taken.items()]


def _in_turns(commands: Mapping[str, Sequence[str]], times: int, what: str) -> dict[str, list[Ran]]:
    """Run each command once to warm the disk, then *times* times in turn."""
    taken: dict[str, list[Ran]] = {name: [] for name in commands}
    for turn in range(times + 1):
        say(f"{what}, round {turn}/{times}")
        for name, command in commands.items():
            ran = run(command, environment=PLAIN, accepted=(0, 1))  # 1 tells that nothing was found
            if turn:
                taken[name].append(ran)
    return taken


def _timed(section: str, row: str, ran: Sequence[Ran], *, text: str = "", size: int = 0) -> Result:
    seconds = sorted(each.seconds * 1000 for each in ran)
    return Result(
        section=section,
        row=row,
        engine="python" if row.startswith("python") else "recollect",
        text=text,
        size=size,
        samples=len(ran),
        p50=median(seconds),
        p95=seconds[-1],
        cpu_p50=median(each.computed * 1000 for each in ran),
        memory_mb=median(each.megabytes for each in ran),
        rounds=tuple(round(each.seconds * 1000, 2) for each in ran),
    )


def imports() -> list[Result]:
    """Import 10,000 memories of 40 words, and abstracts, beside the same rows written by apsw alone."""
    sources = {"40 words": folder_of("notes", 10_000), "abstracts": folder_of("abstracts", ABSTRACTS)}
    taken: dict[tuple[str, str], list[Ran]] = {}
    for turn in range(IMPORTS):
        for row, material in sources.items():
            say(f"import of {row}, round {turn + 1}/{IMPORTS}")
            source = str(material / "texts.jsonl")
            with tempfile.TemporaryDirectory() as home:
                store, floor = str(Path(home, "notes.db")), str(Path(home, "floor.db"))
                ours = run(recollect("--db", store, "--json", "import", source), environment=PLAIN)
                bare = run([sys.executable, "-c", FLOOR, source, floor])
                taken.setdefault((row, "recollect"), []).append(ours)
                taken.setdefault((row, "apsw"), []).append(bare)
    return [_imported(row, engine, sources[row], ran) for (row, engine), ran in taken.items()]


def _imported(row: str, engine: str, material: Path, ran: Sequence[Ran]) -> Result:
    with (material / "texts.jsonl").open(encoding="utf-8") as lines:
        count = sum(1 for _ in lines)
    return Result(
        section="import",
        row=row,
        engine=engine,
        samples=len(ran),
        value=count,
        p50=median(each.seconds * 1000 for each in ran),
        cpu_p50=median(each.computed * 1000 for each in ran),
        rounds=tuple(round(each.computed * 1000, 1) for each in ran),
        per_second=count / median(each.seconds for each in ran),
        cpu_per_second=count / median(each.computed for each in ran),
        peak_mb=median(each.megabytes for each in ran),
    )


def folder(files: int = FILES) -> list[Result]:
    """Import a folder of small files, then again unchanged, beside reading the same bytes."""
    with tempfile.TemporaryDirectory() as home:
        notes, store = Path(home, "notes"), str(Path(home, "notes.db"))
        for at, text in enumerate(made_up_texts(files, words=60)):
            place = notes / f"{at // 200:03}"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"note-{at}.md").write_text(f"# Note {at}\n\n{text}\n", encoding="utf-8")
        command = recollect("--db", store, "--json", "import", str(notes))
        say(f"import of {files:,} files")
        first = run(command, environment=PLAIN)
        say(f"import of {files:,} files again")
        again = run(command, environment=PLAIN)
        if json.loads(again.output)["memories"]["new"]:
            sys.exit("an unchanged folder gave new memories")
        cat = run(["sh", "-c", CAT.format(folder=notes, out=Path(home, "all"))])
    ran = {"first": first, "unchanged": again, "python, find and cat": cat}
    return [_timed("folder", row, [each], size=files) for row, each in ran.items()]
