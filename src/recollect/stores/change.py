"""What a write makes of a memory and of its facts: the same in every store."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import assert_never

from msgspec.structs import replace

from recollect.arguments import storable
from recollect.records import (
    NEVER,
    Fact,
    Feedback,
    Forget,
    Insert,
    Memory,
    Merge,
    Recall,
    ReinforceFact,
    Restore,
    Revise,
)

Changed = tuple[Memory, str, Mapping[str, object]]
"""A memory as it is now, the verb of the event, and its detail."""


def born(memory: Memory, at: datetime) -> datetime:
    """Return when *memory* was first written down: now, unless it brings its date from another store."""
    return at if memory.created_at == NEVER else memory.created_at


def superseded_since(new: Memory, old: Memory | None, at: datetime) -> datetime | None:
    """Return since when *new* is superseded: the first time counts, whatever supersedes it later."""
    if new.superseded_by is None:
        return None
    if old is not None and old.superseded_by is not None:
        return old.superseded_at
    return new.superseded_at or at


def changed(write: Revise | Merge | Forget | Restore, old: Memory, *, at: datetime) -> Changed:
    """Return what *write* makes of *old*."""
    match write:
        case Revise(memory=memory, verb=verb):
            new = replace(
                memory,
                created_at=old.created_at,
                updated_at=at,
                deleted_at=old.deleted_at,
                superseded_at=superseded_since(memory, old, at),
            )
            return new, verb, {"content": old.content, **write.detail}
        case Merge(confidence=confidence):
            return replace(old, confidence=confidence, updated_at=at), "reinforce", write.detail
        case Forget():
            return replace(old, deleted_at=at), "forget", write.detail
        case Restore():
            return replace(old, deleted_at=None), "restore", write.detail
    assert_never(write)


def stated(write: Insert | Revise, held: Iterable[Fact], *, row: int, at: datetime) -> tuple[Fact, ...]:
    """Return the facts of memory *row* after *write*: new ones have the id 0, each is there once."""
    known = {said(fact): fact for fact in held}
    facts: dict[tuple[str, str, str], Fact] = {}
    for fact in write.facts or ():
        facts.setdefault(said(fact), _placed(fact, known.get(said(fact)), row, at))
    return tuple(facts.values())


def said(fact: Fact) -> tuple[str, str, str]:
    """Return what a fact says; a memory says it once."""
    return fact.subject, fact.predicate, fact.object


def _placed(fact: Fact, known: Fact | None, row: int, at: datetime) -> Fact:
    if known is not None:
        sure, since = known.confidence, known.last_reinforced
        return replace(fact, id=known.id, memory_id=row, confidence=sure, last_reinforced=since)
    since = at if fact.last_reinforced == NEVER else fact.last_reinforced
    return replace(fact, id=0, memory_id=row, last_reinforced=since)


def folded(subject: str) -> str:
    """Return what a subject is known by, in any case."""
    return subject.casefold()


def reinforcement_detail(write: ReinforceFact) -> dict[str, object]:
    """Return what the event of a reinforced fact says."""
    return {"fact": write.id, "confidence": write.confidence, **write.detail}


def feedback_detail(write: Feedback) -> dict[str, object]:
    """Return what the event of a verdict says."""
    told = {"session": write.session, "query": write.query}
    return {"verdict": write.verdict, **{name: storable(text) for name, text in told.items() if text is not None}}


def logged(recall: Recall) -> Recall:
    """Return *recall* as any store can keep it."""
    session, lens = ((text and storable(text)) for text in (recall.session, recall.lens))
    return replace(recall, query=storable(recall.query), session=session, lens=lens)
