"""Read transcripts of Claude Code: what user and assistant said, without tools, thinking and notices."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recollect.lazy import regex
from recollect.remember.find_files import open_file
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.transcript import Session, bears, blocks_of, filled, joined, records_of, text_of
from recollect.remember.formats.turns import Said
from recollect.text.dates import as_moment

AGENT: Final = "claude-code"
_TITLES: Final = {"custom-title": ("customTitle", "title"), "ai-title": ("aiTitle", "title"), "summary": ("summary",)}
"""Lines that name a session, the surest first, and the keys of the name."""
_BLOCKS: Final = {
    "tool_use": "tool call",
    "server_tool_use": "tool call",
    "tool_result": "tool result",
    "web_search_tool_result": "tool result",
    "thinking": "thought",
    "redacted_thinking": "thought",
    "image": "image",
    "document": "document",
}
_REMINDER: Final = regex(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_COMMAND: Final = regex(r"<command-name>\s*(\S+?)\s*</command-name>")
_ARGUMENTS: Final = regex(r"<command-args>(.*?)</command-args>", re.DOTALL)
_SCAFFOLDING: Final = regex(
    r"\s*(?:<(?:local-command|command-(?:name|message|args)|bash-(?:input|stdout|stderr)|task-notification"
    r"|user-memory-input|user-prompt-submit-hook|session-start-hook)"
    r"|\[Request interrupted by user|Caveat: The messages below were generated)"
)


def is_claude_code(glimpse: Glimpse) -> bool:
    """Tell whether a file is a transcript of Claude Code."""
    return bears(glimpse, _is_ours, sessionId='"', parentUuid="", isSidechain="")


def _is_ours(record: Record) -> bool:
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return {"sessionId", "uuid", "message"} <= record.keys()
    return (kind == "summary" and "leafUuid" in record) or (kind == "file-history-snapshot" and "snapshot" in record)


def read_claude_code(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each turn with words; a subagent's and the program's own lines are counted, not kept."""
    session, titles, lines = Session(), _Titles(), set[object]()
    with open_file(path) as file:
        for number, record in records_of(file, session):
            lines.add(text_of(record.get("uuid")))
            if text_of(record.get("type")) in _TITLES:
                titles.take(record)
            else:
                _take(record, number, session)
    session.title = titles.best(lines)
    yield from session.parts(origin, agent=AGENT)


class _Titles:
    """The names of a session that its lines give."""

    def __init__(self) -> None:
        self._found: list[tuple[str, str, object]] = []

    def take(self, record: Record) -> None:
        """Note the name in *record*."""
        kind = str(record["type"])
        name = next((text for key in _TITLES[kind] if (text := text_of(record.get(key)).strip())), "")
        if name:
            self._found.append((kind, " ".join(name.split()), record.get("leafUuid")))

    def best(self, lines: set[object]) -> str:
        """Return the last name of the surest kind; a summary may be of another session, then its line is not here."""
        own = [each for each in self._found if each[0] != "summary" or not each[2] or text_of(each[2]) in lines]
        return next((name for kind in _TITLES for found, name, _ in reversed(own) if found == kind), "")


def _take(record: Record, number: int, session: Session) -> None:
    record = _unqueued(record)
    left_out = _left_out(record)
    message = record.get("message")
    if left_out or not isinstance(message, dict):
        session.skipped[left_out or "unknown line"] += 1
        return
    words = _words(message, session)
    if not words:
        return
    session.id = session.id or text_of(record.get("sessionId"))
    about = filled(cwd=record.get("cwd"), branch=record.get("gitBranch"), model=message.get("model"))
    at = as_moment(record.get("timestamp"))
    uuid = text_of(record.get("uuid")) or None
    session.say(Said(speaker=str(record["type"]), words=words, at=at, id=uuid, line=number, about=about))


def _unqueued(record: Record) -> Record:
    """Return *record*; a prompt that was queued while the agent worked becomes a turn of the user."""
    queued = record.get("attachment")
    if not isinstance(queued, dict) or (queued.get("type"), queued.get("commandMode")) != ("queued_command", "prompt"):
        return record
    origin = queued.get("origin")
    if queued.get("isMeta") is True or (isinstance(origin, dict) and origin.get("kind", "human") != "human"):
        return record
    return {**record, "type": "user", "message": {"role": "user", "content": queued.get("prompt")}}


def _left_out(record: Record) -> str:
    """Return why a line is skipped; blank for a turn."""
    kind = record.get("type")
    if kind not in ("user", "assistant"):
        return f"{kind} line" if isinstance(kind, str) and re.fullmatch(r"[a-z-]{1,30}", kind) else "unknown line"
    if record.get("isSidechain") is True:
        return "turn of a subagent"
    if record.get("isMeta") is True:
        return "meta line"
    if record.get("isCompactSummary") is True:
        return "summary of a compaction"
    return "error message" if record.get("isApiErrorMessage") is True else ""


def _words(message: Record, session: Session) -> str:
    """Return the words of a message; count its other blocks."""
    texts = []
    for block in blocks_of(message.get("content")):
        kind = block.get("type")
        if kind == "text":
            texts.append(_typed(text_of(block.get("text")), session))
        else:
            session.skipped[_BLOCKS.get(str(kind), "unknown block")] += 1
    return joined(texts)


def _typed(text: str, session: Session) -> str:
    """Return what a person or the agent wrote of *text*; a command of the program counts by its arguments."""
    text = _REMINDER.sub("", text)
    if not _SCAFFOLDING.match(text):
        return text
    name, arguments = _COMMAND.search(text), _ARGUMENTS.search(text)
    if name and arguments and arguments[1].strip():
        return f"{name[1]} {arguments[1].strip()}"
    session.skipped["command"] += 1
    return ""
