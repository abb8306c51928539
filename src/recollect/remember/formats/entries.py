"""Make memories of the entries of a structured file: records, turns, exported memories, bare values."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from recollect.records import Context, Memory, Trust
from recollect.remember.formats.chat import (
    TURN_NAMES,
    as_turn,
    is_conversation,
    is_turn,
    opened,
    session_of,
    speaker_key,
    with_context,
)
from recollect.remember.formats.record import (
    CONTENT,
    FIELDS,
    Convert,
    Entry,
    Exported,
    Origin,
    Parsed,
    as_confidence,
    as_count,
    as_id,
    as_memory,
    content_of,
    flatten,
    is_scalar,
)
from recollect.text.dates import as_moment

MARK: Final = "recollect"
"""The key that tells an exported record; its value is the version of the export's form."""

VERSION: Final = 1

_TYPES: Final[Mapping[str, type]] = {
    **dict.fromkeys(("external_id", "kind", "project", "type", "title", "source", "section", "thread"), str),
    "pinned": bool,
    "metadata": dict,
}
_CONVERTED: Final[Mapping[str, Convert]] = {
    **dict.fromkeys(("created_at", "updated_at", "observed_at", "deleted_at"), as_moment),
    **dict.fromkeys(("valid_from", "valid_until", "superseded_at"), as_moment),
    **dict.fromkeys(("line", "turn"), as_count),
    "confidence": as_confidence,
}


def is_own(record: object) -> bool:
    """Tell whether *record* comes from recollect's own export."""
    return isinstance(record, dict) and record.get(MARK) == VERSION and isinstance(record.get("content"), str)


def as_exported(record: Mapping[str, Any]) -> tuple[Memory, Exported]:
    """Return the memory of an exported *record*, and its ids and wordings there; wrong types are left out."""
    fields = {name: record[name] for name, kind in _TYPES.items() if isinstance(record.get(name), kind)}
    converted: dict[str, Any] = {name: convert(record.get(name)) for name, convert in _CONVERTED.items()}
    fields |= {name: value for name, value in converted.items() if value is not None}
    if record.get("trust") in get_args(Trust):
        fields["trust"] = record["trust"]
    memory = Memory(
        content=record["content"],
        tags=_texts(record.get("tags")),
        context=_context(record.get("context")),
        **fields,
    )
    exported = Exported(
        id=as_count(record.get("id")),
        superseded_by=as_count(record.get("superseded_by")),
        wordings=_texts(record.get("wordings")),
    )
    return memory, exported


def _context(value: object) -> Context:
    if not isinstance(value, dict):
        return Context()
    return Context(**{name: value[name] for name in ("before", "after", "around") if isinstance(value.get(name), str)})


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


_SURE = frozenset(CONTENT[:2])
_OTHER = frozenset(CONTENT[2:])
_ID_NAMES = FIELDS["external_id"][0]
_FIELD_NAMES = frozenset(name for names, _ in FIELDS.values() for name in names)


def of_object(pairs: Sequence[Entry], *, line: int) -> tuple[Entry, ...]:
    """Return the entries of an object: itself if it is a record, else one for each of its keys.

    A key that holds a list of records gives one entry for each of them.
    """
    whole = {pair.key or "": pair.value for pair in pairs}
    if _is_record(whole):
        return (Entry(value=whole, line=line),)
    return tuple(entry for pair in pairs for entry in _of_pair(pair))


def parse(entries: Sequence[Entry], *, origin: Origin, problems: Sequence[str] = ()) -> Parsed:
    """Return what *entries* say, in their order; one that cannot be read is a problem and stops no other."""
    talking = sum(is_turn(entry.value) for entry in entries) * 2 > len(entries)
    makers = [_choose(entry.value, talking=talking) for entry in entries]
    made = _Made(origin=origin, several=sum(maker in _TALKS for maker in makers) > 1)
    found = list(problems)
    for make, entry in zip(makers, entries, strict=True):
        try:
            make(entry, made)
        except ValueError as error:
            found.append(f"line {entry.line}: {error}")
    return made.parsed(found)


@dataclass(slots=True, kw_only=True)
class _Made:
    """What has been made so far."""

    origin: Origin
    several: bool
    memories: list[Memory] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    talks: int = 0
    numbers: Counter[str] = field(default_factory=Counter)
    exported: dict[int, Exported] = field(default_factory=dict)

    def add(self, memory: Memory | None) -> None:
        """Keep *memory* if there is one."""
        if memory is not None:
            self.memories.append(memory)

    def part(self, *names: str | None, session: str | None = None) -> str | None:
        """Return the name of the next conversation: *names*, or its number where nothing else tells it apart."""
        self.talks += 1
        number = str(self.talks) if self.several and session is None and not any(names) else None
        return "#".join(filter(None, (*names, number))) or None

    def add_turn(self, value: object, *, line: int, part: str | None = None) -> None:
        """Keep the turn in *value* as the next of its thread: its file, its part of it, its session."""
        thread = "#".join(filter(None, (self.origin.source, part, session_of(opened(value)))))
        turn = as_turn(value, origin=self.origin, line=line, thread=thread, turn=self.numbers[thread] + 1)
        if turn is not None:
            self.numbers[thread] += 1
            self.turns.append(len(self.memories))
            self.memories.append(turn)

    def parsed(self, problems: Sequence[str]) -> Parsed:
        """Return everything, with the turns put in context."""
        memories = list(self.memories)
        for index, turn in zip(self.turns, with_context([memories[index] for index in self.turns]), strict=True):
            memories[index] = turn
        return Parsed(memories=tuple(memories), problems=tuple(problems), exported=self.exported)


# --- one maker for each kind of entry -------------------------------------------------------


def _choose(value: object, *, talking: bool) -> Callable[[Entry, _Made], None]:
    if is_own(value):
        return _make_exported
    if not isinstance(value, dict):
        return _make_conversation if is_conversation(value) else _make_bare
    if talking and speaker_key(opened(value)) is not None:
        return _make_turn
    if any(map(is_conversation, value.values())) and _SURE.isdisjoint(value):
        return _make_conversations
    return _make_record


def _make_exported(entry: Entry, made: _Made) -> None:
    memory, exported = as_exported(dict(_record(entry)))
    made.exported[len(made.memories)] = exported
    made.add(memory)


def _make_turn(entry: Entry, made: _Made) -> None:
    made.add_turn(entry.value, line=entry.line, part=entry.key)


def _make_conversation(entry: Entry, made: _Made) -> None:
    part = made.part(entry.key)
    for each in entry.value if isinstance(entry.value, list) else ():
        made.add_turn(each, line=entry.line, part=part)


def _make_conversations(entry: Entry, made: _Made) -> None:
    """Make the turns of each conversation in a record; what else the record says belongs to every turn."""
    record = _record(entry)
    talks = {key: value for key, value in record.items() if is_conversation(value)}
    scalars = {key: value for key, value in record.items() if is_scalar(value)}
    name = next((as_id(scalars.pop(key)) for key in _ID_NAMES if key in scalars), None)
    # Who wrote the record is not who speaks in it.
    shared = {f"conversation {key}" if key in TURN_NAMES else key: value for key, value in scalars.items()}
    part = made.part(entry.key, name, session=session_of(shared))
    for key, turns in talks.items():
        within = "#".join(filter(None, (part, key))) if len(talks) > 1 else part
        for turn in turns if isinstance(turns, list) else ():
            made.add_turn({**shared, **opened(turn)}, line=entry.line, part=within)
    for key, value in record.items():
        if key not in talks and not is_scalar(value):
            _make_bare(Entry(value=value, line=entry.line, key=key), made)


def _make_record(entry: Entry, made: _Made) -> None:
    record = _record(entry)
    if entry.key is not None and content_of(record) is None:
        _make_bare(entry, made)
    else:
        made.add(as_memory(record, origin=made.origin, line=entry.line, title=entry.key or ""))


def _make_bare(entry: Entry, made: _Made) -> None:
    """Make one memory of a value that is no record, written out as lines under its key."""
    content = flatten(entry.value, entry.key or "")
    memory = as_memory({"content": content}, origin=made.origin, line=entry.line, title=entry.key or "")
    made.add(memory)


_TALKS = (_make_conversation, _make_conversations)


def _record(entry: Entry) -> dict[str, object]:
    return entry.value if isinstance(entry.value, dict) else {}


# --- objects --------------------------------------------------------------------------------


def _is_record(value: dict[str, object]) -> bool:
    """Tell whether *value* is one record: it has content, or a doubtful content name beside another known field."""
    if is_own(value) or is_turn(value) or any(map(is_conversation, value.values())):
        return True
    found = content_of(value)
    if found is None or not found[1]:
        return False
    names = {key.lower() for key in value}
    return bool(names & _SURE) or (bool(names & _OTHER) and bool(names & _FIELD_NAMES))


def _of_pair(pair: Entry) -> Iterator[Entry]:
    value = pair.value
    if isinstance(value, list) and value and all(isinstance(each, dict) and content_of(each) for each in value):
        yield from (Entry(value=each, line=pair.line) for each in value)
    else:
        yield pair
