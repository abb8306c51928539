"""Keeping: tidy, redact, decide what is new, store. One transaction; nothing is discarded."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from recollect.records import ALL_PROJECTS, NOTHING, Decision, Fact, Insert, Memory, Merge, Revise, Write
from recollect.remember.clean import tidy
from recollect.remember.dedup import Candidate, Verdict, judge
from recollect.remember.facts import extract
from recollect.remember.redact import redact_memory
from recollect.stores.contract import ALIKE, Analyse, Store
from recollect.text.tokenizer import word_set


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


Judging = Callable[[Memory, Sequence[Candidate]], Verdict]
"""How a draft is told from the memories that share much of its words."""
States = Callable[[Memory], tuple[Fact, ...]]
"""How the facts of a memory are found."""
BATCH: Final = 500
"""How many drafts are decided on and written together; those before them are stored by then."""


def keep(
    drafts: Sequence[Memory],
    *,
    store: Store,
    analyse: Analyse,
    now: datetime,
    redacting: bool = True,
    states: States = extract,
    judging: Judging = judge,
) -> tuple[Kept, ...]:
    """Keep *drafts* with what they state, all or none, and return what became of each, in order."""
    ready = [_ready(draft, redacting=redacting) for draft in drafts]
    kept: list[Kept] = []
    with store.transaction():
        for start in range(0, len(ready), BATCH):
            batch = ready[start : start + BATCH]
            verdicts = _decide([memory for memory, _ in batch], store=store, analyse=analyse, judging=judging)
            kept += _keep_batch(batch, verdicts, store=store, now=now, states=states)
    return tuple(kept)


def _keep_batch(
    ready: Sequence[tuple[Memory, int]], verdicts: Sequence[Verdict], *, store: Store, now: datetime, states: States
) -> list[Kept]:
    memories = [memory for memory, _ in ready]
    new = [place for place, verdict in enumerate(verdicts) if verdict.decision not in _SAME]
    ids: dict[int, int] = {}
    for run in _runs(new, verdicts):
        details = [_detail(verdicts[place], of=_resolve(verdicts[place].of, verdicts, ids)) for place in run]
        inserts = [
            Insert(memory=memories[place], facts=states(memories[place]), detail=detail)
            for place, detail in zip(run, details, strict=True)
        ]
        ids.update(zip(run, store.apply(inserts, at=now), strict=True))
    kept = [
        _kept(verdict, own=ids.get(place), of=_resolve(verdict.of, verdicts, ids), redacted=ready[place][1])
        for place, verdict in enumerate(verdicts)
    ]
    consequences = _consequences(memories, kept, store=store, states=states)
    if consequences:
        store.apply(consequences, at=now)
    return kept


_SAME = ("identical", "restates")


def _ready(draft: Memory, *, redacting: bool) -> tuple[Memory, int]:
    memory = tidy(draft)
    redacted = redact_memory(memory) if redacting else None
    return (redacted.memory, redacted.count) if redacted else (memory, 0)


def stands_alone(memory: Memory) -> bool:
    """Return whether *memory* is never merged: a record with its own id, or a turn of a conversation."""
    return memory.external_id is not None or memory.thread is not None


def _decide(memories: Sequence[Memory], *, store: Store, analyse: Analyse, judging: Judging) -> list[Verdict]:
    """Return a verdict for each; `of` below 0 means -1 - the place of an earlier draft in this batch."""
    keys = [_key(memory) for memory in memories]
    known, rivals = _known(keys, store), _rivals(memories, store, analyse)
    verdicts = []
    for place, (memory, key) in enumerate(zip(memories, keys, strict=True)):
        of = None if key is None else known.setdefault(key, -1 - place)
        if key is not None and of != -1 - place:
            by = "content" if isinstance(key[2], bytes) else "external_id"
            verdicts.append(Verdict(decision="identical", of=of, evidence={"by": by}))
        else:
            verdicts.append(_ALONE if stands_alone(memory) else judging(memory, rivals[place]))
    return verdicts


_ALONE = Verdict(decision="distinct", evidence={"by": "external_id"})
_Key = tuple[str, str, str | bytes]


def _key(memory: Memory) -> _Key | None:
    """Return what makes *memory* the same as another: its id in project and kind, or its words; a turn has none."""
    if memory.external_id is not None:
        return memory.project, memory.kind, memory.external_id
    return None if stands_alone(memory) else (memory.project, memory.kind, memory.digest)


def _known(keys: Iterable[_Key | None], store: Store) -> dict[_Key, int]:
    """Return the stored memory behind each of *keys* that has one."""
    by_project: dict[str, list[tuple[str, str | bytes]]] = defaultdict(list)
    for project, kind, name in filter(None, keys):
        by_project[project].append((kind, name))
    known: dict[_Key, int] = {}
    for project, names in by_project.items():
        held = store.known(
            project,
            digests=[(kind, name) for kind, name in names if isinstance(name, bytes)],
            external_ids=[(kind, name) for kind, name in names if isinstance(name, str)],
        )
        known |= {(project, *key): row for key, row in held.by_digest.items()}
        known |= {(project, *key): row for key, row in held.by_external_id.items()}
    return known


def _rivals(memories: Sequence[Memory], store: Store, analyse: Analyse) -> list[list[Candidate]]:
    """Return for each draft the memories, stored or earlier in this batch, that share much of its words."""
    minhashes = [() if stands_alone(memory) else analyse(memory, ()).minhash for memory in memories]
    stored = _alike(memories, minhashes, store)
    holders: dict[tuple[str, int], list[int]] = defaultdict(list)
    rivals = []
    for place, (memory, minhash) in enumerate(zip(memories, minhashes, strict=True)):
        near = {other for key in minhash for other in holders[memory.project, key][-ALIKE:]}
        fresh = [_candidate(memories[other], (), row=-1 - other) for other in sorted(near)]
        rivals.append(_nearest(memory, [*stored[place], *fresh]))
        for key in minhash:
            holders[memory.project, key].append(place)
    return rivals


NEAREST: Final = 5
"""How many of those that share much of its words a draft is compared with, word for word."""


def _nearest(memory: Memory, rivals: list[Candidate]) -> list[Candidate]:
    """Return the few of *rivals* that share most; lines made from one pattern would all be rivals."""
    if len(rivals) <= NEAREST:
        return rivals
    ours = word_set(memory.content)

    def share(rival: Candidate) -> float:
        theirs = map(word_set, (rival.content, *rival.wordings))
        return max(len(ours & other) / max(1, len(ours | other)) for other in theirs)

    return sorted(rivals, key=share, reverse=True)[:NEAREST]


def _alike(memories: Sequence[Memory], minhashes: Sequence[Sequence[int]], store: Store) -> list[list[Candidate]]:
    rows: list[tuple[int, ...]] = [()] * len(memories)
    for project in {memory.project for memory in memories}:
        places = [place for place, memory in enumerate(memories) if memory.project == project]
        found = store.known(project, minhashes=[minhashes[place] for place in places]).near
        for place, near in zip(places, found, strict=True):
            rows[place] = near
    everyone = sorted({row for near in rows for row in near})
    held, wordings = store.load(everyone, scope=ALL_PROJECTS), store.wordings(everyone, scope=ALL_PROJECTS)
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
        section=memory.section,
        when=memory.when,
    )


def _runs(new: Sequence[int], verdicts: Sequence[Verdict]) -> Iterator[list[int]]:
    """Yield stretches of *new* in which no draft is told from another: that one needs an id first."""
    run: list[int] = []
    for place in new:
        of = verdicts[place].of
        if run and of is not None and of < 0 and -1 - of >= run[0]:
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def _detail(verdict: Verdict, *, of: int | None) -> Mapping[str, object]:
    """Return what the event of a new memory says of the decision."""
    told = {**verdict.evidence, "of": of}
    # An earlier draft of the same batch may have no id yet, and a mere resemblance does not wait for one.
    known = {key: each for key, each in told.items() if each is not None and not _is_place(each)}
    return (
        NOTHING
        if verdict.decision == "distinct" and "proposes" not in known
        else {"decision": verdict.decision, **known}
    )


def _is_place(value: object) -> bool:
    return isinstance(value, int) and value < 0


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


def _consequences(memories: Sequence[Memory], kept: list[Kept], *, store: Store, states: States) -> list[Write]:
    """Return what the decisions change in other memories; mark in *kept* where nothing changed."""
    touched = sorted({each.of for each in kept if each.of is not None})
    held, wordings = store.load(touched, scope=ALL_PROJECTS), store.wordings(touched, scope=ALL_PROJECTS)
    said = {row: {held[row].digest, *(Memory(content=text).digest for text in wordings.get(row, ()))} for row in held}
    writes: list[Write] = []
    for place, (memory, outcome) in enumerate(zip(memories, kept, strict=True)):
        if outcome.of is None:
            continue
        old = held[outcome.of]
        write = _consequence(memory, outcome, old, said[old.id], states)
        if write is None:
            kept[place] = replace(outcome, written=outcome.decision not in _SAME)
            continue
        if isinstance(write, Merge):
            said[old.id].add(memory.digest)
            held[old.id] = replace(old, confidence=write.confidence)
        elif isinstance(write, Revise):
            held[old.id] = write.memory
        writes.append(write)
    return writes


def _consequence(memory: Memory, outcome: Kept, old: Memory, said: set[bytes], states: States) -> Write | None:
    if outcome.decision == "updates":
        superseded = replace(old, superseded_by=outcome.id)
        return Revise(memory=superseded, verb="supersede", detail={"by": outcome.id, **outcome.evidence})
    if outcome.decision not in _SAME:
        return None
    if memory.external_id is not None:
        return _revision(memory, old, states)
    wording = None if memory.digest in said else memory.content
    confidence = max(old.confidence, memory.confidence)
    if wording is None and confidence == old.confidence:
        return None
    detail = {"decision": outcome.decision, "source": memory.source, **outcome.evidence}
    return Merge(id=old.id, confidence=confidence, wording=wording, detail=detail)


def _revision(memory: Memory, old: Memory, states: States) -> Write | None:
    """Return the change that makes the stored record say what the new one says, if it does not already."""
    lasting = {
        name: getattr(old, name)
        for name in ("id", "created_at", "updated_at", "deleted_at", "superseded_by", "superseded_at")
    }
    new = replace(memory, **lasting)
    return None if new == old else Revise(memory=new, facts=states(new))
