"""Read a file as memories. A format is one module of this package and one line in the table `FORMATS`."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from recollect.errors import InputError
from recollect.records import Memory
from recollect.remember.formats.chat import with_context
from recollect.remember.formats.format import Format, Glimpse
from recollect.remember.formats.isolated import read_isolated
from recollect.remember.formats.json_stream import decode
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
    "decode",
    "format_of",
    "named",
    "read_file",
    "read_parts",
    "with_context",
]

SQLITE: Final = (".db", ".sqlite", ".sqlite3")
JSON: Final = (".json",)
JSONL: Final = (".jsonl", ".ndjson")
CODE: Final = (
    ".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".go", ".rs", ".java", ".kt", ".kts",
    ".scala", ".swift", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".m", ".cs", ".php", ".dart",
    ".zig", ".rb", ".sh", ".bash", ".zsh", ".pl", ".pm", ".r", ".jl", ".ex", ".exs", ".lua", ".sql", ".hs", ".proto",
)  # fmt: skip
"""The endings of source files; `source_code` recognizes their languages."""

# Formats that one program writes are recognized by their contents and come before the general ones.
FORMATS: Final = (
    # --- agents and assistants
    Format("claude-code", "Claude Code transcript", (".jsonl",), "claude_code", "read_claude_code", "is_claude_code"),
    Format("codex", "Codex rollout", (".jsonl", ".zst"), "codex", "read_codex", "is_codex"),
    Format("gemini", "Gemini CLI session", (".jsonl", ".json"), "gemini", "read_gemini", "is_gemini"),
    Format("cursor", "Cursor transcript", (".jsonl", ".txt"), "cursor", "read_cursor", "is_cursor"),
    Format("chatgpt", "ChatGPT export", (".json", ".zip"), "chatgpt", "read_chatgpt", "is_chatgpt"),
    Format("claude-ai", "Claude.ai export", (".json", ".zip"), "claude_ai", "read_claude_ai", "is_claude_ai"),
    Format(
        "agent-memory",
        "an agent's memory file",
        (".md",),
        "agent_memory",
        "read_agent_memory",
        "is_agent_memory",
        takes_text=True,
    ),
    # --- people: chats, mail
    Format("slack", "a Slack export", (".json", ".zip"), "slack", "read_slack", "is_slack"),
    Format("whatsapp", "a WhatsApp chat", (".txt", ".zip"), "whatsapp", "read_whatsapp", "is_whatsapp"),
    Format("discord", "a Discord channel", (".json", ".csv"), "discord", "read_discord", "is_discord"),
    Format("mail", "e-mail", (".eml", ".emlx", ".mbox", ""), "mail", "read_mail", "is_mail"),
    # --- memory stores and tools
    Format(
        "basic-memory",
        "a note of basic-memory",
        (".md",),
        "basic_memory",
        "read_basic_memory",
        "is_basic_memory",
        takes_text=True,
    ),
    Format(
        "mcp-memory",
        "the graph of the MCP memory server",
        (".jsonl", ".json"),
        "knowledge_graph",
        "read_knowledge_graph",
        "is_knowledge_graph",
    ),
    Format("engram", "the store of engram", SQLITE, "memory_stores", "read_store", "is_store", by_name=True),
    Format("claude-mem", "the store of claude-mem", SQLITE, "memory_stores", "read_store", "is_store", by_name=True),
    Format("mem0", "memories of mem0", (*SQLITE, *JSON), "memory_stores", "read_mem0", "is_mem0"),
    Format("cortex", "the store of Cortex", SQLITE, "memory_stores", "read_store", "is_store", by_name=True),
    Format("oro", "the store of Oro", SQLITE, "memory_stores", "read_store", "is_store", by_name=True),
    Format("neo4j", "nodes of Neo4j or NornicDB", (*JSON, *JSONL), "neo4j", "read_neo4j", "is_neo4j"),
    Format("beads", "the issues of beads", (".jsonl",), "beads", "read_beads", "is_beads"),
    Format(
        "git", "the log of a git repository", (".log", ".txt", ""), "git_log", "read_git", "is_git_log", folders=True
    ),
    # --- documents
    Format("html", "HTML", (".html", ".htm", ".xhtml"), "html_text", "read_html", isolated=True),
    Format("rst", "reStructuredText", (".rst",), "rst", "read_rst", takes_text=True),
    Format("pdf", "PDF", (".pdf",), "pdf", "read_pdf", isolated=True),
    Format("docx", "Word", (".docx",), "office", "read_docx", isolated=True),
    Format("odt", "OpenDocument text", (".odt",), "office", "read_odt", isolated=True),
    Format("epub", "EPUB", (".epub",), "epub", "read_epub", isolated=True),
    Format("code", "source code", CODE, "source_code", "read_code", takes_text=True),
    # --- general formats
    Format("markdown", "Markdown", (".md", ".markdown", ".mdx"), "markdown", "read_markdown", takes_text=True),
    Format("json", "JSON", JSON, "json_text", "json_parts"),
    Format("jsonl", "JSON Lines", JSONL, "json_text", "jsonl_parts"),
    Format("yaml", "YAML", (".yaml", ".yml"), "yaml_text", "read_yaml", takes_text=True),
    Format("csv", "a table", (".csv", ".tsv"), "csv_text", "csv_parts"),
    Format("text", "plain text", (".txt", ".text", ".log", ".org", ""), "plain", "plain_parts"),
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
    return next((each for each in FORMATS if each.matches(glimpse)), None)


def read_parts(path: Path, form: Format | None = None) -> Iterator[Parsed]:
    """Yield the memories in the file at *path*, read as *form*, or as the format that matches, or as text.

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
