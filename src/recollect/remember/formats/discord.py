"""Read a channel of Discord: as exported by DiscordChatExporter, or from the data package of Discord."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from recollect.errors import FileError
from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.find_files import read_text
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.portions import array_in, json_document, long_conversation, records_in, text_at
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.turns import Said
from recollect.remember.formats.values import as_line, clean
from recollect.text.dates import as_moment

_KEYS: Final = ('"guild"', '"channel"', '"messages"', '"author"')
_HEADER: Final = regex(r"\ufeff?ID,Timestamp,Contents,Attachments\b")
_OWN: Final = regex(r'^\s*\[\s*\{\s*"ID"\s*:.*"Contents"\s*:', re.DOTALL)
_FOLDER: Final = regex(r"c?\d{5,25}")
_SAID: Final = frozenset({"Default", "Reply", "ThreadStarterMessage", "ChatInputCommand", ""})
_REMEMBERED: Final = 5000
"""How many messages back an answer may name the one it answers."""


# --- which files ----------------------------------------------------------------------------


def is_discord(glimpse: Glimpse) -> bool:
    """Tell whether a file is an exported channel, or a file of the package that Discord sends."""
    path, text = glimpse.path, glimpse.text
    if path.name == "messages.csv":
        return bool(_HEADER.match(text))
    if glimpse.suffix != ".json":
        return False
    if path.name == "messages.json" and _FOLDER.fullmatch(path.parent.name):
        return bool(_OWN.match(text)) or text.strip() == "[]"
    if _is_list(path):
        return True
    return text.lstrip().startswith("{") and all(key in text for key in _KEYS) and '"exportedAt"' in text


def _is_list(path: Path) -> bool:
    """Tell whether a file of the package only says what channels are called."""
    try:
        if path.name == "channel.json" and _FOLDER.fullmatch(path.parent.name):
            return any((path.parent / f"messages.{end}").is_file() for end in ("json", "csv"))
        return path.name == "index.json" and any(
            _FOLDER.fullmatch(each.parent.name) for each in path.parent.glob("*/channel.json")
        )
    except (OSError, ValueError):
        return False


def read_discord(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield the messages of a channel; those of bots and notices of the program are counted."""
    if _is_list(path):
        json_document(path)
        yield Parsed(skipped={"list of names": 1})
    elif path.suffix.lower() == ".csv" or _FOLDER.fullmatch(path.parent.name):
        yield from _read_own(path, origin)
    else:
        yield from _read_exported(path, origin)


# --- DiscordChatExporter --------------------------------------------------------------------


def _read_exported(path: Path, origin: Origin) -> Iterator[Parsed]:
    messages = array_in(path, "messages")
    head = next(messages)
    key = text_at(head, "channel", "id") or origin.source
    skipped: Counter[str] = Counter()
    recent: dict[str, str] = {}
    answers: dict[str, str] = {}
    said = _said(messages, skipped, recent, answers)
    for memories in long_conversation(said, origin, thread=f"discord:{key}", title=_title(head)):
        yield Parsed(memories=tuple(_answering(each, answers) for each in memories))
    yield Parsed(skipped=skipped)


def _title(head: object) -> str:
    channel, guild = text_at(head, "channel", "name"), text_at(head, "guild", "name")
    if not channel or guild in {"", "Direct Messages"}:
        return channel or guild
    return f"#{channel} ({guild})"


def _said(
    messages: Iterable[object], skipped: Counter[str], recent: dict[str, str], answers: dict[str, str]
) -> Iterator[Said]:
    """Yield the messages of people; *answers* gets the message that each reply refers to."""
    for each in messages:
        record = each if isinstance(each, dict) else {}
        reason = _reason_to_skip(record)
        if reason:
            skipped[reason] += 1
            continue
        key = f"discord:{text_at(record, 'id')}"
        speaker = text_at(record, "author", "nickname") or text_at(record, "author", "name") or "somebody"
        words = "\n".join(filter(None, (text_at(record, "content"), *_files(record))))
        asked = recent.get(f"discord:{text_at(record, 'reference', 'messageId')}")
        if asked:
            answers[key] = asked
        recent[key] = f"{speaker}: {words}"
        if len(recent) > _REMEMBERED:
            recent.pop(next(iter(recent)))
        yield Said(speaker=speaker, words=words, at=as_moment(record.get("timestamp")), id=key)


def _reason_to_skip(record: Record) -> str | None:
    if not text_at(record, "id") or not isinstance(record.get("author"), dict):
        return "unknown record"
    author = record["author"]
    if isinstance(author, dict) and author.get("isBot") is True:
        return "message of a bot"
    return None if text_at(record, "type") in _SAID else "notice"


def _files(record: Record) -> Iterator[str]:
    names = (text_at(each, "fileName") for each in records_in(record.get("attachments")))
    return (f"File: {name}" for name in names if name)


def _answering(memory: Memory, answers: dict[str, str]) -> Memory:
    """Return *memory* with the message it replies to as its context."""
    asked = answers.pop(memory.external_id or "", None)
    old = memory.context
    if asked is None or asked == old.before:
        return memory
    around = "\n".join(filter(None, (old.before, old.around)))
    return replace(memory, context=replace(old, before=asked, around=around))


# --- the package ----------------------------------------------------------------------------


def _read_own(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield one's own messages, the oldest first; others' are not in the package."""
    records = _rows(path) if path.suffix.lower() == ".csv" else records_in(json_document(path))
    folder = path.absolute().parent
    channel = _beside(folder / "channel.json")
    key = text_at(channel, "id") or folder.name.removeprefix("c")
    title = _title({"channel": channel, "guild": channel.get("guild")}) or _indexed(folder, key)
    me = _me(folder)
    said = [_own(each, me) for each in sorted(records, key=lambda each: str(as_line(each.get("ID"))).zfill(25))]
    kept = [each for each in said if each is not None]
    for memories in long_conversation(kept, origin, thread=f"discord:{key}", title=title):
        yield Parsed(memories=memories)
    yield Parsed(skipped={"unknown record": len(said) - len(kept)} if len(said) > len(kept) else {})


def _rows(path: Path) -> list[Record]:
    try:
        return [dict(row) for row in csv.DictReader(io.StringIO(read_text(path)), restkey="more")]
    except csv.Error as error:
        raise FileError(f"{path.name} is not CSV ({error})", hint="export the channel again") from error


def _own(record: Record, me: str) -> Said | None:
    key, words = as_line(record.get("ID")), text_at(record, "Contents")
    if not key or not key.isdigit():
        return None
    files = [f"File: {each.rsplit('/', 1)[-1].partition('?')[0]}" for each in text_at(record, "Attachments").split()]
    text = clean("\n".join(filter(None, (words, *files))))
    return Said(speaker=me, words=text, at=as_moment(record.get("Timestamp")), id=f"discord:{key}")


def _beside(path: Path) -> Record:
    """Return the record in a file that may be missing or broken."""
    try:
        value = json_document(path)
    except FileError:
        return {}
    return value if isinstance(value, dict) else {}


def _indexed(folder: Path, key: str) -> str:
    return text_at(_beside(folder.parent / "index.json"), key)


def _me(folder: Path) -> str:
    """Return the name of whose package it is."""
    root = folder.parent.parent
    for name in ("account/user.json", "Account/user.json"):
        user = _beside(root / name)
        found = text_at(user, "global_name") or text_at(user, "username")
        if found:
            return found
    return "me"
