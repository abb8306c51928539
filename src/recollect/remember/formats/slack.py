"""Read a Slack export: a file for each day and channel, in a folder or a zip, with lists of users and channels.

A thread is a conversation of its own that begins with the message it hangs on, even if that stands in the file of
another day.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.errors import FileError
from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.find_files import MAX_DOCUMENT_BYTES, read_text
from recollect.remember.formats.archive import Archive, open_archive
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.json_stream import decode
from recollect.remember.formats.portions import json_document, records_in, text_at
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.turns import Said, conversation
from recollect.text.dates import as_moment

_DAY: Final = regex(r"\d{4}-\d{2}-\d{2}\.json")
_TS: Final = regex(r'"ts"\s*:\s*"\d{9,10}\.\d{1,9}"')
_MESSAGE: Final = regex(r'"type"\s*:\s*"message"')
_INDEXES: Final = frozenset(
    f"{name}.json"
    for name in ("users", "org_users", "channels", "groups", "dms", "mpims", "integration_logs", "canvases", "lists")
)
_CHANNEL_LISTS: Final = ("channels.json", "groups.json", "mpims.json", "dms.json")
_SAID: Final = frozenset({"", "thread_broadcast", "reply_broadcast", "me_message", "file_share", "file_comment"})
_MAX_TITLE_CHARS: Final = 80


# --- which files ----------------------------------------------------------------------------


def is_slack(glimpse: Glimpse) -> bool:
    """Tell whether a file is a day of a Slack export, one of its lists of names, or the whole of it in a zip."""
    path = glimpse.path
    if glimpse.suffix == ".zip":
        return {"users.json", "channels.json"} <= glimpse.members and any(map(_day_in, glimpse.members))
    if _DAY.fullmatch(path.name):
        return bool(_TS.search(glimpse.text) and _MESSAGE.search(glimpse.text))
    return path.name in _INDEXES and _is_root(path.parent)


def _is_root(folder: Path) -> bool:
    """Tell whether *folder* has the lists of names of an export, and a channel."""
    try:
        if not all((folder / name).is_file() for name in ("users.json", "channels.json")):
            return False
        return any(_DAY.fullmatch(each.name) for each in folder.glob("*/*.json"))
    except (OSError, ValueError):
        return False


def _day_in(name: str) -> bool:
    """Tell whether a member of a zip is a day of a channel."""
    folder, _, day = name.rpartition("/")
    return bool(folder) and "/" not in folder and bool(_DAY.fullmatch(day))


def read_slack(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield the conversations of a day, or of each day in a zip; a list of names has none."""
    if path.suffix.lower() == ".zip":
        yield from _read_zip(path, origin)
    elif path.name in _INDEXES:
        json_document(path)
        yield Parsed(skipped={"list of names": 1})
    else:
        export = _Export(read=lambda name: read_text(path.absolute().parent.parent / name))
        yield _read_day(f"{path.absolute().parent.name}/{path.name}", export, origin, required=True)


def _read_zip(path: Path, origin: Origin) -> Iterator[Parsed]:
    with open_archive(path) as archive:
        export = _Export(read=partial(_member_text, archive))
        for name in sorted(filter(_day_in, archive.names)):
            yield _read_day(name, export, replace(origin, date=None))


def _member_text(archive: Archive, name: str) -> str:
    raw = archive.read(name, max_bytes=MAX_DOCUMENT_BYTES)
    return raw.decode("utf-8", "replace").replace("\0", "\ufffd")


# --- an export ------------------------------------------------------------------------------


class _Export(Struct, kw_only=True):
    """An export: its files, and what its lists of names say, read when first asked for."""

    read: Callable[[str], str]
    _days: dict[str, dict[str, Record]] = field(default_factory=dict)
    _users: Mapping[str, str] | None = None
    _channels: Mapping[str, tuple[str, str]] | None = None

    def day(self, name: str) -> Mapping[str, Record]:
        """Return the messages of a day by their time; none if there is no such file. The last few days are kept."""
        if name not in self._days:
            while len(self._days) >= 8:
                self._days.pop(next(iter(self._days)))
            self._days[name] = {text_at(each, "ts"): each for each in self._list(name)}
        return self._days[name]

    def user(self, key: str) -> str:
        """Return the name of a user; the id if it is not listed."""
        if self._users is None:
            listed = [*self._list("org_users.json"), *self._list("users.json")]
            self._users = {text_at(each, "id"): _person(each) for each in listed}
        return self._users.get(key) or key

    def channel(self, folder: str) -> tuple[str, str]:
        """Return the id and the name of the channel whose days lie in *folder*."""
        if self._channels is None:
            found = [each for name in _CHANNEL_LISTS for each in self._list(name)]
            # A direct message has no name; its folder is its id.
            self._channels = {text_at(each, "name") or text_at(each, "id"): self._channel(each) for each in found}
        return self._channels.get(folder, (folder, f"#{folder}"))

    def channel_name(self, key: str) -> str:
        """Return the name of the channel with the id *key*."""
        self.channel("")
        return next((name for each, name in (self._channels or {}).values() if each == key), f"#{key}")

    def _channel(self, record: Record) -> tuple[str, str]:
        name, members = text_at(record, "name"), record.get("members")
        people = [self.user(each) for each in members if isinstance(each, str)] if isinstance(members, list) else []
        together = not name or name.startswith("mpdm-")
        return text_at(record, "id") or name, ", ".join(people) if together and people else f"#{name}"

    def value(self, name: str) -> object:
        """Return the value in the file *name*, or raise FileError."""
        try:
            return decode(self.read(name))
        except ValueError as error:
            raise FileError(f"{name} is not JSON", hint="check it with: python -m json.tool") from error

    def _list(self, name: str) -> list[Record]:
        try:
            return records_in(self.value(name))
        except FileError:
            return []


def _person(record: object) -> str:
    """Return the name in the record of a user."""
    paths = (("profile", "real_name"), ("real_name",), ("profile", "display_name"), ("display_name",), ("name",))
    return next(filter(None, (text_at(record, *path) for path in paths)), "")


# --- a day ----------------------------------------------------------------------------------


def _read_day(name: str, export: _Export, origin: Origin, *, required: bool = False) -> Parsed:
    """Return the conversations of the day in the file *name*: the channel's own, and each thread's."""
    try:
        value = export.value(name)
    except FileError as error:
        if required:
            raise
        return Parsed(problems=(str(error),))
    folder, _, day = name.rpartition("/")
    key, shown_name = export.channel(folder)
    channel = _Channel(export=export, folder=folder, key=key, name=shown_name, origin=origin)
    skipped: Counter[str] = Counter()
    kept: list[Record] = []
    for record in value if isinstance(value, list) else [value]:
        reason = _reason_to_skip(record)
        if reason or not isinstance(record, dict):
            skipped[reason or "unknown record"] += 1
        else:
            kept.append(record)
    memories = [*channel.of_day(kept, day.removesuffix(".json")), *channel.of_threads(kept)]
    return Parsed(memories=tuple(memories), skipped=skipped)


def _reason_to_skip(record: object) -> str | None:
    """Return why a record is skipped; None for the message of a person."""
    if not isinstance(record, dict) or record.get("type") != "message" or not text_at(record, "ts"):
        return "unknown record"
    subtype = text_at(record, "subtype")
    if subtype == "bot_message" or (record.get("bot_id") and subtype in _SAID):
        return "message of a bot"
    if subtype == "tombstone" or record.get("hidden") is True:
        return "deleted message"
    return None if subtype in _SAID else f"notice: {subtype.replace('_', ' ')}"


class _Channel(Struct, frozen=True, kw_only=True):
    """A channel whose messages are read."""

    export: _Export
    folder: str
    key: str
    name: str
    origin: Origin

    def of_day(self, records: list[Record], day: str) -> tuple[Memory, ...]:
        """Return the messages that belong to no thread."""
        own = [self._said(each) for each in records if not text_at(each, "thread_ts")]
        return conversation(own, self.origin, thread=f"slack:{self.key}:{day}", title=self.name)

    def of_threads(self, records: list[Record]) -> Iterator[Memory]:
        """Yield the messages of each thread, with the one it hangs on before them."""
        threads: dict[str, list[Record]] = {}
        for each in records:
            if text_at(each, "thread_ts"):
                threads.setdefault(text_at(each, "thread_ts"), []).append(each)
        for key, replies in threads.items():
            yield from self._of_thread(key, sorted(replies, key=_order))

    def _of_thread(self, key: str, here: list[Record]) -> Iterator[Memory]:
        parent = next((each for each in here if text_at(each, "ts") == key), None)
        first = parent or self._elsewhere(key)
        said = [self._said(each) for each in ([] if parent or first is None else [first]) + here]
        heading = self._said(first).words.strip().split("\n")[0] if first else ""
        title = f"{self.name}: {_cut(heading)}" if heading else self.name
        made = conversation(said, self.origin, thread=f"slack:{self.key}:{key}", title=title)
        order = {text_at(each, "ts"): number for number, each in enumerate(_replies(first), start=2)}
        for memory in made[len(made) - sum(bool(self._said(each).words.strip()) for each in here) :]:
            ts = (memory.external_id or "").rpartition(":")[2]
            yield replace(memory, turn=1 if ts == key else order.get(ts, memory.turn))

    def _elsewhere(self, ts: str) -> Record | None:
        """Return the message of the time *ts* from the file of its day; the day is that of the workspace's zone."""
        moment = _moment(ts)
        for days in (0, -1, 1) if moment else ():
            day = (moment + timedelta(days=days)).date() if moment else ""
            found = self.export.day(f"{self.folder}/{day}.json").get(ts)
            if found is not None and _reason_to_skip(found) is None:
                return found
        return None

    def _said(self, record: Record) -> Said:
        ts = text_at(record, "ts")
        return Said(
            speaker=self._speaker(record),
            words="\n".join(filter(None, (self._words(text_at(record, "text")), *_files(record)))),
            at=_moment(ts),
            id=f"slack:{self.key}:{ts}",
            about={"channel": self.name},
        )

    def _speaker(self, record: Record) -> str:
        key = text_at(record, "user")
        named = self.export.user(key) if key else ""
        return (named if named != key else "") or _person(record.get("user_profile")) or key or "somebody"

    def _words(self, text: str) -> str:
        return html.unescape(_MARK.sub(self._mark, text))

    def _mark(self, match: re.Match[str]) -> str:
        """Return what a reader sees for `<@U1>`, `<#C1|name>`, `<!here>` and `<address|label>`."""
        kind, target, label = match["kind"] or "", match["target"], match["label"] or ""
        if kind == "@":
            return f"@{self.export.user(target)}" if self.export.user(target) != target else f"@{label or target}"
        if kind == "#":
            return f"#{label}" if label else self.export.channel_name(target)
        if kind == "!":
            return label or f"@{target.partition('^')[0]}"
        bare = target.removeprefix("mailto:").removeprefix("tel:")
        return f"{label} ({target})" if label and label not in target and bare != label else bare


_MARK: Final = regex(r"<(?P<kind>[@#!])?(?P<target>[^<>|\s]{1,4000})(?:\|(?P<label>[^<>]{0,4000}))?>")


def _moment(ts: str) -> datetime | None:
    moment = as_moment(ts)
    return moment.astimezone(UTC) if moment else None


def _order(record: Record) -> float:
    moment = _moment(text_at(record, "ts"))
    return moment.timestamp() if moment else 0.0


def _replies(record: Record | None) -> list[Record]:
    return records_in(record.get("replies")) if record else []


def _files(record: Record) -> Iterator[str]:
    """Yield a line for each file that came with a message; files are named, not read."""
    for each in records_in(record.get("files")):
        name = text_at(each, "name") or text_at(each, "title")
        if name:
            yield f"File: {name}"


def _cut(line: str) -> str:
    """Return *line* as part of a title."""
    words = " ".join(line.split())
    return words if len(words) <= _MAX_TITLE_CHARS else f"{words[:_MAX_TITLE_CHARS].rsplit(' ', 1)[0]} …"
