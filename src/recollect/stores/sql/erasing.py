"""Erasing: every row that holds something of a memory, then every byte."""

import json
import mmap
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from recollect.errors import RowDamaged
from recollect.records import ALL_PROJECTS, NO_FILTER, NOTHING, ByteSearch, Erased, Event, Fact, Filter, Memory, Scope
from recollect.stores.contract import LEDGERS, unknown
from recollect.stores.erasure import (
    Quotations,
    earlier_words,
    mended_detail,
    mended_note,
    names_a_source,
    names_one_of,
    rare_words,
    successor,
)
from recollect.stores.sql import contexts
from recollect.stores.sql.codec import EVENT, FACT, MEMORY
from recollect.stores.sql.engine import Clause, Database, Session, next_stamp
from recollect.stores.sql.filters import describes, in_scope
from recollect.stores.sql.ledger import read_note
from recollect.stores.sql.memories import load, wordings
from recollect.stores.sql.recalls import drop
from recollect.stores.sql.writes import Writer

SLICE = 1_000
"""How many rows of events and of the recall log are read at a time."""
OWNED = ("tagged", "wording", "event", "fact", "minhash", "piece")
"""The tables whose rows belong to one memory."""
OWN_WORDS = {
    "memory": ("title content project type kind trust tags metadata", "source section thread external_id"),
    "wording": ("content", ""),
    "event": ("verb detail", ""),
    "fact": ("subject predicate object type quote state", ""),
    "piece": ("project source", "section"),
    "source": ("name root", ""),
    "note": ("project kind name value", ""),
    "recall": ("mode outcome scope", ""),
    "meta": ("key", ""),
    "generation": ("model fingerprint", ""),
}
"""What is nobody else's: columns by table, and those that may be null. A word that stands elsewhere in a file, as in a
query of the log, in the words around a turn, in the word index or between the rows, must stand here too."""


def erase(db: Database, *, scope: Scope, ids: Sequence[int] | None = None, where: Filter = NO_FILTER) -> Erased:
    """Take memories away, and all that speaks of them."""
    with db.engine.session(write=True) as session:
        gone = _selected(db, session, scope, ids, where)
        pieces = _pieces(db, session, scope, where.sources) if names_a_source(ids, where) else set()
        whole = scope.projects if ids is None and where == NO_FILTER and scope.projects else ()
        return _Eraser(db, session, gone).erase(pieces, whole)


def _selected(
    db: Database, session: Session, scope: Scope, ids: Sequence[int] | None, where: Filter
) -> dict[int, Memory]:
    if ids is not None:
        known = load(db, ids, scope=scope)
        for row in ids:
            if row not in known:
                raise unknown(row)
    clause = db.engine.member("m.id", ids) & describes(db.engine, where) & in_scope(db.engine, scope)
    rows = session.rows(f"select {MEMORY.columns('m')} from memory m where {clause.sql} order by m.id", clause.values)
    return {memory.id: memory for memory in map(MEMORY.read, rows)}


def _pieces(db: Database, session: Session, scope: Scope, sources: tuple[str, ...] | None) -> set[tuple[str, str, int]]:
    """Return the pieces of *sources* in *scope*, whichever source their memories are from: project, source, ordinal."""
    of = describes(db.engine, Filter(sources=sources)) & in_scope(db.engine, scope)
    return set(session.rows(f"select m.project, m.source, m.ordinal from piece m where {of.sql}", of.values))


def _held_words(db: Database, session: Session, words: Sequence[str]) -> Mapping[str, int]:
    return db.words.frequencies(session, "exact", words, scope=ALL_PROJECTS)


class _Eraser:
    """One erasure inside an open transaction."""

    def __init__(self, db: Database, session: Session, gone: dict[int, Memory]) -> None:
        self._db, self._session, self._gone = db, session, gone
        self._of = db.engine.member("memory_id", list(gone))
        self._writer = Writer(db, session)

    def erase(self, pieces: set[tuple[str, str, int]], whole: Collection[str]) -> Erased:
        """Take all away that there is of the memories, then mend what spoke of them."""
        gone, texts = self._gone, self._texts()
        vectors, tokens = self._vectors(), self._tokens()
        counts = {table: self._count(table) for table in ("wording", "event", "fact")}
        named = self._all_sources() | {source for _, source, _ in pieces}
        self._delete(pieces)
        sources = self._unused(named, "memory", "source") & self._unused(named, "piece", "source")
        projects = self._unused({*whole, *(memory.project for memory in gone.values())}, "memory", "project")
        for table in ("source", "piece"):
            self._session.many(f"delete from {table} where project = ?", [(project,) for project in projects])
        quotations = self._quotations(texts)
        self._mend_events({*sources, *projects}, quotations)
        self._mend_memories(quotations)
        self._mend_notes({*sources, *projects}, projects, quotations)
        contexts.follow(self._session, gone.values())
        recalls = self._forget_searches(projects, quotations)
        self._writer.flush()
        self._session.rows("delete from collection_stats where documents = 0")
        next_stamp(self._session)
        self._session.changed({""})
        return Erased(
            memories=tuple(gone.values()),
            texts=tuple(dict.fromkeys(texts)),
            wordings=counts["wording"],
            events=counts["event"],
            facts=counts["fact"],
            vectors=vectors,
            tokens=tokens,
            recalls=recalls,
            sources=tuple(sorted(sources)),
            projects=tuple(sorted(projects)),
        )

    # --- what is there ----------------------------------------------------------------------

    def _count(self, table: str) -> int:
        return int(self._session.value(f"select count(*) from {table} where {self._of.sql}", self._of.values))

    def _texts(self) -> list[str]:
        """Return the other wordings of the memories, their earlier words, and what they stated."""
        said = wordings(self._db, list(self._gone), scope=ALL_PROJECTS)
        events = self._session.rows(
            f"select {EVENT.columns('e')} from event e where {self._of.sql} order by e.id", self._of.values
        )
        facts = self._session.rows(
            f"select {FACT.columns('f')} from fact f where {self._of.sql} order by f.id", self._of.values
        )
        stated: list[Fact] = list(map(FACT.read, facts))
        return [
            *(text for texts in said.values() for text in texts),
            *earlier_words(map(EVENT.read, events)),
            *(text for fact in stated for text in (fact.subject, fact.object, fact.quote) if text),
        ]

    def _vectors(self) -> tuple[bytes, ...]:
        sql = f"select embedding, context_embedding from vector where {self._of.sql} order by id"
        rows = self._session.rows(sql, self._of.values)
        return tuple(vector for row in rows for vector in row if vector is not None)

    def _tokens(self) -> tuple[bytes, ...]:
        """Return the tokens of the memories, where they are compressed."""
        ids = self._db.engine.member("id", list(self._gone))
        rows = self._session.rows(f"select stem from tokens where {ids.sql}", ids.values)
        return tuple(stem for (stem,) in rows if isinstance(stem, bytes))

    def _all_sources(self) -> set[str]:
        """Return the sources of the memories, and those that hold a piece of them."""
        held = self._session.rows(f"select distinct source from piece where {self._of.sql}", self._of.values)
        return {memory.source for memory in self._gone.values() if memory.source} | {name for (name,) in held}

    def _unused(self, names: Collection[str], table: str, column: str) -> set[str]:
        """Return those of *names* that no row of *table* has."""
        clause = self._db.engine.member(column, sorted(names))
        used = self._session.rows(f"select distinct {column} from {table} where {clause.sql}", clause.values)
        return set(names) - {name for (name,) in used}

    def _quotations(self, texts: Sequence[str]) -> Quotations:
        own = [text for memory in self._gone.values() for text in (memory.content, memory.title) if text]
        return Quotations(
            [*own, *texts], rare_words([*own, *texts], lambda words: _held_words(self._db, self._session, words))
        )

    # --- what goes --------------------------------------------------------------------------

    def _delete(self, pieces: set[tuple[str, str, int]]) -> None:
        for memory in self._gone.values():
            self._writer.unindex(memory)
        for table in (*OWNED, "vector"):
            self._session.rows(f"delete from {table} where {self._of.sql}", self._of.values)
        rows = self._db.engine.member("id", list(self._gone))
        self._session.rows(f"delete from memory where {rows.sql}", rows.values)
        self._session.many("delete from piece where project = ? and source = ? and ordinal = ?", sorted(pieces))
        self._session.rows(
            "delete from source where not exists "
            "(select 1 from piece p where p.project = source.project and p.source = source.name)"
        )

    # --- what is mended ---------------------------------------------------------------------

    def _mend_events(self, names: Collection[str], quotations: Quotations) -> None:
        """Take the memories out of the events of others, and what was merged from them out of these."""
        columns = f"e.id, {EVENT.columns('e')}"
        for rows in self._paged(f"select {columns} from event e where e.detail <> '{{}}' and e.id > ? order by e.id"):
            mended = []
            for row, *told in rows:
                event = EVENT.read(told)
                detail = mended_detail(event, self._gone, names, quotations)
                if detail != event.detail:
                    mended.append((*EVENT.write(replace(event, detail=detail)), row))
                    self._unmerge(event, names, quotations)
            self._session.many(EVENT.update("event"), mended)

    def _paged(self, sql: str) -> Iterator[list[Any]]:
        """Yield the rows of *sql* in slices; it asks for those whose id, which comes first, is above its parameter."""
        after = 0
        while rows := self._session.rows(f"{sql} limit {SLICE}", (after,)):
            yield rows
            after = rows[-1][0]

    def _unmerge(self, event: Event, names: Collection[str], quotations: Quotations) -> None:
        """Drop the wordings that a memory took from those gone; all of them, if they came from a source gone."""
        row = event.memory_id
        held = self._session.rows("select ordinal, digest from wording where memory_id = ?", (row,))
        foreign = event.verb == "reinforce" and event.detail.get("source") in names
        named = names_one_of(event, self._gone)
        lost = [(row, at) for at, digest in held if foreign or (named and digest in quotations.digests)]
        if lost:
            self._session.many("delete from wording where memory_id = ? and ordinal = ?", lost)
            self._writer.renew(load(self._db, [row], scope=ALL_PROJECTS)[row])

    def _mend_memories(self, quotations: Quotations) -> None:
        """Mend what the memories superseded, and the turns that stood next to them."""
        for memory in self._superseded():
            by = successor(memory, self._gone)
            if by != memory.superseded_by:
                moved = replace(memory, superseded_by=by)
                self._session.rows(MEMORY.update("memory"), (*MEMORY.write(moved), moved.id))
        for memory in self._turns():
            context = quotations.taken_out(memory.context)
            if context != memory.context:
                kept = replace(memory, context=context)
                self._session.rows(MEMORY.update("memory"), (*MEMORY.write(kept), kept.id))
                self._writer.renew(kept)

    def _superseded(self) -> list[Memory]:
        where = self._db.engine.member("m.superseded_by", list(self._gone))
        sql = f"select {MEMORY.columns('m')} from memory m where {where.sql}"
        return list(map(MEMORY.read, self._session.rows(sql, where.values)))

    def _turns(self) -> Iterator[Memory]:
        """Yield the turns that are left of the conversations."""
        threads = {(each.project, each.thread) for each in self._gone.values() if each.thread is not None}
        for thread in sorted(threads, key=str):
            where = "m.project = ? and m.thread = ? and m.context <> '{}'"
            sql = f"select {MEMORY.columns('m')} from memory m where {where}"
            yield from map(MEMORY.read, self._session.rows(sql, thread))

    def _mend_notes(self, names: Collection[str], projects: Collection[str], quotations: Quotations) -> None:
        for project, kind, name, text in self._session.rows("select project, kind, name, value from note"):
            value, mended = self._mended(kind, name, text, names, quotations)
            if project in projects or (kind in LEDGERS and quotations.quoted_in(name)):
                mended = None
            key = (project, kind, name)
            if mended is None:
                self._session.rows("delete from note where project = ? and kind = ? and name = ?", key)
            elif mended != value:
                changed = (json.dumps(mended, separators=(",", ":")), *key)
                sql = "update note set value = ? where project = ? and kind = ? and name = ?"
                self._session.rows(sql, changed)

    def _mended(
        self, kind: str, name: str, text: str, names: Collection[str], quotations: Quotations
    ) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
        """Return a note as it is and as it is to be; of one that cannot be read its words decide."""
        try:
            value = read_note(name, text)
        except RowDamaged:
            return NOTHING, None if quotations.quoted_in(text) else NOTHING
        return value, mended_note(kind, value, self._gone, names)

    def _forget_searches(self, projects: set[str], quotations: Quotations) -> int:
        """Take the searches out of the log that found one of the memories, quote one, or saw a project gone."""
        found = self._session.rows(f"select distinct recall_id from recalled where {self._of.sql}", self._of.values)
        lost = {row for (row,) in found}
        sql = "select id, query, session, lens, scope from recall where id > ? order by id"
        for rows in self._paged(sql):
            for row, *told, scope in rows:
                if _saw(scope, projects) or quotations.quoted_in(" ".join(filter(None, told))):
                    lost.add(row)
        drop(self._db, self._session, sorted(lost))
        return len(lost)


def _saw(scope: str, projects: set[str]) -> bool:
    """Return whether a search looked at one of *projects*; where its scope cannot be read, it may have."""
    if not projects:
        return False
    try:
        return not projects.isdisjoint(json.loads(scope) or ())
    except (ValueError, TypeError):
        return True


# --- bytes ----------------------------------------------------------------------------------


def scrub(db: Database) -> tuple[str, ...]:
    """Write the word index and then the file anew."""
    return (*db.words.compact(db.engine), *db.scan.compact(db.engine), *db.engine.scrub())


def traces(db: Database, probes: Sequence[bytes]) -> ByteSearch:
    """Search the raw bytes of every file, and what a server keeps elsewhere."""
    files, beside = db.engine.files()
    hits = [(file.name, probe) for file in files for probe in _held(file, probes)]
    hits += db.engine.samples_with(probes)
    with db.engine.session() as session:
        own = {probe for probe in {probe for _, probe in hits} if _is_own(db, session, probe)}
    return ByteSearch(
        found=tuple(hit for hit in hits if hit[1] not in own),
        files=tuple(file.name for file in files),
        beside=tuple(file.name for file in beside),
    )


def _held(file: Path, probes: Sequence[bytes]) -> list[bytes]:
    """Return the *probes* that *file* holds."""
    with file.open("rb") as opened:
        if not file.stat().st_size:
            return []
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as held:
            return [probe for probe in probes if held.find(probe) >= 0]


def _is_own(db: Database, session: Session, probe: bytes) -> bool:
    """Return whether a memory holds *probe* in words of its own, as a vector, or as compressed tokens."""
    try:
        text = probe.lower().decode()
    except UnicodeDecodeError:
        sql = "select 1 from vector where instr(embedding, ?) or instr(context_embedding, ?) limit 1"
        if session.value(sql, (probe, probe)) is not None:
            return True
        compressed = "select 1 from tokens where instr(stem, ?) limit 1"
        return db.engine.rebuilding.packs_tokens and session.value(compressed, (probe,)) is not None
    token = text.casefold()
    held = token.isalnum() and _held_words(db, session, [token])[token] > 0
    return held or text in db.engine.catalog().lower() or any(_holds(db, session, each, text) for each in OWN_WORDS)


def _holds(db: Database, session: Session, table: str, text: str) -> bool:
    always, maybe = (names.split() for names in OWN_WORDS[table])
    words = " || ' ' || ".join((*always, *(f"coalesce({name}, '')" for name in maybe)))
    holding = Clause(db.engine.holds(words), (text,))
    return session.value(f"select 1 from {table} where {holding.sql} limit 1", holding.values) is not None
