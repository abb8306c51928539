"""What can be wrong with a store, and how to tell."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from recollect.errors import RowDamaged, StoreClosed, StoreError
from recollect.records import ALL_PROJECTS, Form, Memory, TokenizedMemory
from recollect.records import digest as digest_of
from recollect.stores.bm25 import FORMS
from recollect.stores.contract import unused_generations
from recollect.stores.sql import contexts
from recollect.stores.sql.codec import EVENT, FACT, MEMORY, UNSEALED, checksum
from recollect.stores.sql.engine import Database, Session, made_by, state_of, token_sum
from recollect.stores.sql.memories import wordings
from recollect.stores.sql.rebuild import SLICE, damaged_vectors, document_of, slices
from recollect.stores.sql.vectors import generations
from recollect.vectors import WIDTH

Look: TypeAlias = Callable[[Database, Session], Iterator[str]]
REINDEX, RECOVER = "run: recollect reindex", "run: recollect recover OLD NEW"
READINGS = 4
"""How often is looked before damage is told."""
SHOWN = 10
"""How many ids of damaged rows are told."""

REBUILT = {
    "memories that cannot be found by word": (
        "select count(*) from memory m left join document d on d.id = m.id where m.deleted_at is null and d.id is null"
    ),
    "index entries of memories that are gone": (
        "select count(*) from document d left join memory m on m.id = d.id and m.deleted_at is null where m.id is null"
    ),
    "projects whose totals are wrong": (
        "select count(*) from collection_stats c where (documents, stem_length, exact_length, code) not in "
        "(select count(*), coalesce(sum(stem_length), 0), coalesce(sum(exact_length), 0), coalesce(sum(code), 0) "
        "from document where project = c.project)"
    ),
}
MAX_NAMED = 5
"""How many memories of a circle are named."""
NARROW = (
    "select count(*) from vector v join generation g on g.id = v.generation_id "
    f"where length(v.embedding) <> {WIDTH} * g.dimensions"
)
DOCUMENT = "id, project, superseded, stem_length, exact_length, code"
POINTING = {
    "facts of memories that are gone": (
        "select count(*) from fact f left join memory m on m.id = f.memory_id where m.id is null"
    ),
    "wordings of memories that are gone": (
        "select count(*) from wording w left join memory m on m.id = w.memory_id where m.id is null"
    ),
}
_TAGS = "select distinct t.value, m.id from memory m, json_each(m.tags) t where json_valid(m.tags) and t.type = 'text'"
TAGS = (
    f"select count(*) from (select * from ({_TAGS} except select tag, memory_id from tagged) "
    f"union all select * from (select tag, memory_id from tagged except {_TAGS}))"
)


def check(db: Database, *, deep: bool = False) -> tuple[str, ...]:
    """Return what is wrong, one line each; what is found is looked for again, for others may be writing.

    Damage stays, so that one reading without a finding is enough for all to be well.
    """
    found: list[str] = []
    for _ in range(READINGS):
        found = _look(db, deep=deep)
        if not found:
            break
    return tuple(found)


def _look(db: Database, *, deep: bool) -> list[str]:
    """Look at everything as it is at one moment."""
    looks = (*SHALLOW, *(DEEP if deep else ()))
    found: list[str] = []
    try:
        with db.engine.session():
            found += _told("the file", REINDEX, lambda: iter(db.engine.check()))
            for what, command, look in looks:
                found += _told(what, command, partial(_asked, db, look))
    except StoreClosed:
        raise
    except StoreError as error:
        found.append(f"the store cannot be read: {error}; {RECOVER}")
    return list(dict.fromkeys(found))


def _told(what: str, command: str, look: Callable[[], Iterator[str]]) -> list[str]:
    """Return what *look* finds; that it cannot look is a finding too."""
    found = []
    try:
        found += list(look())
    except StoreClosed:
        raise
    except StoreError as error:
        found.append(f"{what} cannot be read ({error}); {command}")
    return found


def _asked(db: Database, look: Look) -> Iterator[str]:
    with db.engine.session() as session:
        yield from look(db, session)


# --- at a glance ------------------------------------------------------------------------------


def _words(db: Database, session: Session) -> Iterator[str]:
    for form in FORMS:
        db.words.frequencies(session, form, ["a"], scope=ALL_PROJECTS)
    yield from db.words.check(session, deep=False)
    yield from db.scan.check(session, deep=False)


def _documents(_: Database, session: Session) -> Iterator[str]:
    for what, sql in REBUILT.items():
        count = session.value(sql)
        if count:
            yield f"{count} {what}; {REINDEX}"


def _analyser(db: Database, session: Session) -> Iterator[str]:
    if made_by(session) > db.analyser:
        yield "a newer recollect made the word index: this one reads it and adds nothing to it; update this one"
    elif made_by(session) < db.analyser:
        yield f"the word index was made by another version of this program; {REINDEX}"


def _vectors(db: Database, session: Session) -> Iterator[str]:
    narrow = session.value(NARROW)
    if narrow:
        yield f"{narrow} vectors have a wrong width and are not searched; change the words or add the memory again"
    for each in unused_generations(generations(db, scope=ALL_PROJECTS)):
        yield (
            f"{each.memories} memories have vectors of {each.model} that nothing needs any more; "
            "run: recollect model prune"
        )


def _circles(_: Database, session: Session) -> Iterator[str]:
    """Yield the memories that supersede each other in a circle, so that none of them is shown."""
    successors = dict(session.rows("select id, superseded_by from memory where superseded_by is not null"))
    while successors:
        row, path = next(iter(successors)), []
        while row in successors:
            path.append(row)
            row = successors.pop(row)
        if row in path:
            circle = ", ".join(map(str, path[path.index(row) :][:MAX_NAMED]))
            yield f"a circle of memories supersede each other, none is shown: {circle}; run: recollect restore {row}"


def _moving(_: Database, session: Session) -> Iterator[str]:
    if session.value("select 1 from meta where key = 'moving'"):
        yield "a move into this store was not finished; run the same recollect store move again"


SHALLOW: tuple[tuple[str, str, Look], ...] = (
    ("the counters", REINDEX, _moving),
    ("the word index", REINDEX, _words),
    ("the table of documents", REINDEX, _documents),
    ("the table of counters", RECOVER, _analyser),
    ("the table of vectors", REINDEX, _vectors),
    ("the table of memories", RECOVER, _circles),
)


# --- row by row -------------------------------------------------------------------------------


def _memories(_: Database, session: Session) -> Iterator[str]:
    yield from _unsound(session, "memory", "m.id", _is_memory, f"m.checksum, m.digest, {MEMORY.columns('m')}")


def _is_memory(row: Sequence[Any]) -> bool:
    sealed, digest, *fields = row
    return sealed in (UNSEALED, MEMORY.checksum(fields)) and MEMORY.read(fields).digest == digest


def _others(_: Database, session: Session) -> Iterator[str]:
    yield from _unsound(session, "fact", "f.id", _is_fact, f"f.checksum, {FACT.columns('f')}")
    yield from _unsound(session, "event", "e.id", _is_event, f"e.checksum, {EVENT.columns('e')}")
    of = "w.checksum, w.digest, w.content, w.memory_id, w.ordinal"
    yield from _unsound(session, "wording", "w.memory_id", _is_wording, of)


def _is_fact(row: Sequence[Any]) -> bool:
    return row[0] in (UNSEALED, FACT.checksum(row[1:])) and bool(FACT.read(row[1:]))


def _is_event(row: Sequence[Any]) -> bool:
    return row[0] in (UNSEALED, EVENT.checksum(row[1:])) and bool(EVENT.read(row[1:]))


def _is_wording(row: Sequence[Any]) -> bool:
    sealed, digest, content, *key = row
    return sealed in (UNSEALED, checksum(content, *key)) and digest_of(content) == digest


def _unsound(
    session: Session, table: str, key: str, is_sound: Callable[[Sequence[Any]], bool], columns: str
) -> Iterator[str]:
    """Tell of the rows of *table* that are not what was written, by their *key*."""
    of = key.partition(".")[0]
    keys = session.rows(f"select distinct {key} from {table} {of} not indexed order by 1")
    sql = f"select {columns} from {table} {of} where {key} = ?"
    rows = [row for (row,) in keys if not _is_sound(session, sql, row, is_sound)]
    if rows:
        named = ", ".join(map(str, rows[:SHOWN])) + (f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else "")
        yield f"{table} {named}: not as it was written; {RECOVER}"


def _is_sound(session: Session, sql: str, row: int, is_sound: Callable[[Sequence[Any]], bool]) -> bool:
    try:
        return all(is_sound(each) for each in session.rows(sql, (row,)))
    except (StoreError, ValueError, TypeError, AttributeError):
        return False


def _pointers(_: Database, session: Session) -> Iterator[str]:
    for what, sql in POINTING.items():
        count = session.value(sql)
        if count:
            yield f"{count} {what}; {RECOVER}"
    beyond = session.value("select count(*) from memory where id > ?", (state_of(session).counters["newest"],))
    if beyond:
        yield f"{beyond} memories with a higher id than was ever given; {RECOVER}"
    wrong = session.value(TAGS)
    if wrong:
        yield f"{wrong} tags are not those of their memories; {REINDEX}"


def _vector_sums(_: Database, session: Session) -> Iterator[str]:
    gone = damaged_vectors(session)
    if gone:
        yield f"the vectors of {len(gone)} memories are not as they were written; {REINDEX}, then recollect embed"
    elif any(True for _ in contexts.outdated(session)):
        yield f"context vectors are not those of their neighbours; {REINDEX}"


# --- the word index against a fresh analysis ----------------------------------------------------


def _tokens(db: Database, session: Session) -> Iterator[str]:
    """Compare every document, its tokens and its keys with those of its memory, where our own rules made them."""
    if made_by(session) != db.analyser:
        return
    sums = db.words.sums(session)
    keys: dict[int, int] = defaultdict(int)
    for key, row in session.each("select key, memory_id from minhash"):
        keys[row] += key
    documents = {row[0]: tuple(row) for row in session.each(f"select {DOCUMENT} from document")}
    wrong = 0
    for memory, tokens in _fresh(db, session):
        kept = (documents.pop(memory.id, None), sums.pop(memory.id, 0), keys.pop(memory.id, 0))
        wrong += kept != (document_of(memory, tokens), sum_of(tokens), sum(tokens.minhash))
    wrong += len(documents.keys() | {row for row, total in sums.items() if total} | keys.keys())
    if wrong:
        yield f"{wrong} memories are not indexed by the words they have; {REINDEX}"


def _kept_beside(db: Database, session: Session) -> Iterator[str]:
    yield from db.words.check(session, deep=True)
    yield from db.scan.check(session, deep=True)


def _fresh(db: Database, session: Session) -> Iterator[tuple[Memory, TokenizedMemory]]:
    """Yield the live memories that can be read, analysed anew."""
    ids = [row for (row,) in session.rows("select id from memory where deleted_at is null order by id")]
    sql = f"select {MEMORY.columns('m')} from memory m where m.id = ?"
    for some in slices(ids, SLICE):
        said = wordings(db, some, scope=ALL_PROJECTS)
        for row in some:
            with suppress(RowDamaged, UnicodeDecodeError):  # it is told of as a memory
                memory = MEMORY.read(session.rows(sql, (row,))[0])
                yield memory, db.analyse(memory, said.get(row, ()))


def sum_of(tokens: TokenizedMemory) -> int:
    """Return what the tokens of a memory add up to."""
    forms: Mapping[Form, Mapping[str, tuple[str, ...]]] = {"stem": tokens.stem, "exact": tokens.exact}
    return sum(
        token_sum(form, name, place, token)
        for form, fields in forms.items()
        for name, texts in fields.items()
        for place, token in enumerate(texts)
    )


DEEP: tuple[tuple[str, str, Look], ...] = (
    ("the table of memories", RECOVER, _memories),
    ("the tables of facts, events and wordings", RECOVER, _others),
    ("what memories point to", RECOVER, _pointers),
    ("the table of vectors", REINDEX, _vector_sums),
    ("the word index", REINDEX, _tokens),
    ("what the word index keeps beside the store", REINDEX, _kept_beside),
)
