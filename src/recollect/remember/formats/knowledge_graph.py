"""Read the knowledge graph of the MCP memory server: entities with observations, and relations between them."""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final

from recollect.records import Memory
from recollect.remember.find_files import open_file
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.json_stream import decode
from recollect.remember.formats.portions import Made, RecordLines, in_parts, json_document, records_in, text_at
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.values import as_line
from recollect.text.dates import as_moment

_ENTITY: Final = frozenset({"name", "entityType", "observations"})
_RELATION: Final = frozenset({"from", "to", "relationType"})


def is_knowledge_graph(glimpse: Glimpse) -> bool:
    """Tell whether a file is the server's: it begins with an entity or a relation, or is the graph as one object."""
    text = glimpse.text.lstrip("\ufeff \r\n\t")
    if not text.startswith("{"):
        return False
    if '"entityType"' not in text and '"relationType"' not in text:
        return False
    if glimpse.suffix == ".json" and '"entities"' in text[:200] and '"observations"' in text:
        return True
    try:
        first = decode(text.split("\n", 1)[0])
    except ValueError:
        return False
    return isinstance(first, dict) and _kind(first) is not None


def read_knowledge_graph(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each observation and each relation."""
    graph = _as_object(path)
    lines = RecordLines(path=path)
    records = lines.records() if graph is None else ((None, each) for each in graph)
    yield from in_parts(made for line, record in records for made in _memories(record, origin, line))
    yield lines.report()


def _as_object(path: Path) -> list[Record] | None:
    """Return the entities and relations of a graph that is one object; None for a file of lines."""
    with open_file(path) as file:
        head = file.read(400)
    if b'"entities"' not in head or path.suffix.lower() != ".json":
        return None
    value = json_document(path)
    found = value if isinstance(value, dict) else {}
    return [*records_in(found.get("entities")), *records_in(found.get("relations"))]


def _kind(record: Record) -> str | None:
    if record.keys() >= _ENTITY and isinstance(record["observations"], list):
        return "entity"
    return "relation" if record.keys() >= _RELATION else None


def _memories(record: Record, origin: Origin, line: int | None) -> list[Made]:
    match _kind(record):
        case "entity":
            found = list(_entity(record, origin, line))
        case "relation":
            found = list(_relation(record, origin, line))
        case _:
            found = []
    return [(memory, None) for memory in found] or ["unknown line"]


def _entity(record: Record, origin: Origin, line: int | None) -> Iterator[Memory]:
    """Yield the observations of an entity; if there are none, its name."""
    name, kind = as_line(record["name"]), as_line(record["entityType"])
    listed = record["observations"]
    observations = (
        [each for each in listed if isinstance(each, str) and each.strip()] if isinstance(listed, list) else []
    )
    if not name:
        return
    for each in observations or [f"{name} ({kind})" if kind else name]:
        yield Memory(
            content=each if each.lower().startswith(name.lower()) else f"{name}: {each}",
            title=name,
            type=kind or "note",
            source=origin.source,
            line=line,
            observed_at=as_moment(record.get("createdAt")) or origin.date,
            external_id=_key(name, each),
            metadata={"entity": name},
        )


def _relation(record: Record, origin: Origin, line: int | None) -> Iterator[Memory]:
    begin, kind, end = (text_at(record, key) for key in ("from", "relationType", "to"))
    if begin and kind and end:
        yield Memory(
            content=f"{begin} {kind.replace('_', ' ')} {end}",
            title=begin,
            type="relation",
            source=origin.source,
            line=line,
            observed_at=origin.date,
            external_id=_key(begin, kind, end),
            metadata={"relation": kind, "links": [end]},
        )


def _key(*parts: str) -> str:
    """Return an id for what has none: the same words of the same entity are the same."""
    return f"mcp-memory:{blake2b(chr(31).join(parts).encode(), digest_size=12).hexdigest()}"
