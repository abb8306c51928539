"""Read transcripts of Cursor's agent: speakers and words; they have no dates and no ids.

Older ones are text: a line `user:` or `assistant:` before each turn, marks in brackets before thoughts and tools.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recollect.lazy import regex
from recollect.remember.find_files import open_file, read_text
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.transcript import Session, blocks_of, joined, records_of, text_of
from recollect.remember.formats.turns import Said
from recollect.text.dates import as_moment

AGENT: Final = "cursor"
_FOLDER: Final = "agent-transcripts"
_SPEAKER: Final = regex(r"^(user|assistant):[ \t]*\n", re.MULTILINE)
_MARK: Final = regex(r"^\[(Thinking|Tool call|Tool result)\].*$", re.MULTILINE)
_MARKED: Final = {"Thinking": "thought", "Tool call": "tool call", "Tool result": "tool result"}
_QUERY: Final = regex(r"<user_query>(.*?)</user_query>", re.DOTALL)
_STAMP: Final = regex(r"<timestamp>(.*?)</timestamp>", re.DOTALL)


def is_cursor(glimpse: Glimpse) -> bool:
    """Tell whether a file is a transcript of Cursor: it is in Cursor's folder, or its first turn is marked."""
    if glimpse.suffix == ".txt":
        return _FOLDER in glimpse.path.parts and glimpse.text.startswith("user:\n")
    turns = [record for record in glimpse.records if _is_turn(record)]
    marked = any("<user_query>" in text_of(block.get("text")) for turn in turns[:1] for block in _blocks(turn))
    return bool(turns) and (marked or _FOLDER in glimpse.path.parts)


def _is_turn(record: Record) -> bool:
    message = record.get("message")
    return record.get("role") in ("user", "assistant") and isinstance(message, dict) and "content" in message


def _blocks(record: Record) -> Iterator[Record]:
    message = record["message"]
    return blocks_of(message.get("content") if isinstance(message, dict) else None)


def read_cursor(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each turn with words."""
    session = Session(id=path.stem)
    if path.suffix.lower() == ".txt":
        _take_text(read_text(path), session)
    else:
        with open_file(path) as file:
            for number, record in records_of(file, session):
                if _is_turn(record):
                    _take(record, number, session)
                else:
                    session.skipped["unknown line"] += 1
    yield from session.parts(origin, agent=AGENT)


def _take_text(text: str, session: Session) -> None:
    """Take the turns of a transcript that is text."""
    marks = list(_SPEAKER.finditer(text))
    for mark, end in zip(marks, [*(each.start() for each in marks[1:]), len(text)], strict=True):
        words = _unmarked(text[mark.end() : end], session)
        _say(mark[1], words, text.count("\n", 0, mark.start()) + 1, session)


def _unmarked(words: str, session: Session) -> str:
    """Return *words* up to the first tool, without what was only thought; what a tool says may go on to the end."""
    kept, at = [], 0
    for mark in _MARK.finditer(words):
        session.skipped[_MARKED[mark[1]]] += 1
        if at <= mark.start():
            kept.append(words[at : mark.start()])
        # A thought is one line; where the output of a tool ends is not marked.
        at = mark.end() if mark[1] == "Thinking" else len(words) + 1
    return "".join((*kept, words[at:]))


def _take(record: Record, number: int, session: Session) -> None:
    texts = []
    for block in _blocks(record):
        if block.get("type") == "text":
            texts.append(text_of(block.get("text")).replace("[REDACTED]", ""))
        else:
            session.skipped["tool call" if block.get("type") == "tool_use" else "unknown block"] += 1
    _say(str(record["role"]), joined(texts), number, session)


def _say(speaker: str, words: str, number: int, session: Session) -> None:
    stamp, asked = _STAMP.search(words), _QUERY.findall(words)
    said = Said(
        speaker=speaker,
        words=joined(each.strip() for each in asked) if asked else words,
        at=as_moment(stamp[1].strip()) if stamp else None,
        id=f"{session.id}:{number}",
        line=number,
    )
    session.say(said)
