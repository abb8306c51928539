"""Read the sessions that agents record: lines of JSON, of which the turns of people and agents are kept."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Final, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.records import DISTILLED, Memory, Trust
from recollect.remember.chunk import chunk
from recollect.remember.distill import SpokenTurn, distill
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.json_stream import decode
from recollect.remember.formats.record import Exported, Origin, Parsed, Record
from recollect.remember.formats.turns import Said, conversation
from recollect.text.firewall import strip_rendered

MAX_RECORD_BYTES: Final = 64 * 1024 * 1024
"""The size of a line, or of one conversation of an export; pictures and tool results are part of them."""
_RENDERED: Final = ("recollect:memories", "(confidence:", "<memory id=")
"""Everything that recollect renders contains one of these; looking for more takes long."""
_MAX_TURN_CHARS: Final = 4000
PEOPLE: Final = frozenset({"user", "human", "you", "me"})
"""What programs call the person who uses an agent."""
_PIECE_CHARS: Final = 2000
_PART_MEMORIES: Final = 400


class Lines(Protocol):
    """What lines are read from: a file, or a stream that unpacks one."""

    def readline(self, size: int, /) -> bytes:
        """Return the next line, or the next *size* bytes of it."""
        ...


class ReadLog(Struct, kw_only=True):
    """The problems of a file, and how many of its records were skipped, by reason."""

    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Session(ReadLog, kw_only=True):
    """One recorded session while it is read."""

    id: str = ""
    title: str = ""
    said: list[Said] = field(default_factory=list)

    def say(self, each: Said) -> None:
        """Keep a turn without what recollect itself had recalled in it; a very long one in pieces."""
        words = each.words
        if any(mark in words for mark in _RENDERED):
            stripped = strip_rendered(words)
            words = stripped.text
            self.skipped["recalled memory"] += stripped.dropped
        self.said += in_pieces(replace(each, words=words.strip()))

    def parts(self, origin: Origin, *, agent: str) -> Iterator[Parsed]:
        """Yield the memories of the session, some hundred at a time, and with the first what was left out."""
        thread = f"{agent}:{self.id}" if self.id else origin.source
        turns = conversation(self.said, origin, thread=thread, title=self.title, tags=(agent,))
        statements = [] if thread == origin.source and not self.id else list(self._statements(origin, thread, agent))
        memories = [*turns, *(memory for memory, _ in statements)]
        spoken = [each for each in self.said if each.words.strip()]
        exported = {
            at: Exported(facts=(), trust=_trust(each.speaker), folder=_folder(each)) for at, each in enumerate(spoken)
        }
        exported |= {len(turns) + at: about for at, (_, about) in enumerate(statements)}
        problems, skipped = tuple(self.problems), self.skipped
        for start in range(0, max(1, len(memories)), _PART_MEMORIES):
            part = memories[start : start + _PART_MEMORIES]
            about = {at: exported[start + at] for at in range(len(part))}
            yield Parsed(memories=tuple(part), exported=about, problems=problems, skipped=skipped)
            problems, skipped = (), Counter()

    def _statements(self, origin: Origin, thread: str, agent: str) -> Iterator[tuple[Memory, Exported]]:
        """Yield what is worth keeping of the session as memories of their own, each with a link to its turn."""
        said = [each for each in self.said if each.words.strip()]
        turns = [
            SpokenTurn(by_person=_trust(each.speaker) == "owner", words=each.words, at=each.at or origin.date)
            for each in said
        ]
        for each in distill(turns):
            turn = said[each.turn]
            memory = Memory(
                content=each.content,
                type=each.type,
                title=each.topic,
                tags=(agent,),
                source=origin.source,
                line=turn.line,
                confidence=each.confidence,
                observed_at=turn.at or origin.date,
                valid_until=each.until,
                metadata={DISTILLED: turn.id or f"{thread}#{each.turn + 1}", "session": thread},
            )
            trust: Trust = "owner" if each.owner else "agent"
            yield memory, Exported(facts=(), trust=trust, folder=_folder(turn), everywhere=each.everywhere)


def _trust(speaker: str) -> Trust:
    """Return whose words a turn is: those of the person who uses the agent, or the agent's."""
    return "owner" if speaker.casefold() in PEOPLE else "agent"


def _folder(each: Said) -> str | None:
    return text_of(each.about.get("cwd")) or None


def in_pieces(each: Said) -> tuple[Said, ...]:
    """Return a turn as it is, or a very long one cut at good places; the pieces have ids of their own."""
    if len(each.words) <= _MAX_TURN_CHARS:
        return (each,)
    pieces = (piece.text for piece in chunk(each.words, max_chars=_PIECE_CHARS))
    return tuple(
        replace(each, words=words, id=each.id and (each.id if number == 1 else f"{each.id}#{number}"))
        for number, words in enumerate(pieces, start=1)
    )


def filled(**about: object) -> dict[str, object]:
    """Return the fields that are texts and not blank."""
    return {name: value for name, value in about.items() if isinstance(value, str) and value.strip()}


# --- lines ----------------------------------------------------------------------------------


def records_of(lines: Lines, log: ReadLog) -> Iterator[tuple[int, Record]]:
    """Yield the number and the object of each line; other lines are counted or reported in *log*."""
    for number in count(1):
        raw = lines.readline(MAX_RECORD_BYTES)
        if not raw:
            return
        if len(raw) == MAX_RECORD_BYTES and not raw.endswith(b"\n"):
            _finish_line(lines)
            log.problems.append(f"line {number}: longer than {MAX_RECORD_BYTES // 1024 // 1024} MB")
        elif (value := _record(raw, number, log)) is not None:
            yield number, value


def _finish_line(lines: Lines) -> None:
    while (rest := lines.readline(MAX_RECORD_BYTES)) and not rest.endswith(b"\n"):
        pass


def _record(raw: bytes, number: int, log: ReadLog) -> Record | None:
    if raw.isspace():
        return None
    try:
        value = decode(raw.decode("utf-8-sig" if number == 1 else "utf-8", "replace").strip())
    except ValueError as error:
        if raw.endswith(b"\n"):
            log.problems.append(f"line {number}: not JSON ({error})")
        else:  # a program may be writing it
            log.skipped["unfinished line"] += 1
        return None
    if not isinstance(value, dict):
        log.skipped["unknown line"] += 1
        return None
    return value


# --- signs ----------------------------------------------------------------------------------


def bears(glimpse: Glimpse, is_ours: Callable[[Record], bool], **keys: str) -> bool:
    """Tell whether a file has a record of ours among its first lines; where none is seen whole, one with these *keys*.

    A key may ask for the beginning of its value. Inside a text the quotes around a key would be escaped, so a key that
    is found is one.
    """
    if not glimpse.text.lstrip().startswith("{"):
        return False
    if glimpse.records:
        return any(map(is_ours, glimpse.records))
    return all(has_key(glimpse.text, key, value) for key, value in keys.items())


def has_key(text: str, key: str, value: str = "") -> bool:
    """Tell whether a record in *text* has a *key* whose value begins so."""
    return bool(re.search(rf'(?<!\\)"{key}"\s*:\s*{re.escape(value)}', text))


# --- contents -------------------------------------------------------------------------------


def blocks_of(content: object) -> Iterator[Record]:
    """Yield the blocks of a message: its text is one, a list has them by itself."""
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, dict):
        yield content
    elif isinstance(content, list):
        for each in content:
            if isinstance(each, str):
                yield {"type": "text", "text": each}
            elif isinstance(each, dict):
                yield each


def joined(texts: Iterable[object]) -> str:
    """Return the texts that there are, a line break between them."""
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip()).strip()


def text_of(value: object) -> str:
    """Return *value* if it is text, else nothing."""
    return value if isinstance(value, str) else ""
