"""Read the nodes of a graph that Neo4j or NornicDB exported as JSON (`apoc.export.json`); relationships are counted."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from recollect.remember.find_files import open_file
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.portions import Made, RecordLines, in_parts, json_document, records_in
from recollect.remember.formats.record import Exported, Origin, Parsed, Record, as_memory, content_of, without_vector
from recollect.remember.formats.values import as_line, as_tags, flatten

_WORDS: Final = ("description", "title", "name")
"""Properties that stand in for a missing content."""


def is_neo4j(glimpse: Glimpse) -> bool:
    """Tell whether a file begins with a node or a relationship, on a line, in a list or under the name `nodes`."""
    head = glimpse.text.lstrip("\ufeff \r\n\t")[:2000]
    if head.startswith("{") and '"nodes"' in head[:40]:
        return '"labels"' in head and '"properties"' in head
    begins = '"type":"node"' in head.replace(" ", "")[:80] or '"type":"relationship"' in head.replace(" ", "")[:80]
    return begins and ('"labels"' in head or '"label"' in head)


def read_neo4j(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each node: its labels are tags, its properties fields, its embedding the vector."""
    lines = RecordLines(path=path)
    listed = None if path.suffix.lower() != ".json" else _listed(path)
    records: Iterable[tuple[int | None, Record]] = (
        lines.records() if listed is None else ((None, each) for each in listed)
    )
    yield from in_parts(_node(record, origin, line) for line, record in records)
    yield lines.report()


def _listed(path: Path) -> list[Record] | None:
    """Return the records of a file that is one list or one object; None for a file of lines."""
    with open_file(path) as file:
        head = file.read(200).lstrip(b"\xef\xbb\xbf \r\n\t")
    if not (head.startswith(b"[") or b'"nodes"' in head[:40]):
        return None
    value = json_document(path)
    if not isinstance(value, dict):
        return records_in(value)
    return [*records_in(value.get("nodes")), *records_in(value.get("rels", value.get("relationships")))]


def _node(record: Record, origin: Origin, line: int | None) -> Made:
    properties = record.get("properties")
    if "start" in record:
        return "relationship"
    words, vector = without_vector(properties if isinstance(properties, dict) else {})
    if not any(words.values()):
        return "empty node"
    labels = as_tags(record.get("labels")) or ()
    key = as_line(words.get("id")) or as_line(record.get("id"))
    named = {name: value for name, value in words.items() if name != "id"}
    named |= {"labels": [*labels, *(as_tags(words.get("tags")) or ())], "external_id": key and f"neo4j:{key}"}
    if content_of(words) is None:
        named["content"] = next((said for each in _WORDS if (said := as_line(words.get(each)))), flatten(words))
    memory = as_memory({name: value for name, value in named.items() if value}, origin=origin, line=line or 0)
    if memory is None:
        return "empty node"
    return memory, None if vector is None else Exported(vector=vector)
