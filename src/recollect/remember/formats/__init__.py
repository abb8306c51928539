"""Read a file as memories. A format is one module of this package and one line in the table `FORMATS`."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
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
    "read_parts",
    "sign",
    "with_context",
]

JSON: Final = (".json",)
JSONL: Final = (".jsonl", ".ndjson")

FORMATS: Final = (
    # What one program writes, recognised by its contents, stands before the general forms below.
    # --- agents and assistants
    Format(
        name="claude-code",
        about="Claude Code transcript",
        read=parts("claude_code", "read_claude_code"),
        suffixes=(".jsonl",),
        sign=sign("claude_code", "is_claude_code"),
    ),
    Format(
        name="codex",
        about="Codex rollout",
        read=parts("codex", "read_codex"),
        suffixes=(".jsonl", ".zst"),
        sign=sign("codex", "is_codex"),
    ),
    Format(
        name="gemini",
        about="Gemini CLI session",
        read=parts("gemini", "read_gemini"),
        suffixes=(".jsonl", ".json"),
        sign=sign("gemini", "is_gemini"),
    ),
    Format(
        name="cursor",
        about="Cursor transcript",
        read=parts("cursor", "read_cursor"),
        suffixes=(".jsonl", ".txt"),
        sign=sign("cursor", "is_cursor"),
    ),
    Format(
        name="chatgpt",
        about="ChatGPT export",
        read=parts("chatgpt", "read_chatgpt"),
        suffixes=(".json", ".zip"),
        sign=sign("chatgpt", "is_chatgpt"),
    ),
    Format(
        name="claude-ai",
        about="Claude.ai export",
        read=parts("claude_ai", "read_claude_ai"),
        suffixes=(".json", ".zip"),
        sign=sign("claude_ai", "is_claude_ai"),
    ),
    Format(
        name="agent-memory",
        about="an agent's memory file",
        read=whole("agent_memory", "read_agent_memory"),
        suffixes=(".md",),
        sign=sign("agent_memory", "is_agent_memory"),
    ),
    # --- people: chats, mail
    # --- memory stores and tools
    # --- documents
    # --- general forms
    Format(
        name="markdown",
        about="Markdown",
        read=whole("markdown", "read_markdown"),
        suffixes=(".md", ".markdown", ".mdx"),
    ),
    Format(name="json", about="JSON", read=parts("json_text", "json_parts"), suffixes=JSON),
    Format(name="jsonl", about="JSON Lines", read=parts("json_text", "jsonl_parts"), suffixes=JSONL),
    Format(name="yaml", about="YAML", read=whole("yaml_text", "read_yaml"), suffixes=(".yaml", ".yml")),
    Format(name="csv", about="a table", read=parts("csv_text", "csv_parts"), suffixes=(".csv", ".tsv")),
    Format(
        name="text",
        about="plain text",
        read=parts("plain", "plain_parts"),
        suffixes=(".txt", ".text", ".rst", ".log", ".org", ""),
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


def read_parts(path: Path, form: Format | None = None) -> Iterator[Parsed]:
    """Yield the memories in the file at *path*, read as *form* or as what it looks like; else it is read as text.

    A date in the file's name is when its memories were true unless they say otherwise. Raise FileError when the file
    cannot be read at all. A collection comes in parts, of which none is kept here.
    """
    # A name that is not UTF-8 could not be stored as it is.
    source = os.fsencode(path.absolute().as_posix()).decode("utf-8", "backslashreplace")
    chosen = form or format_of(path) or BY_NAME["text"]
    yield from chosen.read(path, Origin(source=source, date=date_in_name(path.name)))


def read_file(path: Path, form: Format | None = None) -> Parsed:
    """Return all the memories in the file at *path* at once, as `read_parts` reads them."""
    return _joined(read_parts(path, form))


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
