"""Read a chat that WhatsApp exported as text, in the date forms of the common languages, or the zip it came in.

A line begins with a date and a time in the form of the writer's country, in brackets (iPhone) or before a dash
(Android); other lines go on with the message above. Whether 5/12 is in May or in December only the whole file tells.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import IO, Final

from msgspec import Struct

from recollect.errors import FileError
from recollect.lazy import regex
from recollect.remember.find_files import open_file, shown
from recollect.remember.formats.archive import open_archive
from recollect.remember.formats.chat import LOG_LEVELS
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.portions import MAX_LINE_BYTES, long_conversation
from recollect.remember.formats.record import Origin, Parsed
from recollect.remember.formats.turns import Said

_DATE: Final = r"(?P<a>\d{1,4})(?:[./-] ?|년 )(?P<b>\d{1,2})(?:[./-] ?|월 )(?P<c>\d{1,4})(?:\.|일)?"
_CLOCK: Final = (
    r"(?:(?P<early>上午|午前|오전|凌晨|早上)|(?P<late>下午|午後|오후|晚上|中午))? ?"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    r"(?: ?(?:(?P<am>[aA]\.? ?[mM]\.?)|(?P<pm>[pP]\.? ?[mM]\.?)))?"
)
_STAMP: Final = rf"{_DATE},?(?: (?:klo|kl\.?|um|at|às|à|a las|alle))? ?{_CLOCK}"
_HEAD: Final = regex(rf"(?P<open>\[)?{_STAMP}(?(open)\] ?|(?: [-\u2013] |, (?=[^\d])))")
_SPEAKER: Final = regex(r"(?P<name>[^:\n\u201c\u201d\"\u00ab]{1,80}?) ?: ?(?P<words>.*)", re.DOTALL)
_MARKS: Final = regex("[\u200e\u200f\u202a-\u202c\u2066-\u2069\ufeff]")
_SPACES: Final = regex("[\u00a0\u202f]")
_NOTICE: Final = "\u200e"
"""What WhatsApp puts before its own words on an iPhone."""

_MEDIA: Final = regex(
    r"<[^<>]{2,60}>|(?:image|video|audio|sticker|GIF|document|video note|contact card) omitted"
    r"|(?:Bild|Video|Audio|Sticker|GIF|Dokument) weggelassen|(?:imagen|audio|video|sticker|GIF|documento) omitid[oa]"
    r"|(?:image|vidéo|audio|sticker|GIF|document) absente?|(?:imagem|vídeo|áudio|figurinha|GIF|documento) ocultad[oa]"
    r"|(?:immagine|video|audio|sticker|GIF|documento) omess[oa]|(?:afbeelding|video|audio|sticker|GIF) weggelaten",
    re.IGNORECASE,
)
_DELETED: Final = regex(
    r"(?:This message was deleted|You deleted this message|Diese Nachricht wurde gelöscht"
    r"|Du hast diese Nachricht gelöscht|Se eliminó este mensaje|Eliminaste este mensaje|Mensagem apagada"
    r"|Você apagou esta mensagem|Esta mensagem foi apagada|Ce message a été supprimé|Vous avez supprimé ce message"
    r"|Questo messaggio è stato eliminato|Hai eliminato questo messaggio|Dit bericht is verwijderd|null)\.?",
    re.IGNORECASE,
)
_EDITED: Final = regex(r"\u200e?<[^<>:]{4,60}>$")
_ATTACHED: Final = regex(
    r"\u200e?<[^<>:]{2,30}: (?P<ios>[^<>]{1,200})>|^(?P<android>[^\n]{1,200}\.\w{2,5}) \([^()\n]{4,40}\)(?=\n|$)"
)
_CHAT_NAME: Final = regex(
    r"(?i)^(?:whatsapp[ -]?chat|conversa do whatsapp|chat de whatsapp|chat whatsapp|discussion whatsapp|whatsapp)"
    r"(?: (?:with|mit|con|com|avec|met))?(?: -)? *| *\(\d+\)$"
)
_CHAT_MEMBER: Final = regex(r"_chat\.txt|WhatsApp .*\.txt")
_ORDERS: Final = {"day first": (2, 1, 0), "month first": (2, 0, 1), "year first": (0, 1, 2)}
"""The positions of year, month and day among the three numbers of a date."""
Numbers = tuple[int, int, int]
Open = Callable[[], AbstractContextManager[IO[bytes]]]


class _Message(Struct, frozen=True, kw_only=True):
    """A message in the file: the match of its stamp, the text after it, and its line."""

    head: re.Match[str]
    text: str
    line: int


# --- which files ----------------------------------------------------------------------------


def is_whatsapp(glimpse: Glimpse) -> bool:
    """Tell whether a file is an exported chat: it begins with a stamped line, and people speak."""
    if glimpse.suffix == ".zip":
        return _chat_in(glimpse.members) is not None
    if not glimpse.text.lstrip("\ufeff\u200e\u200f \n\r").startswith(("[", *"0123456789")):
        return False
    lines = [line for line in glimpse.text.splitlines()[:400] if line.strip()]
    heads = [(head, line) for line in lines if (head := _head(line))]
    if not heads or _head(lines[0]) is None:
        return False
    if "whatsapp" in glimpse.path.name.lower() or glimpse.path.name == "_chat.txt":
        return True
    spoken = [match["name"] for head, line in heads if (match := _SPEAKER.fullmatch(_plain(line)[head.end() :]))]
    return _is_talk(spoken) and len(heads) * 3 >= len(lines)


def _is_talk(names: Sequence[str]) -> bool:
    """Tell whether *names* are of people who speak with each other, and no levels of a log."""
    return len(set(names)) >= 2 and not any(name.strip().lower() in LOG_LEVELS for name in names)


def _chat_in(names: Iterable[str]) -> str | None:
    """Return the name of the chat's text among the members of an archive; None if there is none."""
    return next((name for name in sorted(names) if _CHAT_MEMBER.fullmatch(name)), None)


# --- reading --------------------------------------------------------------------------------


def read_whatsapp(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield the messages of a chat in the order of the file; notices, deleted messages and media are counted."""
    if path.suffix.lower() != ".zip":
        yield from _read(lambda: open_file(path), _name_of(path), origin)
        return
    with open_archive(path) as archive:
        name = _chat_in(archive.names)
        if name is None:
            raise FileError(f"{shown(path)} contains no WhatsApp chat", hint="name the text file of the chat")
        yield from _read(lambda: archive.open(name), _name_of(path), origin)


def _read(open_: Open, chat: str, origin: Origin) -> Iterator[Parsed]:
    order = _order_of(_lines(open_))
    skipped: Counter[str] = Counter()
    said = _said(_messages(_lines(open_), skipped), chat, _ORDERS[order], skipped)
    for memories in long_conversation(said, origin, thread=f"whatsapp:{chat}", title=chat):
        yield Parsed(memories=memories)
    yield Parsed(skipped=skipped)


def _name_of(path: Path) -> str:
    """Return the name of the chat: that of its file without what WhatsApp adds, or that of its folder."""
    stem = path.absolute().parent.name if path.stem.strip("_") == "chat" else path.stem
    return _CHAT_NAME.sub("", _CHAT_NAME.sub("", stem.replace("_", " "))).strip() or stem or "chat"


def _lines(open_: Open) -> Iterator[str]:
    with open_() as file:
        while raw := file.readline(MAX_LINE_BYTES):
            yield raw.decode("utf-8", "replace").replace("\0", "\ufffd").rstrip("\r\n")


def _messages(lines: Iterable[str], skipped: Counter[str]) -> Iterator[_Message]:
    head: re.Match[str] | None = None
    lines_of_message: list[str] = []
    begin = 0
    for number, line in enumerate(lines, start=1):
        found = _head(line)
        if found is None:
            if head is None:
                skipped["unknown line"] += bool(line.strip())
            else:
                lines_of_message.append(line)
            continue
        if head is not None:
            yield _Message(head=head, text="\n".join(lines_of_message), line=begin)
        head, lines_of_message, begin = found, [_behind(line, found)], number
    if head is not None:
        yield _Message(head=head, text="\n".join(lines_of_message), line=begin)


def _head(line: str) -> re.Match[str] | None:
    return _HEAD.match(_plain(line[:120]))


def _plain(line: str) -> str:
    """Return *line* without invisible marks and with plain spaces, as the pattern wants it."""
    return _MARKS.sub("", _SPACES.sub(" ", line))


def _behind(line: str, head: re.Match[str]) -> str:
    """Return the text after the stamp, with its invisible marks: they mark WhatsApp's own words."""
    if not _MARKS.search(line, 0, head.end() + 8):
        return line[head.end() :]
    left, at = head.end(), 0
    while left and at < len(line):
        left -= not _MARKS.match(line[at])
        at += 1
    return line[at:]


def _said(messages: Iterable[_Message], chat: str, order: Sequence[int], skipped: Counter[str]) -> Iterator[Said]:
    seen: Counter[str] = Counter()
    for each in messages:
        spoken = _SPEAKER.fullmatch(_SPACES.sub(" ", each.text))
        reason = "notice" if spoken is None else _reason_to_skip(spoken["words"])
        if spoken is None or reason:
            skipped[reason or "notice"] += 1
            continue
        name = _MARKS.sub("", spoken["name"]).strip().removeprefix("~").strip()
        words = _words(spoken["words"])
        # The stamp as it was written stays the same when a longer file shows another order of day and month.
        key = blake2b("\x1f".join((chat, each.head[0], name, words)).encode(), digest_size=12).hexdigest()
        seen[key] += 1
        again = f":{seen[key]}" if seen[key] > 1 else ""
        yield Said(speaker=name, words=words, at=_moment(each.head, order), id=f"whatsapp:{key}{again}", line=each.line)


def _reason_to_skip(words: str) -> str | None:
    """Return why *words* are none of a person; None where they are."""
    bare = _MARKS.sub("", words).strip()
    if _DELETED.fullmatch(bare):
        return "deleted message"
    if not bare or _MEDIA.fullmatch(bare):
        return "media left out"
    if words.startswith(_NOTICE) and not _ATTACHED.match(words):
        return "media left out" if len(bare) < 40 and "\n" not in bare else "notice"
    return None


def _words(text: str) -> str:
    """Return the words, with an attached file named and without the mark of an edit."""
    named = _ATTACHED.sub(lambda match: f"File: {(match['ios'] or match['android']).strip()}", text)
    return _MARKS.sub("", _EDITED.sub("", named.rstrip())).strip()


# --- dates ----------------------------------------------------------------------------------


def _numbers(head: re.Match[str]) -> Numbers:
    return int(head["a"]), int(head["b"]), int(head["c"])


def _order_of(lines: Iterable[str]) -> str:
    """Return in which order the whole file writes its dates: the one by which all are dates, and time goes on."""
    dates: list[Numbers] = []
    halves = slashed = False
    for line in lines:
        head = _head(line)
        if head is None:
            continue
        halves = halves or bool(head["am"] or head["pm"])
        slashed = slashed or "/" in head[0]
        if not dates or dates[-1] != _numbers(head):
            dates.append(_numbers(head))
    # What fits as well as another: the United States write 5/12/24 with AM and PM.
    usual = (
        ("month first", "day first", "year first") if halves and slashed else ("day first", "month first", "year first")
    )
    return min(usual, key=lambda order: _misfits(dates, _ORDERS[order]))


def _misfits(dates: Sequence[Numbers], order: Sequence[int]) -> tuple[int, int]:
    """Return how many of *dates* are none in this order, and how often time goes back."""
    days = [_day(each, order) for each in dates]
    known = [each for each in days if each is not None]
    return len(days) - len(known), sum(later < earlier for earlier, later in pairwise(known))


def _day(numbers: Numbers, order: Sequence[int]) -> datetime | None:
    year, month, day = (numbers[place] for place in order)
    with suppress(ValueError):
        return datetime(year if year > 99 else 2000 + year, month, day, tzinfo=UTC)
    return None


def _moment(head: re.Match[str], order: Sequence[int]) -> datetime | None:
    day, hour = _day(_numbers(head), order), int(head["hour"])
    if head["am"] or head["early"]:
        hour %= 12
    elif head["pm"] or head["late"]:
        hour = hour % 12 + 12
    with suppress(ValueError):
        return day and day.replace(hour=hour, minute=int(head["minute"]), second=int(head["second"] or 0))
    return None
