"""How far a writer is trusted: what it may change, how sure its word can be, and what it stands against."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Final

from recollect.errors import InputError
from recollect.records import Event, Memory, Trust

TRUST_LEVELS: Final[Sequence[Trust]] = ("untrusted", "agent", "owner")
"""How far a writer is trusted, least first."""
CONFIDENCE_CAPS: Final[Mapping[Trust, float]] = MappingProxyType({"owner": 1.0, "agent": 0.9, "untrusted": 0.5})
"""The most confidence that what a writer says can have, whatever it claims and however often it is reinforced."""
ORIGINS: Final[Mapping[str, str]] = MappingProxyType({"agent": "from an agent", "untrusted": "untrusted"})
"""How the origin of what is not the owner's is told."""
DECIDING: Final = ("add", "link")
"""The verbs of events that say what one memory is to another."""


def level(trust: str) -> int:
    """Return how far *trust* goes; refuse a word that is none."""
    for place, name in enumerate(TRUST_LEVELS):
        if name == trust:
            return place
    raise InputError(f"no trust is called {trust!r}", hint=f"one of {', '.join(reversed(TRUST_LEVELS))}")


def capped(confidence: float, trust: Trust) -> float:
    """Return *confidence*, or the most that a writer of this *trust* can have."""
    return min(confidence, CONFIDENCE_CAPS[trust])


def may_change(writer: Trust, held: Memory) -> bool:
    """Return whether a writer may touch *held*: what is pinned is the owner's, whoever wrote it."""
    return level(writer) >= _standing(held)


def may_replace(writer: Trust, held: Memory) -> bool:
    """Return whether what a writer says may take the place of *held*; nothing does of what is pinned."""
    return not held.pinned and may_change(writer, held)


def may_merge(gone: Memory, kept: Memory) -> bool:
    """Return whether *gone* may go into *kept*: both of one trust, and nothing pinned goes."""
    return gone.trust == kept.trust and not gone.pinned and may_change(gone.trust, kept)


def outranks(writer: Trust, held: Memory) -> bool:
    """Return whether a writer is trusted further than whoever stands behind *held*."""
    return level(writer) > _standing(held)


def _standing(memory: Memory) -> int:
    return level("owner") if memory.pinned else level(memory.trust)


EVIDENCE: Final = ("trust", "against", "pinned")


def against(writer: Trust, held: Memory) -> dict[str, object]:
    """Return the evidence for a decision that trust or a pin has a part in."""
    return {"trust": writer, "against": held.trust, **({"pinned": True} if held.pinned else {})}


Load = Callable[[Sequence[int]], Mapping[int, Memory]]
"""Returns the memories of some ids, as far as the reader may see them."""


def conflicts_of(
    rows: AbstractSet[int], events: Mapping[int, Sequence[Event]], load: Load
) -> tuple[dict[int, tuple[int, ...]], dict[int, Memory]]:
    """Return which memories conflict with each other, by the *events* of the memories *rows*, and those not in *rows*.

    A memory that was superseded since is replaced by its successor; one that was forgotten is left out. What is not
    among *rows* is loaded together.
    """
    named = {row: contradicted(log) for row, log in events.items() if row in rows}
    held = with_successors({other for others in named.values() for other in others} - rows, rows, load)
    found: dict[int, set[int]] = defaultdict(set)
    for row, others in named.items():
        for other in {_successor(each, rows, held) for each in others} - {row}:
            if other in rows or (other in held and is_live(held[other])):
                found[row].add(other)
                found[other].add(row)
    return {row: tuple(sorted(others)) for row, others in found.items()}, held


def with_successors(wanted: AbstractSet[int], rows: AbstractSet[int], load: Load) -> dict[int, Memory]:
    """Load the memories *wanted* in one query, then their successors that are not among *rows*."""
    held: dict[int, Memory] = {}
    while wanted:
        found = load(sorted(wanted))
        held |= found
        wanted = {each.superseded_by for each in found.values() if each.superseded_by} - held.keys() - rows
    return held


def _successor(row: int, rows: AbstractSet[int], held: Mapping[int, Memory]) -> int:
    seen: set[int] = set()
    while row not in rows and row not in seen and row in held:
        seen.add(row)
        row = held[row].superseded_by or row
    return row


def is_live(memory: Memory) -> bool:
    """Return whether *memory* is neither forgotten nor superseded."""
    return memory.deleted_at is None and memory.superseded_by is None


def stands_above(one: Memory, other: Memory) -> bool:
    """Return whether whoever stands behind *one* is trusted further than whoever stands behind *other*."""
    return _standing(one) > _standing(other)


def contradicted(events: Iterable[Event]) -> list[int]:
    """Return the memories that, by the *events* of another one, it conflicts with."""
    return [row for row, relation in linked(events).items() if relation == "conflicts"]


def differing(events: Iterable[Event]) -> list[int]:
    """Return the memories about the same thing that, by the *events* of another one, have other values than it."""
    details = (event.detail for event in events if event.verb in DECIDING and event.detail.get("related"))
    return [row for each in details if each.get("differs") and isinstance(row := each.get("proposes"), int)]


def linked(events: Iterable[Event]) -> dict[int, str]:
    """Return the memories that the *events* of another one link it to, with what it is to them.

    That is a decision (updates, conflicts, restates) or "related". A link is stored once, with the memory that came
    later: in the event that added it ("of" what it was decided on, "proposes" what it is near to), or in one of the
    verb "link" that a consolidation wrote.
    """
    found: dict[int, str] = {}
    for detail in (event.detail for event in events if event.verb in DECIDING):
        row, decision = detail.get("of", detail.get("proposes")), str(detail.get("decision"))
        if isinstance(row, int):
            found[row] = "related" if decision == "distinct" else decision
    return found
