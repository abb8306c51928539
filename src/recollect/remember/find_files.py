"""Find the files of an import, and open and read them; errors are one line and a hint.

The files of a folder come sorted, without hidden and ignored ones.
No file stops the walk: paths that cannot be entered are reported as `Refused`.
"""

import codecs
import os
import re
import stat
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TextIO

from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import FileError
from recollect.lazy import regex
from recollect.remember.ignore import is_too_complex, read_patterns

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_DOCUMENT_BYTES: Final = 10 * 1024 * 1024
"""The size of a document, or of one record of a collection; a collection may have any size."""

IGNORE_FILES: Final = (".gitignore", ".recollectignore")
MAX_IGNORE_FILE_BYTES: Final = 100 * 1024

_BLOCK_BYTES: Final = 1024 * 1024
_PROBE_BYTES: Final = 512
_MAX_CONTROL_SHARE: Final = 0.3
_CONTROL: Final = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b"))

# UTF-32 comes first: its little-endian mark begins with that of UTF-16.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_REASONS: Final[tuple[tuple[type[Exception], str, str], ...]] = (
    (FileNotFoundError, "not found", "check the spelling, or whether it was moved"),
    (NotADirectoryError, "not found", "check the spelling, or whether it was moved"),
    (PermissionError, "permission denied", "ask for the right to read it"),
    (IsADirectoryError, "is a directory", "name the files in it, or import the folder"),
    (ValueError, "not found", "the name has a character that no file name can have"),
)


class Refused(Struct, frozen=True, kw_only=True):
    """A path the walk could not enter, and why."""

    path: Path
    reason: str


class LeadsOut(Struct, frozen=True, kw_only=True):
    """A link that the walk did not follow because it leads out of the named folder."""

    path: Path


Found = Path | Refused | LeadsOut
Passed = Counter[str]
"""How many files and folders a walk skipped, by unknown suffix or by another reason."""
HIDDEN, IGNORED, SPECIAL, OTHER = "hidden", "ignored", "not a regular file", "other"
AGENT_WORK: Final = "subagents and tool results"
"""Folders of a session that hold no conversation."""
_ENDING: Final = regex(r"\.[a-z0-9+_-]{1,12}")
_SESSION: Final = regex(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


class _Ignores(Struct, frozen=True, kw_only=True):
    """The patterns of one folder; they match paths relative to it."""

    folder: str
    patterns: "GitIgnoreSpec"


class _Step(Struct, frozen=True, kw_only=True):
    """A path to visit, with the ignore patterns of the folders above it, and where its links may lead."""

    path: str
    within: str = ""
    """The real path of the named folder; blank if links may lead anywhere."""
    ignores: tuple[_Ignores, ...] = ()


def find_files(
    paths: Sequence[Path], *, suffixes: Container[str], follow_links: bool = False, passed: Passed | None = None
) -> Iterator[Found]:
    """Walk *paths*, files and folders, and yield each readable file once, sorted by path.

    A file named in *paths* is always yielded; one found in a folder only if its suffix is one of *suffixes*, its name
    is not hidden and no ignore file names it. A folder is entered once, however many links lead to it; a link that
    leads out of the named folder is followed only with *follow_links*. Skipped files and folders are counted in
    *passed*.
    """
    seen: set[object] = set()
    passed = Counter() if passed is None else passed
    for path in sorted(set(paths)):
        steps = [_Step(path=os.fspath(path), within="" if follow_links else _real(path))]
        while steps:
            below, found = _visit(steps.pop(), suffixes, seen, passed)
            yield from found
            steps.extend(reversed(below))


def read_text(path: Path) -> str:
    r"""Return the text of *path* with line ends as "\n", or raise FileError with a hint.

    UTF-8, and UTF-16 or UTF-32 with a byte order mark, are read. A NUL becomes U+FFFD: no store keeps one.
    """
    raw = read_bytes(path)
    text = "".join(_decoded(path, _encoding(path, raw), [raw]))
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def size_of(path: Path) -> int:
    """Return the size of the file *path* in bytes; 0 if it cannot be read (reading it will report why)."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    r"""Open *path*, however large, to be read as text with line ends as "\n"; raise FileError as `read_text` does.

    All of it is checked first, in blocks, so that a file that is not text is refused before any of it is used.
    """
    with open_file(path) as file:
        head = file.read(_BLOCK_BYTES)
        encoding = _encoding(path, head)
        for _ in _decoded(path, encoding, chain([head], iter(lambda: file.read(_BLOCK_BYTES), b""))):
            pass
        file.seek(0)
        yield TextIOWrapper(file, encoding=encoding)


def _decoded(path: Path, encoding: str, blocks: Iterable[bytes]) -> Iterator[str]:
    """Yield the text of each block; raise FileError that names the first line that is not text."""
    decoder, lines = codecs.getincrementaldecoder(encoding)(), 1
    for block in chain(blocks, [b""]):
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raw: bytes = error.object
            line = lines + raw[: error.start].decode(encoding, "ignore").count("\n")
            raise FileError(
                f"{shown(path)} is not {encoding.removesuffix('-sig').upper()} text:"
                f" byte 0x{raw[error.start]:02X} on line {line}",
                hint="save it as UTF-8, for example: iconv -f latin1 -t utf-8",
            ) from error
        lines += text.count("\n")
        yield text


def lines_of(path: Path, *, longest: int = MAX_DOCUMENT_BYTES) -> Iterator[tuple[int, str | None]]:
    """Yield the lines of a text file of any size with their numbers; None for one of more than *longest* characters."""
    with open_text(path) as file:
        number = 0
        while line := file.readline(longest + 1):
            number += 1
            whole = len(line) <= longest or line.endswith("\n")
            yield number, line.removesuffix("\n").replace("\0", "\ufffd") if whole else None
            while not whole and line and not line.endswith("\n"):
                line = file.readline(longest)


def shown(path: Path | str) -> str:
    """Return *path* as one line of valid text, different for different paths."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return text.replace("\n", "\\n").replace("\r", "\\r")


# --- the walk -------------------------------------------------------------------------------


def _real(path: Path) -> str:
    """Return the real path of *path*; an invalid name stays as it is."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.fspath(path)


def _visit(step: _Step, suffixes: Container[str], seen: set[object], passed: Passed) -> tuple[list[_Step], list[Found]]:
    """Return the steps below *step*, and what it is itself: a file, a refusal, or neither."""
    path = Path(step.path)
    try:
        status = os.stat(step.path)  # noqa: PTH116 - Path.stat would do the same, slower
        folder = stat.S_ISDIR(status.st_mode)
        # The numbers of a folder are the same by every link to it; those of a file also by a second name of it.
        here = (status.st_dev, status.st_ino) if folder else path.absolute()
        if here in seen:
            return [], []
        seen.add(here)
        if not folder:
            return [], [path]
        ignores, refused = _ignores_of(step)
        below, out = _entries(replace(step, ignores=ignores), suffixes, passed)
    except (OSError, ValueError) as error:
        return [], [Refused(path=path, reason=_reason(error)[0])]
    return below, [*refused, *out]


def _entries(folder: _Step, suffixes: Container[str], passed: Passed) -> tuple[list[_Step], list[LeadsOut]]:
    """Return the steps in *folder*, and the links that lead out of it."""
    with os.scandir(folder.path) as entries:
        names = sorted((entry.name, entry) for entry in entries)
    steps: list[_Step] = []
    out: list[LeadsOut] = []
    for name, entry in names:
        path = os.path.join(folder.path, name)  # noqa: PTH118 - one string per entry is enough
        is_folder = not name.startswith(".") and _is_folder(entry)
        if unwanted := _unwanted(entry, suffixes, folder=is_folder):
            passed[unwanted] += 1
        elif _is_ignored(path, folder.ignores, folder=is_folder):
            passed[IGNORED] += 1
        elif folder.within and entry.is_symlink() and not _is_within(path, folder.within):
            out.append(LeadsOut(path=Path(path)))
        else:
            steps.append(_Step(path=path, within=folder.within, ignores=folder.ignores))
    return steps, out


def _unwanted(entry: "os.DirEntry[str]", suffixes: Container[str], *, folder: bool) -> str:
    """Return why *entry* is skipped whatever an ignore file says; blank if it is wanted."""
    name = entry.name
    if name.startswith("."):
        return HIDDEN
    if folder:
        within = os.path.basename(os.path.dirname(entry.path))  # noqa: PTH119, PTH120 - see above
        return AGENT_WORK if name in ("subagents", "tool-results") and _SESSION.fullmatch(within) else ""
    suffix = suffix_of(name)
    if suffix not in suffixes:
        return suffix if _ENDING.fullmatch(suffix) else OTHER
    return "" if _is_file(entry) else SPECIAL


def _is_within(path: str, folder: str) -> bool:
    """Tell whether the link *path* leads to *folder* or to something below it."""
    real = os.path.realpath(path)
    return real == folder or real.startswith(f"{folder.rstrip(os.sep)}{os.sep}")


def suffix_of(name: str) -> str:
    """Return the end of *name* from its last dot, in lower case; nothing if it has none."""
    return os.path.splitext(name)[1].lower()  # noqa: PTH122 - works on a bare name


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_file(entry: "os.DirEntry[str]") -> bool:
    """Tell whether *entry* is a file, or a broken link (visiting it will report that)."""
    try:
        return entry.is_file() or (entry.is_symlink() and not os.path.exists(entry.path))  # noqa: PTH110
    except OSError:
        return True


def _ignores_of(step: _Step) -> tuple[tuple[_Ignores, ...], tuple[Refused, ...]]:
    """Return the patterns that apply below *step*, nearest first, and the problems with its ignore files."""
    lines: list[str] = []
    refused: list[Refused] = []
    for name in IGNORE_FILES:
        path = Path(step.path, name)
        try:
            own = _ignore_lines(path)
        except (FileNotFoundError, IsADirectoryError):
            continue
        except FileError as error:
            refused.append(Refused(path=path, reason=str(error)))
        except OSError as error:
            refused.append(Refused(path=path, reason=_reason(error)[0]))
        else:
            lines += own
            if skipped := [str(number) for number, line in enumerate(own, start=1) if is_too_complex(line)]:
                reason = f"patterns too complex to apply: line {', '.join(skipped[:3])}"
                refused.append(Refused(path=path, reason=reason))
    if not lines:
        return step.ignores, tuple(refused)
    return (_Ignores(folder=step.path, patterns=read_patterns(lines)), *step.ignores), tuple(refused)


def _ignore_lines(path: Path) -> list[str]:
    """Return the lines of an ignore file; raise FileError if it is too large, or a pipe or device that never ends."""
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if not stat.S_ISREG(status.st_mode):
        raise FileError("not a regular file, so nothing is ignored by it")
    with path.open("rb") as file:
        raw = file.read(MAX_IGNORE_FILE_BYTES + 1)
    if len(raw) > MAX_IGNORE_FILE_BYTES:
        raise FileError(f"more than {MAX_IGNORE_FILE_BYTES // 1024} KB of patterns, so nothing is ignored by it")
    return raw.decode("utf-8-sig", "replace").splitlines()


def _is_ignored(path: str, ignores: tuple[_Ignores, ...], *, folder: bool) -> bool:
    """Tell whether the nearest pattern that matches *path* hides it."""
    for level in ignores:
        below = path[len(level.folder) :].lstrip(os.sep).replace(os.sep, "/")
        hidden = level.patterns.check_file(f"{below}/" if folder else below).include
        if hidden is not None:
            return hidden
    return False


# --- reading --------------------------------------------------------------------------------


def _encoding(path: Path, head: bytes) -> str:
    """Return the encoding of a text that begins with *head*; raise FileError if it is not text."""
    encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
    if encoding == "utf-8" and _is_binary(head[:_PROBE_BYTES]):
        raise FileError(f"{shown(path)} is binary, not text", hint="convert it to text or Markdown first")
    return encoding


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open the regular file *path*; if it cannot be opened or read, raise FileError with a hint."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError
        if not stat.S_ISREG(mode):
            # Opening a pipe would wait for its other end.
            raise FileError(f"{shown(path)} is not a regular file", hint="name a file with text in it")
        file = path.open("rb")
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    with file:
        try:
            yield file
        except (OSError, EOFError) as error:
            raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> FileError:
    reason, hint = _reason(error)
    return FileError(f"cannot read {shown(path)}: {reason}", hint=hint)


def read_bytes(path: Path, *, largest: int = MAX_DOCUMENT_BYTES) -> bytes:
    """Return the bytes of *path*, at most *largest* of them, or raise FileError with a hint."""
    with open_file(path) as file:
        raw = file.read(largest + 1)
        whole = os.fstat(file.fileno()).st_size
    if len(raw) > largest:
        size = max(whole, len(raw)) / 1024 / 1024
        limit = f"the limit is {largest // 1024 // 1024} MB; split the file"
        raise FileError(f"{shown(path)} is too large: {size:.1f} MB", hint=limit)
    return raw


def _reason(error: Exception) -> tuple[str, str]:
    """Return the reason and the hint for *error*."""
    for kind, reason, hint in _REASONS:
        if isinstance(error, kind):
            return reason, hint
    return (getattr(error, "strerror", None) or "cannot be read").lower(), "try again, or look at the disk"


def _is_binary(head: bytes) -> bool:
    """Tell whether *head* holds a NUL or is mostly control bytes."""
    control = len(head) - len(head.translate(None, _CONTROL))
    return b"\0" in head or control > _MAX_CONTROL_SHARE * len(head)
