"""Read transcripts of Cursor's agent: who spoke and what was said; they have no dates and no ids of their own."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.transcript import Session, blocks_of, joined, opened, records_of, text_of
from recollect.remember.formats.turns import Said
from recollect.text.dates import as_moment

AGENT: Final = "cursor"
_QUERY: Final = re.compile(r"<user_query>(.*?)</user_query>", re.DOTALL)
_STAMP: Final = re.compile(r"<timestamp>(.*?)</timestamp>", re.DOTALL)


def is_cursor(glimpse: Glimpse) -> bool:
    """Tell whether a file is a transcript of Cursor: it lies in its folder, or its first turn is marked."""
    turns = [record for record in glimpse.records if _is_turn(record)]
    marked = any("<user_query>" in text_of(block.get("text")) for turn in turns[:1] for block in _blocks(turn))
    return bool(turns) and (marked or "agent-transcripts" in glimpse.path.parts)


def _is_turn(record: Record) -> bool:
    message = record.get("message")
    return record.get("role") in ("user", "assistant") and isinstance(message, dict) and "content" in message


def _blocks(record: Record) -> Iterator[Record]:
    message = record["message"]
    return blocks_of(message.get("content") if isinstance(message, dict) else None)


def read_cursor(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each turn with words."""
    session = Session(id=path.stem)
    with opened(path) as file:
        for number, record in records_of(file, session):
            if _is_turn(record):
                _take(record, number, session)
            else:
                session.skipped["unknown line"] += 1
    yield from session.parts(origin, agent=AGENT)


def _take(record: Record, number: int, session: Session) -> None:
    texts = []
    for block in _blocks(record):
        if block.get("type") == "text":
            texts.append(text_of(block.get("text")).replace("[REDACTED]", ""))
        else:
            session.skipped["tool call" if block.get("type") == "tool_use" else "unknown block"] += 1
    words = joined(texts)
    stamp, asked = _STAMP.search(words), _QUERY.findall(words)
    said = Said(
        speaker=str(record["role"]),
        words=joined(each.strip() for each in asked) if asked else words,
        at=as_moment(stamp[1].strip()) if stamp else None,
        id=f"{session.id}:{number}",
        line=number,
    )
    session.say(said)
