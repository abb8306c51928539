"""Read PDF by PDFium: the text of each page, in chunks, with the number of the page."""

import logging
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from recollect.errors import FileError
from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.chunk import chunk
from recollect.remember.find_files import read_bytes, shown
from recollect.remember.formats.archive import MAX_DOCUMENT_FILE_BYTES
from recollect.remember.formats.extras import need
from recollect.remember.formats.plain import of_chunks
from recollect.remember.formats.record import Origin, Parsed
from recollect.remember.formats.values import clean
from recollect.text.dates import as_moment

MAX_PDF_PAGES: Final = 20_000
MAX_PDF_CHARS: Final = 64 * 1024 * 1024
"""How many characters one document may give."""
MAX_PDF_CPU_SECONDS: Final = 120.0
"""The processor time for one document; what was read until then is kept. Waiting for the caller takes none."""
_MAX_PAGE_CHARS: Final = 2_000_000
_NO_TITLES: Final = frozenset({"", "untitled", "(untitled)", "untitled document", "unnamed"})
"""What programs write where a document has no title: then its file name is one."""
_NO_PASSWORD: Final = "password"  # noqa: S105 - what PDFium says of a document that needs one
_DATE: Final = regex(r"D:(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d))?")
# PDFium writes U+FFFE, older ones U+0002, for a hyphen at the end of a line.
_HYPHEN: Final = regex(r"(?<=\w)[\ufffe\x02]\n?|(?<=[a-z\xdf-\xff])-\n(?=[a-z\xdf-\xff])")
_WRAPPED: Final = regex(r"(?<=[^\s.!?:;])[ \t]*\n(?=[a-z\xdf-\xff(])")
_LEADER: Final = regex(r"[ \t]{0,3}(?:\.[ \t]?){5,}")
_MIN_PAGES: Final = 4
_SAMPLED_PAGES: Final = 12
_CONTROL: Final = regex(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def read_pdf(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield the memories of each page: its title is its bookmark, its section ends with `p. 3`."""
    pdfium = need("pypdfium2", extra="documents", what="reading PDF")
    raw = read_bytes(path, largest=MAX_DOCUMENT_FILE_BYTES)
    # The library warns of odd documents; without a handler Python would print it amid our own output.
    logging.getLogger("pypdfium2").addHandler(logging.NullHandler())
    try:
        document = pdfium.PdfDocument(raw)
    except pdfium.PdfiumError as error:
        if _NO_PASSWORD in str(error).lower():
            raise FileError(f"{shown(path)} is protected by a password", hint="save a copy without one") from error
        raise FileError(f"{shown(path)} is not a PDF that can be read", hint="open it and save it again") from error
    with closing(document):
        yield from _pages(document, path, origin, pdfium)


def _pages(document: Any, path: Path, origin: Origin, pdfium: Any) -> Iterator[Parsed]:
    about, bookmarks, count = _about(document), _bookmarks(document, pdfium), len(document)
    told = about.get("Title", "")
    title = "" if told.lower() in _NO_TITLES else told
    template = Memory(content="", source=origin.source, observed_at=origin.date or _date(about))
    author = {"author": about["Author"]} if about.get("Author") else {}
    running = _running(document, count, pdfium)
    empty, left, end = 0, MAX_PDF_CHARS, time.process_time() + MAX_PDF_CPU_SECONDS
    for number in range(1, count + 1):
        if number > MAX_PDF_PAGES or left < 0 or time.process_time() > end:
            yield Parsed(problems=(f"{count - number + 1} of {count} pages were not read: the document is too large",))
            break
        title = bookmarks.get(number, title)
        text, problem = _text(document, number, pdfium)
        words = _tidy("\n".join(_without(text.split("\n"), running)))
        left -= len(words)
        empty += not words.strip()
        page = replace(
            template, title=title or path.stem, section=_place(title, number), metadata={**author, "page": number}
        )
        yield Parsed(
            memories=tuple(replace(each, line=None) for each in of_chunks(chunk(words), page)), problems=problem
        )
    if empty == count:
        raise FileError(
            f"{shown(path)} has no text: its pages are pictures", hint="add the text first, for example with ocrmypdf"
        )
    if empty:
        yield Parsed(skipped={"page without text": empty})


def _place(title: str, number: int) -> str:
    return f"{title} > p. {number}" if title else f"p. {number}"


def _text(document: Any, number: int, pdfium: Any) -> tuple[str, tuple[str, ...]]:
    """Return the lines of a page, and its problems if it cannot be read."""
    try:
        with closing(document[number - 1]) as page, closing(page.get_textpage()) as text:
            if text.count_chars() > _MAX_PAGE_CHARS:
                return "", (f"page {number}: more than {_MAX_PAGE_CHARS:,} characters",)
            lines = text.get_text_bounded().replace("\r\n", "\n").replace("\r", "\n").split("\n")
            return "\n".join(line.strip() for line in lines).strip("\n"), ()
    except (pdfium.PdfiumError, UnicodeError) as error:
        return "", (f"page {number}: {' '.join(str(error).split())}",)


def _running(document: Any, count: int, pdfium: Any) -> frozenset[str]:
    """Return the lines at the top or bottom of most pages, ignoring numbers."""
    if count < _MIN_PAGES:
        return frozenset()
    some = range(1, count + 1, max(1, count // _SAMPLED_PAGES))
    pages = [_text(document, number, pdfium)[0].split("\n") for number in some]
    counts = Counter(line for page in pages for line in {_numberless(page[0]), _numberless(page[-1])})
    return frozenset(line for line, times in counts.items() if times >= _MIN_PAGES and 2 * times > len(pages))


def _without(lines: Sequence[str], running: frozenset[str]) -> Sequence[str]:
    """Return the *lines* of a page without the *running* ones at its ends."""
    begin, end = 0, len(lines)
    while running and begin < end and _numberless(lines[begin]) in running:
        begin += 1
    while running and begin < end and _numberless(lines[end - 1]) in running:
        end -= 1
    return lines[begin:end] or lines


def _numberless(line: str) -> str:
    return " ".join(re.sub(r"\d+|\b[ivxlc]+\b", "", line).split())


def _tidy(text: str) -> str:
    """Return the text of a page with words that a line end parts joined, and lines of one sentence in one."""
    joined = _LEADER.sub(" \u2026 ", _HYPHEN.sub("", text))
    return clean(_CONTROL.sub(" ", _WRAPPED.sub(" ", joined)))


def _about(document: Any) -> dict[str, str]:
    """Return what the document says of itself."""
    told = document.get_metadata_dict(skip_empty=True)
    return {key: " ".join(clean(_CONTROL.sub(" ", value)).split()) for key, value in told.items()}


def _date(about: Mapping[str, str]) -> datetime | None:
    for name in ("ModDate", "CreationDate"):
        found = _DATE.match(about.get(name, ""))
        if found:
            year, month, day, *clock = (part or "" for part in found.groups())
            moment = as_moment(f"{year}-{month or '01'}-{day or '01'}" + (f"T{':'.join(clock)}" if clock[0] else ""))
            if moment is not None:
                return moment
    return None


def _bookmarks(document: Any, pdfium: Any) -> dict[int, str]:
    """Return the first bookmark that leads to each page (from 1); a broken table of contents is none."""
    found: dict[int, str] = {}
    try:
        for each in document.get_toc():
            to = each.get_dest()
            at = None if to is None else to.get_index()
            title = " ".join(clean(_CONTROL.sub(" ", each.get_title())).split())
            if at is not None and title:
                found.setdefault(at + 1, title)
            if len(found) > MAX_PDF_PAGES:
                break
    except (pdfium.PdfiumError, UnicodeError, ValueError):
        return found
    return found
