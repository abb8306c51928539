"""Files that nobody should import: whatever they are, the import ends, says what it refused and takes the rest."""

import os
import random
import socket
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import demands
from row import Progress, Row, silent

import recollect

PATIENCE = 60.0
"""How many seconds an import may take before it counts as hanging; the machine may be busy."""
SHORT_PATIENCE = 10.0
"""How many where it is known that it hangs."""
GIGABYTES = 4
LIMITED = (
    "import resource; resource.setrlimit(resource.RLIMIT_AS, (%d << 30,) * 2); "
    "from recollect.surfaces.cli import main; main()"
)
GOOD = "The good file beside the hostile one was imported."

Make = Callable[[Path, int], None]
"""Puts hostile files into a folder; the number says how large."""


def texts(**held: Callable[[int], str]) -> Make:
    """Return what writes each text to the file whose name is given, `__` for a dot."""

    def make(folder: Path, size: int) -> None:
        for name, text in held.items():
            (folder / name.replace("__", ".")).write_bytes(text(size).encode("utf-8", "surrogatepass"))

    return make


def raw(name: str, held: Callable[[int], bytes]) -> Make:
    """Return what writes bytes to the file *name*."""

    def make(folder: Path, size: int) -> None:
        (folder / name).write_bytes(held(size))

    return make


def link(name: str, target: str) -> Make:
    return lambda folder, _: (folder / name).symlink_to(target)


# --- formats --------------------------------------------------------------------------------------


def yaml_bomb(levels: int) -> str:
    """Return a text in which each line names the one before it nine times."""
    lines = ["a0: &a0 ha"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


def unique_words(count: int) -> str:
    return " ".join(f"w{n}x{n * n}" for n in range(count))


FORMATS: Mapping[str, Make] = {
    "deep JSON lists": texts(deep__json=lambda size: "[" * size + "]" * size),
    "deep JSON objects": texts(deep__json=lambda size: '{"a":' * size + "1" + "}" * size),
    "JSON never closed": texts(open__json=lambda size: '{"content": "' + "x" * size),
    "JSON numbers": texts(
        numbers__json=lambda size: f'[{{"content": "n", "metadata": {{"n": {"9" * size}}}}}]',
        nan__json=lambda _: '[{"content": "n", "confidence": NaN, "created_at": 1e300, "turn": -1e999}]',
    ),
    "JSON of wrong types": texts(
        types__json=lambda _: (
            '[5, null, [], {"content": 5}, {"content": {}}, {"content": "x", "tags": 7, "type": []}, '
            '{"content": "y", "created_at": "9999-99-99", "confidence": "high", "metadata": [1], "line": 1e99}]'
        )
    ),
    "JSON half characters": texts(
        half__json=lambda _: (
            '[{"content": "a \\ud800 b", "external_id": "\\udfff", "tags": ["\\ud83d"], "title": "\\u0000"}]'
        )
    ),
    "JSON lines, some broken": texts(
        lines__jsonl=lambda size: '{"content": "fine"}\n{broken\n\n[]\n"text"\n' * (size // 50)
    ),
    "YAML bomb": texts(bomb__yaml=lambda _: yaml_bomb(12)),
    "deep YAML": texts(deep__yaml=lambda size: "[" * (size // 20) + "]" * (size // 20)),
    "YAML loop and tags": texts(
        loop__yaml=lambda _: "&a [*a, *a]",
        tags__yaml=lambda _: '!!python/object/apply:os.system ["touch owned"]',
        dates__yaml=lambda _: "- content: x\n  created_at: 2026-13-45\n- {1: 2, null: 3, [a]: b}\n",
    ),
    "CSV": texts(
        wide__csv=lambda size: ",".join(f"c{n}" for n in range(size // 50)) + "\n" + "," * (size // 50),
        long__csv=lambda size: f'content\n"{"x" * 10 * size}"\n',
        open__csv=lambda size: 'content\n"never closed ' + "line\n" * (size // 10),
    ),
    "Markdown headings": texts(headings__md=lambda size: "".join(f"# h{n}\n\nt{n}\n\n" for n in range(size // 100))),
    "deep Markdown": texts(
        quotes__md=lambda size: ">" * (size // 10) + " deep",
        lists__md=lambda size: "".join(" " * (2 * n) + "- a\n" for n in range(min(size // 100, 500))),
        links__md=lambda size: "[" * (size // 10) + "](" * (size // 10),
        fence__md=lambda size: "```\n" + "code\n" * (size // 10),
        front__md=lambda _: "---\n" + yaml_bomb(10) + "\n---\ntext",
    ),
    "huge lines": texts(
        line__txt=lambda size: "a" * 10 * size,
        words__txt=lambda size: unique_words(size // 20),
        spaces__txt=lambda size: " " * 10 * size,
        marks__txt=lambda size: "e" + "\u0301" * (size // 10),
        returns__txt=lambda size: "\r" * size,
    ),
    "patterns": texts(
        redos__txt=lambda size: "a" * (size // 20) + "!" + "=" * (size // 20) + " password" * (size // 200),
        ansi__txt=lambda _: "\x1b[2J\x1b]0;owned\x07 \u202e backwards",
        markers__md=lambda size: "[MEMORY] type=decision: x " * (size // 100),
    ),
}


# --- encodings, kinds of files, names ---------------------------------------------------------------


def sparse(folder: Path, _: int) -> None:
    with (folder / "sparse.md").open("wb") as file:
        file.truncate(20 << 30)


def pipe(name: str) -> Make:
    return lambda folder, _: os.mkfifo(folder / name)


def listening(folder: Path, _: int) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "socket.md"))


def folder_loop(folder: Path, _: int) -> None:
    (folder / "below").mkdir()
    (folder / "below" / "again").symlink_to(folder, target_is_directory=True)
    (folder / "itself.md").symlink_to("itself.md")
    for number in range(60):
        (folder / f"chain{number}.md").symlink_to(f"chain{number + 1}.md")


def deep_folders(folder: Path, _: int) -> None:
    """Make folders in folders until no path leads to the last."""
    here = os.open(folder, os.O_RDONLY)
    for _level in range(300):
        os.mkdir("a-folder-in-a-folder", dir_fd=here)
        below = os.open("a-folder-in-a-folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


ODD_NAMES: Sequence[bytes] = (
    b"new\nline.md",
    b"-rf.md",
    b"--help.md",
    b"\xff\xfe.md",
    b"%s%n.md",
    b"'; drop table memory; --.md",
    b"*.md",
    b" .md",
    b"a" * 252 + b".md",
    "\u202egnp.md".encode(),
    "👩‍👩‍👧‍👦.md".encode(),
    b"\x1b[2J.md",
    b"2026-99-99.md",
)


def odd_names(folder: Path, _: int) -> None:
    for number, name in enumerate(ODD_NAMES):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text(f"odd name {number} holds entry{number}")


def slow_ignore(folder: Path, _: int) -> None:
    (folder / ".gitignore").write_text("*a" * 30 + "*b\n" + "[" * 1000 + "\n!\n**/**/**/none\n\\\n")
    (folder / ("a" * 200 + ".md")).write_text("a name that a pattern takes long to refuse")


KINDS: Mapping[str, Make] = {
    "UTF-16 without a mark": raw("utf16.md", lambda _: "plain text".encode("utf-16-le")),
    "half of UTF-16": raw("half16.md", lambda _: b"\xff\xfea\x00\x00\xd8"),
    "UTF-32 beyond Unicode": raw("utf32.md", lambda _: b"\xff\xfe\x00\x00\xff\xff\xff\xff"),
    "Latin-1": raw("latin.md", lambda _: "naïve café".encode("latin-1")),
    "random bytes": raw("random.json", lambda size: random.Random(1).randbytes(size)),
    "zeros": raw("zeros.txt", bytes),
    "a mark and nothing else": raw("mark.md", lambda _: b"\xef\xbb\xbf"),
    "a packed bomb": raw("bomb.md", lambda size: zlib.compress(bytes(100 * size))),
    "20 GB of nothing": sparse,
    "a pipe": pipe("pipe.md"),
    "a pipe as ignore file": pipe(".gitignore"),
    "a socket": listening,
    "a link to a device": link("zero.md", "/dev/zero"),
    "a device as ignore file": link(".gitignore", "/dev/zero"),
    "links that lead nowhere": folder_loop,
    "folders too deep for a path": deep_folders,
    "odd names": odd_names,
    "slow ignore patterns": slow_ignore,
}
NAMED = ("/dev/zero", "/dev/null", "/dev/full", "/proc/self/mem", "pipe.md", "no such file", "", "\n", "-")
"""What is named by itself rather than met in a folder."""


# --- importing --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """How one import ended."""

    what: str
    problem: str = ""


def run_import(what: str, folder: Path, paths: Sequence[str]) -> Import:
    """Import *paths* in a process with limits of time and memory; say what is wrong with how it ended."""
    store = folder.parent / "store.db"
    patience = PATIENCE if demands.SAFE_IGNORE_FILES or what not in IGNORE_FILES else SHORT_PATIENCE
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith("RECOLLECT_")}
    words = [sys.executable, "-c", LIMITED % GIGABYTES, "--db", str(store), "--model", "none", "import", "--", *paths]
    try:
        done = subprocess.run(  # noqa: S603
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=patience,
            env={**surroundings, "RECOLLECT_CONFIG": ""},
        )
    except subprocess.TimeoutExpired:
        return Import(what=what, problem=f"it was not done after {patience:.0f} s")
    return Import(what=what, problem=_problem(done, folder, store))


def _problem(done: "subprocess.CompletedProcess[bytes]", folder: Path, store: Path) -> str:
    said = done.stderr.decode("utf-8", "replace").strip()
    unwanted = ("Traceback", "unforeseen") if demands.ERRORS_ARE_OURS else ("Traceback",)
    if done.returncode not in range(4) or any(word in said for word in unwanted):
        return f"ended with {done.returncode}: {said[-300:]}"
    if (folder / "owned").exists():
        return "a file ran a command"
    with recollect.open(store, model="none") as db:
        problems = db.doctor().problems
        taken = not (folder / "good.md").exists() or any(memory.content == GOOD for memory, _ in db.export())
    return "; ".join(problems) if problems else "" if taken else f"the good file was not taken: {said[-300:]}"


@contextmanager
def hostile(makes: Sequence[Make], size: int) -> Iterator[Path]:
    """Give a folder with hostile files and a good one, beside which a store may lie."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "notes")
        folder.mkdir()
        for make in makes:
            make(folder, size)
        (folder / "good.md").write_text(GOOD)
        yield folder


IGNORE_FILES = frozenset(["a pipe as ignore file", "a device as ignore file", "slow ignore patterns"])
"""What needs a folder of its own, for there is one such file in each."""


def groups(*, together: bool) -> Iterator[tuple[str, Sequence[Make]]]:
    """Yield what is imported at once: each kind by itself, or all that get along *together*."""
    each = {**FORMATS, **KINDS}
    if together:
        yield "all kinds in one folder", [make for name, make in each.items() if name not in IGNORE_FILES]
    if demands.SAFE_IGNORE_FILES or not together:
        yield from ((name, [each[name]]) for name in sorted(IGNORE_FILES))
    if not together:
        yield from ((name, [make]) for name, make in each.items() if name not in IGNORE_FILES)


def import_everything(*, size: int, together: bool, progress: Progress = silent) -> Iterator[Import]:
    """Import hostile files of about *size* characters."""
    chosen = list(groups(together=together))
    for number, (what, makes) in enumerate(chosen):
        progress(number, len(chosen))
        with hostile(makes, size) as folder:
            yield run_import(what, folder, [str(folder)])
    with hostile([pipe("pipe.md")], size) as folder:
        yield run_import("paths that are no files", folder, NAMED)


def row(*, size: int, together: bool = False, progress: Progress = silent) -> Row:
    """Import hostile files of about *size* characters, all *together* or one kind after another."""
    found = list(import_everything(size=size, together=together, progress=progress))
    wrong = {done.what: f"{done.what}: {done.problem}" for done in found if done.problem}
    known = () if demands.SAFE_IGNORE_FILES else tuple(line for what, line in wrong.items() if what in IGNORE_FILES)
    return Row(
        title="Hostile files",
        done=f"{len(FORMATS) + len(KINDS)} kinds of hostile files and {len(NAMED)} paths that are no files (deep, "
        "endless, broken JSON, YAML and CSV, bombs, huge lines, wrong encodings, pipes, sockets, devices, link loops, "
        f"odd names, slow patterns) in {len(found)} imports with {GIGABYTES} GB of memory and {PATIENCE:.0f} s each, a "
        "good file beside each",
        lost=f"{len(wrong)} hangs, tracebacks, good files left out or stores damaged",
        unproven="These are the kinds that were thought of. Files of more than 10 MB are refused and so not parsed; "
        "time is bounded, not short.",
        failures=tuple(line for line in wrong.values() if line not in known),
        known=known,
    )
