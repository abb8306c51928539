"""Make memories of the entries of a structured file: records, turns, bare values."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from recollect.records import Memory
from recollect.remember.formats.chat import (
    MAX_OPEN_THREADS,
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

_SURE: Final = frozenset(CONTENT[:2])
_OTHER: Final = frozenset(CONTENT[2:])
_ID_NAMES: Final = FIELDS["external_id"][0]
_FIELD_NAMES: Final = frozenset(name for names, _ in FIELDS.values() for name in names)


Batch = tuple[Sequence[Entry], Sequence[str]]
"""Consecutive entries, and the problems between them, a line each."""


def parse(entries: Sequence[Entry], *, origin: Origin, problems: Sequence[str] = ()) -> Parsed:
    """Return the memories of *entries* in order; an entry that cannot be read is reported and the others are read."""
    return next(parse_parts([(entries, problems)], origin=origin), Parsed())


def parse_parts(batches: Iterable[Batch], *, origin: Origin) -> Iterator[Parsed]:
    """Yield the memories of each batch; the first batch decides what kind of file it is.

    The last turns of a batch come with the next one, when their neighbors are known.
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
    """Tell whether *value* is one record: it has content, or a doubtful content name next to another known field."""
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
    """The state of a file while it is read; conversations without a name are numbered if there are several."""

    origin: Origin
    mostly_turns: bool
    several: bool
    found: list[tuple[Memory, Exported | None]] = field(default_factory=list)
    """Records and turns since the last part; only turns have a thread."""
    conversations: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    """The number of the last turn of each thread; beyond a limit only the most recent threads are kept."""
    full: bool = False
    threads: Threads | None = None

    @classmethod
    def begun(cls, entries: Sequence[Entry], origin: Origin) -> "_File":
        """Return a file that begins with *entries*."""
        mostly_turns = sum(is_turn(entry.value) for entry in entries) * 2 > len(entries)
        makers = [_choose(entry.value, mostly_turns=mostly_turns) for entry in entries]
        several = sum(maker in _CONVERSATIONS for maker in makers) > 1
        return cls(origin=origin, mostly_turns=mostly_turns, several=several)

    def read(self, entries: Sequence[Entry]) -> Iterator[str]:
        """Add the memories of *entries*, and yield problems."""
        for entry in entries:
            make = _choose(entry.value, mostly_turns=self.mostly_turns)
            try:
                make(entry, self)
            except ValueError as error:
                yield f"line {entry.line}: {error}"

    def add(self, memory: Memory | None, about: Exported | None = None) -> None:
        """Keep *memory* if there is one, and what its record says beyond it."""
        if memory is not None:
            self.found.append((memory, about))

    def part(self, *names: str | None, session: str | None = None) -> str | None:
        """Return the name of the next conversation: *names*, or its number if it has no other name."""
        self.conversations += 1
        several = self.several or self.conversations > 1
        number = str(self.conversations) if several and session is None and not any(names) else None
        return "#".join(filter(None, (*names, number))) or None

    def add_turn(self, value: object, *, line: int, part: str | None = None) -> None:
        """Keep the turn in *value* as the next of its thread: its file, its part of it, its session."""
        thread = "#".join(filter(None, (self.origin.source, part, session_of(opened(value)))))
        # A thread that was dropped continues from its line number, which exceeds its number of turns.
        number = self.numbers.pop(thread, line if self.full else 0) + 1
        turn = as_turn(value, origin=self.origin, line=line, thread=thread, turn=number)
        self.numbers[thread] = number - (turn is None)
        if len(self.numbers) > MAX_OPEN_THREADS:
            del self.numbers[next(iter(self.numbers))]
            self.full = True
        self.add(turn)

    def parsed(self, problems: Sequence[str], *, last: bool) -> Parsed:
        """Return what was added since the last part, with turns in context; turns of a longer file come last."""
        found, self.found = self.found, []
        turns = [memory for memory, _ in found if memory.thread is not None]
        is_whole = self.threads is None and (last or not turns)
        records = found if is_whole else [each for each in found if each[0].thread is None]
        memories = tuple(memory for memory, _ in records)
        if is_whole:
            memories = with_context(memories)
        else:
            self.threads = self.threads or Threads()
            memories = (*memories, *self.threads.add(turns), *(self.threads.end() if last else ()))
        exported = {at: about for at, (_, about) in enumerate(records) if about is not None}
        return Parsed(memories=memories, problems=tuple(problems), exported=exported)


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
    """Make one memory of a value that is not a record, written out as lines under its key."""
    content = flatten(entry.value, entry.key or "")
    file.add(as_memory({"content": content}, origin=file.origin, line=entry.line, title=entry.key or ""))


_CONVERSATIONS: Final = (_make_conversation, _make_conversations)


def _record(entry: Entry) -> Record:
    return entry.value if isinstance(entry.value, dict) else {}
