"""Read the stores of other memory programs: claude-mem, mem0, Cortex, engram, Oro.

`STORES` lists the tables of each store. Versions differ in their columns, so every column is optional. Deleted rows
are skipped and counted.
"""

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.records import NEVER, Fact, Memory
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.json_stream import decode
from recollect.remember.formats.portions import Made, in_parts, json_document, records_in, text_at
from recollect.remember.formats.record import Exported, Origin, Parsed, Record
from recollect.remember.formats.sqlite_file import Columns, Database, columns_of, database
from recollect.remember.formats.values import as_confidence, as_flag, as_line, as_tags, as_vector
from recollect.text.dates import as_moment

Words = Callable[[Record], str]
Beside = Mapping[object, Exported]
"""The contents of other tables for the rows of a table, by id."""


class StoreTable(Struct, frozen=True):
    """How the rows of a table become memories."""

    name: str
    key: str
    """Comes before the id of a row in the external id of its memory."""
    words: Words
    needs: frozenset[str] = frozenset({"id"})
    type: str = "note"
    id: str = "id"
    metadata: Mapping[str, str] = field(default_factory=dict)
    """The columns that go to the metadata, by their name there."""
    where: str = "true"
    partial: bool = False
    """Whether a row without words is unfinished, and therefore not counted as skipped."""


class StoreFormat(Struct, frozen=True, kw_only=True):
    """The sets of columns that a store is recognized by, any of them, and the tables that are read."""

    signs: tuple[Mapping[str, frozenset[str]], ...]
    tables: tuple[StoreTable, ...]


# --- words ----------------------------------------------------------------------------------


def _column(name: str) -> Words:
    return lambda row: text_at(row, name)


def _observed(row: Record) -> str:
    """Return the narrative of an observation, and the facts that it does not mention."""
    words = text_at(row, "narrative") or text_at(row, "text") or text_at(row, "subtitle")
    facts = [f"- {each}" for each in _listed(row.get("facts")) if each not in words]
    return "\n".join(filter(None, (words, *facts))) or text_at(row, "title")


_SUMMARY: Final = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def _summed(row: Record) -> str:
    parts = {name: text_at(row, name) for name in _SUMMARY}
    return "\n".join(f"{name.replace('_', ' ').capitalize()}: {words}" for name, words in parts.items() if words)


def _listed(value: object) -> list[str]:
    """Return the texts of a JSON array in a column; any other text is the only one."""
    text = value if isinstance(value, str) else ""
    try:
        found = decode(text) if text[:1] == "[" else [text]
    except ValueError:
        found = [text]
    return [line for each in found if (line := as_line(each))] if isinstance(found, list) else []


# --- the stores -----------------------------------------------------------------------------

_OBSERVATION: Final = {"subtitle": "subtitle", "scope": "scope", "retrievals": "retrieval_count"}


def _columns(*names: str) -> frozenset[str]:
    return frozenset(names)


def _sessions(key: str) -> tuple[StoreTable, ...]:
    """Return the tables that claude-mem and its descendants share."""
    of = StoreTable("observations", f"{key}:observation", _observed, metadata=_OBSERVATION)
    return (
        replace(of, needs=_columns("memory_session_id")),
        replace(of, needs=_columns("sdk_session_id")),
        StoreTable("session_summaries", f"{key}:summary", _summed, type="summary"),
        StoreTable("user_prompts", f"{key}:prompt", _column("prompt_text"), _columns("prompt_text"), "prompt"),
    )


_TOPICS: Final = {"topic": "topic_key", "scope": "scope"}
_SCOPES: Final = ("user_id", "agent_id", "run_id", "actor_id", "role", "expiration_date")
_LATEST: Final = "rowid in (select max(rowid) from history group by memory_id)"
_FILE: Final = {"file": "source_file", "line": "source_line"}
_BEAD: Final = {"origin": "source", "bead": "bead_id", "worker": "worker_id"}

STORES: Final[Mapping[str, StoreFormat]] = {
    "engram": StoreFormat(
        signs=(
            {"observations": _columns("session_id", "content", "topic_key", "scope")},
            {"observations": _columns("sdk_session_id", "narrative", "concepts", "scope")},
        ),
        tables=(
            *_sessions("engram"),
            StoreTable(
                name="observations",
                key="engram:observation",
                words=_column("content"),
                needs=_columns("topic_key"),
                type="observation",
                metadata=_TOPICS,
            ),
            StoreTable("user_prompts", "engram:prompt", _column("content"), _columns("content"), "prompt"),
            StoreTable("sessions", "engram:summary", _column("summary"), _columns("summary"), "summary", partial=True),
        ),
    ),
    "claude-mem": StoreFormat(
        signs=(
            {"observations": _columns("memory_session_id", "project", "type")},
            {"observations": _columns("sdk_session_id", "project", "type")},
            {"memory_items": _columns("kind", "narrative", "facts", "concepts")},
        ),
        tables=(
            *_sessions("claude-mem"),
            StoreTable("memory_items", "claude-mem:item", _observed, metadata=_OBSERVATION),
        ),
    ),
    "mem0": StoreFormat(
        signs=({"history": _columns("memory_id", "old_memory", "new_memory", "event")},),
        tables=(
            StoreTable(
                "history",
                "mem0",
                _column("new_memory"),
                id="memory_id",
                metadata={name: name for name in _SCOPES},
                where=_LATEST,
            ),
        ),
    ),
    "cortex": StoreFormat(
        signs=(
            {
                "memories": _columns("content", "content_hash", "source_file", "imported_at"),
                "facts": _columns("memory_id", "subject", "predicate", "object"),
            },
        ),
        tables=(StoreTable("memories", "cortex", _column("content"), id="content_hash", metadata=_FILE),),
    ),
    "oro": StoreFormat(
        signs=({"memories": _columns("content", "type", "tags", "confidence", "bead_id")},),
        tables=(StoreTable("memories", "oro", _column("content"), metadata=_BEAD),),
    ),
}


def is_store(glimpse: Glimpse, name: str) -> bool:
    """Tell whether a database is that of the program *name*."""
    columns = columns_of(glimpse)
    return any(
        all(wanted <= columns.get(table, frozenset()) for table, wanted in sign.items()) for sign in STORES[name].signs
    )


def read_store(path: Path, origin: Origin, name: str) -> Iterator[Parsed]:
    """Yield the memories in the database of the program *name*, in portions."""
    with database(path) as db:
        yield from in_parts(_rows(db, db.columns(), origin, STORES[name]))


def _rows(db: Database, columns: Columns, origin: Origin, store: StoreFormat) -> Iterator[Made]:
    projects = _projects(db, columns)
    tables = [each for each in store.tables if each.needs <= columns.get(each.name, frozenset())]
    for table in tables:
        about = _cortex(db, columns) if table.key == "cortex" else {}
        for row in db.rows(table.name, where=table.where):
            if row.get("legacy_observation_id") is not None and "observations" in columns:
                yield "repeat of an observation"
                continue
            made = _made(row, table, origin, projects, about.get(row.get("id")))
            if made is not None:
                yield made


_OWNERS: Final = ("content_session_id", "claude_session_id", "sdk_session_id", "project_id")


def _projects(db: Database, columns: Columns) -> dict[str, object]:
    """Return the project of each session, and the name of each project, by their ids."""
    found = {text_at(row, "id"): row.get("name") for row in db.rows("projects")} if "projects" in columns else {}
    for row in db.rows("sdk_sessions") if "sdk_sessions" in columns else ():
        found |= {text_at(row, name): row.get("project") for name in _OWNERS if text_at(row, name)}
    return found


def _made(
    row: Record, table: StoreTable, origin: Origin, projects: Mapping[str, object], about: Exported | None
) -> Made | None:
    """Return the memory of a row; None for one that is not finished."""
    if row.get("deleted_at") is not None or row.get("is_deleted") == 1 or text_at(row, "event").upper() == "DELETE":
        return "deleted memory"
    if row.get("is_superseded") == 1:
        return "superseded memory"
    content = table.words(row)
    if not content.strip():
        return None if table.partial else "empty row"
    owner = next((projects[key] for key in map(row.get, _OWNERS) if isinstance(key, str) and key in projects), None)
    memory = Memory(
        content=content.strip(),
        source=origin.source,
        external_id=f"{table.key}:{as_line(row.get(table.id)) or row.get('id')}",
        title=as_line(row.get("title")) or text_at(row, "request").split("\n")[0][:120],
        type=as_line(row.get("type")) or as_line(row.get("memory_class")) or table.type,
        project=as_line(row.get("project")) or as_line(owner) or "default",
        section=as_line(row.get("source_section")),
        tags=_tags(row),
        **_measures(row),
        **_dates(row, origin),
        metadata=_about(row, table, content),
    )
    return memory, about or _judged(row)


def _tags(row: Record) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for name in ("concepts", "tags", "categories") for tag in _listed_tags(row, name)))


def _listed_tags(row: Record, name: str) -> tuple[str, ...]:
    value = row.get(name)
    is_json = isinstance(value, str) and value[:1] == "["
    return tuple(_listed(value)) if is_json else as_tags(value) or ()


def _measures(row: Record) -> dict[str, Any]:
    sure, pinned = as_confidence(row.get("confidence")), as_flag(row.get("pinned"))
    return {**({} if sure is None else {"confidence": sure}), **({"pinned": True} if pinned else {})}


_BORN: Final = ("created_at_epoch", "created_at", "imported_at", "started_at")


def _dates(row: Record, origin: Origin) -> dict[str, Any]:
    """Return when a memory was written down, and when it was last true."""
    born = next(filter(None, (as_moment(row.get(name)) for name in _BORN)), None)
    last = next(filter(None, (as_moment(row.get(name)) for name in ("updated_at", "ended_at"))), born)
    return {**({"created_at": born} if born else {}), "observed_at": last or origin.date}


def _about(row: Record, table: StoreTable, content: str) -> dict[str, Any]:
    given = row.get("metadata")
    about = dict(given) if isinstance(given, dict) else {}
    about |= {name: row.get(column) for name, column in table.metadata.items()}
    about["files"] = list(dict.fromkeys(_listed(row.get("files_modified")) + _listed(row.get("files_read"))))
    if as_line(about.get("subtitle")) and str(about["subtitle"]) in content:
        del about["subtitle"]
    return {name: value for name, value in about.items() if value not in (None, "", [], 0)}


def _judged(row: Record) -> Exported | None:
    """Return what the user of a row thought of it."""
    vote = row.get("user_feedback")
    if not isinstance(vote, int) or vote == 0:
        return None
    return Exported(verdict="useful" if vote > 0 else "wrong")


# --- what belongs to a memory of Cortex -----------------------------------------------------


def _cortex(db: Database, columns: Columns) -> Beside:
    """Return the facts and the vector of each memory, as they are stored there."""
    facts: dict[object, list[Fact]] = {}
    for row in db.rows("facts"):
        if (fact := _fact(row)) is not None:
            facts.setdefault(row.get("memory_id"), []).append(fact)
    rows = db.rows("embeddings") if "vector" in columns.get("embeddings", frozenset()) else ()
    vectors = {row.get("memory_id"): _vector(row.get("vector")) for row in rows}
    return {
        key: Exported(facts=tuple(facts.get(key, ())), vector=vectors.get(key)) for key in facts.keys() | vectors.keys()
    }


def _fact(row: Record) -> Fact | None:
    if not (text_at(row, "predicate") and text_at(row, "object")):
        return None
    is_active = row.get("superseded_by") is None and text_at(row, "state") not in {"superseded", "retired"}
    rate, sure = row.get("decay_rate"), as_confidence(row.get("confidence"))
    return Fact(
        subject=text_at(row, "subject"),
        predicate=text_at(row, "predicate"),
        object=text_at(row, "object"),
        type=text_at(row, "fact_type") or "kv",
        confidence=1.0 if sure is None else sure,
        decay_rate=float(rate) if isinstance(rate, int | float) else 0.01,
        quote=text_at(row, "source_quote"),
        last_reinforced=as_moment(row.get("last_reinforced")) or as_moment(row.get("created_at")) or NEVER,
        state="active" if is_active else "superseded",
    )


def _vector(raw: object) -> tuple[float, ...] | None:
    """Return the numbers of a column of 32-bit floats, the lowest byte first."""
    return as_vector(struct.unpack(f"<{len(raw) // 4}f", raw)) if isinstance(raw, bytes) and not len(raw) % 4 else None


# --- what mem0 returns ----------------------------------------------------------------------


def is_mem0(glimpse: Glimpse) -> bool:
    """Tell whether a file is mem0's history, or what its `get_all` returned, saved as JSON."""
    return _is_get_all(glimpse.text) if glimpse.suffix == ".json" else is_store(glimpse, "mem0")


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
        yield from read_store(path, origin, "mem0")
        return
    value = json_document(path)
    records = value.get("results") if isinstance(value, dict) else value
    listed = records if isinstance(records, list) else []
    of = replace(STORES["mem0"].tables[0], id="id", words=_column("memory"))
    made = [_made(each, of, origin, {}, None) for each in records_in(listed) if as_line(each.get("id"))]
    kept = tuple(each[0] for each in made if isinstance(each, tuple))
    lost = len(listed) - len(kept)
    yield Parsed(memories=kept, skipped={"unknown record": lost} if lost else {})
