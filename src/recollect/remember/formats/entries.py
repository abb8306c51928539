"""Make memories of the entries of a structured file: records, turns, bare values."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from msgspec import Struct, field

from recollect.records import (
    Memory,
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
    Entry,
    Exported,
    Origin,
    Parsed,
    Record,
    as_memory,
    content_of,
    without_vector,
)
from recollect.remember.formats.values import as_id, flatten, is_scalar

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
