"""Read the log of a git repository: one memory for each commit.

A folder is read so only when it is asked for as `git`: who imports a folder of notes that lies in a repository wants
the notes. A file that `git log` wrote is recognised by itself.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

from msgspec import Struct

from recollect.errors import FileError
from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.find_files import shown
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.portions import Made, in_parts, numbered_lines
from recollect.remember.formats.record import Origin, Parsed
from recollect.remember.formats.values import clean
from recollect.settings import child_environment
from recollect.text.dates import as_moment

_LOG: Final = regex(r"\ufeff?\s*commit [0-9a-f]{7,64}\b[^\n]*\n(?:Merge: [^\n]*\n)?Author: ")
_COMMIT: Final = regex(r"commit (?P<hash>[0-9a-f]{7,64})(?: \((?P<refs>[^)]*)\))?\s*")
_HEADING: Final = regex(r"(?P<name>Author|AuthorDate|Date|Merge|Commit|CommitDate|Reflog\w*):\s*(?P<value>.*)")
_STAT: Final = regex(r"(?P<stat> (?P<path>\S.*?)\s+\|\s+(?:\d+|Bin).*)| \d+ files? changed.*")
_TRAILER: Final = regex(r"^(?:Signed-off-by|Change-Id|Co-authored-by|Reviewed-by|Reviewed-on): .*\n?", re.MULTILINE)
_MAX_FILES: Final = 100
_MAX_COMMIT_BYTES: Final = 1024 * 1024
_FORMAT: Final = "%x1e%H%x1f%P%x1f%an%x1f%aI%x1f%D%x1f%B%x1f"
_COMMAND: Final = (
    *("--no-pager", "--no-optional-locks", "-c", "log.showSignature=false", "-c", "core.quotePath=false"),
    *("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("log", "--no-color", "--encoding=UTF-8", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv"),
    f"--format={_FORMAT}",
)
_NO_TRANSPORT: Final = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
"""Keeps git from fetching missing objects: a repository's own configuration says which program does that."""


class _Commit(Struct, frozen=True, kw_only=True):
    """A commit in a log."""

    hash: str
    message: str
    author: str = ""
    at: datetime | None = None
    refs: str = ""
    files: tuple[str, ...] = ()
    merge: bool = False
    line: int | None = None


def is_git_log(glimpse: Glimpse) -> bool:
    """Tell whether a file was written by `git log`."""
    return bool(_LOG.match(glimpse.text.replace("\r\n", "\n")))


def read_git(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield the commits of the repository at *path*, or of a file that `git log` wrote; bare merges are counted."""
    commits = _of_repository(path) if path.is_dir() else _of_file(path)
    name = path.absolute().name if path.is_dir() else ""
    yield from in_parts(_made(each, origin, name) for each in commits)


def _made(commit: _Commit, origin: Origin, repository: str) -> Made:
    if commit.merge and "\n" not in commit.message.strip():
        return "merge without words"
    return (_memory(commit, origin, repository), None) if commit.message.strip() else "commit without words"


def _memory(commit: _Commit, origin: Origin, repository: str) -> Memory:
    message = _TRAILER.sub("", commit.message).strip() or commit.message.strip()
    subject, _, body = message.partition("\n")
    about: dict[str, object] = {"commit": commit.hash[:12], "author": commit.author, "repository": repository}
    files = [*commit.files[:_MAX_FILES], *(["…"] if len(commit.files) > _MAX_FILES else [])]
    return Memory(
        content=body.strip() or subject,
        title=subject,
        type="commit",
        tags=tuple(each.removeprefix("tag: ") for each in commit.refs.split(", ") if each.startswith("tag: ")),
        source=origin.source,
        line=commit.line,
        observed_at=commit.at or origin.date,
        external_id=commit.hash,
        metadata={**{key: value for key, value in about.items() if value}, **({"files": files} if files else {})},
    )


# --- a repository ---------------------------------------------------------------------------


def _of_repository(path: Path) -> Iterator[_Commit]:
    with TemporaryFile() as complaints, _running(path, complaints) as process:
        if process.stdout is not None:
            yield from _commits(process.stdout)
        if process.wait():
            complaints.seek(0)
            said = clean(complaints.read(4000).decode("utf-8", "replace")).strip().splitlines()
            reason = said[0] if said else "git failed"
            raise FileError(f"{shown(path)}: {reason}", hint="name the folder of a repository that has commits")


@contextmanager
def _running(path: Path, complaints: IO[bytes]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run git in the folder *path*; it ends with the caller."""
    try:
        process = subprocess.Popen(  # noqa: S603 - our own words; the folder is where it runs
            (_git(path), *_COMMAND),
            cwd=path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env={**child_environment(), **_NO_TRANSPORT},
        )
    except (OSError, ValueError) as error:
        hint = "install git, or save the log as a file: git log --name-only > log.txt"
        raise FileError(f"git cannot be run in {shown(path)}", hint=hint) from error
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _git(repository: Path) -> str:
    """Return the path of git; a program in the *repository* or in the current folder is never run."""
    found = Path(shutil.which("git") or "")
    if not found.is_absolute() or found.parent in (repository.absolute(), Path.cwd()):
        raise FileNotFoundError("git")
    return str(found)


def _commits(stream: IO[bytes]) -> Iterator[_Commit]:
    """Yield the commits in the output of git; very long ones are cut."""
    pending = b""
    while piece := stream.read(256 * 1024):
        *whole, pending = (pending + piece).split(b"\x1e")
        yield from filter(None, map(_of_record, whole))
        pending = pending[:_MAX_COMMIT_BYTES]
    if last := _of_record(pending):
        yield last


def _of_record(raw: bytes) -> _Commit | None:
    parts = clean(raw.decode("utf-8", "replace")).split("\x1f")
    if len(parts) < 7:
        return None
    key, parents, author, at, refs = parts[:5]
    files = tuple(line for line in parts[-1].split("\n") if line.strip())
    return _Commit(
        hash=key.strip(),
        message="\x1f".join(parts[5:-1]),
        author=author,
        at=as_moment(at),
        refs=refs,
        files=files,
        merge=" " in parents,
    )


# --- a saved log ----------------------------------------------------------------------------


def _of_file(path: Path) -> Iterator[_Commit]:
    """Yield the commits of a saved log."""
    pending: list[str] = []
    begin = 0
    for number, raw in numbered_lines(path):
        line = clean(raw.decode("utf-8-sig", "replace")).rstrip("\r\n")
        if _COMMIT.fullmatch(line):
            if begin:
                yield _of_lines(pending, begin)
            pending, begin = [], number
        if begin and len(pending) < 100_000:
            pending.append(line)
    if not begin:
        raise FileError(f"{shown(path)} is not a git log", hint="write one: git log --name-only > log.txt")
    yield _of_lines(pending, begin)


def _of_lines(lines: Iterable[str], begin: int) -> _Commit:
    """Return the commit in the *lines* of a log: headings, the message indented, the files it touched."""
    first, *rest = lines
    found = _COMMIT.fullmatch(first)
    headings: dict[str, str] = {}
    message: list[str] = []
    files: list[str] = []
    for line in rest:
        heading = _HEADING.fullmatch(line) if not message else None
        if heading:
            headings[heading["name"]] = heading["value"].strip()
        elif line.startswith("    ") or (not line.strip() and not files):
            message.append(line[4:])
        elif line.strip():
            files += _file(line)
    return _Commit(
        hash=found["hash"] if found else "",
        refs=(found["refs"] or "") if found else "",
        message="\n".join(message).strip(),
        author=headings.get("Author", "").partition(" <")[0],
        at=_date(headings.get("Date") or headings.get("AuthorDate") or ""),
        files=tuple(files),
        merge="Merge" in headings,
        line=begin,
    )


def _file(line: str) -> Iterator[str]:
    """Yield the file that a line below the message names, in the forms of --name-only, --name-status and --stat."""
    stat = _STAT.fullmatch(line) if len(line) < 1000 else None
    if stat is None:
        yield line.rpartition("\t")[2].strip()
    elif stat["path"]:
        yield stat["path"]


def _date(text: str) -> datetime | None:
    with suppress(ValueError):
        return as_moment(datetime.strptime(text, "%a %b %d %H:%M:%S %Y %z"))
    return as_moment(text)
