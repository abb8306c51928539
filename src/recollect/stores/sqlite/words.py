"""Finding by word: our one BM25 over FTS5's postings, and over what was forgotten since the moment asked about."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

import apsw

from recollect.records import Filter, Leaf, Scope, TokenizedMemory, WordHits, WordQuery
from recollect.stores.bm25 import Postings, matching, rank, thousandths
from recollect.stores.contract import Analyse
from recollect.stores.sqlite.find import admitted, reader, scope_clause, volume
from recollect.stores.sqlite.read import version, wordings
from recollect.stores.sqlite.rows import COLUMNS, moment, to_memory
from recollect.stores.tokens import posted, volume_of


def match_words(
    db: apsw.Connection,
    keywords: WordQuery,
    scope: Scope,
    where: Filter,
    *,
    limit: int,
    score_ids: Sequence[int],
    analyse: Analyse,
) -> WordHits:
    """Return the best memories for *keywords*."""
    gone = _forgotten_since(db, scope, where.as_of, analyse)
    return rank(
        keywords,
        read=_reader(db, keywords, scope, gone),
        volume=volume(db, scope) + volume_of(gone),
        admits=lambda rows: admitted(db, rows, where),
        limit=limit,
        score_ids=score_ids,
        version=version(db),
    )


def matched(
    db: apsw.Connection, keywords: WordQuery, scope: Scope, where: Filter, *, analyse: Analyse
) -> AbstractSet[int]:
    """Return every memory that *keywords* match and *where* admits."""
    gone = _forgotten_since(db, scope, where.as_of, analyse)
    return admitted(db, matching(keywords, read=_reader(db, keywords, scope, gone)), where)


def _reader(
    db: apsw.Connection, keywords: WordQuery, scope: Scope, gone: Mapping[int, TokenizedMemory]
) -> Callable[[Leaf], Postings]:
    """Return how a leaf is looked up: in FTS5's index, and among what it no longer has."""
    weights = thousandths(keywords.weights)
    look = reader(db, weights=weights, scope=scope)
    return look if not gone else lambda leaf: {**look(leaf), **posted(leaf, gone, weights)}


def _forgotten_since(
    db: apsw.Connection, scope: Scope, as_of: datetime | None, analyse: Analyse
) -> Mapping[int, TokenizedMemory]:
    """Return the tokens of what was there at that moment and is forgotten now; FTS5 no longer has them."""
    if as_of is None:
        return {}
    inside, projects = scope_clause(scope, "m.project")
    sql = f"select {COLUMNS} from memory m where m.deleted_at > ? and m.created_at <= ? and {inside} order by m.id"
    rows: list[Any] = db.execute(sql, (moment(as_of), moment(as_of), *projects)).fetchall()
    said = wordings(db, [row[0] for row in rows], scope)
    return {row[0]: analyse(to_memory(row), said.get(row[0], ())) for row in rows}
