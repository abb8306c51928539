"""Finding by word: what a database's table of words answers, and what was forgotten since a moment asked about."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from recollect.errors import StoreDamaged, StoreError, WordIndexUnavailable
from recollect.lazy import Bounded
from recollect.records import (
    ALL_PROJECTS,
    FILTER_FIELDS,
    Filter,
    Form,
    IndexHit,
    NearWords,
    Scope,
    SubstringQuery,
    TokenizedMemory,
    WordHits,
    WordQuery,
)
from recollect.stores.bm25 import CollectionStats
from recollect.stores.facets import as_facets, as_vocabulary
from recollect.stores.sql.codec import moment
from recollect.stores.sql.engine import Clause, Database, Session, WordQuestion, ask, is_of_newer, version_of
from recollect.stores.sql.filters import KNOWN, admits, admitted, admitted_among, in_scope
from recollect.stores.sql.memories import load, wordings
from recollect.stores.sql.rebuild import rebuild

Answer = TypeVar("Answer")
TOKENS_KEPT = 1_000_000
"""How many tokens of documents outside of the index a connection keeps while the store is unchanged."""


def match_words(
    db: Database,
    query: WordQuery | SubstringQuery,
    *,
    scope: Scope,
    where: Filter,
    limit: int,
    score_ids: Sequence[int] = (),
) -> WordHits:
    """Return the best memories for *query*."""
    if isinstance(query, SubstringQuery):
        return _match_text(db, query, scope, where, limit=limit, score_ids=score_ids)
    asked = query

    def answer(session: Session) -> WordHits:
        return db.words.match(session, asked, _question(db, session, scope, where), limit=limit, score_ids=score_ids)

    return _indexed(db, answer)


def _question(db: Database, session: Session, scope: Scope, where: Filter) -> WordQuestion:
    return WordQuestion(
        scope=scope,
        where=where,
        extra=_forgotten_since(db, session, scope, where),
        unindexed=lambda: _unindexed(db, session, scope),
        stats=lambda: _collection(db, session, scope),
        admitted=lambda: admitted(db, scope, where),
        admitted_among=lambda rows: admitted_among(db.engine, session, rows, where),
    )


def _indexed(db: Database, answer: Callable[[Session], Answer]) -> Answer:
    """Ask the word index; a damaged one is rebuilt first."""
    try:
        with db.engine.session() as session:
            return answer(session)
    except StoreDamaged:
        _repair(db)
    with db.engine.session() as session:
        return answer(session)


def _repair(db: Database) -> None:
    if is_of_newer(db):
        reason = "a newer recollect made the word index, and this one cannot read it"
        raise WordIndexUnavailable(reason, hint="update recollect")
    try:
        if db.engine.open_transaction() == "read":
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  (few searches meet damage)

            with ThreadPoolExecutor(max_workers=1) as apart:  # what is written there outlives this transaction
                apart.submit(rebuild, db).result()
            db.engine.renew()
        else:
            rebuild(db)
    except StoreDamaged:
        raise
    except StoreError as error:
        reason = f"the word index is damaged and cannot be rebuilt: {error}"
        raise WordIndexUnavailable(reason, hint="mend what hinders that, then run: recollect reindex") from error


def _forgotten_since(db: Database, session: Session, scope: Scope, where: Filter) -> Mapping[int, TokenizedMemory]:
    """Return the tokens of what was there at the moment asked about and is forgotten now; the index has none."""
    if where.as_of is None:
        return {}
    at = moment(where.as_of)
    there = Clause(f"m.deleted_at > ? and {KNOWN}", (at, at, at)) & in_scope(db.engine, scope)
    return _analysed(db, session, "memory m", there)


def _unindexed(db: Database, session: Session, scope: Scope) -> Mapping[int, TokenizedMemory]:
    """Return the tokens of documents that have none: another version of the analyser made the index, or wrote them."""
    without = Clause("m.id in (select d.id from document d left join tokens t on t.id = d.id where t.id is null)")
    return _analysed(db, session, "memory m", without & in_scope(db.engine, scope))


def _analysed(db: Database, session: Session, source: str, where: Clause) -> Mapping[int, TokenizedMemory]:
    """Return the tokens of some memories; they are analysed once while the store stays as it is."""
    known = session.kept(_no_tokens)
    ids = [row for (row,) in ask(db, f"select m.id from {source}", where, "order by m.id")]
    missing = [row for row in ids if row not in known]
    said = wordings(db, missing, scope=ALL_PROJECTS)
    found = {row: known[row] for row in ids if row in known}
    for memory in load(db, missing, scope=ALL_PROJECTS).values():
        found[memory.id] = known[memory.id] = db.analyse(memory, said.get(memory.id, ()))
    return {row: found[row] for row in ids if row in found}


def _no_tokens(_: Session) -> Bounded[int, TokenizedMemory]:
    return Bounded(TOKENS_KEPT, weigh=lambda tokens: sum(map(len, tokens.exact.values())))


def _collection(db: Database, session: Session, scope: Scope) -> CollectionStats:
    mine = in_scope(db.engine, scope, "project")
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in ("documents", "stem_length", "exact_length", "code"))
    ((rows, stems, exacts, code),) = session.rows(f"select {sums} from collection_stats where {mine.sql}", mine.values)
    if min(rows, stems, exacts, code) < 0:
        raise StoreDamaged("the totals of the word index are damaged", hint="run: recollect reindex")
    return CollectionStats(rows=rows, stem=stems, exact=exacts, code=code)


def _match_text(
    db: Database, query: SubstringQuery, scope: Scope, where: Filter, *, limit: int, score_ids: Sequence[int]
) -> WordHits:
    """Return how many needles each memory holds."""
    holds = db.engine.holds("m.title || '\n' || m.content")
    held = " + ".join(f"case when {holds} then 1 else 0 end" for _ in query.needles) or "0"
    clause = admits(db.engine, where) & in_scope(db.engine, scope)
    sql = f"select m.id, {held} as held from memory m where {clause.sql}"
    with db.engine.session() as session:
        rows = session.rows(f"select id, held from ({sql}) as counted where held > 0", (*query.needles, *clause.values))
        version = version_of(session)
    hits = sorted(
        (IndexHit(id=row, score=count, coverage=count / len(query.needles)) for row, count in rows),
        key=lambda hit: (-hit.score, hit.id),
    )
    asked = set(score_ids)
    return WordHits(
        top=tuple(hits[:limit]),
        by_id={hit.id: hit for hit in hits if hit.id in asked},
        total=len(hits),
        version=version,
    )


def document_frequencies(
    db: Database,
    *,
    scope: Scope,
    form: Form = "exact",
    words: Sequence[str] | None = None,
    least: int = 1,
    limit: int = 200_000,
) -> dict[str, int]:
    """Return how many memories hold each word."""
    found = _indexed(db, lambda session: db.words.frequencies(session, form, words, scope=scope))
    return dict(found) if words is not None else as_vocabulary(found, least=least, limit=limit)


def near_words(db: Database, words: Mapping[str, int], *, scope: Scope, holding: Sequence[str] = ()) -> NearWords:
    """Return the words near *words*, and those that hold a part."""

    def answer(session: Session) -> NearWords:
        stats = _collection(db, session, scope)
        found = db.words.near(session, words, holding, scope=scope)
        return replace(found, documents=stats.rows, tokens=stats.exact)

    return _indexed(db, answer)


def facets(db: Database, *, query: WordQuery | None, scope: Scope, where: Filter) -> dict[str, dict[str, int]]:
    """Return how many memories of the match set there are of each kind."""

    def answer(session: Session) -> dict[str, dict[str, int]]:
        if query is None:
            return _counted(db, session, admitted(db, scope, where))
        return _counted(db, session, db.words.matching(session, query, _question(db, session, scope, where)))

    return _indexed(db, answer)


def _counted(db: Database, session: Session, ids: Collection[int]) -> dict[str, dict[str, int]]:
    """Return how many of *ids* there are by each field of the filters, and by month."""
    columns = {field.key: f"m.{field.key}" for field in FILTER_FIELDS if field.match in ("attribute", "scope", "path")}
    columns |= {"month": "substr(m.happened_at, 1, 7)", "tag": "m.tags"}
    those = db.engine.member("m.id", ids)
    rows = session.rows(f"select {', '.join(columns.values())} from memory m where {those.sql}", those.values)
    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    counters = {name: Counter(each) for name, each in zip(columns, values, strict=True)}
    lists, counters["tag"] = counters["tag"], Counter()
    for text, count in lists.items():
        counters["tag"].update(dict.fromkeys(json.loads(text), count))
    stating = db.engine.member("f.memory_id", ids)
    sql = f"select f.type, count(distinct f.memory_id) from fact f where {stating.sql} group by 1"
    counters["fact_type"] = Counter(dict(session.rows(sql, stating.values)))
    return as_facets(counters)
