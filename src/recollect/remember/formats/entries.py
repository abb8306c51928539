"""Make memories of the entries of a structured file: records, turns, bare values; and of those of an archive."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from msgspec import Struct, field

from recollect.records import (
    NOTHING,
    Context,
    Event,
    Fact,
    Generation,
    Memory,
    Passage,
    Trust,
)
from recollect.remember.formats.chat import (
    MOST_THREADS,
    TURN_NAMES,
    Threads,
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
    Record,
    as_memory,
    content_of,
    without_vector,
)
from recollect.remember.formats.values import as_confidence, as_count, as_id, flatten, is_scalar
from recollect.text.dates import as_moment

T = TypeVar("T")
_SURE: Final = frozenset(CONTENT[:2])
_OTHER: Final = frozenset(CONTENT[2:])
_ID_NAMES: Final = FIELDS["external_id"][0]
_FIELD_NAMES: Final = frozenset(name for names, _ in FIELDS.values() for name in names)


Batch = tuple[Sequence[Entry], Sequence[str]]
"""Entries that follow each other, and what could not be read between them, a line each."""


def parse(entries: Sequence[Entry], *, origin: Origin, problems: Sequence[str] = ()) -> Parsed:
    """Return what *entries* say, in their order; one that cannot be read is a problem and stops no other."""
    return next(parse_parts([(entries, problems)], origin=origin), Parsed())


def parse_parts(batches: Iterable[Batch], *, origin: Origin) -> Iterator[Parsed]:
    """Yield what the entries of each of *batches* say; the first of them decides what kind of file it is.

    A turn whose neighbours are still to come follows with them.
    """
    coming = iter(batches)
    batch = next(coming, None)
    file: _File | None = None
    while batch is not None:
        entries, problems = batch
        file = file or _File.begun(entries, origin)
        found = [*problems, *file.read(entries)]
        batch = next(coming, None)
        yield file.parsed(found, last=batch is None)


def of_object(pairs: Sequence[Entry], *, line: int) -> tuple[Entry, ...]:
    """Return the entries of an object: itself if it is a record, else one for each of its keys.

    A key that holds a list of records gives one entry for each of them.
    """
    whole = {pair.key or "": pair.value for pair in pairs}
    if _is_record(whole):
        return (Entry(value=whole, line=line),)
    return tuple(entry for pair in pairs for entry in _of_pair(pair))


def _is_record(value: Record) -> bool:
    """Tell whether *value* is one record: it has content, or a doubtful content name beside another known field."""
    if is_turn(value) or any(map(is_conversation, value.values())):
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


# --- a file being read ----------------------------------------------------------------------


class _File(Struct, kw_only=True):
    """The memories of a file so far, its conversations numbered where there are several without a name."""

    origin: Origin
    mostly_turns: bool
    several: bool
    memories: list[Memory] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    conversations: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    """The number of the last turn of each thread; of very many threads only the last that spoke are kept."""
    full: bool = False
    exported: dict[int, Exported] = field(default_factory=dict)
    threads: Threads | None = None

    @classmethod
    def begun(cls, entries: Sequence[Entry], origin: Origin) -> "_File":
        """Return a file that begins with *entries*."""
        mostly_turns = sum(is_turn(entry.value) for entry in entries) * 2 > len(entries)
        makers = [_choose(entry.value, mostly_turns=mostly_turns) for entry in entries]
        several = sum(maker in _CONVERSATIONS for maker in makers) > 1
        return cls(origin=origin, mostly_turns=mostly_turns, several=several)

    def read(self, entries: Sequence[Entry]) -> Iterator[str]:
        """Add what *entries* say, and yield what cannot be understood."""
        for entry in entries:
            make = _choose(entry.value, mostly_turns=self.mostly_turns)
            try:
                make(entry, self)
            except ValueError as error:
                yield f"line {entry.line}: {error}"

    def add(self, memory: Memory | None, about: Exported | None = None) -> None:
        """Keep *memory* if there is one, and what its record says *about* it beyond that."""
        if memory is not None:
            if about is not None:
                self.exported[len(self.memories)] = about
            self.memories.append(memory)

    def part(self, *names: str | None, session: str | None = None) -> str | None:
        """Return the name of the next conversation: *names*, or its number where nothing else tells it apart."""
        self.conversations += 1
        several = self.several or self.conversations > 1
        number = str(self.conversations) if several and session is None and not any(names) else None
        return "#".join(filter(None, (*names, number))) or None

    def add_turn(self, value: object, *, line: int, part: str | None = None) -> None:
        """Keep the turn in *value* as the next of its thread: its file, its part of it, its session."""
        thread = "#".join(filter(None, (self.origin.source, part, session_of(opened(value)))))
        # A thread that was let go of counts on by its lines, which are more than its turns.
        number = self.numbers.pop(thread, line if self.full else 0) + 1
        turn = as_turn(value, origin=self.origin, line=line, thread=thread, turn=number)
        self.numbers[thread] = number - (turn is None)
        if len(self.numbers) > MOST_THREADS:
            del self.numbers[next(iter(self.numbers))]
            self.full = True
        if turn is not None:
            self.turns.append(len(self.memories))
            self.memories.append(turn)

    def parsed(self, problems: Sequence[str], *, last: bool) -> Parsed:
        """Return what was added since the last time, with the turns put in context."""
        memories, exported = list(self.memories), self.exported
        turns = [memories[index] for index in self.turns]
        if last and self.threads is None:
            for index, turn in zip(self.turns, with_context(turns), strict=True):
                memories[index] = turn
        elif turns or last:
            spoken = set(self.turns)
            others = [index for index in range(len(memories)) if index not in spoken]
            places = {index: place for place, index in enumerate(others)}
            exported = {places[index]: each for index, each in exported.items()}
            self.threads = self.threads or Threads()
            ready = [*self.threads.add(turns), *(self.threads.end() if last else ())]
            memories = [*(memories[index] for index in others), *ready]
        self.memories, self.turns, self.exported = [], [], {}
        return Parsed(memories=tuple(memories), problems=tuple(problems), exported=exported)


# --- one maker for each kind of entry -------------------------------------------------------


def _choose(value: object, *, mostly_turns: bool) -> Callable[[Entry, _File], None]:
    if not isinstance(value, dict):
        return _make_conversation if is_conversation(value) else _make_bare
    if mostly_turns and speaker_key(opened(value)) is not None:
        return _make_turn
    if any(map(is_conversation, value.values())) and _SURE.isdisjoint(value):
        return _make_conversations
    return _make_record


def _make_turn(entry: Entry, file: _File) -> None:
    file.add_turn(entry.value, line=entry.line, part=entry.key)


def _make_conversation(entry: Entry, file: _File) -> None:
    part = file.part(entry.key)
    for each in entry.value if isinstance(entry.value, list) else ():
        file.add_turn(each, line=entry.line, part=part)


def _make_conversations(entry: Entry, file: _File) -> None:
    """Make the turns of each conversation in a record; what else the record says belongs to every turn."""
    record = _record(entry)
    conversations = {key: value for key, value in record.items() if is_conversation(value)}
    scalars = {key: value for key, value in record.items() if is_scalar(value)}
    name = next((as_id(scalars.pop(key)) for key in _ID_NAMES if key in scalars), None)
    # Who wrote the record is not who speaks in it.
    shared = {f"conversation {key}" if key in TURN_NAMES else key: value for key, value in scalars.items()}
    part = file.part(entry.key, name, session=session_of(shared))
    for key, turns in conversations.items():
        within = "#".join(filter(None, (part, key))) if len(conversations) > 1 else part
        for turn in turns if isinstance(turns, list) else ():
            file.add_turn({**shared, **opened(turn)}, line=entry.line, part=within)
    for key, value in record.items():
        if key not in conversations and not is_scalar(value):
            _make_bare(Entry(value=value, line=entry.line, key=key), file)


def _make_record(entry: Entry, file: _File) -> None:
    record, vector = without_vector(_record(entry))
    if entry.key is not None and content_of(record) is None:
        _make_bare(entry, file)
    else:
        about = None if vector is None else Exported(vector=vector)
        file.add(as_memory(record, origin=file.origin, line=entry.line, title=entry.key or ""), about)


def _make_bare(entry: Entry, file: _File) -> None:
    """Make one memory of a value that is no record, written out as lines under its key."""
    content = flatten(entry.value, entry.key or "")
    file.add(as_memory({"content": content}, origin=file.origin, line=entry.line, title=entry.key or ""))


_CONVERSATIONS: Final = (_make_conversation, _make_conversations)


def _record(entry: Entry) -> Record:
    return entry.value if isinstance(entry.value, dict) else {}


# --- our own archive -------------------------------------------------------------------------


def as_exported(record: Mapping[str, Any]) -> tuple[Memory, Exported]:
    """Return the memory of a *record* of an archive, and its ids and wordings there; wrong types are left out."""
    exported = Exported(
        id=as_count(record.get("id")),
        superseded_by=as_count(record.get("superseded_by")),
        wordings=_texts(record.get("wordings")) or (),
        facts=_several(record.get("facts"), _fact),
        events=_several(record.get("events"), _event),
        vectors=_several(record.get("vectors"), _vectors) or (),
    )
    return memory_of(record), exported


def memory_of(record: Mapping[str, Any]) -> Memory:
    """Return the memory whose fields *record* holds as JSON has them; wrong types are left out."""
    values: dict[str, Any] = {name: convert(record.get(name)) for name, convert in _exported_fields().items()}
    return Memory(**{name: value for name, value in values.items() if value is not None})


def _several(values: object, read: Callable[[Record], T | None]) -> tuple[T, ...] | None:
    """Return what *read* makes of each of *values*, without what it can make nothing of."""
    if not isinstance(values, list):
        return None
    made = (read(each) for each in values if isinstance(each, dict))
    return tuple(each for each in made if each is not None)


def _event(record: Record) -> Event | None:
    verb, at, detail = record.get("verb"), as_moment(record.get("at")), record.get("detail")
    if not isinstance(verb, str) or at is None:
        return None
    return Event(memory_id=0, verb=verb, at=at, detail=detail if isinstance(detail, dict) else NOTHING)


def _fact(record: Record) -> Fact | None:
    texts = {name: record.get(name) for name in ("subject", "predicate", "object", "type", "quote")}
    confidence, rate = as_confidence(record.get("confidence")), record.get("decay_rate")
    since = as_moment(record.get("last_reinforced"))
    if confidence is None or since is None or not isinstance(rate, int | float):
        return None
    if not all(isinstance(text, str) for text in texts.values()):
        return None
    state: Any = "superseded" if record.get("state") == "superseded" else "active"
    numbers: dict[str, Any] = {"confidence": confidence, "decay_rate": float(rate), "state": state}
    return Fact(**texts, **numbers, id=as_count(record.get("id")) or 0, last_reinforced=since)  # type: ignore[arg-type]


def _vectors(record: Record) -> tuple[Generation, tuple[Passage, ...]] | None:
    """Return the vectors of a memory and their generation; None where anything is wrong with them."""
    try:
        generation = Generation(
            fingerprint=str(record["fingerprint"]),
            dimensions=int(str(record["dimensions"])),
            model=str(record["model"]),
            context_weights=tuple(map(float, cast("list[float]", record["context_weights"]))),
        )
        parts = cast("list[tuple[int, int, str]]", record["passages"])
        passages = tuple(Passage(start=int(a), stop=int(b), vector=b64decode(vector)) for a, b, vector in parts)
    except (KeyError, TypeError, ValueError):
        return None
    fits = all(len(each.vector) == 4 * generation.dimensions for each in passages)
    return (generation, passages) if fits else None


@cache
def _exported_fields() -> dict[str, Convert]:
    """Return how each field of a memory is read back, by its declared type; its ids are those of another store."""
    hints = get_type_hints(Memory)
    return {name: _BY_TYPE[_kind(hint)] for name, hint in hints.items() if name not in {"id", "superseded_by"}}


def _kind(hint: Any) -> object:
    """Return what tells how a field is read: its type without None and without what is inside."""
    options = [each for each in get_args(hint) if each is not NoneType] if NoneType in get_args(hint) else [hint]
    return get_origin(options[0]) or options[0]


def _texts(value: object) -> tuple[str, ...] | None:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else None


def _context(value: object) -> Context | None:
    if not isinstance(value, dict):
        return None
    return Context(**{name: value[name] for name in ("before", "after", "around") if isinstance(value.get(name), str)})


_BY_TYPE: Final[Mapping[object, Convert]] = {
    str: lambda value: value if isinstance(value, str) else None,
    bool: lambda value: value if isinstance(value, bool) else None,
    Mapping: lambda value: value if isinstance(value, dict) else None,
    Literal: lambda value: value if value in get_args(Trust) else None,
    int: as_count,
    float: as_confidence,
    datetime: as_moment,
    tuple: _texts,
    Context: _context,
}
