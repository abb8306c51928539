"""Read an export of Claude.ai: the messages of each conversation, and the texts that were attached to them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recollect.remember.formats.exported import begins_with, read_conversations
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.transcript import Session, blocks_of, filled, joined, text_of
from recollect.remember.formats.turns import Said
from recollect.text.dates import as_moment

AGENT: Final = "claude-ai"
_SPEAKERS: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_BLOCKS: Final = {"tool_use": "tool call", "tool_result": "tool result", "thinking": "thought"}


def is_claude_ai(glimpse: Glimpse) -> bool:
    """Tell whether a file is an export of Claude.ai, or the archive with one."""
    return begins_with(glimpse, "chat_messages", "uuid", "created_at")


def read_claude_ai(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each message, and those of the texts attached to it."""
    return read_conversations(path, origin, _fill, agent=AGENT)


def _fill(record: Record, session: Session) -> bool:
    messages = record.get("chat_messages")
    if not isinstance(messages, list):
        return False
    session.id = text_of(record.get("uuid"))
    session.title = " ".join(text_of(record.get("name")).split())
    for message in messages:
        speaker = _SPEAKERS.get(text_of(message.get("sender"))) if isinstance(message, dict) else None
        if speaker is None:
            session.skipped["unknown message"] += 1
        else:
            _take(message, speaker, session, record)
    return True


def _take(message: Record, speaker: str, session: Session, record: Record) -> None:
    at = as_moment(message.get("created_at")) or as_moment(record.get("created_at"))
    own = text_of(message.get("uuid"))
    attached = message.get("attachments")
    for number, each in enumerate(attached if isinstance(attached, list) else (), start=1):
        name = text_of(each.get("file_name")) if isinstance(each, dict) else ""
        text = text_of(each.get("extracted_content")).strip() if isinstance(each, dict) else ""
        if text:
            # A text that was pasted has no name.
            words = f"{name}\n{text}" if name else text
            place = f"{own}/{number}" if own else None
            session.say(Said(speaker=speaker, words=words, at=at, id=place, about=filled(attachment=name)))
        else:
            session.skipped["attached file"] += 1
    # Attachments come first, so that the answer follows its question.
    session.say(Said(speaker=speaker, words=_words(message, session), at=at, id=own or None))


def _words(message: Record, session: Session) -> str:
    texts, blocks = [], list(blocks_of(message.get("content")))
    for block in blocks:
        if block.get("type") == "text":
            texts.append(block.get("text"))
        else:
            session.skipped[_BLOCKS.get(text_of(block.get("type")), "unknown block")] += 1
    # Beside blocks the text repeats them; alone it is all there is.
    return joined(texts) if blocks else text_of(message.get("text")).strip()
