"""What needs a person: contradictions, proposed merges and updates, the word of agents, secrets, failed imports.

What was settled is kept as a note by its key, and not asked again. Contradictions of what is trusted further are kept
as notes too; of the rest only what came in lately is looked at, so that a large store takes no longer than a small one.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, ClassVar, Final, Literal, get_args

from msgspec import Struct

from recollect.errors import InputError
from recollect.records import DISTILLED, Event, Fact, FactQuery, Memory, Scope
from recollect.remember.contested import CONTESTED
from recollect.remember.failed_imports import FAILED
from recollect.stores.contract import Store
from recollect.trust import is_live, linked
from recollect.upkeep.consolidate import MergeProposal
from recollect.upkeep.facts import Conflict
from recollect.upkeep.facts import conflicts as stated_conflicts

Kind = Literal["conflict", "update", "merge", "secret", "import", "trust"]
KINDS: Final = get_args(Kind)
"""The kinds in the order in which they are asked: whose word it is comes last, as there may be many."""
SETTLED: Final = "review"
"""The kind of note that says what was settled."""
MAX_SETTLED: Final = 5_000
"""How many settled questions are kept; almost all of them are about events too old to be asked about again."""
LATELY: Final = 500
"""How many of the last events are looked at."""
NEWEST: Final = 50
"""How many of the newest memories are compared with those near them: each costs a search."""
DIFFERENT: Final = "These two contradict each other."
MARK: Final = "[redacted:"
"""What stands where a secret was."""


class ReviewItem(Struct, frozen=True, kw_only=True):
    """One question to a person, and the memories it is about: the newer one first."""

    json_members: ClassVar[str] = "key kind about memories?"

    key: str
    kind: Kind
    about: str
    memories: tuple[Memory, ...] = ()


def review(
    store: Store,
    *,
    scope: Scope,
    project: str,
    conflicts: Sequence[Conflict] = (),
    merges: Sequence[MergeProposal] = (),
) -> tuple[ReviewItem, ...]:
    """Return what is not settled yet, each question once."""
    settled = store.notes(SETTLED, project=project)
    events = store.events(scope=scope, limit=LATELY)
    stated = _stated(sorted({event.memory_id for event in events}), store, scope=scope)
    found = [*_contested(store, scope=scope, settled=settled)]
    found += [*_conflicting([*stated, *conflicts], store, scope=scope), *_merging(merges, store, scope=scope)]
    found += _lately(events, store, scope=scope)
    found += _failed(store.notes(FAILED, project=project))
    asked = {item.key: item for item in found if item.key not in settled}
    return tuple(sorted(asked.values(), key=lambda item: KINDS.index(item.kind)))


def settle(store: Store, key: str, *, project: str, at: datetime, again: bool = False) -> None:
    """Note that the question *key* is settled, or ask it *again*; only the last MAX_SETTLED are kept."""
    if not again:
        with store.transaction({project}):
            kept = store.notes(SETTLED, project=project)
            for old in sorted(kept.keys() - {key}, key=lambda name: str(kept[name].get("at")))[: 1 - MAX_SETTLED]:
                store.put_note(SETTLED, old, None, project=project)
            store.put_note(SETTLED, key, {"at": at.isoformat()}, project=project)
    elif not store.put_note(SETTLED, key, None, project=project):
        raise InputError(f"no question {key!r} was settled", hint="see: recollect review list")


# --- the questions ----------------------------------------------------------------------------


def _contested(store: Store, *, scope: Scope, settled: Mapping[str, object]) -> Iterator[ReviewItem]:
    """Yield, for each memory that somebody of less trust contradicts, the last contradiction that is not settled."""
    projects = store.projects() if scope.projects is None else sorted(scope.projects)
    against = {
        int(row): value["by"] for each in projects for row, value in store.notes(CONTESTED, project=each).items()
    }
    rows = sorted({*against, *(row for several in against.values() for row in several)})
    held = {row: memory for row, memory in store.load(rows, scope=scope).items() if is_live(memory)}
    for row in against.keys() & held.keys():
        pairs = (_pair("conflict", (held[by], held[row]), DIFFERENT) for by in reversed(against[row]) if by in held)
        yield from islice((pair for pair in pairs if pair.key not in settled), 1)


def _stated(rows: Sequence[int], store: Store, *, scope: Scope) -> Iterator[Conflict]:
    """Yield the contradictions between what the memories *rows* state and what others do; projects are walls."""
    subjects = {fact.subject for fact in store.facts(FactQuery(memory_ids=tuple(rows)), scope=scope)}
    facts = store.facts(FactQuery(subjects=tuple(sorted(subjects)), limit=LATELY), scope=scope)
    held = store.load(sorted({fact.memory_id for fact in facts}), scope=scope)
    by_project: dict[str, list[Fact]] = {}
    for fact in facts:
        by_project.setdefault(held[fact.memory_id].project, []).append(fact)
    for group in by_project.values():
        yield from stated_conflicts(group)


def _conflicting(conflicts: Sequence[Conflict], store: Store, *, scope: Scope) -> Iterator[ReviewItem]:
    for each in conflicts:
        rows = sorted({_memory_of(each.one), _memory_of(each.other)}, reverse=True)
        memories = tuple(store.load(rows, scope=scope).values())
        talk = all(memory.turn is not None for memory in memories)  # what is said in turn is no contradiction
        if len(memories) == 2 and not talk and all(is_live(memory) for memory in memories):
            yield _pair("conflict", memories, DIFFERENT)


def _memory_of(side: Any) -> int:
    return side.id if isinstance(side, Memory) else int(side.memory_id)


def _merging(merges: Sequence[MergeProposal], store: Store, *, scope: Scope) -> Iterator[ReviewItem]:
    for each in merges:
        memories = tuple(store.load([each.gone, each.kept], scope=scope).values())
        if len(memories) == 2:
            yield _pair("merge", memories, "These two say the same.")


def _pair(kind: Kind, memories: tuple[Memory, ...], about: str) -> ReviewItem:
    return ReviewItem(
        key=f"{kind}:{':'.join(str(memory.id) for memory in memories)}", kind=kind, about=about, memories=memories
    )


def _lately(events: Sequence[Event], store: Store, *, scope: Scope) -> Iterator[ReviewItem]:
    """Yield the questions about what came in lately."""
    named = (row for event in events for row in (event.memory_id, *linked([event])))
    held = store.load(list(dict.fromkeys(named)), scope=scope)
    by_week: dict[str, list[Memory]] = {}
    for event in events:
        memory = held.get(event.memory_id)
        if memory is not None and is_live(memory) and event.verb == "add":
            yield from _of_one(memory, event, held)
            if DISTILLED in memory.metadata and memory.trust != "owner":
                year, number, _ = event.at.isocalendar()
                by_week.setdefault(f"{year}-W{number:02}", []).append(memory)
    for week, memories in by_week.items():
        newest = max(memory.id for memory in memories)
        about = f"{len(memories)} statements distilled from what an agent said, {week}."
        yield ReviewItem(key=f"statements:{week}:{newest}", kind="trust", about=about, memories=tuple(memories))


def _of_one(memory: Memory, event: Event, held: Mapping[int, Memory]) -> Iterator[ReviewItem]:
    for row, relation in linked([event]).items():
        other = held.get(row)
        if other is None or not is_live(other):
            continue
        if relation == "updates":
            yield _pair("update", (memory, other), "The first may update the second.")
        if relation == "conflicts":
            yield _pair("conflict", (memory, other), DIFFERENT)
    if memory.trust != "owner" and memory.thread is None and DISTILLED not in memory.metadata:
        yield ReviewItem(key=f"trust:{memory.id}", kind="trust", about=_writer(memory), memories=(memory,))
    if MARK in memory.content or MARK in memory.title:
        yield ReviewItem(key=f"secret:{memory.id}", kind="secret", about="A secret was redacted.", memories=(memory,))


def _writer(memory: Memory) -> str:
    return "Written by an agent." if memory.trust == "agent" else "From an untrusted source."


def _failed(notes: Mapping[str, Mapping[str, Any]]) -> Iterator[ReviewItem]:
    for path, value in notes.items():
        yield ReviewItem(key=f"import:{path}", kind="import", about=f"{path}: {value.get('reason', '')}")
