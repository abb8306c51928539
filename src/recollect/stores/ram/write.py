"""Writing into dictionaries."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from recollect.records import (
    Event,
    Fact,
    Feedback,
    Forget,
    Insert,
    Memory,
    Merge,
    ReinforceFact,
    Restore,
    Revise,
    Write,
)
from recollect.stores.change import born, changed, opinion, reinforcement, stated, superseded_since
from recollect.stores.contract import Analyse, taken, unknown, unknown_fact
from recollect.stores.ram.held import Held
from recollect.stores.ram.vectors import remix


def do(held: Held, write: Write, *, at: datetime, analyse: Analyse) -> int:
    """Do one *write* and return the memory it touched."""
    match write:
        case Insert(memory=memory):
            held.newest += 1
            _state(held, write, held.newest, at)
            return _put(held, (_inserted(memory, held.newest, at), "add", write.detail), at, analyse)
        case Revise() | Merge() | Forget() | Restore():
            row = write.memory.id if isinstance(write, Revise) else write.id
            old = _existing(held, row)
            if isinstance(write, Merge) and write.wording is not None:
                held.wordings[row] = (*held.wordings.get(row, ()), write.wording)
            if isinstance(write, Revise) and write.facts is not None:
                _state(held, write, row, at)
            return _put(held, changed(write, old, at=at), at, analyse)
        case ReinforceFact():
            return _tell(held, _reinforce(held, write), "reinforce_fact", at, reinforcement(write))
        case Feedback(id=row):
            return _tell(held, _existing(held, row).id, "feedback", at, opinion(write))
    assert_never(write)


def index(held: Held, memory: Memory, analyse: Analyse) -> None:
    """Make *memory* findable."""
    held.terms[memory.id] = analyse(memory, held.wordings.get(memory.id, ()))


def _inserted(memory: Memory, row: int, at: datetime) -> Memory:
    since = superseded_since(memory, None, at)
    return replace(memory, id=row, created_at=born(memory, at), updated_at=at, deleted_at=None, superseded_at=since)


def _existing(held: Held, row: int) -> Memory:
    if row not in held.memories:
        raise unknown(row)
    return held.memories[row]


def _put(held: Held, change: tuple[Memory, str, Mapping[str, object]], at: datetime, analyse: Analyse) -> int:
    memory, verb, detail = change
    old = held.memories.get(memory.id, memory)
    _name(held, memory)
    _outdate(held, memory)
    held.memories[memory.id] = memory
    held.terms.pop(memory.id, None)
    if memory.deleted_at is None:
        index(held, memory, analyse)
    for each in (old, memory):
        remix(held, each)
    return _tell(held, memory.id, verb, at, detail)


def _tell(held: Held, row: int, verb: str, at: datetime, detail: Mapping[str, object]) -> int:
    held.events.append(Event(memory_id=row, verb=verb, at=at, detail=dict(detail)))
    return row


def _outdate(held: Held, memory: Memory) -> None:
    """Drop the vectors of a memory whose words have changed."""
    old = held.memories.get(memory.id)
    if old is not None and old.meaning != memory.meaning:
        for fingerprint in held.generations:
            held.vectors.pop((fingerprint, memory.id), None)


def _name(held: Held, memory: Memory) -> None:
    old = held.memories.get(memory.id)
    if old is not None and old.external_id is not None:
        del held.named[old.project, old.kind, old.external_id]
    if memory.external_id is not None:
        if (memory.project, memory.kind, memory.external_id) in held.named:
            raise taken(memory)
        held.named[memory.project, memory.kind, memory.external_id] = memory.id


def _state(held: Held, write: Insert | Revise, row: int, at: datetime) -> None:
    """Put the facts of *write* in the place of those the memory had."""
    before = held.facts.pop(row, ())
    for fact in before:
        del held.stated[fact.id]
    numbered = [_numbered(held, fact) for fact in stated(write, before, row=row, at=at)]
    if numbered:
        held.facts[row] = tuple(sorted(numbered, key=lambda fact: fact.id))
        held.stated |= {fact.id: row for fact in numbered}


def _numbered(held: Held, fact: Fact) -> Fact:
    if fact.id:
        return fact
    held.newest_fact += 1
    return replace(fact, id=held.newest_fact)


def _reinforce(held: Held, write: ReinforceFact) -> int:
    if write.id not in held.stated:
        raise unknown_fact(write.id)
    row = held.stated[write.id]
    held.facts[row] = tuple(
        replace(fact, confidence=write.confidence, last_reinforced=write.last_reinforced)
        if fact.id == write.id
        else fact
        for fact in held.facts[row]
    )
    return row
