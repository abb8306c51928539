"""Read PDF by PDFium: the text of each page, in chunks, with the number of the page."""

import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Final

from recollect.errors import FileError
from recollect.records import Memory
from recollect.remember.chunk import chunk
from recollect.remember.find_files import read_bytes, shown
from recollect.remember.formats.archive import LARGEST_DOCUMENT
from recollect.remember.formats.extras import need
from recollect.remember.formats.plain import of_chunks
from recollect.remember.formats.record import Origin, Parsed
from recollect.remember.formats.values import clean
from recollect.text.dates import as_moment

MOST_PAGES: Final = 20_000
MOST_TEXT: Final = 64 * 1024 * 1024
"""How many characters one document may give."""
MOST_SECONDS: Final = 120.0
"""How long one document is read; what was read until then is kept."""
_ONE_AT_A_TIME: Final = Lock()
"""PDFium answers one thread at a time."""
_LARGEST_PAGE: Final = 2_000_000
_NO_PASSWORD: Final = "password"  # noqa: S105 - what PDFium says of a document that needs one
_DATE: Final = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d))?")
# PDFium writes U+FFFE, older ones U+0002, for a hyphen at the end of a line.
_HYPHEN: Final = re.compile(r"(?<=\w)[\ufffe\x02]\n?|(?<=[a-z\xdf-\xff])-\n(?=[a-z\xdf-\xff])")
_WRAPPED: Final = re.compile(r"(?<=[^\s.!?:;])[ \t]*\n(?=[a-z\xdf-\xff(])")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def read_pdf(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield the memories of each page: its section is `p. 3`, its title the bookmark it stands under."""
    pdfium = need("pypdfium2", extra="pdf", what="reading PDF")
    raw = read_bytes(path, largest=LARGEST_DOCUMENT)
    # The library warns of odd documents; without a handler Python would print it amid our own output.
    logging.getLogger("pypdfium2").addHandler(logging.NullHandler())
    try:
        with _ONE_AT_A_TIME:
            document = pdfium.PdfDocument(raw)
    except pdfium.PdfiumError as error:
        if _NO_PASSWORD in str(error).lower():
            raise FileError(f"{shown(path)} is protected by a password", hint="save a copy without one") from error
        raise FileError(f"{shown(path)} is not a PDF that can be read", hint="open it and save it again") from error
    try:
        yield from _pages(document, path, origin, pdfium)
    finally:
        with _ONE_AT_A_TIME:
            document.close()


def _pages(document: Any, path: Path, origin: Origin, pdfium: Any) -> Iterator[Parsed]:
    with _ONE_AT_A_TIME:
        about, bookmarks = _about(document), _bookmarks(document, pdfium)
        count = len(document)
    template = Memory(
        content="", title=about.get("Title", ""), source=origin.source, observed_at=origin.date or _date(about)
    )
    author = {"author": about["Author"]} if about.get("Author") else {}
    title, empty, left, end = template.title, 0, MOST_TEXT, time.monotonic() + MOST_SECONDS
    for number in range(1, count + 1):
        if number > MOST_PAGES or left < 0 or time.monotonic() > end:
            yield Parsed(problems=(f"{count - number + 1} of {count} pages were not read: the document is too large",))
            break
        title = bookmarks.get(number, title)
        words, problem = _words(document, number, pdfium)
        left -= len(words)
        empty += not words.strip()
        page = replace(template, title=title, section=f"p. {number}", metadata={**author, "page": number})
        yield Parsed(
            memories=tuple(replace(each, line=None) for each in of_chunks(chunk(words), page)), problems=problem
        )
    if empty == count:
        raise FileError(
            f"{shown(path)} has no text: its pages are pictures", hint="add the text first, for example with ocrmypdf"
        )
    if empty:
        yield Parsed(skipped={"page without text": empty})


def _words(document: Any, number: int, pdfium: Any) -> tuple[str, tuple[str, ...]]:
    """Return the text of a page, and what is wrong with it where it cannot be read."""
    try:
        with _ONE_AT_A_TIME, closing(document[number - 1]) as page, closing(page.get_textpage()) as text:
            if text.count_chars() > _LARGEST_PAGE:
                return "", (f"page {number}: more than {_LARGEST_PAGE:,} characters",)
            return _tidy(text.get_text_bounded()), ()
    except (pdfium.PdfiumError, UnicodeError) as error:
        return "", (f"page {number}: {' '.join(str(error).split())}",)


def _tidy(text: str) -> str:
    """Return the text of a page with words that a line end parts joined, and lines of one sentence in one."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    joined = _HYPHEN.sub("", "\n".join(line.strip() for line in lines.split("\n")))
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
            if len(found) > MOST_PAGES:
                break
    except (pdfium.PdfiumError, UnicodeError, ValueError):
        return found
    return found
