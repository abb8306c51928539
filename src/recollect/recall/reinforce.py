"""How use keeps facts alive: each use moves the day they fade from towards today."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, Literal

from recollect.errors import UnknownMemory
from recollect.records import Fact, ReinforceFact

Verdict = Literal["used", "useful", "wrong"]
"""What became of a recalled memory."""
WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {"reinforce": 1.0, "useful": 1.0, "import": 0.8, "used": 0.5, "search": 0.3}
)
"""How far each kind of use moves the day: all the way to now, or a part of it."""
MORE: Final = 0.3
LESS: Final = 0.5


def by_use(facts: Sequence[Fact], use: str, *, now: datetime) -> tuple[ReinforceFact, ...]:
    """Return the writes that let *facts* fade from a later day."""
    return tuple(
        ReinforceFact(
            id=fact.id,
            confidence=fact.confidence,
            last_reinforced=fact.last_reinforced + WEIGHTS[use] * max(now - fact.last_reinforced, timedelta()),
            detail={"use": use},
        )
        for fact in facts
    )


def by_hand(facts: Sequence[Fact], *, now: datetime) -> tuple[ReinforceFact, ...]:
    """Return the writes for facts that somebody vouches for: surer by 0.3, and fresh."""
    return tuple(
        ReinforceFact(
            id=fact.id,
            confidence=min(1.0, fact.confidence + MORE),
            last_reinforced=now,
            detail={"use": "reinforce"},
        )
        for fact in facts
    )


def by_doubt(facts: Sequence[Fact]) -> tuple[ReinforceFact, ...]:
    """Return the writes for facts that proved wrong: half as sure, as old as they were."""
    return tuple(
        ReinforceFact(
            id=fact.id,
            confidence=fact.confidence * LESS,
            last_reinforced=fact.last_reinforced,
            detail={"use": "wrong"},
        )
        for fact in facts
    )


def by_verdict(facts: Sequence[Fact], verdict: Verdict, *, now: datetime) -> tuple[ReinforceFact, ...]:
    """Return the writes for the facts of a memory of which somebody says what became of it."""
    return by_doubt(facts) if verdict == "wrong" else by_use(facts, verdict, now=now)


def chosen(ids: Sequence[int], facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return the facts that *ids* name; one that is not there is an error."""
    known = {fact.id: fact for fact in facts}
    for row in ids:
        if row not in known:
            raise UnknownMemory(f"no fact has the id {row}", hint="see: recollect facts")
    return tuple(known[row] for row in ids)
