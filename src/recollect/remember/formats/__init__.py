"""Read a file as memories. A format is one module of this package and one line in the table `FORMATS`."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from recollect.errors import InputError
from recollect.records import Memory
from recollect.remember.formats.chat import with_context
from recollect.remember.formats.entries import as_exported
from recollect.remember.formats.format import Format, Glimpse, parts, sign, whole
from recollect.remember.formats.json_text import decode
from recollect.remember.formats.record import Exported, Origin, Parsed
from recollect.text.dates import date_in_name

__all__ = [
    "BY_NAME",
    "FORMATS",
    "SUFFIXES",
    "Exported",
    "Format",
    "Glimpse",
    "Parsed",
    "as_exported",
    "decode",
    "format_of",
    "named",
    "parts",
    "read_file",
    "sign",
    "with_context",
]

JSON: Final = (".json",)
JSONL: Final = (".jsonl", ".ndjson")
CODE: Final = (
    *(
        ".py",
        ".pyi",
        ".js",
        ".mjs",
        ".cjs",
        ".jsx",
        ".ts",
        ".mts",
        ".cts",
        ".tsx",
        ".go",
        ".rs",
        ".java",
        ".kt",
        ".kts",
    ),
    *(
        ".scala",
        ".swift",
        ".c",
        ".h",
        ".cc",
        ".cpp",
        ".cxx",
        ".hh",
        ".hpp",
        ".hxx",
        ".m",
        ".cs",
        ".php",
        ".dart",
        ".zig",
    ),
    *(".rb", ".sh", ".bash", ".zsh", ".pl", ".pm", ".r", ".jl", ".ex", ".exs", ".lua", ".sql", ".hs", ".proto"),
)
"""How the names of source files end; what is in them is told by `source_code`."""

FORMATS: Final = (
    # What one program writes, recognised by its contents, stands before the general forms below.
    # --- agents and assistants
    # --- people: chats, mail
    # --- memory stores and tools
    # --- documents
    Format(name="html", about="HTML", read=parts("html_text", "read_html"), suffixes=(".html", ".htm", ".xhtml")),
    Format(name="rst", about="reStructuredText", read=whole("rst", "read_rst"), suffixes=(".rst",)),
    Format(name="pdf", about="PDF", read=parts("pdf", "read_pdf"), suffixes=(".pdf",)),
    Format(name="docx", about="Word", read=parts("office", "read_docx"), suffixes=(".docx",)),
    Format(name="odt", about="OpenDocument text", read=parts("office", "read_odt"), suffixes=(".odt",)),
    Format(name="epub", about="EPUB", read=parts("epub", "read_epub"), suffixes=(".epub",)),
    Format(name="code", about="source code", read=whole("source_code", "read_code"), suffixes=CODE),
    # --- general forms
    Format(
        name="markdown",
        about="Markdown",
        read=whole("markdown", "read_markdown"),
        suffixes=(".md", ".markdown", ".mdx"),
    ),
    Format(name="json", about="JSON", read=whole("json_text", "read_json"), suffixes=JSON),
    Format(name="jsonl", about="JSON Lines", read=whole("json_text", "read_jsonl"), suffixes=JSONL),
    Format(name="yaml", about="YAML", read=whole("yaml_text", "read_yaml"), suffixes=(".yaml", ".yml")),
    Format(name="csv", about="a table", read=whole("csv_text", "read_csv"), suffixes=(".csv", ".tsv")),
    Format(
        name="text",
        about="plain text",
        read=whole("plain", "read_plain"),
        suffixes=(".txt", ".text", ".log", ".org", ""),
    ),
)
"""Every format; the first that fits a file reads it."""
BY_NAME: Final[Mapping[str, Format]] = {each.name: each for each in FORMATS}
SUFFIXES: Final = frozenset(suffix for each in FORMATS for suffix in each.suffixes)
"""How the names of the files end that a folder is looked through for."""


def named(name: str) -> Format:
    """Return the format called *name*."""
    found = BY_NAME.get(name)
    if found is None:
        raise InputError(f"no format is called {name!r}", hint=f"one of {', '.join(sorted(BY_NAME))}")
    return found


def format_of(path: Path) -> Format | None:
    """Return the format of the file at *path*: the first that fits; None for a file no format is known for."""
    glimpse = Glimpse(path)
    return next((each for each in FORMATS if each.fits(glimpse)), None)


def read_file(path: Path, form: Format | None = None) -> Parsed:
    """Return the memories in the file at *path*, read as *form* or as what it looks like; else it is read as text.

    A date in the file's name is when its memories were true unless they say otherwise. Raise FileError when the file
    cannot be read at all.
    """
    # A name that is not UTF-8 could not be stored as it is.
    source = os.fsencode(path.absolute().as_posix()).decode("utf-8", "backslashreplace")
    chosen = form or format_of(path) or BY_NAME["text"]
    return _joined(chosen.read(path, Origin(source=source, date=date_in_name(path.name))))


def _joined(found: Iterable[Parsed]) -> Parsed:
    """Return the *found* parts of one file as one."""
    memories: list[Memory] = []
    problems: list[str] = []
    exported: dict[int, Exported] = {}
    skipped: Counter[str] = Counter()
    for part in found:
        exported |= {len(memories) + at: each for at, each in part.exported.items()}
        memories += part.memories
        problems += part.problems
        skipped.update(part.skipped)
    return Parsed(memories=tuple(memories), problems=tuple(problems), exported=exported, skipped=skipped)
