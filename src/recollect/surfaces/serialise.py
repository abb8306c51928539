"""Frozen values as JSON: one serialiser for the command line, HTTP and MCP, and a table of what differs."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct

from recollect.errors import RecollectError
from recollect.records import FILTER_FIELDS
from recollect.replies import Reply

_MEMORY: Final = (
    "id external_id kind project type title content tags source line section confidence pinned "
    "created_at updated_at observed_at superseded_by metadata"
)
_FILTERS: Final = " ".join(f"{each.name}?" for each in FILTER_FIELDS if each.match != "scope")

SHAPES: Final[Mapping[str, str]] = {
    "Conflict": "kind one other",
    "EditResult": "id changed tags redacted secrets? degraded?",
    "Entry": "key at what verb text ids by project?",
    "Event": "verb at detail",
    "Evidence": "sure=probability bar=threshold id coverage cosine against?",
    "Fact": "id subject predicate object type confidence",
    "Generation": "model dimensions memories pending",
    "Health": "store=address healthy memories problems advice? privacy? last_backup?",
    "Hit": (
        "rank id kind score match_type bm25_score bm25_rank semantic_score vector_rank fused_score "
        "effective_confidence snippet memory facts conflicts? older? probability? exchange?"
    ),
    "FoundSecret": "field kind id=memory_id source",
    "IngestResult": "id decision of redacted updated=revised? secrets? supersedes? evidence=trust_evidence? degraded?",
    "Root": "path project trust redact follow_links as=as_? from=from_?",
    "Lens": f"name projects? {_FILTERS} since? until? boosts",
    "Memory": f"{_MEMORY} origin?",
    "Recall": "query session lens mode outcome at hits",
    "Recalled": "id=memory_id rank score shown facts=fact_ids",
    "Related": "id score reasons memory",
    "Reply": "query mode profile outcome evidence reason degraded hits hidden=cut? suggestions facets timings_ms",
    "ReviewItem": "key kind about memories?",
    "Share": "ranking rank points",
    "Shown": "*memory deleted_at=memory.deleted_at wordings facts events passages?",
    "StoreStats": "memories forgotten superseded sources wordings=variants events projects types log bytes?",
    "Turn": "id speaker text before",
    "Why": "id found rank score lists blocked_by surfaces_if",
}
"""What is shown of a value and in which order, where that is not simply its fields.

`key=attribute` shows an attribute under another name, `key?` leaves out what is None or empty, `*attribute` shows the
members of an attribute as members of the value itself.
"""


def serialise(value: Any) -> Any:
    """Return *value* as JSON has it: objects, arrays, texts, numbers."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: serialise(each) for key, each in value.items()}
    shape = SHAPES.get(type(value).__name__)
    if shape is None and isinstance(value, tuple | list):
        return [serialise(each) for each in value]
    if shape is not None or isinstance(value, Struct):
        return _members(value, shape or " ".join(value.__struct_fields__))
    return str(value)


def _members(value: Any, shape: str) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for sign, key, read in _readers(shape):
        shown = serialise(read(value))
        if sign == "*":
            members |= shown
        elif sign == "" or shown not in (None, [], {}):
            members[key] = shown
    return members


@cache
def _readers(shape: str) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:
    """Return for each member of *shape* its sign (`*`, `?` or none), its key and how it is read."""
    readers = []
    for word in shape.split():
        key, _, attribute = word.strip("*?").partition("=")
        sign = "*" if word.startswith("*") else "?" if word.endswith("?") else ""
        readers.append((sign, key, attrgetter(attribute or key)))
    return tuple(readers)


def explained(reply: Reply) -> dict[str, Any]:
    """Return an answer to a search with what each score is made of."""
    shown: dict[str, Any] = serialise(reply)
    for hit, member in zip(reply.hits, shown["hits"], strict=True):
        member["explain"] = {"shares": serialise(hit.shares), "factors": serialise(hit.factors)}
    return shown


def error_value(error: RecollectError) -> dict[str, Any]:
    """Return an error, the same on every surface."""
    return {"error": {"code": error.code, "message": str(error), "hint": error.hint}}
