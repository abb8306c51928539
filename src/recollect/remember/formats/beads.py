"""Read the issues that beads keeps next to the code, one a line: `.beads/issues.jsonl`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recollect.records import Memory
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.json_stream import decode
from recollect.remember.formats.portions import Made, RecordLines, in_parts, records_in, text_at
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.values import as_line, as_tags
from recollect.text.dates import as_moment

_KEYS: Final = frozenset({"id", "title", "status", "issue_type", "created_at"})
_PARTS: Final = {
    "description": "",
    "design": "Design: ",
    "acceptance_criteria": "Acceptance: ",
    "notes": "Notes: ",
    "close_reason": "Closed: ",
}
_ABOUT: Final = ("status", "priority", "assignee", "closed_at", "external_ref")


def is_beads(glimpse: Glimpse) -> bool:
    """Tell whether the first line of a file is an issue of beads."""
    line = glimpse.text.lstrip("\ufeff \r\n\t").split("\n", 1)[0]
    if '"issue_type"' not in line:
        return False
    try:
        record = decode(line)
    except ValueError:
        return False
    return isinstance(record, dict) and record.keys() >= _KEYS


def read_beads(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each issue; a deleted one is counted."""
    lines = RecordLines(path=path)
    yield from in_parts(_issue(record, origin, line) for line, record in lines.records())
    yield lines.report()


def _issue(record: Record, origin: Origin, line: int) -> Made:
    key, title = as_line(record.get("id")), text_at(record, "title")
    if not key or not title:
        return "unknown line"
    if text_at(record, "status") == "tombstone":
        return "deleted issue"
    texts = [f"{label}{words}" for name, label in _PARTS.items() if (words := text_at(record, name))]
    texts += [_comment(each) for each in records_in(record.get("comments")) if text_at(each, "text")]
    about = {name: value for name in _ABOUT if (value := as_line(record.get(name)))}
    links = [text_at(each, "depends_on_id") for each in records_in(record.get("dependencies"))]
    memory = Memory(
        content="\n\n".join(texts) or title,
        title=f"{key}: {title}",
        type=as_line(record.get("issue_type")) or "issue",
        tags=as_tags(record.get("labels")) or (),
        source=origin.source,
        line=line,
        observed_at=as_moment(record.get("updated_at")) or as_moment(record.get("created_at")) or origin.date,
        external_id=f"beads:{key}",
        metadata={**about, "links": list(filter(None, links))} if any(links) else about,
    )
    return memory, None


def _comment(record: Record) -> str:
    return f"{text_at(record, 'author') or 'comment'}: {text_at(record, 'text')}"
