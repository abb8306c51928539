"""Read rollouts of Codex, plain or packed: the messages of user and assistant, without the duplicates in the events."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from recollect.errors import FileError
from recollect.lazy import regex
from recollect.remember.find_files import open_file, shown
from recollect.remember.formats.archive import MAX_UNPACKED_BYTES
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.transcript import (
    Lines,
    Session,
    bears,
    blocks_of,
    filled,
    joined,
    records_of,
    text_of,
)
from recollect.remember.formats.turns import Said
from recollect.text.dates import as_moment

AGENT: Final = "codex"
_KINDS: Final = frozenset({"session_meta", "response_item", "turn_context", "event_msg", "compacted"})
_ITEMS: Final = {
    "reasoning": "thought",
    "function_call": "tool call",
    "custom_tool_call": "tool call",
    "local_shell_call": "tool call",
    "web_search_call": "tool call",
    "function_call_output": "tool result",
    "custom_tool_call_output": "tool result",
}
_TEXTS: Final = ("input_text", "output_text", "text")
_SCAFFOLDING: Final = regex(
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|skill|subagent_notification"
    r"|collaboration_mode|INSTRUCTIONS|user_shell_command)\b|\# AGENTS\.md instructions for )"
)
_WHOLE: Final = re.DOTALL | re.MULTILINE
_REQUEST: Final = regex(r"\A\s*# Context from my IDE setup:.*?^## My request for Codex:[ \t]*\n", _WHOLE)
_NAME: Final = regex(r"rollout-.+\.jsonl\.zst")
_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_MAX_WINDOW_LOG: Final = 27
"""How much memory unpacking may take: a window of 2 to this power, 128 MB."""


def is_codex(glimpse: Glimpse) -> bool:
    """Tell whether a file is a rollout of Codex; a packed one is known by its name and its first bytes."""
    if glimpse.suffix == ".zst":
        return bool(_NAME.fullmatch(glimpse.path.name)) and glimpse.head.startswith(_MAGIC)
    return bears(glimpse, _is_ours, timestamp='"', type='"session_meta"', payload="{")


def _is_ours(record: Record) -> bool:
    if {"timestamp", "type", "payload"} <= record.keys():
        return text_of(record["type"]) in _KINDS
    return record.get("record_type") == "state" or {"id", "timestamp", "instructions"} <= record.keys()


def read_codex(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each message of user and assistant; what the program adds and what tools say is counted."""
    session, about = Session(), dict[str, object]()
    with _lines(path) as lines:
        for number, record in records_of(lines, session):
            _take(record, number, session, about)
    if path.suffix.lower() == ".zst" and (session.skipped.pop("unfinished line", 0) or not session.id):
        session.problems.append("it is broken off")
    if about.get("subagent"):
        session.skipped["turn of a subagent"] += len(session.said)
        session.said.clear()
    yield from session.parts(origin, agent=AGENT)


def _take(record: Record, number: int, session: Session, about: dict[str, object]) -> None:
    payload = record.get("payload")
    item = payload if isinstance(payload, dict) else {}
    match record.get("type"):
        case "session_meta":
            _open(item, session, about)
        case "turn_context":
            about |= filled(model=item.get("model"), cwd=item.get("cwd"))
        case "response_item":
            _take_item(item, record.get("timestamp"), number, session, about)
        case "event_msg":
            named = text_of(item.get("thread_name")).strip()
            session.title = named if item.get("type") == "thread_name_updated" and named else session.title
            session.skipped["event"] += 1
        case "compacted":
            session.skipped["summary of a compaction"] += 1
        case None if "instructions" in record or "record_type" in record:  # as the first versions wrote
            _open(record, session, about)
        case _ if "payload" not in record:
            _take_item(record, record.get("timestamp"), number, session, about)
        case _:
            session.skipped["unknown line"] += 1


def _open(meta: Record, session: Session, about: dict[str, object]) -> None:
    """Note what the first line says of the session; a session copied from another begins with that one's line too."""
    if "session" in about:
        return
    session.id = text_of(meta.get("id")) or session.id
    git = meta.get("git")
    about |= filled(
        session=session.id, cwd=meta.get("cwd"), branch=git.get("branch") if isinstance(git, dict) else None
    )
    source = meta.get("source")
    about["subagent"] = isinstance(source, dict) and "subagent" in source


def _take_item(item: Record, at: object, number: int, session: Session, about: Record) -> None:
    kind, role = item.get("type"), item.get("role")
    if kind != "message":
        session.skipped[_ITEMS.get(str(kind), "unknown line")] += 1
    elif role not in ("user", "assistant"):
        session.skipped["instruction"] += 1
    elif words := _words(item, session):
        known = filled(cwd=about.get("cwd"), branch=about.get("branch"), model=about.get("model"))
        if role == "user":
            known.pop("model", None)
        own = f"{session.id}:{number}" if session.id else None
        session.say(Said(speaker=str(role), words=words, at=as_moment(at), id=own, line=number, about=known))


def _words(item: Record, session: Session) -> str:
    texts = []
    for block in blocks_of(item.get("content")):
        text = text_of(block.get("text"))
        if block.get("type") not in _TEXTS:
            session.skipped["image" if "image" in str(block.get("type")) else "unknown block"] += 1
        elif _SCAFFOLDING.match(text):
            session.skipped["instruction"] += 1
        else:
            texts.append(_REQUEST.sub("", text))
    return joined(texts)


# --- packed ---------------------------------------------------------------------------------


@contextmanager
def _lines(path: Path) -> Iterator[Lines]:
    """Open a rollout, and unpack it if it is packed."""
    with open_file(path) as file:
        if path.suffix.lower() != ".zst":
            yield file
            return
        unpacked, broken = _unpacking(file, path)
        try:
            yield _Bounded(unpacked, shown(path))
        except broken as error:
            raise FileError(f"{shown(path)} cannot be unpacked: {error}", hint="copy it again, or unpack it") from error


def _unpacking(file: Any, path: Path) -> tuple[Lines, type[Exception]]:
    """Return a stream of the unpacked *file*, and the error it raises for damaged data."""
    try:  # from Python 3.14 on
        zstd = import_module("compression.zstd")
    except ImportError:
        pass
    else:
        option = {zstd.DecompressionParameter.window_log_max: _MAX_WINDOW_LOG}
        return zstd.ZstdFile(file, options=option), zstd.ZstdError
    try:
        zstandard = import_module("zstandard")
    except ImportError as error:
        hint = 'run: pip install "recollect[zst]"'
        raise FileError(f"{shown(path)} needs the library zstandard, which is not installed", hint=hint) from error
    packed = zstandard.ZstdDecompressor(max_window_size=2**_MAX_WINDOW_LOG)
    return io.BufferedReader(packed.stream_reader(file, read_across_frames=True)), zstandard.ZstdError


class _Bounded:
    """Lines of which there are not endlessly many."""

    def __init__(self, lines: Lines, name: str) -> None:
        self._lines, self._name, self._left = lines, name, MAX_UNPACKED_BYTES

    def readline(self, size: int, /) -> bytes:
        """Return the next line, or the next *size* bytes of it."""
        line = self._lines.readline(size)
        self._left -= len(line)
        if self._left < 0:
            raise FileError(
                f"{self._name} becomes larger than {MAX_UNPACKED_BYTES // 1024**3} GB", hint="unpack and split it"
            )
        return line
