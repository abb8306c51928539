"""Reading memories, their facts and where they came from."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from recollect.records import Event, Fact, FactQuery, Filter, Known, Memory, Page, Scope, StoreStats, digest
from recollect.stores.admit import in_scope
from recollect.stores.change import folded
from recollect.stores.contract import ALIKE
from recollect.stores.ram.held import Held


def load(held: Held, ids: Sequence[int], scope: Scope) -> dict[int, Memory]:
    """Return the memories of *ids* in *scope*."""
    found = held.memories
    return {row: found[row] for row in ids if row in found and in_scope(found[row], scope)}


def wordings(held: Held, ids: Sequence[int], scope: Scope) -> dict[int, tuple[str, ...]]:
    """Return the other wordings of *ids*."""
    return {row: held.wordings[row] for row in load(held, ids, scope) if row in held.wordings}


def history(held: Held, ids: Sequence[int], scope: Scope) -> dict[int, tuple[Event, ...]]:
    """Return the events of *ids*, oldest first."""
    return {row: tuple(event for event in held.events if event.memory_id == row) for row in load(held, ids, scope)}


def facts(held: Held, query: FactQuery, scope: Scope) -> tuple[Fact, ...]:
    """Return the facts asked for, newest first."""
    found = [
        fact
        for memory in held.live(scope)
        if (query.include_superseded or memory.superseded_by is None)
        and (query.memory_ids is None or memory.id in query.memory_ids)
        for fact in held.facts.get(memory.id, ())
        if (query.subject is None or folded(fact.subject) == folded(query.subject))
        and (query.types is None or fact.type in query.types)
    ]
    return tuple(sorted(found, key=lambda fact: -fact.id)[: query.limit])


def known(
    held: Held,
    project: str,
    digests: Sequence[tuple[str, bytes]],
    external_ids: Sequence[tuple[str, str]],
    minhashes: Sequence[Sequence[int]],
) -> Known:
    """Return what *project* holds of these."""
    mine: dict[tuple[str, bytes], int] = {}
    for memory in held.memories.values():
        if memory.project == project and memory.deleted_at is None:
            for text in (memory.content, *held.wordings.get(memory.id, ())):
                mine.setdefault((memory.kind, digest(text)), memory.id)
    named = held.named
    return Known(
        by_digest={key: mine[key] for key in digests if key in mine},
        by_external_id={key: named[project, *key] for key in external_ids if (project, *key) in named},
        near=_near(held, project, minhashes),
    )


def _near(held: Held, project: str, minhashes: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the live memories of *project* sharing a key with each minhash."""
    rows: dict[int, list[int]] = defaultdict(list)
    for row in sorted(held.terms):
        if held.memories[row].project == project:
            for key in held.terms[row].minhash:
                rows[key].append(row)
    found = (sorted({row for key in minhash for row in rows.get(key, ())}) for minhash in minhashes)
    return tuple(tuple(each[:ALIKE]) for each in found)


def browse(held: Held, scope: Scope, where: Filter, *, limit: int, offset: int) -> Page:
    """Return memories newest first."""
    found = sorted(held.admitted(scope, where), key=lambda memory: (memory.when, memory.id), reverse=True)
    return Page(ids=tuple(memory.id for memory in found[offset : offset + limit]), total=len(found))


def stats(held: Held, scope: Scope) -> StoreStats:
    """Count what is here."""
    mine = [memory for memory in held.memories.values() if in_scope(memory, scope)]
    live = [memory for memory in mine if memory.deleted_at is None]
    ids = {memory.id for memory in mine}
    return StoreStats(
        memories=len(live),
        forgotten=len(mine) - len(live),
        superseded=sum(memory.superseded_by is not None for memory in live),
        projects=dict(sorted(Counter(memory.project for memory in live).items())),
        types=dict(sorted(Counter(memory.type for memory in live).items())),
        sources=len({memory.source for memory in live if memory.source is not None}),
        variants=sum(len(texts) for row, texts in held.wordings.items() if row in ids),
        events=sum(event.memory_id in ids for event in held.events),
    )
