"""Restore an archive that recollect wrote: record by record, with everything that was archived, in one transaction.

An empty store keeps the ids of the archive. Elsewhere each memory and fact gets an id of its own, and every reference
(successors, events, facts, pieces of sources, the log, ledgers) is mapped to it. A memory that refers to one further
down is written a second time, once all ids are known.

A memory that the store holds already is recognized by its birth and its first words, else by its external id, else by
its words. It stays as it is unless the archive knows how it went on. Only ids are kept in memory, never the archive.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from recollect.arguments import storable
from recollect.errors import FileError, InputError
from recollect.records import (
    ALL_PROJECTS,
    ARCHIVE_VERSION,
    ARCHIVED_NOTES,
    LAST_INJECTED,
    LEDGER,
    MEMORY_REFERENCES,
    NEVER,
    Event,
    Fact,
    FactQuery,
    Memory,
    Piece,
    Progress,
    Recall,
    Recalled,
    Reinstate,
    Scope,
)
from recollect.remember.archive_records import (
    ArchivedMemory,
    ArchivedNote,
    ArchivedPiece,
    ArchivedSource,
    memory_of,
    read_record,
    recall_of,
)
from recollect.remember.clean import chain
from recollect.remember.context import DEFAULT, Draft, IngestContext
from recollect.remember.formats import decode
from recollect.remember.ingest import secrets_of
from recollect.remember.match_archive import find_existing, later_changes, variants
from recollect.remember.redact import FoundSecret, digests_of, redact_name
from recollect.remember.sources import SourceFile, SourceIndex
from recollect.trust import capped, level, may_change

RECORDS_PER_BATCH: Final = 500
MAX_LINE_BYTES: Final = 256 * 1024 * 1024
_BEGIN: Final = re.compile(rb'\s*\{"recollect": ?(\d+)\b')


def archive_version(path: Path) -> int | None:
    """Return the format version of the archive at *path*; None where it is not an archive."""
    try:
        if not path.is_file():  # opening a pipe would wait for its other end
            return None
        with path.open("rb") as file:
            begin = _BEGIN.match(file.read(100))
    except (OSError, ValueError):
        return None
    return int(begin[1]) if begin else None


class Restored(Struct, kw_only=True):
    """What became of an archive: its memories by what was done with them, redacted secrets, and problems."""

    memories: Counter[str] = field(default_factory=Counter)
    secrets: list[FoundSecret] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def restore_archive(path: Path, index: SourceIndex, progress: Progress | None = None) -> Restored:
    """Restore the archive at *path*, all or nothing; an unreadable line is reported and stops no other."""
    version = archive_version(path)
    if version is not None and version > ARCHIVE_VERSION:
        raise FileError(f"{path} was written by a newer recollect (form {version})", hint="upgrade recollect")
    if version is not None and version < ARCHIVE_VERSION:
        raise FileError(f"{path} is not an archive that can be read (form {version})", hint="export the store again")
    try:
        with path.open("rb") as file, index.store.transaction():
            restoring = _Restoring(index=index, file=file, progress=progress)
            restoring.run(path.stat().st_size)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}", hint="check the rights of the file") from error
    return restoring.done


class _Line(Struct, frozen=True, kw_only=True):
    """One record of an archive, and where it is."""

    number: int
    offset: int
    record: Mapping[str, Any]


class _Item(Struct, kw_only=True):
    """A memory of an archive ready to be put back, what else the archive says of it, and its first words there."""

    line: _Line
    draft: Draft
    about: ArchivedMemory
    first_words: frozenset[str]
    row: int = 0
    """The memory that it is here."""
    held: bool = False
    """Whether that is the same memory by its birth."""
    written: bool = False

    @property
    def memory(self) -> Memory:
        return self.draft.memory


class _Ids(Struct, kw_only=True):
    """The id that each memory or fact of the archive has here."""

    kept: bool = False
    """Whether ids stay as they are, because the store was empty."""
    here: dict[int, int] = field(default_factory=dict)

    def fresh(self, archived: int) -> int:
        """Return the id to give to *archived*; 0 asks for a new one."""
        return archived if self.kept and archived not in self.here else 0

    def of(self, archived: int) -> int:
        """Return the id of *archived* here, 0 where there is none. Where ids are kept, a later one has its own."""
        return self.here.get(archived, 0) or (archived if self.kept else 0)

    def lacks(self, archived: object) -> bool:
        """Return whether *archived* is an id that has no counterpart yet."""
        return type(archived) is int and archived != 0 and not self.kept and archived not in self.here


class _Restoring(Struct, kw_only=True):
    """An archive being restored in the caller's transaction."""

    index: SourceIndex
    file: BinaryIO
    progress: Progress | None
    done: Restored = field(default_factory=Restored)
    memories: _Ids = field(default_factory=_Ids)
    facts: _Ids = field(default_factory=_Ids)
    matched: set[int] = field(default_factory=set)
    unresolved: dict[int, int] = field(default_factory=dict)
    """The offsets of lines that refer to a memory or fact without an id here yet, and the memory made of each."""
    successors: dict[int, int] = field(default_factory=dict)
    logged: Counter[int] | None = None
    records: int = 0

    @property
    def context(self) -> IngestContext:
        return self.index.context

    def run(self, size: int) -> None:
        """Restore every record in batches of one kind, then once more what refers to later memories."""
        batch: list[_Line] = []
        kind = ""
        for line in self._lines(size):
            before, kind = kind, line.record["record"]
            if batch and (kind != before or len(batch) == RECORDS_PER_BATCH):
                self._restore(before, batch)
                batch = []
            batch.append(line)
        if batch:
            self._restore(kind, batch)
            if kind != "end":
                self.done.problems.append("the archive ends early: what should follow its last line is missing")
        self._resolve()

    def _lines(self, size: int) -> Iterator[_Line]:
        number = offset = 0
        while raw := self.file.readline(MAX_LINE_BYTES):
            number, here, offset = number + 1, offset, offset + len(raw)
            if self.progress is not None and (number % RECORDS_PER_BATCH == 0 or offset == size):
                self.progress(offset, size, "bytes")
            try:
                record = decode(raw.decode("utf-8")) if raw.strip() else None
            except ValueError:
                record = raw
            if isinstance(record, dict) and str(record.get("record")) in _KINDS:
                yield _Line(number=number, offset=here, record=record)
            elif record is not None:
                self.done.problems.append(f"line {number}: not a record of an archive")

    def _restore(self, kind: str, lines: Sequence[_Line]) -> None:
        if kind not in ("header", "end"):
            self.records += len(lines)
        # Everything but memories speaks for the owner, so only the owner may bring it.
        if kind in ("header", "memory", "end") or self.context.trust == "owner":
            _KINDS[kind](self, lines)

    def _each(self, lines: Sequence[_Line], restore: Callable[[Mapping[str, Any]], None]) -> None:
        """Restore the record of each line; one that is refused is a problem."""
        for line in lines:
            try:
                restore(line.record)
            except InputError as error:
                self.done.problems.append(f"line {line.number}: {error}")

    # --- headers and ends -------------------------------------------------------------------

    def _begin(self, _: Sequence[_Line]) -> None:
        """Begin an archive: a file may hold several, one after the other."""
        self._resolve()
        store = self.index.store
        new = not (store.stats(scope=ALL_PROJECTS).newest or store.recalls(scope=ALL_PROJECTS, limit=1))
        self.memories, self.facts = _Ids(kept=new), _Ids(kept=new)
        self.records = 0

    def _end(self, lines: Sequence[_Line]) -> None:
        stated = lines[0].record.get("records")
        if stated != self.records:
            self.done.problems.append(f"the archive had {stated} records, {self.records} are here")

    # --- memories ---------------------------------------------------------------------------

    def _memories(self, lines: Sequence[_Line]) -> None:
        items = list(filter(None, map(self._read, lines)))
        if not self.memories.kept:
            self._match_births(items)
            self._match_words([item for item in items if not item.row])
        made: list[_Item] = []
        writes: list[Reinstate] = []
        for item in items:
            if item.row and not (item.held and self._goes_on(item)):
                continue
            row = item.row or self.memories.fresh(item.about.id)
            if row and item.about.id:
                self.memories.here[item.about.id] = row
            if self._is_unresolved(item.about):
                self.unresolved[item.line.offset] = 0
            writes.append(self._reinstated(item, row))
            made.append(item)
        rows = self.index.store.apply(writes, at=self.context.now)
        for item, write, row in zip(made, writes, rows, strict=True):
            item.row, item.written = row, True
            if write.memory.superseded_by:
                self.successors[row] = write.memory.superseded_by
        for item in items:
            self._settle(item)

    def _settle(self, item: _Item) -> None:
        """Note which memory an item is here, and count what became of it."""
        if item.about.id:
            self.memories.here.setdefault(item.about.id, item.row)
        self.done.memories[("updated" if item.held else "new") if item.written else "unchanged"] += 1
        self.done.secrets += secrets_of(item.draft, item.row) if item.written else ()
        if item.line.offset in self.unresolved:
            self.unresolved[item.line.offset] = item.row
        if item.about.facts and not self.facts.kept:
            asked = FactQuery(memory_ids=(item.row,), include_superseded=True, include_forgotten=True)
            held = {_said(fact): fact.id for fact in self.index.store.facts(asked, scope=ALL_PROJECTS)}
            pairs = ((fact.id, held.get(_said(fact), 0)) for fact in item.about.facts)
            self.facts.here |= {archived: here for archived, here in pairs if here}

    def _read(self, line: _Line) -> _Item | None:
        """Return the memory of *line*, cleaned and redacted like every text; None where it is refused."""
        try:
            memory, about = memory_of(line.record), read_record(line.record, ArchivedMemory)
            if self.context.trust != "owner" and about.events:  # only the owner says what a memory is worth
                about = replace(about, events=tuple(each for each in about.events if each.verb not in _JUDGING))
            first = _first_words(memory, about.events or ())
            draft = self.context.prepare(self.context.assign(memory, trust=memory.trust))
            about = self._redacted_parts(about)
        except InputError as error:
            self.done.problems.append(f"line {line.number}: {error}")
            return None
        first_words = frozenset({first, _first_words(draft.memory, about.events or ())})
        return _Item(line=line, draft=draft, about=about, first_words=first_words)

    def _redacted_parts(self, about: ArchivedMemory) -> ArchivedMemory:
        """Return wordings, facts and events cleaned and redacted like the memory itself."""
        facts, events = about.facts or (), about.events or ()
        texts = self._redacted(
            {
                "wordings": list(about.wordings),
                "facts": [[getattr(fact, name) for name in _FACT_TEXTS] for fact in facts],
                "events": [dict(event.detail) for event in events],
            }
        )
        pairs = zip(facts, texts["facts"], strict=True)
        return replace(
            about,
            wordings=tuple(texts["wordings"]),
            facts=about.facts
            and tuple(replace(fact, **dict(zip(_FACT_TEXTS, said, strict=True))) for fact, said in pairs),
            events=about.events
            and tuple(replace(event, detail=each) for event, each in zip(events, texts["events"], strict=True)),
        )

    def _reinstated(self, item: _Item, row: int) -> Reinstate:
        """Return the write that puts *item* back as memory *row*, with every id mapped."""
        memory, about, now = item.memory, item.about, self.context.now
        born = now if memory.created_at == NEVER else memory.created_at
        added = Event(memory_id=0, verb="add", at=now, detail={"decision": "restored"})
        facts = (
            self.context.facts(memory)
            if about.facts is None
            else tuple(self._fact(each, memory) for each in about.facts)
        )
        return Reinstate(
            memory=replace(
                memory,
                id=row,
                created_at=born,
                updated_at=born if memory.updated_at == NEVER else memory.updated_at,
                superseded_by=self._successor(row, about.superseded_by),
            ),
            wordings=about.wordings,
            facts=self.context.facts(memory) if facts is None else facts,
            events=(added,) if about.events is None else tuple(map(self._event, about.events)),
            vectors=tuple(each.stored() for each in about.vectors if each.is_whole),
        )

    def _successor(self, row: int, archived: int | None) -> int | None:
        """Return what superseded memory *row*; None where that would close a circle, which hides all of it."""
        by = None if archived is None else self.memories.of(archived)
        if by and row in chain(by, self.successors):
            return None
        if by and row:
            self.successors[row] = by
        return by

    def _fact(self, fact: Fact, memory: Memory) -> Fact:
        row = self.facts.fresh(fact.id) if self.facts.kept else self.facts.of(fact.id)
        if self.facts.kept and row:
            self.facts.here[fact.id] = row
        return Fact(**{**asdict(fact), "id": row, "confidence": capped(fact.confidence, memory.trust)})

    def _event(self, event: Event) -> Event:
        detail: dict[str, Any] = dict(event.detail)
        for name in MEMORY_REFERENCES & detail.keys():
            if type(detail[name]) is int:
                detail[name] = self.memories.of(detail[name])
        if type(detail.get("fact")) is int:
            detail["fact"] = self.facts.of(detail["fact"])
        return replace(event, detail=detail)

    def _is_unresolved(self, about: ArchivedMemory) -> bool:
        """Return whether a record refers to a memory or a fact that has no id here yet."""
        details = [event.detail for event in about.events or ()]
        named = [about.superseded_by, *(each.get(name) for each in details for name in MEMORY_REFERENCES)]
        return any(map(self.memories.lacks, named)) or any(self.facts.lacks(each.get("fact")) for each in details)

    def _resolve(self) -> None:
        """Write the memories again that referred to one without an id."""
        after = self.file.tell()
        offsets = sorted(self.unresolved)
        for start in range(0, len(offsets), RECORDS_PER_BATCH):
            writes = []
            for offset in offsets[start : start + RECORDS_PER_BATCH]:
                self.file.seek(offset)
                record: Any = decode(self.file.readline(MAX_LINE_BYTES).decode())
                item = self._read(_Line(number=0, offset=offset, record=record))
                if item is not None:
                    writes.append(self._reinstated(item, self.unresolved[offset]))
            self.index.store.apply(writes, at=self.context.now)
        self.unresolved.clear()
        self.file.seek(after)

    # --- what is here already ---------------------------------------------------------------

    def _match_births(self, items: Sequence[_Item]) -> None:
        """Find the memory here that is the same one: of the same birth and with the same first words.

        Of several, those at the same place come first, and they are taken in their order.
        """
        store = self.index.store
        born: dict[tuple[str, str, datetime], tuple[int, ...]] = {}
        for project in sorted({item.memory.project for item in items}):
            births = {_birth(item.memory) for item in items if item.memory.project == project}
            known = store.known(project, births=sorted(births)).by_birth
            born |= {(project, *birth): rows for birth, rows in known.items()}
        rows = sorted({row for each in born.values() for row in each} - self.matched)
        held = store.load(rows, scope=ALL_PROJECTS) if rows else {}
        events = store.history(rows, scope=ALL_PROJECTS) if rows else {}
        for item in items:
            place = _place(item.memory)
            same = [row for row in born.get((item.memory.project, *_birth(item.memory)), ()) if row in held]
            same = [row for row in same if row not in self.matched]
            same = [row for row in same if _first_words(held[row], events.get(row, ())) in item.first_words]
            if same:
                item.row, item.held = min(same, key=lambda row: (_place(held[row]) != place, row)), True
                self.matched.add(item.row)

    def _goes_on(self, item: _Item) -> bool:
        """Return whether the archive knows all that happened to a memory here, and more, and may say so."""
        old = self.index.store.load([item.row], scope=ALL_PROJECTS)[item.row]
        if not may_change(self.context.trust, old) or level(item.memory.trust) < level(old.trust):
            return False
        held = self.index.store.history([item.row], scope=ALL_PROJECTS).get(item.row, ())
        archived = item.about.events or ()
        same = all((a.verb, a.at) == (b.verb, b.at) for a, b in zip(held, archived, strict=False))
        return same and len(archived) > len(held)

    def _match_words(self, items: Sequence[_Item]) -> None:
        """Find the *items* that are here by external id or words, and bring them what is new."""
        store, context = self.index.store, self.context
        found = find_existing([item.memory for item in items], store)
        found = {at: row for at, row in found.items() if row not in self.matched}
        if not found:
            return
        held = store.load(sorted(set(found.values())), scope=ALL_PROJECTS)
        changes = later_changes({row: items[at].memory for at, row in found.items()}, held, context)
        wordings = [(row, items[at].memory, items[at].about.wordings) for at, row in found.items()]
        store.apply([*changes.values(), *variants(wordings, held, context)], at=context.now)
        for at, row in found.items():
            items[at].row = row

    # --- everything else --------------------------------------------------------------------

    def _source(self, record: Mapping[str, Any]) -> None:
        source = read_record(record, ArchivedSource)
        name, root = self.context.source_name(storable(source.source)), self.context.source_name(source.root)
        project = self._project(source.project, DEFAULT)
        if not self.index.store.pieces(name, project=project, limit=1):
            file = SourceFile(name=name, fingerprint=source.fingerprint, device=source.device, root=root)
            self.index.record(file, map(self._piece, source.pieces), project=project)

    def _project(self, name: str | None, default: str) -> str:
        """Return the project that a record goes to: the one chosen, else its own."""
        return self.context.project or (self._named(name) if name else default)

    def _named(self, name: str) -> str:
        """Return a name under which something is stored, redacted."""
        kept = storable(name)
        return redact_name(kept, digests_of(self.index.store)).text if self.context.redact else kept

    def _piece(self, piece: ArchivedPiece) -> Piece:
        row = self.memories.of(piece.memory_id)
        return Piece(digest=bytes.fromhex(piece.digest), memory_id=row, section=piece.section, gone=piece.gone)

    def _recalls(self, lines: Sequence[_Line]) -> None:
        logged = self.logged
        if logged is None:
            logged = self.logged = Counter() if self.memories.kept else Counter(map(_key, self._held_recalls()))
        fresh: list[Recall] = []

        def restore(record: Mapping[str, Any]) -> None:
            recall = recall_of(record)
            kept = self._redacted_recall(recall)
            known = next((key for key in (_key(recall), _key(kept)) if logged[key] > 0), None)
            if known is None:
                fresh.append(replace(kept, hits=tuple(map(self._hit, kept.hits))))
            else:
                logged[known] -= 1

        self._each(lines, restore)
        self.index.store.log_recall(fresh)

    def _held_recalls(self) -> Iterator[Recall]:
        offset = 0
        while page := self.index.store.recalls(scope=self.context.scope, limit=RECORDS_PER_BATCH, offset=offset):
            yield from page
            offset += len(page)

    def _redacted_recall(self, recall: Recall) -> Recall:
        names = {name: self._named(value) for name in ("session", "lens") if (value := getattr(recall, name))}
        here = self.context.project
        scope = recall.scope if here is None else Scope(projects=frozenset({here}))
        return replace(recall, **self._redacted({"query": recall.query}), **names, scope=scope)

    def _redacted(self, texts: Mapping[str, object]) -> Mapping[str, Any]:
        """Return *texts*, however deep, cleaned and redacted like those of a memory."""
        return self.context.prepare(Memory(content="-", metadata=texts)).memory.metadata

    def _hit(self, hit: Recalled) -> Recalled:
        facts = tuple(map(self.facts.of, hit.fact_ids))
        return replace(hit, memory_id=self.memories.of(hit.memory_id), fact_ids=facts)

    def _note(self, record: Mapping[str, Any]) -> None:
        note = read_record(record, ArchivedNote)
        if note.kind not in ARCHIVED_NOTES:
            raise InputError("not a note")
        name, project = self._named(note.name), self._project(note.project, "")
        if name not in self.index.store.notes(note.kind, project=project):
            value = self._ledger(note.value) if note.kind == LEDGER else self._redacted(note.value)
            self.index.store.put_note(note.kind, name, value, project=project)

    def _ledger(self, value: Mapping[str, object]) -> dict[str, object]:
        """Return what was injected, by the ids here; nothing but digests of the words of memories."""
        digests = {row: each for row, each in value.items() if row.isdecimal() and _HEX.fullmatch(str(each))}
        rows = {self.memories.of(int(row)): each for row, each in digests.items()}
        last = str(value.get(LAST_INJECTED, ""))
        at = {LAST_INJECTED: last} if _MOMENT.fullmatch(last) else {}
        return {**{str(row): each for row, each in rows.items() if row}, **at}


_KINDS: Final[Mapping[str, Callable[[_Restoring, Sequence[_Line]], None]]] = {
    "header": _Restoring._begin,  # noqa: SLF001
    "memory": _Restoring._memories,  # noqa: SLF001
    "source": lambda restoring, lines: restoring._each(lines, restoring._source),  # noqa: SLF001
    "recall": _Restoring._recalls,  # noqa: SLF001
    "note": lambda restoring, lines: restoring._each(lines, restoring._note),  # noqa: SLF001
    "end": _Restoring._end,  # noqa: SLF001
}
_JUDGING: Final = frozenset({"feedback", "reinforce_fact"})
"""The verbs by which the owner says what a memory or a fact is worth."""
_HEX: Final = re.compile(r"[0-9a-f]{1,128}")
_MOMENT: Final = re.compile(r"[\d:.T+-]{19,32}")
_FACT_TEXTS: Final = ("subject", "predicate", "object", "type", "quote")


def _said(fact: Fact) -> tuple[str, str, str]:
    return fact.subject, fact.predicate, fact.object


def _birth(memory: Memory) -> tuple[str, datetime]:
    return memory.kind, memory.created_at


def _first_words(memory: Memory, events: Sequence[Event]) -> str:
    """Return what a memory said at first: the words that its first change replaced, else those it has."""
    return next((str(event.detail["content"]) for event in events if "content" in event.detail), memory.content)


def _place(memory: Memory) -> tuple[object, ...]:
    return memory.external_id, memory.thread, memory.turn


def _key(recall: Recall) -> int:
    """Return what identifies a search in the log, whatever the ids of its hits are."""
    scope = None if recall.scope.projects is None else sorted(recall.scope.projects)
    hits = [(hit.rank, hit.score, hit.shown) for hit in recall.hits]
    about = (recall.query, recall.mode, recall.outcome, recall.at.timestamp(), recall.session, recall.lens, scope, hits)
    return int.from_bytes(hashlib.blake2b(json.dumps(about).encode(), digest_size=8).digest())
