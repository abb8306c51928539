"""Keeping: tidy, redact, decide what is new, store. One transaction; nothing is discarded."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from recollect.records import EVERYTHING, NOTHING, Decision, Insert, Known, Memory, Merge, Revise, Write
from recollect.remember.dedup import Candidate, Verdict, judge
from recollect.remember.redact import redact
from recollect.remember.tidy import tidy
from recollect.stores.contract import Analyse, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What became of one draft: the memory that holds it, and why it is that one."""

    id: int
    decision: Decision
    of: int | None = None
    redacted: int = 0
    written: bool = True
    """Whether anything was written: not when the store held just this already."""
    evidence: Mapping[str, object] = field(default_factory=lambda: NOTHING)


def keep(
    drafts: Sequence[Memory], *, store: Store, analyse: Analyse, now: datetime, redacting: bool = True
) -> tuple[Kept, ...]:
    """Keep *drafts*, all or none, and return what became of each, in order."""
    ready = [_ready(draft, redacting=redacting) for draft in drafts]
    memories = [memory for memory, _ in ready]
    with store.transaction():
        verdicts = _decide(memories, store=store, analyse=analyse)
        new = [place for place, verdict in enumerate(verdicts) if verdict.decision not in _SAME]
        inserts = [Insert(memory=memories[place], detail=_detail(verdicts[place])) for place in new]
        ids = dict(zip(new, store.apply(inserts, at=now), strict=True))
        kept = [
            _kept(verdict, own=ids.get(place), of=_resolve(verdict.of, verdicts, ids), redacted=ready[place][1])
            for place, verdict in enumerate(verdicts)
        ]
        store.apply(_consequences(memories, kept, store=store), at=now)
    return tuple(kept)


_SAME = ("identical", "restates")


def _ready(draft: Memory, *, redacting: bool) -> tuple[Memory, int]:
    memory = tidy(draft)
    if not redacting:
        return memory, 0
    content, title = redact(memory.content), redact(memory.title)
    return replace(memory, content=content.text, title=title.text), content.count + title.count


def stands_alone(memory: Memory) -> bool:
    """Return whether *memory* is never merged: a record with its own id, or a turn of a conversation."""
    return memory.external_id is not None or memory.thread is not None


def _decide(memories: Sequence[Memory], *, store: Store, analyse: Analyse) -> list[Verdict]:
    """Return a verdict for each; `of` below 0 means -1 - the place of an earlier draft in this batch."""
    known, rivals = _known(memories, store), _rivals(memories, store, analyse)
    seen: dict[tuple[str, bytes], int] = {}
    verdicts = []
    for place, memory in enumerate(memories):
        if stands_alone(memory):
            verdicts.append(_record_verdict(memory, known))
            continue
        key = (memory.project, memory.digest)
        of = known[memory.project].by_digest.get(memory.digest, seen.get(key))
        if of is not None:
            verdicts.append(Verdict(decision="identical", of=of, evidence={"by": "content"}))
            continue
        seen[key] = -1 - place
        verdicts.append(judge(memory, rivals[place]))
    return verdicts


def _record_verdict(memory: Memory, known: Mapping[str, Known]) -> Verdict:
    of = known[memory.project].by_external_id.get(memory.external_id or "")
    return Verdict(decision="distinct" if of is None else "identical", of=of, evidence={"by": "external_id"})


def _known(memories: Sequence[Memory], store: Store) -> Mapping[str, Known]:
    by_project: dict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        by_project[memory.project].append(memory)
    return {
        project: store.known(
            project,
            digests=[memory.digest for memory in mine if not stands_alone(memory)],
            external_ids=[memory.external_id for memory in mine if memory.external_id is not None],
        )
        for project, mine in by_project.items()
    }


def _rivals(memories: Sequence[Memory], store: Store, analyse: Analyse) -> list[list[Candidate]]:
    """Return for each draft the memories, stored or earlier in this batch, that share much of its words."""
    sketches = [() if stands_alone(memory) else analyse(memory, ()).sketch for memory in memories]
    stored = _alike(memories, sketches, store)
    holders: dict[tuple[str, int], list[int]] = defaultdict(list)
    rivals = []
    for place, (memory, sketch) in enumerate(zip(memories, sketches, strict=True)):
        near = {other for key in sketch for other in holders[memory.project, key]}
        fresh = [_candidate(memories[other], (), row=-1 - other) for other in sorted(near)]
        rivals.append([*stored[place], *fresh])
        for key in sketch:
            holders[memory.project, key].append(place)
    return rivals


def _alike(memories: Sequence[Memory], sketches: Sequence[Sequence[int]], store: Store) -> list[list[Candidate]]:
    rows: list[tuple[int, ...]] = [()] * len(memories)
    for project in {memory.project for memory in memories}:
        places = [place for place, memory in enumerate(memories) if memory.project == project]
        found = store.alike(project, [sketches[place] for place in places])
        for place, near in zip(places, found, strict=True):
            rows[place] = near
    everyone = sorted({row for near in rows for row in near})
    held, wordings = store.load(everyone, scope=EVERYTHING), store.wordings(everyone, scope=EVERYTHING)
    return [
        [_candidate(held[row], wordings.get(row, ()), row=row) for row in near if not stands_alone(held[row])]
        for near in rows
    ]


def _candidate(memory: Memory, wordings: Sequence[str], *, row: int) -> Candidate:
    return Candidate(
        id=row,
        content=memory.content,
        wordings=tuple(wordings),
        confidence=memory.confidence,
        type=memory.type,
    )


def _detail(verdict: Verdict) -> Mapping[str, object]:
    """Return what the event of a new memory says of the decision."""
    plain = verdict.decision == "distinct" and not verdict.evidence.get("proposes")
    return NOTHING if plain else {"decision": verdict.decision, "of": verdict.of, **verdict.evidence}


def _resolve(of: int | None, verdicts: Sequence[Verdict], fresh: Mapping[int, int]) -> int | None:
    """Return the stored id behind *of*, which may name an earlier draft, itself perhaps merged into another."""
    while of is not None and of < 0:
        of = fresh.get(-1 - of, verdicts[-1 - of].of)
    return of


def _kept(verdict: Verdict, *, own: int | None, of: int | None, redacted: int) -> Kept:
    row = own if own is not None else of
    if row is None:
        raise AssertionError("what is the same as something has something to be the same as")
    return Kept(id=row, decision=verdict.decision, of=of, redacted=redacted, evidence=verdict.evidence)


def _consequences(memories: Sequence[Memory], kept: list[Kept], *, store: Store) -> list[Write]:
    """Return what the decisions change in other memories; mark in *kept* where nothing changed."""
    touched = sorted({each.of for each in kept if each.of is not None})
    held, wordings = store.load(touched, scope=EVERYTHING), store.wordings(touched, scope=EVERYTHING)
    said = {row: {held[row].digest, *(Memory(content=text).digest for text in wordings.get(row, ()))} for row in held}
    writes: list[Write] = []
    for place, (memory, outcome) in enumerate(zip(memories, kept, strict=True)):
        if outcome.of is None:
            continue
        old = held[outcome.of]
        write = _consequence(memory, outcome, old, said[old.id])
        if write is None:
            kept[place] = replace(outcome, written=False)
            continue
        if isinstance(write, Merge):
            said[old.id].add(memory.digest)
            old = replace(old, confidence=write.confidence)
        held[old.id] = old
        writes.append(write)
    return writes


def _consequence(memory: Memory, outcome: Kept, old: Memory, said: set[bytes]) -> Write | None:
    if outcome.decision == "updates":
        superseded = replace(old, superseded_by=outcome.id)
        return Revise(memory=superseded, verb="supersede", detail={"by": outcome.id, **outcome.evidence})
    if outcome.decision not in _SAME:
        return None
    if memory.external_id is not None:
        return _revision(memory, old)
    wording = None if memory.digest in said else memory.content
    confidence = max(old.confidence, memory.confidence)
    if wording is None and confidence == old.confidence:
        return None
    detail = {"decision": outcome.decision, "source": memory.source, **outcome.evidence}
    return Merge(id=old.id, confidence=confidence, wording=wording, detail=detail)


def _revision(memory: Memory, old: Memory) -> Write | None:
    """Return the change that makes the stored record say what the new one says, if it does not already."""
    lasting = {name: getattr(old, name) for name in ("id", "created_at", "updated_at", "deleted_at", "superseded_by")}
    new = replace(memory, **lasting)
    return None if new == old else Revise(memory=new)
