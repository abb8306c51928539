"""Make memories of the turns of a conversation, written as lines or as records, each with its neighbours as context."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.lazy import regex
from recollect.records import Context, Memory
from recollect.remember.formats.record import Origin, Record, as_memory
from recollect.remember.formats.values import as_count, as_line, as_words, is_scalar

# --- turns written as lines -----------------------------------------------------------------

# A stamp in brackets, a name of at most 40 characters in bold or not, a colon, words.
_LINE: Final = regex(
    r"(?:\[(?P<stamp>[^\[\]]{1,40})\][ \t]*)?(?:\*\*|__)?"
    r"(?P<name>[^\W\d_][\w .'\u2019-]{0,39}?)"
    r"(?:\*\*|__)?(?::|\uff1a)(?:\*\*|__)?(?:[ \t]+|(?<=\uff1a))(?P<words>\S.*)"
)
LOG_LEVELS: Final = frozenset({"debug", "error", "fixme", "info", "note", "todo", "trace", "warn", "warning"})
_MIN_TURNS: Final = 4
_MAX_SPEAKERS: Final = 8


class Turn(Struct, frozen=True, kw_only=True):
    """One turn of a written conversation: who, what, when if it is noted, and the line it begins on (from 0)."""

    name: str
    words: str
    line: int
    stamp: str = ""


def is_dialogue(lines: Sequence[str]) -> bool:
    """Tell whether *lines* are a conversation: 4 turns or more, most lines, 2 to 8 speakers, one speaks again."""
    filled = [line for line in lines if line and not line.isspace()]
    spoken = [match for line in filled if (match := _spoken(line))]
    if len(spoken) < _MIN_TURNS or len(spoken) * 2 <= len(filled):
        return False
    # A list of settings looks alike, but there no name comes twice; a list of remarks has one name only.
    return 2 <= len({match["name"] for match in spoken}) <= min(_MAX_SPEAKERS, len(spoken) - 1)


def dialogue(lines: Sequence[str]) -> tuple[tuple[Turn, ...], str]:
    """Return the turns in *lines* and the text before the first; other lines go on with the turn above them."""
    found: list[tuple[int, re.Match[str], list[str]]] = []
    before: list[str] = []
    for number, line in enumerate(lines):
        match = _spoken(line)
        if match:
            found.append((number, match, [match["words"]]))
        else:
            (found[-1][2] if found else before).append(line)
    turns = (
        Turn(name=match["name"].strip(), words="\n".join(words).strip(), line=number, stamp=match["stamp"] or "")
        for number, match, words in found
    )
    return tuple(turns), "\n".join(before)


def _spoken(line: str) -> re.Match[str] | None:
    match = _LINE.fullmatch(line.strip())
    return None if match is None or match["name"].lower() in LOG_LEVELS else match


# --- turns as records -----------------------------------------------------------------------

_SPEAKERS: Final = ("speaker", "author", "from", "sender", "role")
_WORDS: Final = ("content", "text", "message", "value")
TURN_NAMES: Final = frozenset(_SPEAKERS + _WORDS)
"""The keys that make a record a turn."""

_SESSIONS: Final = tuple(name + end for name in ("session", "conversation", "thread") for end in ("", "_id", "id"))


def is_turn(value: object) -> bool:
    """Tell whether *value* is a record with a speaker and words."""
    record = opened(value)
    return speaker_key(record) is not None and _words_key(record) is not None


def is_conversation(value: object) -> bool:
    """Tell whether *value* is a list that consists mostly of turns."""
    return isinstance(value, list) and bool(value) and sum(map(is_turn, value)) * 2 > len(value)


def opened(value: object) -> Record:
    """Return *value* as a record with the turn inside its `message` unwrapped; an empty record if it is none."""
    if not isinstance(value, dict):
        return {}
    inner = value.get("message")
    if not isinstance(inner, dict) or "role" not in inner:
        return value
    return {**{key: each for key, each in value.items() if key != "message"}, **inner}


def speaker_key(record: Record) -> str | None:
    """Return the key under which *record* names who speaks."""
    return next((key for key in _SPEAKERS if key in record and _name(record[key])), None)


def _words_key(record: Record) -> str | None:
    """Return the key of the words in *record*."""
    return next((key for key in _WORDS if key in record and as_words(record[key])), None)


def session_of(record: Record) -> str | None:
    """Return the conversation that *record* says it belongs to."""
    lowered = {key.lower(): value for key, value in record.items()}
    return next(filter(None, (as_line(lowered[key]) for key in _SESSIONS if key in lowered)), None)


def as_turn(value: object, *, origin: Origin, line: int, thread: str, turn: int) -> Memory | None:
    """Return the memory of one turn: `Name: words`, its thread and its number; None if it has no words."""
    record = opened(value)
    speaker, words = speaker_key(record), _words_key(record)
    if speaker is None or words is None:
        return None
    shown = "name" if speaker == "role" and _name(record.get("name")) else speaker
    content = f"{_name(record[shown])}: {as_words(record[words])}"
    # Its thread and its number hold the session and the turn already.
    known = {key for key in record if key == "turn" or (key.lower() in _SESSIONS and is_scalar(record[key]))}
    rest = {key: each for key, each in record.items() if key not in {shown, words, *known}}
    memory = as_memory({**rest, "content": content}, origin=origin, line=line)
    given = as_count(record.get("turn"))
    return memory and replace(memory, thread=thread, turn=turn if given is None else given)


def _name(value: object) -> str | None:
    """Return a speaker's name: text, or the name or role inside a record of one."""
    if isinstance(value, Mapping):
        return _name(value.get("name")) or _name(value.get("role"))
    return as_line(value) if isinstance(value, str) else None


# --- context --------------------------------------------------------------------------------


def with_context(memories: Sequence[Memory]) -> tuple[Memory, ...]:
    """Return *memories* in their order, each with the turns around it in its thread as context.

    Turns stand next to each other by their number, those without a number last. A memory without a thread,
    and a side on which a thread has no turn, stay as they are.
    """
    threads: dict[str, list[int]] = {}
    for index, memory in enumerate(memories):
        if memory.thread is not None:
            threads.setdefault(memory.thread, []).append(index)
    filled = list(memories)
    for indices in threads.values():
        ordered = sorted(indices, key=lambda each: (memories[each].turn is None, memories[each].turn or 0, each))
        said = ["", "", *(memories[index].content for index in ordered), "", ""]
        for place, index in enumerate(ordered, start=2):
            filled[index] = _in_context(memories[index], said[place - 2 : place + 3])
    return tuple(filled)


MAX_OPEN_THREADS: Final = 10_000
MAX_WAITING_CHARS: Final = 8_000_000
"""Limits of the turns that wait for their neighbors."""


class Threads:
    """Turns that come in parts: each gets the turns around it as context, also those of another part.

    The last two of a thread wait for the two after them, until the end, or until too many threads are open.
    """

    def __init__(self) -> None:
        self._tails: dict[str, tuple[list[Memory], list[Memory]]] = {}
        self._waiting_chars = 0

    def add(self, turns: Sequence[Memory]) -> list[Memory]:
        """Return the turns whose neighbours are known by now, in context; those that waited come first."""
        threads: dict[str, list[Memory]] = {}
        for turn in turns:
            threads.setdefault(turn.thread or "", []).append(turn)
        ready: list[Memory] = []
        for thread, new in threads.items():
            ready += self._pass(thread, new, wait=2)
        while len(self._tails) > MAX_OPEN_THREADS or self._waiting_chars > MAX_WAITING_CHARS:
            ready += self._pass(next(iter(self._tails)), (), wait=0)
        return ready

    def end(self) -> list[Memory]:
        """Return the turns that still wait, in the context that there is."""
        return [turn for thread in list(self._tails) for turn in self._pass(thread, (), wait=0)]

    def _pass(self, thread: str, new: Sequence[Memory], *, wait: int) -> list[Memory]:
        """Return the turns of a thread but the last that *wait*, which are kept with the two before them."""
        before, waiting = self._tails.pop(thread, ([], []))
        self._waiting_chars -= _length(before) + _length(waiting)
        turns = sorted([*waiting, *new], key=lambda turn: (turn.turn is None, turn.turn or 0))
        filled = with_context([*before, *turns])[len(before) :]
        done = max(0, len(turns) - wait)
        if wait:
            self._tails[thread] = tail = [*before, *turns[:done]][-2:], turns[done:]
            self._waiting_chars += _length(tail[0]) + _length(tail[1])
        return list(filled[:done])


def _length(turns: Sequence[Memory]) -> int:
    return sum(len(turn.content) for turn in turns)


def _in_context(memory: Memory, said: Sequence[str]) -> Memory:
    """Return *memory* between the two turns before it and the two after it."""
    far_before, before, _, after, far_after = said
    old = memory.context
    around = "\n".join(filter(None, (far_before, far_after)))
    context = Context(before=before or old.before, after=after or old.after, around=around or old.around)
    return replace(memory, context=context)
