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
from recollect.remember.formats.isolated import read_isolated
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

SQLITE: Final = (".db", ".sqlite", ".sqlite3")
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


def _store(name: str, *, about: str) -> Format:
    """Return the format of the SQLite database that the program *name* keeps."""
    of = "memory_stores"
    return Format(
        name=name, about=about, read=parts(of, "read_store", name), suffixes=SQLITE, sign=sign(of, "is_store", name)
    )


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
    Format(
        name="slack",
        about="a Slack export",
        read=parts("slack", "read_slack"),
        suffixes=(".json", ".zip"),
        sign=sign("slack", "is_slack"),
    ),
    Format(
        name="whatsapp",
        about="a WhatsApp chat",
        read=parts("whatsapp", "read_whatsapp"),
        suffixes=(".txt", ".zip"),
        sign=sign("whatsapp", "is_whatsapp"),
    ),
    Format(
        name="discord",
        about="a Discord channel",
        read=parts("discord", "read_discord"),
        suffixes=(".json", ".csv"),
        sign=sign("discord", "is_discord"),
    ),
    Format(
        name="mail",
        about="e-mail",
        read=parts("mail", "read_mail"),
        suffixes=(".eml", ".emlx", ".mbox", ""),
        sign=sign("mail", "is_mail"),
    ),
    # --- memory stores and tools
    Format(
        name="basic-memory",
        about="a note of basic-memory",
        read=whole("basic_memory", "read_basic_memory"),
        suffixes=(".md",),
        sign=sign("basic_memory", "is_basic_memory"),
    ),
    Format(
        name="mcp-memory",
        about="the graph of the MCP memory server",
        read=parts("knowledge_graph", "read_knowledge_graph"),
        suffixes=(".jsonl", ".json"),
        sign=sign("knowledge_graph", "is_knowledge_graph"),
    ),
    _store("engram", about="the store of engram"),
    _store("claude-mem", about="the store of claude-mem"),
    Format(
        name="mem0",
        about="memories of mem0",
        read=parts("memory_stores", "read_mem0"),
        suffixes=(*SQLITE, *JSON),
        sign=sign("memory_stores", "is_mem0"),
    ),
    _store("cortex", about="the store of Cortex"),
    _store("oro", about="the store of Oro"),
    Format(
        name="neo4j",
        about="nodes of Neo4j or NornicDB",
        read=parts("neo4j", "read_neo4j"),
        suffixes=(*JSON, *JSONL),
        sign=sign("neo4j", "is_neo4j"),
    ),
    Format(
        name="beads",
        about="the issues of beads",
        read=parts("beads", "read_beads"),
        suffixes=(".jsonl",),
        sign=sign("beads", "is_beads"),
    ),
    Format(
        name="git",
        about="the log of a git repository",
        read=parts("git_log", "read_git"),
        suffixes=(".log", ".txt", ""),
        sign=sign("git_log", "is_git_log"),
        folders=True,
    ),
    # --- documents
    Format(
        name="html",
        about="HTML",
        read=parts("html_text", "read_html"),
        suffixes=(".html", ".htm", ".xhtml"),
        isolated=True,
    ),
    Format(name="rst", about="reStructuredText", read=whole("rst", "read_rst"), suffixes=(".rst",)),
    Format(name="pdf", about="PDF", read=parts("pdf", "read_pdf"), suffixes=(".pdf",), isolated=True),
    Format(name="docx", about="Word", read=parts("office", "read_docx"), suffixes=(".docx",), isolated=True),
    Format(name="odt", about="OpenDocument text", read=parts("office", "read_odt"), suffixes=(".odt",), isolated=True),
    Format(name="epub", about="EPUB", read=parts("epub", "read_epub"), suffixes=(".epub",), isolated=True),
    Format(name="code", about="source code", read=whole("source_code", "read_code"), suffixes=CODE),
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


def read_parts(path: Path, form: Format | None = None) -> Iterator[Parsed]:
    """Yield the memories in the file at *path*, read as *form* or as what it looks like; else it is read as text.

    A date in the file's name is when its memories were true unless they say otherwise. Raise FileError when the file
    cannot be read at all. A collection comes in parts, of which none is kept here.
    """
    # A name that is not UTF-8 could not be stored as it is.
    source = os.fsencode(path.absolute().as_posix()).decode("utf-8", "backslashreplace")
    chosen = form or format_of(path) or BY_NAME["text"]
    origin = Origin(source=source, date=date_in_name(path.name))
    yield from read_isolated(chosen.name, path, origin) if chosen.isolated else chosen.read(path, origin)


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
