"""Read sessions of Gemini CLI: a log of messages that are rewritten as they grow, patched and withdrawn."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recollect.remember.find_files import open_file, read_text
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.json_stream import decode
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.transcript import Session, bears, blocks_of, filled, joined, records_of, text_of
from recollect.remember.formats.turns import Said
from recollect.text.dates import as_moment

AGENT: Final = "gemini"
_SPEAKERS: Final = {"user": "user", "gemini": "assistant"}
_SCAFFOLDING: Final = ("<state_snapshot>", "<session_context>", "This is the Gemini CLI. We are setting up the context")
_META: Final = frozenset({"sessionId", "projectHash"})


def is_gemini(glimpse: Glimpse) -> bool:
    """Tell whether a file is a session of Gemini CLI, one line a message or in its first, whole form."""
    return bears(glimpse, lambda record: record.keys() >= _META, sessionId='"', projectHash='"')


def read_gemini(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each message of user and model that was not taken back."""
    session, log = Session(id=path.stem), _Log()
    if path.suffix.lower() == ".json":
        _replay_whole(path, session, log)
    else:
        with open_file(path) as file:
            for number, record in records_of(file, session):
                log.take(record, number, session)
    log.tell(session)
    yield from session.parts(origin, agent=AGENT)


def _replay_whole(path: Path, session: Session, log: "_Log") -> None:
    try:
        value = decode(read_text(path))
    except ValueError:
        session.problems.append("not JSON")
        return
    if isinstance(value, dict):
        log.take(value, 1, session)


class _Log:
    """The messages of a session after each line."""

    def __init__(self) -> None:
        self._meta: Record = {}
        self._messages: dict[str, tuple[int, Record]] = {}

    def take(self, record: Record, number: int, session: Session) -> None:
        """Apply a line: a message, a patch, a rewind, or session metadata."""
        back, patch = record.get("$rewindTo"), record.get("$set")
        if isinstance(back, str):
            self._rewind(back, session)
        elif isinstance(patch, dict):
            self._patch(patch, number)
        elif isinstance(record.get("id"), str) and "type" in record:
            self._messages[str(record["id"])] = (number, record)
        elif "sessionId" in record:
            self._patch(record, number)
        else:
            session.skipped["unknown line"] += 1

    def _patch(self, patch: Record, number: int) -> None:
        """Apply *patch*; messages missing from it were compressed away and stay."""
        messages = patch.get("messages")
        self._meta |= {key: value for key, value in patch.items() if key != "messages"}
        for each in messages if isinstance(messages, list) else ():
            if isinstance(each, dict) and isinstance(each.get("id"), str):
                line = self._messages.get(each["id"], (number, {}))[0]
                self._messages[each["id"]] = (line, each)

    def _rewind(self, back: str, session: Session) -> None:
        """Take back the message *back* and all after it."""
        ids = list(self._messages)
        gone = ids[ids.index(back) :] if back in self._messages else []
        for each in gone:
            del self._messages[each]
        session.skipped["withdrawn message"] += len(gone)

    def tell(self, session: Session) -> None:
        """Add the messages to *session*."""
        session.id = text_of(self._meta.get("sessionId")) or session.id
        session.title = " ".join(text_of(self._meta.get("summary")).split())
        folders = self._meta.get("directories")
        cwd = folders[0] if isinstance(folders, list) and folders else None
        for own, (line, message) in self._messages.items():
            words = self._words(message, session)
            if words:
                about = filled(cwd=cwd, model=message.get("model"))
                at = as_moment(message.get("timestamp"))
                speaker = _SPEAKERS[str(message["type"])]
                session.say(Said(speaker=speaker, words=words, at=at, id=own, line=line, about=about))

    def _words(self, message: Record, session: Session) -> str:
        kind, calls = text_of(message.get("type")), message.get("toolCalls")
        if self._meta.get("kind") == "subagent":
            session.skipped["turn of a subagent"] += 1
            return ""
        if kind not in _SPEAKERS:
            session.skipped["notice" if kind in ("info", "error", "warning") else "unknown line"] += 1
            return ""
        session.skipped["tool call"] += len(calls) if isinstance(calls, list) else 0
        words = joined(block.get("text") for block in blocks_of(message.get("content")) if not block.get("thought"))
        if words.startswith(_SCAFFOLDING):
            session.skipped["instruction"] += 1
            return ""
        return words
