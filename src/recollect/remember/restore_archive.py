"""Restore an archive that recollect wrote: record by record, with everything that was archived, in one transaction.

A store that never held anything keeps the ids of the archive; elsewhere each memory and fact gets an id of its own,
and whatever names them by id (successors, events, facts, pieces of sources, the log, ledgers) names them by that.
What the store holds already is known again by its birth and its first words, else by its external id, else by its
words. It stays as it is, unless the archive knows how it went on. Only ids are kept in memory, never the archive.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.arguments import LARGEST, storable
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
    Write,
)
from recollect.remember.clean import chain
from recollect.remember.context import DEFAULT, Draft, IngestContext
from recollect.remember.formats import Exported, as_exported, decode
from recollect.remember.ingest import secrets_of
from recollect.remember.match_archive import find_existing, later_changes, variants
from recollect.remember.redact import FoundSecret, digests_of, redact_name
from recollect.remember.sources import SourceFile, SourceIndex
from recollect.text.dates import as_moment
from recollect.trust import capped, level, may_change

BATCH: Final = 500
LONGEST: Final = 256 * 1024 * 1024
"""How many bytes one line may have."""
_BEGIN: Final = re.compile(rb'\s*\{"recollect": ?(\d+)\b')


def archive_version(path: Path) -> int | None:
    """Return the form of the archive at *path*; None where it is not an archive."""
    try:
        if not path.is_file():  # opening a pipe would wait for its other end
            return None
        with path.open("rb") as file:
            begin = _BEGIN.match(file.read(100))
    except (OSError, ValueError):
        return None
    return int(begin[1]) if begin else None


class Restored(Struct, kw_only=True):
    """What became of an archive: its memories by what was done with them, secrets taken out, and what was wrong."""

    memories: Counter[str] = field(default_factory=Counter)
    secrets: list[FoundSecret] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def restore_archive(path: Path, index: SourceIndex, progress: Progress | None = None) -> Restored:
    """Restore the archive at *path*, all or nothing; a line that cannot be read is told and stops no other."""
    version = archive_version(path)
    if version is not None and version > ARCHIVE_VERSION:
        raise FileError(f"{path} was written by a newer recollect (form {version})", hint="upgrade recollect")
    if version is not None and version < ARCHIVE_VERSION:
        raise FileError(f"{path} is no archive that can be read (form {version})", hint="export the store again")
    try:
        with path.open("rb") as file, index.store.transaction():
            restoring = _Restoring(context=index.context, index=index, file=file, progress=progress)
            restoring.run(path.stat().st_size)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}", hint="check the rights of the file") from error
    return restoring.done


class _Line(Struct, frozen=True, kw_only=True):
    """One record of an archive, and where it stands."""

    number: int
    offset: int
    record: Mapping[str, Any]


class _Item(Struct, frozen=True, kw_only=True):
    """A memory of an archive ready to be put back, what the archive says beside it, and its first words there."""

    line: _Line
    draft: Draft
    about: Exported
    origins: frozenset[str]

    @property
    def memory(self) -> Memory:
        return self.draft.memory


class _Ids(Struct, kw_only=True):
    """Which memory or fact of the archive is which one here."""

    kept: bool
    here: dict[int, int] = field(default_factory=dict)

    def fresh(self, archived: int | None) -> int:
        """Return the id to keep for what the archive calls *archived*; 0 asks for a new one."""
        return archived if self.kept and archived and archived not in self.here else 0

    def of(self, archived: int | None) -> int:
        """Return the id that *archived* has here, 0 where it is not here."""
        return self.here.get(archived or 0, 0)


class _Restoring(Struct, kw_only=True):
    """An archive being restored in the caller's transaction."""

    context: IngestContext
    index: SourceIndex
    file: BinaryIO
    progress: Progress | None
    done: Restored = field(default_factory=Restored)
    memories: _Ids = field(default_factory=lambda: _Ids(kept=False))
    facts: _Ids = field(default_factory=lambda: _Ids(kept=False))
    matched: set[int] = field(default_factory=set)
    unresolved: dict[int, int] = field(default_factory=dict)
    """Where the lines stand that named what had no id here yet, and the memory made of each."""
    successors: dict[int, int] = field(default_factory=dict)
    logged: Counter[int] | None = None
    kinds: Counter[str] = field(default_factory=Counter)

    def run(self, size: int) -> None:
        """Restore every record, then once more what named something that had no id yet."""
        waiting: list[_Line] = []
        for line in self._lines(size):
            kind = str(line.record.get("record"))
            if waiting and (kind != waiting[0].record["record"] or len(waiting) == BATCH):
                self._restore(waiting)
                waiting = []
            self.kinds[kind] += kind not in ("header", "end")
            waiting.append(line)
        if waiting:
            self._restore(waiting)
            if waiting[-1].record["record"] != "end":
                self.done.problems.append("the archive ends early: what should follow its last line is missing")
        self._resolve()

    def _lines(self, size: int) -> Iterator[_Line]:
        number = offset = 0
        while raw := self.file.readline(LONGEST):
            number, here, offset = number + 1, offset, offset + len(raw)
            if self.progress is not None and (number % BATCH == 0 or offset == size):
                self.progress(offset, size, "bytes")
            record = self._decoded(raw, number)
            if record is not None:
                yield _Line(number=number, offset=here, record=record)

    def _decoded(self, raw: bytes, number: int) -> Mapping[str, Any] | None:
        if not raw.strip():
            return None
        try:
            record = decode(raw.decode("utf-8"))
        except ValueError:
            record = None
        if isinstance(record, dict) and record.get("record") in _KINDS:
            return record
        self.done.problems.append(f"line {number}: not a record of an archive")
        return None

    def _restore(self, lines: Sequence[_Line]) -> None:
        kind = lines[0].record["record"]
        # What is not a memory speaks for the owner, and only the owner may bring it.
        if kind in ("header", "memory", "end") or self.context.trust == "owner":
            _KINDS[kind](self, lines)

    # --- headers and ends -------------------------------------------------------------------

    def _begin(self, _: Sequence[_Line]) -> None:
        """Begin an archive: several may stand in one file, one after the other."""
        self._resolve()
        store = self.context.store
        stats = store.stats(scope=ALL_PROJECTS)
        new = not (stats.newest or store.recalls(scope=ALL_PROJECTS, limit=1))
        self.memories, self.facts = _Ids(kept=new), _Ids(kept=new)
        self.kinds.clear()

    def _end(self, lines: Sequence[_Line]) -> None:
        told = lines[0].record.get("records")
        if told != self.kinds.total():
            self.done.problems.append(f"the archive had {told} records, {self.kinds.total()} are here")

    # --- memories ---------------------------------------------------------------------------

    def _memories(self, lines: Sequence[_Line]) -> None:
        items = [item for line in lines if (item := self._read(line)) is not None]
        matches = {} if self.memories.kept else self._match(items)
        known = self._else_known([item for at, item in enumerate(items) if at not in matches])
        writes: list[Write] = []
        made: list[_Item] = []
        for at, item in enumerate(items):
            row = matches.get(at)
            if row is None and id(item) not in known:
                self._put(item, self.memories.fresh(item.about.id), writes, made)
            elif row is not None and self._goes_on(item, row):
                self._put(item, row, writes, made)
        rows = self.context.store.apply(writes, at=self.context.now)
        here = {id(item): row for item, row in zip(made, rows, strict=True)}
        for at, item in enumerate(items):
            row = here.get(id(item)) or matches.get(at) or known[id(item)]
            self._place(item, row, written=id(item) in here, held=at in matches)

    def _put(self, item: _Item, row: int, writes: list[Write], made: list[_Item]) -> None:
        if row and item.about.id is not None:
            self.memories.here[item.about.id] = row
        writes.append(self._reinstated(item, row))
        made.append(item)
        if self._is_unresolved(item):
            self.unresolved[item.line.offset] = 0

    def _place(self, item: _Item, row: int, *, written: bool, held: bool) -> None:
        """Note where a memory is, and count what became of it."""
        if item.about.id is not None:
            self.memories.here.setdefault(item.about.id, row)
        verb = ("updated" if held else "new") if written else "unchanged"
        self.done.memories[verb] += 1
        self.done.secrets += secrets_of(item.draft, row) if written else ()
        if not self.facts.kept:
            self._place_facts(item, row)
        if item.line.offset in self.unresolved:
            self.unresolved[item.line.offset] = row

    def _place_facts(self, item: _Item, row: int) -> None:
        asked = FactQuery(memory_ids=(row,), include_superseded=True, include_forgotten=True)
        if item.about.facts:
            held = {_said(fact): fact.id for fact in self.context.store.facts(asked, scope=ALL_PROJECTS)}
            pairs = ((fact.id, held.get(_said(fact), 0)) for fact in item.about.facts)
            self.facts.here |= {archived: here for archived, here in pairs if here}

    def _read(self, line: _Line) -> _Item | None:
        """Return the memory of *line*, clean and without secrets like every text; None where it is refused."""
        memory, about = as_exported(line.record)
        if self.context.trust != "owner" and about.events:  # what a memory is worth is the owner's to say
            about = replace(about, events=tuple(each for each in about.events if each.verb not in _JUDGING))
        context, first = self.context, _first_words(memory, about.events or ())
        try:
            draft = context.prepare(context.assign(memory, trust=memory.trust))
            about = self._prepared(about)
        except InputError as error:
            self.done.problems.append(f"line {line.number}: {error}")
            return None
        origins = frozenset({first, _first_words(draft.memory, about.events or ())})
        return _Item(line=line, draft=draft, about=about, origins=origins)

    def _prepared(self, about: Exported) -> Exported:
        """Return what belongs to a memory, as clean and without secrets as the memory itself."""
        facts, events = about.facts or (), about.events or ()
        texts = {
            "wordings": list(about.wordings),
            "facts": [[getattr(fact, name) for name in _FACT_TEXTS] for fact in facts],
            "events": [dict(event.detail) for event in events],
        }
        told = self._without_secrets(texts)
        return replace(
            about,
            wordings=tuple(told["wordings"]),
            facts=about.facts
            and tuple(
                replace(fact, **dict(zip(_FACT_TEXTS, each, strict=True)))
                for fact, each in zip(facts, told["facts"], strict=True)
            ),
            events=about.events
            and tuple(replace(event, detail=each) for event, each in zip(events, told["events"], strict=True)),
        )

    def _reinstated(self, item: _Item, row: int) -> Reinstate:
        """Return the write that puts *item* back as memory *row*, with every id it names as it is here."""
        memory, about, now = item.memory, item.about, self.context.now
        born = now if memory.created_at == NEVER else memory.created_at
        added = Event(memory_id=0, verb="add", at=now, detail={"decision": "restored"})
        return Reinstate(
            memory=replace(
                memory,
                id=row,
                created_at=born,
                updated_at=born if memory.updated_at == NEVER else memory.updated_at,
                superseded_by=self._successor(row, about.superseded_by),
            ),
            wordings=about.wordings,
            facts=self.context.facts(memory)
            if about.facts is None
            else tuple(self._fact(fact, memory) for fact in about.facts),
            events=(added,) if about.events is None else tuple(map(self._event, about.events)),
            vectors=about.vectors,
        )

    def _successor(self, row: int, archived: int | None) -> int | None:
        """Return what took the place of memory *row*; none where that would close a circle, which hides them all."""
        by = None if archived is None else self._known_as(archived)
        if by and row in chain(by, self.successors):
            return None
        if by:
            self.successors[row] = by
        return by

    def _known_as(self, archived: int) -> int:
        """Return the id of a memory here; where ids are kept, one that comes later has its own."""
        return self.memories.of(archived) or (archived if self.memories.kept else 0)

    def _fact_known_as(self, archived: int) -> int:
        return self.facts.of(archived) or (archived if self.facts.kept else 0)

    def _fact(self, fact: Fact, memory: Memory) -> Fact:
        row = self.facts.of(fact.id) if not self.facts.kept else self.facts.fresh(fact.id)
        if self.facts.kept and row:
            self.facts.here[fact.id] = row
        return replace(fact, id=row, confidence=capped(fact.confidence, memory.trust))

    def _event(self, event: Event) -> Event:
        detail: dict[str, Any] = dict(event.detail)
        for name in MEMORY_REFERENCES & detail.keys():
            if type(detail[name]) is int:
                detail[name] = self._known_as(detail[name])
        if type(detail.get("fact")) is int:
            detail["fact"] = self._fact_known_as(detail["fact"])
        return replace(event, detail=detail)

    def _is_unresolved(self, item: _Item) -> bool:
        """Tell whether *item* names something that has no id here yet."""
        if self.memories.kept:
            return False
        details = [event.detail for event in item.about.events or ()]
        named = [item.about.superseded_by, *(each.get(name) for each in details for name in MEMORY_REFERENCES)]
        facts = [each.get("fact") for each in details]
        return any(type(row) is int and row and row not in self.memories.here for row in named) or any(
            type(row) is int and row and row not in self.facts.here for row in facts
        )

    def _resolve(self) -> None:
        """Put back once more what named something that had no id yet."""
        after = self.file.tell()
        offsets = sorted(self.unresolved)
        for start in range(0, len(offsets), BATCH):
            writes = []
            for offset in offsets[start : start + BATCH]:
                self.file.seek(offset)
                line = _Line(number=0, offset=offset, record=_mapping(decode(self.file.readline(LONGEST).decode())))
                item = self._read(line)
                if item is not None:
                    writes.append(self._reinstated(item, self.unresolved[offset]))
            self.context.store.apply(writes, at=self.context.now)
        self.unresolved.clear()
        self.file.seek(after)

    # --- what is here already ---------------------------------------------------------------

    def _match(self, items: Sequence[_Item]) -> dict[int, int]:
        """Return by place the memory here that is the same one: of the same birth and with the same first words.

        Where several are, those that stand in the same place come first, and they are taken in their order.
        """
        store = self.context.store
        born: dict[int, tuple[int, ...]] = {}
        for project in sorted({item.memory.project for item in items}):
            mine = {at: _birth(item.memory) for at, item in enumerate(items) if item.memory.project == project}
            known = store.known(project, births=sorted(set(mine.values()))).by_birth
            born |= {at: known.get(birth, ()) for at, birth in mine.items()}
        rows = sorted({row for each in born.values() for row in each} - self.matched)
        held = store.load(rows, scope=ALL_PROJECTS) if rows else {}
        events = store.history(rows, scope=ALL_PROJECTS) if rows else {}
        found: dict[int, int] = {}
        for at, item in enumerate(items):
            place = _place(item.memory)
            same = [row for row in born[at] if row in held and row not in self.matched]
            same = [row for row in same if _first_words(held[row], events.get(row, ())) in item.origins]
            if same:
                found[at] = min(same, key=lambda row: (_place(held[row]) != place, row))
                self.matched.add(found[at])
        return found

    def _goes_on(self, item: _Item, row: int) -> bool:
        """Tell whether the archive knows all that happened to memory *row*, and more, and may say so."""
        old = self.context.store.load([row], scope=ALL_PROJECTS)[row]
        if not may_change(self.context.trust, old) or level(item.memory.trust) < level(old.trust):
            return False
        held = self.context.store.history([row], scope=ALL_PROJECTS).get(row, ())
        told = item.about.events or ()
        same = all((a.verb, a.at) == (b.verb, b.at) for a, b in zip(held, told, strict=False))
        return same and len(told) > len(held)

    def _else_known(self, items: Sequence[_Item]) -> dict[int, int]:
        """Return which of *items* are here by their external ids or words, and bring them what is new of them."""
        store, context = self.context.store, self.context
        existing = {} if self.memories.kept else find_existing([item.memory for item in items], store)
        existing = {at: row for at, row in existing.items() if row not in self.matched}
        if existing:
            held = store.load(sorted(set(existing.values())), scope=ALL_PROJECTS)
            changes = later_changes({row: items[at].memory for at, row in existing.items()}, held, context)
            pairs = [(items[at].draft, items[at].about) for at in existing]
            writes = [*changes.values(), *variants(pairs, list(existing.values()), held, context)]
            store.apply(writes, at=context.now)
        return {id(items[at]): row for at, row in existing.items()}

    # --- everything else --------------------------------------------------------------------

    def _sources(self, lines: Sequence[_Line]) -> None:
        for line in lines:
            file, pieces, project = _source(line.record), line.record.get("pieces"), self._project(line, DEFAULT)
            if file is None or not isinstance(pieces, list):
                self.done.problems.append(f"line {line.number}: not a source")
                continue
            named, above = self.context.source_name(file.name), self.context.source_name(file.root)
            if not self.context.store.pieces(named, project=project, limit=1):
                held = [self._piece(_mapping(each)) for each in pieces]
                self.index.record(replace(file, name=named, root=above), held, project=project)

    def _project(self, line: _Line, default: str) -> str:
        """Return the project that what stands in *line* goes to: the one chosen, else its own."""
        told = line.record.get("project")
        return self.context.project or (self._named(told) if isinstance(told, str) and told else default)

    def _named(self, name: str) -> str:
        """Return a name by which something is found again, without the secrets in it."""
        kept = storable(name)
        return redact_name(kept, digests_of(self.context.store)).text if self.context.redact else kept

    def _piece(self, record: Mapping[str, Any]) -> Piece:
        section = record.get("section")
        return Piece(
            digest=_bytes(record.get("digest")),
            memory_id=self._known_as(_count(record.get("memory_id"))),
            section=section if isinstance(section, str) else None,
            gone=record.get("gone") is True,
        )

    def _recalls(self, lines: Sequence[_Line]) -> None:
        if self.logged is None:
            self.logged = Counter() if self.memories.kept else Counter(map(_key, self._held_recalls()))
        fresh = []
        for line in lines:
            recall = _recall(line.record)
            if recall is None:
                self.done.problems.append(f"line {line.number}: not a recall")
                continue
            kept = self._redacted(recall)
            known = next((key for key in (_key(recall), _key(kept)) if self.logged[key] > 0), None)
            if known is None:
                fresh.append(replace(kept, hits=tuple(map(self._hit, kept.hits))))
            else:
                self.logged[known] -= 1
        self.context.store.log_recall(fresh)

    def _held_recalls(self) -> Iterator[Recall]:
        offset = 0
        while page := self.context.store.recalls(scope=self.context.scope, limit=BATCH, offset=offset):
            yield from page
            offset += len(page)

    def _redacted(self, recall: Recall) -> Recall:
        told: Any = self._without_secrets({"query": recall.query})
        names: Any = {name: self._named(value) for name in ("session", "lens") if (value := getattr(recall, name))}
        here = self.context.project
        scope = recall.scope if here is None else Scope(projects=frozenset({here}))
        return replace(recall, **told, **names, scope=scope)

    def _without_secrets(self, texts: Mapping[str, object]) -> Mapping[str, Any]:
        """Return *texts*, however deep, as clean and without secrets as those of a memory."""
        return self.context.prepare(Memory(content="-", metadata=texts)).memory.metadata

    def _hit(self, hit: Recalled) -> Recalled:
        facts = tuple(map(self._fact_known_as, hit.fact_ids))
        return replace(hit, memory_id=self._known_as(hit.memory_id), fact_ids=facts)

    def _notes(self, lines: Sequence[_Line]) -> None:
        for line in lines:
            kind, name, value = (line.record.get(each) for each in ("kind", "name", "value"))
            if kind not in ARCHIVED_NOTES or not isinstance(name, str) or not isinstance(value, dict):
                self.done.problems.append(f"line {line.number}: not a note")
                continue
            named, project = self._named(name), self._project(line, "")
            if named not in self.context.store.notes(kind, project=project):
                told = self._ledger(value) if kind == LEDGER else self._without_secrets(value)
                self.context.store.put_note(kind, named, told, project=project)

    def _ledger(self, value: Mapping[str, object]) -> dict[str, object]:
        """Return what was injected, by the ids here; nothing but digests of the words of memories."""
        told = {row: each for row, each in value.items() if row.isdecimal() and _HEX.fullmatch(str(each))}
        rows = {self._known_as(int(row)): each for row, each in told.items()}
        last = str(value.get(LAST_INJECTED, ""))
        at = {LAST_INJECTED: last} if _MOMENT.fullmatch(last) else {}
        return {**{str(row): each for row, each in rows.items() if row}, **at}


_KINDS: Final[Mapping[object, Callable[[_Restoring, Sequence[_Line]], None]]] = {
    "header": _Restoring._begin,  # noqa: SLF001
    "memory": _Restoring._memories,  # noqa: SLF001
    "source": _Restoring._sources,  # noqa: SLF001
    "recall": _Restoring._recalls,  # noqa: SLF001
    "note": _Restoring._notes,  # noqa: SLF001
    "end": _Restoring._end,  # noqa: SLF001
}
_JUDGING: Final = frozenset({"feedback", "reinforce_fact"})
"""The verbs by which the owner says what a memory or a fact is worth."""
_HEX: Final = re.compile(r"[0-9a-f]{1,128}")
_MOMENT: Final = re.compile(r"[\d:.T+-]{19,32}")
_FACT_TEXTS: Final = ("subject", "predicate", "object", "type", "quote")


def _said(fact: Fact) -> tuple[str, str, str]:
    return fact.subject, fact.predicate, fact.object


def _birth(memory: Memory) -> tuple[str, Any]:
    return memory.kind, memory.created_at


def _first_words(memory: Memory, events: Sequence[Event]) -> str:
    """Return what a memory said at first: the words that its first change replaced, else those it has."""
    return next((str(event.detail["content"]) for event in events if "content" in event.detail), memory.content)


def _place(memory: Memory) -> tuple[object, ...]:
    return memory.external_id, memory.thread, memory.turn


def _source(record: Mapping[str, Any]) -> SourceFile | None:
    """Return the imported file that *record* tells of, without its pieces; None where anything is wrong with it."""
    name, fingerprint, root = (record.get(each) for each in ("source", "fingerprint", "root"))
    if not isinstance(name, str) or not isinstance(fingerprint, str):
        return None
    known = root if isinstance(root, str) else ""
    return SourceFile(name=storable(name), fingerprint=fingerprint, device=_number(record.get("device")), root=known)


def _recall(record: Mapping[str, Any]) -> Recall | None:
    """Return the recall that *record* tells of; None where anything is wrong with it."""
    texts: dict[str, Any] = {name: record.get(name) for name in ("query", "mode", "outcome")}
    names: dict[str, Any] = {name: record.get(name) for name in ("session", "lens")}
    at, projects = as_moment(record.get("at")), record.get("scope")
    right = all(isinstance(each, str) for each in texts.values())
    right = right and all(isinstance(each, str | None) for each in names.values())
    if at is None or not right:
        return None
    try:
        scope = Scope(projects=None if projects is None else frozenset(map(str, projects)))
        hits = tuple(_recalled(hit) for hit in record["hits"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return Recall(**texts, **names, at=at, scope=scope, hits=hits)


def _recalled(record: Mapping[str, Any]) -> Recalled:
    return Recalled(
        memory_id=_count(record["memory_id"]),
        rank=_count(record["rank"]),
        score=float(record["score"]),
        shown=bool(record["shown"]),
        fact_ids=tuple(map(_count, record["fact_ids"])),
    )


def _key(recall: Recall) -> int:
    """Return what a recall is known by, whatever the ids of its hits are."""
    scope = None if recall.scope.projects is None else sorted(recall.scope.projects)
    hits = [(hit.rank, hit.score, hit.shown) for hit in recall.hits]
    about = (recall.query, recall.mode, recall.outcome, recall.at.timestamp(), recall.session, recall.lens, scope, hits)
    return int.from_bytes(hashlib.blake2b(json.dumps(about).encode(), digest_size=8).digest())


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < LARGEST else 0


def _number(value: object) -> int:
    """Return the number that the system knows a device by, 0 for what is none."""
    return value if isinstance(value, int) and abs(value) < LARGEST else 0


def _bytes(value: object) -> bytes:
    try:
        return bytes.fromhex(str(value))
    except ValueError:
        return b""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
