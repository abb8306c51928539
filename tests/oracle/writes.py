"""Writing into dictionaries."""

from collections.abc import Mapping
from datetime import datetime
from typing import assert_never

from msgspec.structs import replace

from oracle.contexts import remix
from oracle.state import State
from recollect.errors import InputError
from recollect.records import (
    Event,
    Fact,
    Feedback,
    Forget,
    Insert,
    Memory,
    Merge,
    ReinforceFact,
    Reinstate,
    Restore,
    Revise,
    Write,
)
from recollect.stores.change import born, changed, feedback_detail, reinforcement_detail, stated, superseded_since
from recollect.stores.contract import Analyse, too_wide, unknown, unknown_fact
from recollect.vectors import WIDTH


def do(state: State, write: Write, *, at: datetime, analyse: Analyse) -> int:
    """Do one *write* and return the memory it touched."""
    match write:
        case Insert(memory=memory):
            state.newest += 1
            _state(state, write, state.newest, at)
            return _put(state, (_inserted(memory, state.newest, at), "add", write.detail), at, analyse)
        case Revise() | Merge() | Forget() | Restore():
            row = write.memory.id if isinstance(write, Revise) else write.id
            old = _existing(state, row)
            if isinstance(write, Merge) and write.wording is not None:
                state.wordings[row] = (*state.wordings.get(row, ()), write.wording)
            if isinstance(write, Revise) and write.facts is not None:
                _state(state, write, row, at)
            return _put(state, changed(write, old, at=at), at, analyse)
        case ReinforceFact():
            row = _reinforce(state, write)
            return _tell(state, row, "reinforce_fact", at, reinforcement_detail(write)) if write.logged else row
        case Reinstate():
            return _reinstate(state, write, analyse)
        case Feedback(id=row):
            return _tell(state, _existing(state, row).id, "feedback", at, feedback_detail(write))
    assert_never(write)


def _reinstate(state: State, write: Reinstate, analyse: Analyse) -> int:
    row = write.memory.id or state.newest + 1
    state.newest = max(state.newest, row)
    memory, old = replace(write.memory, id=row), state.memories.get(row)
    state.wordings.pop(row, None)
    if write.wordings:
        state.wordings[row] = write.wordings
    _restate(state, row, write.facts)
    state.events = [event for event in state.events if event.memory_id != row]
    state.events += [replace(event, memory_id=row) for event in write.events]
    _keep(state, memory, analyse)
    for generation, passages in write.vectors:
        known = state.generations.setdefault(generation.fingerprint, replace(generation, memories=0, pending=0))
        if any(len(each.vector) != WIDTH * known.dimensions for each in passages):
            raise too_wide(passages[0].vector, known.dimensions)
        state.vectors[known.fingerprint, row] = tuple(replace(each, context_vector=None) for each in passages)
    remix(state, [old or memory, memory])
    return row


def _restate(state: State, row: int, facts: tuple[Fact, ...]) -> None:
    for fact in state.facts.pop(row, ()):
        del state.stated[fact.id]
    numbered = []
    for fact in facts:
        number = fact.id or state.newest_fact + 1
        state.newest_fact = max(state.newest_fact, number)
        numbered.append(replace(fact, id=number, memory_id=row))
    if numbered:
        state.facts[row] = tuple(sorted(numbered, key=lambda fact: fact.id))
        state.stated |= {fact.id: row for fact in numbered}


def index(state: State, memory: Memory, analyse: Analyse) -> None:
    """Make *memory* findable."""
    state.terms[memory.id] = analyse(memory, state.wordings.get(memory.id, ()))


def _inserted(memory: Memory, row: int, at: datetime) -> Memory:
    since = superseded_since(memory, None, at)
    return replace(memory, id=row, created_at=born(memory, at), updated_at=at, deleted_at=None, superseded_at=since)


def _existing(state: State, row: int) -> Memory:
    if row not in state.memories:
        raise unknown(row)
    return state.memories[row]


def _put(state: State, change: tuple[Memory, str, Mapping[str, object]], at: datetime, analyse: Analyse) -> int:
    memory, verb, detail = change
    old = state.memories.get(memory.id, memory)
    _keep(state, memory, analyse)
    remix(state, [old, memory])
    return _tell(state, memory.id, verb, at, detail)


def _keep(state: State, memory: Memory, analyse: Analyse) -> None:
    _name(state, memory)
    _outdate(state, memory)
    state.memories[memory.id] = memory
    state.terms.pop(memory.id, None)
    if memory.deleted_at is None:
        index(state, memory, analyse)


def _tell(state: State, row: int, verb: str, at: datetime, detail: Mapping[str, object]) -> int:
    state.events.append(Event(memory_id=row, verb=verb, at=at, detail=dict(detail)))
    return row


def _outdate(state: State, memory: Memory) -> None:
    """Drop the vectors of a memory whose words have changed."""
    old = state.memories.get(memory.id)
    if old is not None and old.meaning != memory.meaning:
        for fingerprint in state.generations:
            state.vectors.pop((fingerprint, memory.id), None)


def _name(state: State, memory: Memory) -> None:
    old = state.memories.get(memory.id)
    if old is not None and old.external_id is not None:
        del state.named[old.project, old.kind, old.external_id]
    if memory.external_id is not None:
        if (memory.project, memory.kind, memory.external_id) in state.named:
            raise InputError("an external id is taken by another memory", hint="update that memory instead")
        state.named[memory.project, memory.kind, memory.external_id] = memory.id


def _state(state: State, write: Insert | Revise, row: int, at: datetime) -> None:
    """Put the facts of *write* in the place of those the memory had."""
    before = state.facts.pop(row, ())
    for fact in before:
        del state.stated[fact.id]
    numbered = [_numbered(state, fact) for fact in stated(write, before, row=row, at=at)]
    if numbered:
        state.facts[row] = tuple(sorted(numbered, key=lambda fact: fact.id))
        state.stated |= {fact.id: row for fact in numbered}


def _numbered(state: State, fact: Fact) -> Fact:
    if fact.id:
        return fact
    state.newest_fact += 1
    return replace(fact, id=state.newest_fact)


def _reinforce(state: State, write: ReinforceFact) -> int:
    if write.id not in state.stated:
        raise unknown_fact(write.id)
    row = state.stated[write.id]
    state.facts[row] = tuple(
        replace(fact, confidence=write.confidence, last_reinforced=write.last_reinforced)
        if fact.id == write.id
        else fact
        for fact in state.facts[row]
    )
    return row
