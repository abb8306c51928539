"""Read JSON, as one value or one value a line."""

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TextIO

from recollect.errors import FileError
from recollect.lazy import regex
from recollect.remember.find_files import LARGEST, lines_of, open_text, read_text, size_of
from recollect.remember.formats.batches import LONGEST, batches
from recollect.remember.formats.entries import of_object, parse, parse_parts
from recollect.remember.formats.record import Entry, Origin, Parsed
from recollect.remember.formats.values import DEEPEST, plain


def _fraction(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


# What is no number to a store (NaN, Infinity, 1e999) stays as it was written.
_DECODER: Final = json.JSONDecoder(parse_constant=str, parse_float=_fraction)
_BLANK: Final = regex(r"[ \t\n\r]*")


def read_json(text: str, origin: Origin) -> Parsed:
    """Return one memory for each element of an array or each key of an object; a record is one memory.

    A file with one value a line is read as JSONL.
    """
    try:
        entries = _entries(text)
    except (ValueError, RecursionError) as error:
        if _is_lines(text):
            return read_jsonl(text, origin)
        raise _no_json(origin, error) from error
    return parse(entries, origin=origin)


def _no_json(origin: Origin, error: Exception) -> FileError:
    return FileError(
        f"{origin.source} is not JSON: {_where(error)}{_what(error)}", hint="check it with: python -m json.tool"
    )


def read_jsonl(text: str, origin: Origin) -> Parsed:
    """Return one memory for each line; a line that is not JSON is a problem and stops no other."""
    found = list(_of_lines(enumerate(text.split("\n"), start=1)))
    entries = [entry for entry, _, _ in found if entry is not None]
    return parse(entries, origin=origin, problems=[problem for _, problem, _ in found if problem is not None])


def jsonl_parts(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield one memory for each line of a file of any size, in parts."""
    yield from parse_parts(batches(_of_lines(lines_of(path))), origin=origin)


def json_parts(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield the memories of a JSON file: a document of one object at once, a long list in parts."""
    if size_of(path) <= LARGEST:
        yield read_json(read_text(path), origin)
        return
    with open_text(path) as file:
        head = file.read(LONGEST)
    if head.lstrip()[:1] == "[":
        yield from parse_parts(batches(_of_elements(path, origin)), origin=origin)
    elif _is_lines(head):
        yield from jsonl_parts(path, origin)
    else:
        read_text(path)  # which says that it is too large


def _of_lines(lines: Iterable[tuple[int, str | None]]) -> Iterator[tuple[Entry | None, str | None, int]]:
    """Yield the entry in each of *lines* or what is wrong with it, and how long the line is."""
    for number, line in lines:
        if line is None:
            yield None, f"line {number}: more than {LARGEST // 2**20} MB", 0
        elif line and not line.isspace():
            try:
                yield Entry(value=_made_plain(_DECODER.decode(line), line), line=number), None, len(line)
            except (ValueError, RecursionError) as error:
                yield None, f"line {number}: not JSON ({_what(error)})", len(line)


def elements_of(path: Path) -> Iterator[tuple[object, int, int]]:
    """Yield each element of the list that a JSON file of any size is, with its line and its length.

    An element of more than 10 MB, and what is no JSON, raise ValueError.
    """
    with open_text(path) as file:
        window = _Window(file)
        try:
            window.expect("[")
            mark = window.mark()
            while mark != "]":
                yield window.value()
                mark = window.mark()
                if mark != "]":
                    window.expect(",")
                    window.mark()
            window.expect("]")
            if window.mark():
                window.fail("Extra data")
        except json.JSONDecodeError as error:
            raise ValueError(f"line {window.line + error.lineno - 1}: {error.msg}") from error


class _Window:
    """What is in memory of a long JSON text, and where in it the reading is."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._text, self._at = file, file.read(LONGEST), 0
        self.line = 1
        """The line that the window begins on."""
        self._counted, self._lines = 0, 0

    def mark(self) -> str:
        """Go to the next character that is not blank and return it; nothing at the end."""
        self._at = _skip(self._text, self._at)
        while self._at == len(self._text) and self._more():
            self._at = _skip(self._text, self._at)
        return self._text[self._at : self._at + 1]

    def expect(self, mark: str) -> None:
        """Go past *mark*."""
        self.mark()
        self._at = _expect(self._text, self._at, mark)

    def value(self) -> tuple[object, int, int]:
        """Return the value that begins here, its line and its length, and go past it."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError:
                end = len(self._text)
            if end < len(self._text):  # else a number may go on
                break
            if end - self._at > LARGEST:
                raise ValueError(f"an element of more than {LARGEST // 2**20} MB")
            if not self._more():
                value, end = _DECODER.raw_decode(self._text, self._at)
                break
        start, self._at = self._at, end
        self._lines += self._text.count("\n", self._counted, start)
        self._counted = start
        return _made_plain(value, self._text[start:end]), self.line + self._lines, end - start

    def fail(self, said: str) -> None:
        """Say what is wrong here."""
        raise json.JSONDecodeError(said, self._text, self._at)

    def _more(self) -> bool:
        """Take more of the file into the window, without what was read; return whether there was more."""
        more = self._file.read(LONGEST)
        if more:
            self.line += self._text.count("\n", 0, self._at)
            self._text, self._at, self._counted, self._lines = self._text[self._at :] + more, 0, 0, 0
        return bool(more)


def _of_elements(path: Path, origin: Origin) -> Iterator[tuple[Entry, None, int]]:
    try:
        for value, line, length in elements_of(path):
            yield Entry(value=value, line=line), None, length
    except (ValueError, RecursionError) as error:
        raise _no_json(origin, error) from error


def decode(text: str) -> object:
    """Return the one value in *text* as any store takes it; what is no JSON raises ValueError."""
    try:
        return _made_plain(_DECODER.decode(text), text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _entries(text: str) -> tuple[Entry, ...]:
    """Return the parts of the one value in *text*, each with the line it begins on."""
    start = _skip(text, 0)
    match text[start : start + 1]:
        case "":
            return ()
        case "[":
            return tuple(_parts(text, start, "]"))
        case "{":
            return of_object(tuple(_parts(text, start, "}")), line=text.count("\n", 0, start) + 1)
        case _:
            value, end = _DECODER.raw_decode(text, start)
            _finish(text, end)
            return (Entry(value=_made_plain(value, text), line=text.count("\n", 0, start) + 1),)


def _parts(text: str, start: int, close: str) -> Iterator[Entry]:
    """Yield the elements of the array or object that opens at *start*, and check that nothing follows it."""
    at = _skip(text, start + 1)
    line, last = 1, 0
    while text[at : at + 1] != close or last:  # a close behind a comma is an error
        line, last = line + text.count("\n", last, at), at
        key = None
        if close == "}":
            key, at = _key(text, at)
        value, end = _DECODER.raw_decode(text, at)
        yield Entry(value=_made_plain(value, text[at:end]), line=line, key=key)
        at = _skip(text, end)
        if text[at : at + 1] == close:
            break
        at = _skip(text, _expect(text, at, ","))
    _finish(text, at + 1)


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
    key, at = _DECODER.raw_decode(text, at)
    return str(plain(key)), _skip(text, _expect(text, _skip(text, at), ":"))


def _made_plain(value: object, text: str) -> object:
    """Return *value*, which was *text*, without what no store keeps; only escapes and deep nesting can bring it."""
    doubtful = "\\u" in text or text.count("[") + text.count("{") > DEEPEST
    return plain(value) if doubtful else value


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _expect(text: str, at: int, mark: str) -> int:
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"Expecting '{mark}' delimiter", text, at)
    return at + 1


def _finish(text: str, at: int) -> None:
    at = _skip(text, at)
    if at < len(text):
        raise json.JSONDecodeError("Extra data", text, at)


def _is_lines(text: str) -> bool:
    """Tell whether the first two written lines of *text* are each a value."""
    lines = [line for line in text[:100_000].split("\n") if line.strip()][:2]
    try:
        return len(lines) == 2 and all(isinstance(_DECODER.decode(line), dict | list) for line in lines)
    except (ValueError, RecursionError):
        return False


def _what(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def _where(error: Exception) -> str:
    return f"line {error.lineno}: " if isinstance(error, json.JSONDecodeError) else ""
