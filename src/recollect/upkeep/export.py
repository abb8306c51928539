"""Everything a store holds, one record after the other, in an order that does not change: what an archive is made from.

The records of an archive are plain JSON values, read from one state of the store. A reference to a memory or a fact
that the archive leaves out is 0. What a model made (tokens, vectors) is made again from the memories; vectors that
callers brought are in the archive, for nobody could make them again.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import asdict

from recollect.records import (
    ALL_PROJECTS,
    ARCHIVE_VERSION,
    ARCHIVED_NOTES,
    LAST_INJECTED,
    LEDGER,
    MEMORY_REFERENCES,
    Event,
    Fact,
    FactQuery,
    Filter,
    Generation,
    Memory,
    Passage,
    Progress,
    Recalled,
    Scope,
    Source,
    facts_by_memory,
)
from recollect.stores.contract import Store

BATCH: Final = 500
Record = dict[str, Any]


def exported(store: Store, *, scope: Scope) -> Iterator[tuple[Memory, tuple[str, ...]]]:
    """Yield every memory that is not forgotten with its other wordings, oldest id first, superseded ones too."""
    ids = sorted(store.browse(scope=scope, where=Filter(include_superseded=True), limit=2**62).ids)
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        memories, wordings = store.load(batch, scope=scope), store.wordings(batch, scope=scope)
        yield from ((memory, wordings.get(row, ())) for row, memory in memories.items())


def archive(
    store: Store,
    *,
    scope: Scope,
    everything: bool = False,
    vectors: bool = False,
    progress: Progress | None = None,
) -> Iterator[Record]:
    """Yield the records of an archive of *store* as it is now: a header, what it holds, and an end.

    *everything* adds forgotten memories, the recall log, lenses, tunings and the ledgers of sessions; *vectors* those
    that models made.
    """
    snapshot = store.snapshot()
    try:
        yield _record("header", all=everything, projects=_plain(scope))
        archiver = _Archiver(store=snapshot, scope=scope, everything=everything, vectors=vectors)
        count = 0
        for record in archiver.records():
            count += 1
            if progress is not None and count <= len(archiver.ids):
                progress(count, len(archiver.ids), "memories")
            yield record
        yield _record("end", memories=len(archiver.ids), records=count)
    finally:
        snapshot.close()


def _record(record: str, **values: Any) -> Record:
    return {"recollect": ARCHIVE_VERSION, "record": record, **values}


class _Archiver(Struct, kw_only=True):
    """A store being archived, and the ids that the archive speaks of."""

    store: Store
    scope: Scope
    everything: bool
    vectors: bool
    ids: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    """The ids of all that the scope holds, archived or not."""
    facts: set[int] = field(default_factory=set)

    def records(self) -> Iterator[Record]:
        """Yield what stands between the header and the end."""
        self.seen = set(self._all_ids())
        rows = sorted(self.seen if self.everything else self._live_ids())
        self.ids = set(rows)
        for start in range(0, len(rows), BATCH):
            yield from self._memories(rows[start : start + BATCH])
        projects = self.store.projects() if self.scope.projects is None else sorted(self.scope.projects)
        for project in projects:
            for name, source in self.store.sources(below="/", project=project).items():
                yield from self._source(name, source, project)
        if self.everything:
            yield from self._recalls()
            for project in projects:
                yield from self._notes(project)

    def _live_ids(self) -> Sequence[int]:
        return self.store.browse(scope=self.scope, where=Filter(include_superseded=True), limit=2**62).ids

    def _all_ids(self) -> Iterator[int]:
        last = 0
        while batch := self.store.ids(scope=self.scope, after=last, limit=BATCH):
            yield from batch
            last = batch[-1]

    def _memories(self, rows: Sequence[int]) -> Iterator[Record]:
        store, scope = self.store, self.scope
        wordings, events = store.wordings(rows, scope=scope), store.history(rows, scope=scope)
        asked = FactQuery(memory_ids=tuple(rows), include_superseded=True, include_forgotten=True)
        facts, vectors = facts_by_memory(store.facts(asked, scope=scope)), self._vectors(rows)
        for row, memory in store.load(rows, scope=scope).items():
            stated = facts.get(row, ())
            known = {fact.id for fact in stated}
            self.facts |= known
            record = _record("memory", **_plain(memory))
            if memory.superseded_by is not None:
                record["superseded_by"] = self._known(memory.superseded_by)
            record["wordings"] = list(wordings.get(row, ()))
            record["facts"] = [_without(fact, "memory_id") for fact in stated]
            record["events"] = [self._event(event, known) for event in events.get(row, ())]
            yield {**record, "vectors": vectors[row]} if row in vectors else record

    def _known(self, row: int) -> int:
        return row if row in self.ids else 0

    def _event(self, event: Event, facts: set[int]) -> Record:
        detail: Record = _plain(event.detail)
        for name in MEMORY_REFERENCES & detail.keys():
            detail[name] = self._known(detail[name]) if isinstance(detail[name], int) else detail[name]
        if "fact" in detail and detail["fact"] not in facts:
            detail["fact"] = 0
        return {"verb": event.verb, "at": _plain(event.at), "detail": detail}

    def _vectors(self, rows: Sequence[int]) -> dict[int, list[Record]]:
        """Return the vectors of *rows* that are archived, those of the oldest generation first."""
        found: dict[int, list[Record]] = {}
        for generation in reversed(self.store.generations(scope=self.scope)):
            if generation.is_external or self.vectors:
                held = self.store.vectors(generation.fingerprint, rows, scope=self.scope, include_forgotten=True)
                for row, passages in held.items():
                    found.setdefault(row, []).append(_vector(generation, passages))
        return found

    def _source(self, name: str, source: Source, project: str) -> Iterator[Record]:
        """Yield a source that was imported for *project*; of its pieces only what the reader may see."""
        whole = self.scope == ALL_PROJECTS
        pieces = [
            {**_plain(piece), "memory_id": self._known(piece.memory_id)}
            for piece in source.pieces
            if whole or piece.memory_id in self.seen
        ]
        if pieces:
            values = _without(source, "pieces")
            yield _record("source", project=project, source=name, **values, pieces=pieces)

    def _recalls(self) -> Iterator[Record]:
        offset = 0
        while batch := self.store.recalls(scope=self.scope, oldest_first=True, offset=offset, limit=BATCH):
            for recall in batch:
                values = _without(recall, "hits")
                yield _record("recall", **values, hits=[self._hit(hit) for hit in recall.hits])
            offset += len(batch)

    def _hit(self, hit: Recalled) -> Record:
        facts = [row if row in self.facts else 0 for row in hit.fact_ids]
        return {**_plain(hit), "memory_id": self._known(hit.memory_id), "fact_ids": facts}

    def _is_known(self, key: str) -> bool:
        """Tell whether *key* of a ledger is its moment, or the id of a memory that is exported."""
        return key == LAST_INJECTED or (key.isdecimal() and bool(self._known(int(key))))

    def _notes(self, project: str) -> Iterator[Record]:
        for kind in ARCHIVED_NOTES:
            for name, value in self.store.notes(kind, project=project).items():
                told = {row: each for row, each in value.items() if kind != LEDGER or self._is_known(row)}
                yield _record("note", project=project or None, kind=kind, name=name, value=_plain(told))


def _vector(generation: Generation, passages: Sequence[Passage]) -> Record:
    about = {name: getattr(generation, name) for name in ("fingerprint", "dimensions", "model")}
    weights = list(generation.context_weights or ())
    parts = [[each.start, each.stop, b64encode(each.vector).decode()] for each in passages]
    return {**about, "context_weights": weights, "passages": parts}


def _without(value: Fact | Any, *names: str) -> Record:
    return {name: each for name, each in _plain(value).items() if name not in names}


def _plain(value: Any) -> Any:
    """Return *value* as JSON has it: every field of a frozen value, moments as ISO, bytes as hexadecimal digits."""
    if isinstance(value, datetime | bytes):
        return value.hex() if isinstance(value, bytes) else value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, Scope):
        return None if value.projects is None else sorted(value.projects)
    return {name: _plain(each) for name, each in asdict(value).items()} if isinstance(value, Struct) else value
