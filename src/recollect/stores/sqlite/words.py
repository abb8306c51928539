"""Tokens in FTS5: its `instance` vocabulary reads postings back term by term, as fast as FTS5's own ranking does.

So one BM25 serves every store, with the statistics of the projects searched.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, assert_never

from recollect.records import FIELDS, Bigram, Form, Leaf, Phrase, Prefix, TokenizedMemory, Word
from recollect.stores.bm25 import TOGETHER, Postings
from recollect.stores.sql.engine import OPEN, Clause, Session, token_sum

FORMS: tuple[Form, ...] = ("stem", "exact")
NAMED = "col in ('title', 'body')"
LAST = "\U0010ffff"
SLOWER = 300
"""How many tokens are counted one by one in the time that one question to FTS5 takes."""

TOMBSTONES = 1 << 53
"""The id from which on FTS5 keeps, in the rows of a segment, which documents were deleted from it."""

PLAIN = "ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{{|}}~'''"
"""Splits at blanks alone: what comes here are tokens already."""
TABLES = (
    (
        f"create virtual table {{form}} using fts5 ({', '.join(FIELDS)}, "
        f"content = '', contentless_delete = 1, tokenize = \"{PLAIN}\")"
    ),
    "create virtual table {form}_posting using fts5vocab ({form}, instance)",
    "create virtual table {form}_frequency using fts5vocab ({form}, col)",
)
"""How the migrations make the tables of a form."""

BESIDE = "_beside"
"""What stands behind the names of the tables of an index that is being built."""

Token = tuple[int, str, int, int]
"""Row, field, length of the row, place in the field."""
Lookup = Callable[[Form, str], Sequence[Token]]
"""Reads where a token stands; within one question each is read once."""


class FtsTable:
    """The tables `stem` and `exact`, a column for each field, and FTS5's views of their terms.

    Those of an index that is being built have a *mark* behind their names.
    """

    def __init__(self, mark: str = "") -> None:
        self._mark = mark

    def add(self, session: Session, documents: Sequence[tuple[int, TokenizedMemory]]) -> None:
        """Keep the tokens of new documents."""
        for form in FORMS:
            table = form + self._mark
            sql = f"insert into {table} (rowid, {', '.join(FIELDS)}) values ({', '.join('?' * (len(FIELDS) + 1))})"
            session.many(sql, [_row(row, tokens.stem if form == "stem" else tokens.exact) for row, tokens in documents])

    def remove(self, session: Session, ids: Sequence[int]) -> None:
        """Drop the tokens of documents."""
        for form in FORMS:
            session.many(f"delete from {form}{self._mark} where rowid = ?", [(row,) for row in ids])

    def beside(self, session: Session) -> "FtsTable":
        """Return empty tables beside these."""
        for form in FORMS:
            session.rows(f"drop table if exists {form}{BESIDE}")
            session.rows(TABLES[0].format(form=form + BESIDE))
        return FtsTable(BESIDE)

    def swap(self, session: Session) -> None:
        """Drop the tables, in whatever state they are, and put those beside them in their place."""
        for form in FORMS:
            for table in (f"{form}_posting", f"{form}_frequency", form):
                session.rows(f"drop table if exists {table}")
            session.rows(f"alter table {form}{BESIDE} rename to {form}")
            for statement in TABLES[1:]:
                session.rows(statement.format(form=form))

    def compact(self, session: Session) -> bool:
        """Merge the tokens into one segment; FTS5 keeps those of a deleted row until then."""
        for form in FORMS:
            session.rows(f"insert into {form} ({form}) values ('optimize')")
        return not any(session.value(f"select 1 from {form}_data where id >= {TOMBSTONES}") for form in FORMS)

    def sums(self, session: Session) -> dict[int, int]:
        """Return what the tokens of each document add up to."""
        found: dict[int, int] = defaultdict(int)
        for form in FORMS:
            for token, row, field, place in session.each(f"select term, doc, col, offset from {form}_posting"):
                found[row] += token_sum(form, field, place, token)
        return found

    def reader(self, session: Session, weights: Mapping[str, int], scope: Clause) -> Callable[[Leaf], Postings]:
        """Return how a leaf is looked up: weighted counts and row lengths."""

        @cache
        def look(form: Form, text: str) -> Sequence[Token]:
            return _tokens(session, form, Clause("t.term = ?", (text,)) & scope)

        def read(leaf: Leaf) -> Postings:
            match leaf:
                case Word(text=text, form=form):
                    return _counted(look(form, text), weights)
                case Prefix(text=text):
                    begins = Clause("t.term >= ? and t.term <= ?", (text, text + LAST))
                    return _counted(_tokens(session, "exact", begins & scope), weights)
                case Phrase(texts=texts):
                    return _counted(_phrase(look, texts), weights)
                case Bigram(first=first, second=second):
                    return _next_to(look("stem", first), look("stem", second))
            assert_never(leaf)

        return read

    def frequencies(
        self, session: Session, form: Form, words: Sequence[str] | None, *, scope: Clause, whole: bool
    ) -> dict[str, int]:
        """Return in how many documents words stand, in title or body."""
        inside = OPEN if whole else scope
        if words is not None:
            return {word: _count(session, form, word, inside) if _is_term(session, form, word) else 0 for word in words}
        if whole:
            return _whole_vocabulary(session, form)
        sql = (
            f"select t.term, count(distinct t.doc) from {form}_posting t cross join document d on d.id = t.doc "
            f"where t.{NAMED} and {scope.sql} group by t.term"
        )
        return dict(session.rows(sql, scope.values))


def _row(row: int, tokens: Mapping[str, tuple[str, ...]]) -> tuple[Any, ...]:
    return (row, *[" ".join(tokens.get(name, ())) for name in FIELDS])


def _tokens(session: Session, form: Form, where: Clause) -> Sequence[Token]:
    sql = (
        f"select t.doc, t.col, d.{form}_length, t.offset from {form}_posting t cross join document d on d.id = t.doc "
        f"where {where.sql}"
    )
    return session.rows(sql, where.values)


def _counted(tokens: Iterable[Token], weights: Mapping[str, int]) -> Postings:
    counts: dict[int, tuple[int, int]] = {}
    for row, column, length, _ in tokens:
        weight = weights.get(column)
        if weight:
            counts[row] = (counts[row][0] + weight if row in counts else weight, length)
    return counts


def _next_to(first: Sequence[Token], second: Sequence[Token]) -> Postings:
    """Return where a token of *second* follows one of *first*."""
    ends = {(row, column, offset + 1) for row, column, _, offset in first if column in TOGETHER}
    return _counted([token for token in second if (token[0], token[1], token[3]) in ends], TOGETHER)


def _phrase(look: Lookup, texts: tuple[str, ...]) -> Iterable[Token]:
    """Return where the exact forms *texts* stand next to each other."""
    starts: set[Token] | None = None
    for place, text in enumerate(texts):
        here = {(row, column, length, offset - place) for row, column, length, offset in look("exact", text)}
        starts = here if starts is None else starts & here
        if not starts:
            return ()
    return sorted(starts or ())


def _whole_vocabulary(session: Session, form: Form) -> dict[str, int]:
    """Count by column, which FTS5 does by itself; what stands in both columns is counted once."""
    counts: dict[str, int] = {}
    twice: list[str] = []
    for term, documents in session.rows(f"select term, doc from {form}_frequency where {NAMED}"):
        if term in counts:
            twice.append(term)
        counts[term] = counts.get(term, 0) + documents
    tokens: int = session.value(f"select coalesce(sum({form}_length), 0) from collection_stats")
    if SLOWER * len(twice) > tokens:
        sql = f"select term, count(distinct doc) from {form}_posting where {NAMED} group by term"
        return dict(session.rows(sql))
    return counts | {term: _count(session, form, term, OPEN) for term in twice}


def _is_term(session: Session, form: Form, word: str) -> bool:
    return session.value(f"select 1 from {form}_posting where term = ? limit 1", (word,)) is not None


def _count(session: Session, form: Form, term: str, inside: Clause) -> int:
    """Return how many documents FTS5 finds a token in; being a token, it needs no more than quotes."""
    table = form if inside == OPEN else f"{form} join document d on d.id = {form}.rowid"
    sql = f"select count(*) from {table} where {form} match ? and {inside.sql}"
    found: int = session.value(sql, (f'{{title body}} : "{term}"', *inside.values))
    return found
