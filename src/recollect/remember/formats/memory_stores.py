"""Read the stores of other programs that keep memories: claude-mem, mem0, Cortex, engram.

Their columns came and went with their versions, so a row is asked for what it has.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from recollect.records import Memory
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.json_text import decode
from recollect.remember.formats.portions import json_document, portions, records_in, text_at
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.sqlite_file import Columns, Database, columns_of, database
from recollect.remember.formats.values import as_confidence, as_line, as_tags
from recollect.text.dates import as_moment

Made = Memory | str
"""The memory of a row, or what the row was if it is left out."""
Rows = Callable[[Database, Columns, Origin], Iterable[Made]]


def _parsed(path: Path, origin: Origin, rows: Rows) -> Iterator[Parsed]:
    """Yield what *rows* makes of the database at *path*, in portions."""
    with database(path) as db:
        for portion in portions(rows(db, db.columns(), origin)):
            left_out = [each for each in portion if isinstance(each, str)]
            kept = tuple(each for each in portion if isinstance(each, Memory))
            yield Parsed(memories=kept, skipped={each: left_out.count(each) for each in set(left_out)})


def _memory(row: Record, origin: Origin, content: str, key: str, **fields: Any) -> Made:
    """Return the memory of a row; what it is called, whose project it is and when it was are named alike everywhere."""
    if not content.strip():
        return "empty row"
    moments = (as_moment(row.get(name)) for name in ("updated_at", "created_at_epoch", "created_at", "imported_at"))
    given: dict[str, Any] = {
        "title": as_line(row.get("title")) or "",
        "type": as_line(row.get("type")) or "note",
        "project": as_line(row.get("project")) or "default",
        "observed_at": next(filter(None, moments), origin.date),
        **fields,
    }
    given["metadata"] = {
        name: value for name, value in given.get("metadata", {}).items() if value not in (None, "", [])
    }
    return Memory(content=content.strip(), source=origin.source, external_id=key, **given)


def _listed(value: object) -> list[str]:
    """Return the texts of a JSON array in a column; a text that is none is the only one."""
    text = value if isinstance(value, str) else ""
    try:
        found = decode(text) if text[:1] == "[" else [text]
    except ValueError:
        found = [text]
    return [line for each in found if (line := as_line(each))] if isinstance(found, list) else []


# --- claude-mem -----------------------------------------------------------------------------

_SUMMARY: Final = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def is_claude_mem(glimpse: Glimpse) -> bool:
    """Tell whether a database is that of claude-mem."""
    columns = columns_of(glimpse)
    old = {"memory_session_id", "project", "type"} <= columns.get("observations", frozenset())
    return old or {"kind", "narrative", "facts", "concepts"} <= columns.get("memory_items", frozenset())


def read_claude_mem(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield observations, summaries of sessions and prompts; an observation that stands in two tables comes once."""
    return _parsed(path, origin, _claude_mem)


def _claude_mem(db: Database, columns: Columns, origin: Origin) -> Iterator[Made]:
    sessions = list(db.rows("sdk_sessions")) if "sdk_sessions" in columns else []
    owners = {text_at(each, "content_session_id"): each.get("project") for each in sessions}
    names = {text_at(each, "id"): each.get("name") for each in db.rows("projects")} if "projects" in columns else {}
    if "observations" in columns:
        yield from (_observation(row, origin, f"observation:{row.get('id')}") for row in db.rows("observations"))
    if "session_summaries" in columns:
        yield from (_summary(row, origin) for row in db.rows("session_summaries"))
    for row in db.rows("user_prompts") if "user_prompts" in columns else ():
        yield _prompt({**row, "project": owners.get(text_at(row, "content_session_id"))}, origin)
    for row in db.rows("memory_items") if "memory_items" in columns else ():
        if row.get("legacy_observation_id") is not None and "observations" in columns:
            yield "repeat of an observation"
        else:
            named = {**row, "project": names.get(text_at(row, "project_id"))}
            yield _observation(named, origin, f"item:{row.get('id')}")


def _observation(row: Record, origin: Origin, key: str) -> Made:
    told = text_at(row, "narrative") or text_at(row, "text") or text_at(row, "subtitle")
    facts = [f"- {each}" for each in _listed(row.get("facts")) if each not in told]
    content = "\n".join(filter(None, (told, *facts))) or text_at(row, "title")
    about = {
        "subtitle": text_at(row, "subtitle") if text_at(row, "subtitle") not in told else "",
        "files": list(dict.fromkeys(_listed(row.get("files_modified")) + _listed(row.get("files_read")))),
    }
    return _memory(row, origin, content, f"claude-mem:{key}", tags=_tags(row.get("concepts")), metadata=about)


def _tags(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_listed(value)))


def _summary(row: Record, origin: Origin) -> Made:
    told = {name: text_at(row, name) for name in _SUMMARY}
    lines = [f"{name.replace('_', ' ').capitalize()}: {words}" for name, words in told.items() if words]
    title = told["request"].split("\n")[0][:120]
    return _memory(row, origin, "\n".join(lines), f"claude-mem:summary:{row.get('id')}", type="summary", title=title)


def _prompt(row: Record, origin: Origin) -> Made:
    return _memory(row, origin, text_at(row, "prompt_text"), f"claude-mem:prompt:{row.get('id')}", type="prompt")


# --- mem0 -----------------------------------------------------------------------------------

_SCOPE: Final = ("user_id", "agent_id", "run_id", "actor_id", "role", "expiration_date")


def is_mem0(glimpse: Glimpse) -> bool:
    """Tell whether a file is mem0's history, or what its `get_all` returned, saved as JSON."""
    if glimpse.suffix == ".json":
        return _is_get_all(glimpse.text)
    return {"memory_id", "old_memory", "new_memory", "event"} <= columns_of(glimpse).get("history", frozenset())


def _is_get_all(text: str) -> bool:
    """Tell whether the first record of *text* is a memory of mem0."""
    head = text.lstrip("\ufeff \r\n\t")
    begin = head.find("{", 1 if head.startswith("{") else 0)
    if '"memory"' not in head or begin < 0 or not (head.startswith("[") or '"results"' in head[:begin]):
        return False
    try:
        first, _ = json.JSONDecoder().raw_decode(head, begin)
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and {"id", "memory", "hash"} <= first.keys()


def read_mem0(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield each memory as it is now; deleted ones are counted."""
    if path.suffix.lower() != ".json":
        yield from _parsed(path, origin, _mem0_history)
        return
    value = json_document(path)
    records = value.get("results") if isinstance(value, dict) else value
    listed = records if isinstance(records, list) else []
    made = [_mem0(each, origin) for each in records_in(listed)]
    kept = tuple(each for each in made if isinstance(each, Memory))
    lost = len(listed) - len(kept)
    yield Parsed(memories=kept, skipped={"unknown record": lost} if lost else {})


def _mem0_history(db: Database, _: Columns, origin: Origin) -> Iterator[Made]:
    latest = "rowid in (select max(rowid) from history group by memory_id)"
    for row in db.rows("history", where=latest):
        if row.get("is_deleted") == 1 or text_at(row, "event").upper() == "DELETE":
            yield "deleted memory"
        else:
            yield _mem0({**row, "id": row.get("memory_id"), "memory": row.get("new_memory")}, origin)


def _mem0(record: Record, origin: Origin) -> Made:
    key = as_line(record.get("id"))
    if not key:
        return "unknown record"
    given = record.get("metadata")
    about = {**(given if isinstance(given, dict) else {}), **{name: as_line(record.get(name)) for name in _SCOPE}}
    tags = as_tags(record.get("categories")) or ()
    row = {name: value for name, value in record.items() if name not in {"type", "title"}}
    return _memory(row, origin, text_at(record, "memory"), f"mem0:{key}", tags=tags, metadata=about)


# --- Cortex ---------------------------------------------------------------------------------


def is_cortex(glimpse: Glimpse) -> bool:
    """Tell whether a database is that of Cortex."""
    columns = columns_of(glimpse)
    memories = {"content", "content_hash", "source_file", "imported_at"} <= columns.get("memories", frozenset())
    return memories and {"memory_id", "subject", "predicate", "object"} <= columns.get("facts", frozenset())


def read_cortex(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield each memory with the facts drawn from it that still hold; deleted ones are counted."""
    return _parsed(path, origin, _cortex)


def _cortex(db: Database, _: Columns, origin: Origin) -> Iterator[Made]:
    facts: dict[object, list[Record]] = {}
    for fact in db.rows("facts"):
        if fact.get("superseded_by") is None and text_at(fact, "state") not in {"superseded", "retired"}:
            facts.setdefault(fact.get("memory_id"), []).append(fact)
    for row in db.rows("memories"):
        if row.get("deleted_at") is not None:
            yield "deleted memory"
            continue
        stated = facts.get(row.get("id"), [])
        words = (" ".join(filter(None, (text_at(each, part) for part in _STATED))) for each in stated)
        place = ":".join(filter(None, (as_line(row.get("source_file")), as_line(row.get("source_line")))))
        about = {"file": place, "facts": list(filter(None, words))}
        yield _memory(
            row,
            origin,
            text_at(row, "content"),
            f"cortex:{as_line(row.get('content_hash')) or row.get('id')}",
            type=as_line(row.get("memory_class")) or "note",
            section=as_line(row.get("source_section")),
            confidence=max([as_confidence(each.get("confidence")) or 0.0 for each in stated], default=0.8),
            metadata=about,
        )


_STATED: Final = ("subject", "predicate", "object")


# --- engram ---------------------------------------------------------------------------------


def is_engram(glimpse: Glimpse) -> bool:
    """Tell whether a database is that of engram."""
    return {"session_id", "content", "topic_key", "scope"} <= columns_of(glimpse).get("observations", frozenset())


def read_engram(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield observations, prompts and the summaries of sessions; deleted ones are counted."""
    return _parsed(path, origin, _engram)


def _engram(db: Database, columns: Columns, origin: Origin) -> Iterator[Made]:
    tables: Mapping[str, tuple[str, str]] = {
        "observations": ("observation", "content"),
        "user_prompts": ("prompt", "content"),
        "sessions": ("summary", "summary"),
    }
    made = (
        map(partial(_engram_row, origin, *tables[table]), db.rows(table))
        for table in tables
        if tables[table][1] in columns.get(table, frozenset())
    )
    return (each for each in chain.from_iterable(made) if each is not None)


def _engram_row(origin: Origin, kind: str, column: str, row: Record) -> Made | None:
    if row.get("deleted_at") is not None:
        return "deleted memory"
    if kind == "summary" and not text_at(row, column):
        return None  # a session that is not at its end
    named = {"topic": "topic_key", "scope": "scope"}
    about = {name: as_line(row.get(key)) for name, key in named.items()}
    moment = as_moment(row.get("ended_at")) or as_moment(row.get("started_at")) if kind == "summary" else None
    more = {"observed_at": moment} if moment else {}
    own = as_line(row.get("type")) or kind
    key = f"engram:{kind}:{row.get('id')}"
    return _memory(
        row, origin, text_at(row, column), key, type=own, tags=_tags(row.get("tags")), metadata=about, **more
    )
