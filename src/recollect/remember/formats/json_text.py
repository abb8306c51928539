"""Read JSON, as one value or one value a line."""

from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path

from recollect.errors import FileError
from recollect.remember.find_files import MAX_DOCUMENT_BYTES, lines_of, open_text, read_text, size_of
from recollect.remember.formats.batches import MAX_BATCH_CHARS, batches
from recollect.remember.formats.entries import of_object, parse, parse_parts
from recollect.remember.formats.json_stream import JsonStream, decode
from recollect.remember.formats.record import Entry, Origin, Parsed


def read_json(text: str, origin: Origin) -> Parsed:
    """Return one memory for each element of an array or each key of an object; a record is one memory.

    A file with one value a line is read as JSONL.
    """
    try:
        entries = _entries(text)
    except ValueError as error:
        if _is_lines(text):
            return read_jsonl(text, origin)
        raise _not_json(origin, error) from error
    return parse(entries, origin=origin)


def _not_json(origin: Origin, error: Exception) -> FileError:
    return FileError(f"{origin.source} is not JSON: {error}", hint="check it with: python -m json.tool")


def _entries(text: str) -> tuple[Entry, ...]:
    """Return the parts of the one value in *text*, each with the line it begins on."""
    stream = JsonStream(StringIO(text), max_value_chars=len(text), block_chars=len(text) + 1)
    opening, line = stream.peek(), stream.line
    if not opening:
        return ()
    items = stream.items() if opening in "[{" else iter([stream.value()])
    found = tuple(Entry(value=each.plain(), line=each.line, key=each.key) for each in items)
    stream.finish()
    return of_object(found, line=line) if opening == "{" else found


def read_jsonl(text: str, origin: Origin) -> Parsed:
    """Return one memory for each line; a line that is not JSON is reported and the others are read."""
    found = list(_of_lines(enumerate(text.split("\n"), start=1)))
    entries = [entry for entry, _, _ in found if entry is not None]
    return parse(entries, origin=origin, problems=[problem for _, problem, _ in found if problem is not None])


def jsonl_parts(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield one memory for each line of a file of any size, in parts."""
    yield from parse_parts(batches(_of_lines(lines_of(path))), origin=origin)


def json_parts(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield the memories of a JSON file: a document of one object at once, a long list in parts."""
    if size_of(path) <= MAX_DOCUMENT_BYTES:
        yield read_json(read_text(path), origin)
        return
    with open_text(path) as file:
        head = file.read(MAX_BATCH_CHARS)
    if head.lstrip()[:1] == "[":
        yield from parse_parts(batches(_of_elements(path, origin)), origin=origin)
    elif _is_lines(head):
        yield from jsonl_parts(path, origin)
    else:
        read_text(path)  # raises: it is too large


def _of_lines(lines: Iterable[tuple[int, str | None]]) -> Iterator[tuple[Entry | None, str | None, int]]:
    """Yield the entry in each of *lines* or the problem with it, and the length of the line."""
    for number, line in lines:
        if line is None:
            yield None, f"line {number}: more than {MAX_DOCUMENT_BYTES // 2**20} MB", 0
        elif line and not line.isspace():
            try:
                yield Entry(value=decode(line), line=number), None, len(line)
            except ValueError as error:
                yield None, f"line {number}: not JSON ({error})", len(line)


def _of_elements(path: Path, origin: Origin) -> Iterator[tuple[Entry, None, int]]:
    """Yield the elements of a list of any size."""
    with open_text(path) as file:
        stream = JsonStream(file, max_value_chars=MAX_DOCUMENT_BYTES)
        try:
            for each in stream.items():
                yield Entry(value=each.plain(), line=each.line), None, len(each.text)
            stream.finish()
        except ValueError as error:
            raise _not_json(origin, error) from error


def _is_lines(text: str) -> bool:
    """Tell whether each of the first two lines of *text* that are not blank is a JSON object or list."""
    lines = [line for line in text[:100_000].split("\n") if line.strip()][:2]
    try:
        return len(lines) == 2 and all(isinstance(decode(line), dict | list) for line in lines)
    except ValueError:
        return False
