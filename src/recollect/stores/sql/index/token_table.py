"""The tokens of documents in rows, and the answers of whatever was built from them.

The rows are the truth. What answers is a state of the cache: texts of tokens for a small store, parts of arrays for
a larger one; both rank as `bm25.rank` does.
"""

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from recollect.errors import StoreDamaged
from recollect.records import Form, NearWords, Scope, TokenizedMemory, Traits, WordHits, WordQuery
from recollect.stores.bm25 import FORMS
from recollect.stores.sql.engine import Engine, Rebuilding, Session, WordQuestion, token_sum
from recollect.stores.sql.index import sealing
from recollect.stores.sql.index.answering import Answering, Cache
from recollect.stores.sql.index.folder import SegmentFolder
from recollect.stores.sql.index.marks import Mark, read_mark, texts_of
from recollect.stores.sql.index.sealing import Sealer
from recollect.stores.sql.index.word_codec import WordCodec
from recollect.stores.token_text import packed, text_of, tokens_of

BESIDE = "_beside"
"""What stands behind the name of the table of an index that is being built."""


class TokenTable:
    """The table `tokens` and what answers from it; segments lie in *folder*, where there is one.

    The table of an index that is being built has a *mark* behind its name.
    """

    def __init__(
        self,
        statements: Rebuilding,
        folder: SegmentFolder | None = None,
        *,
        is_writable: bool = True,
        mark: str = "",
    ) -> None:
        self._statements = statements
        self._mark = mark
        self.lacks_tokens = False
        self._cache = Cache(folder)
        self._unsealed = sealing.SEAL
        """How many rows were written since sealing was considered; the first time it is considered in any case."""
        self._sealer = None if folder is None or not is_writable else Sealer(folder, WordCodec())

    def add(self, session: Session, documents: Sequence[tuple[int, TokenizedMemory]]) -> None:
        """Keep the tokens of new documents."""
        self._unsealed += len(documents)
        numbers = session.numbers(seq=len(documents))["seq"]
        session.many(
            f"insert into tokens{self._mark} (id, seq, stem, exact) values (?, ?, ?, ?) "
            "on conflict (id) do update set seq = excluded.seq, stem = excluded.stem, exact = excluded.exact",
            [(row, number, *self._written(tokens)) for number, (row, tokens) in zip(numbers, documents, strict=True)],
        )

    def _written(self, tokens: TokenizedMemory) -> tuple[str | bytes, str]:
        stem, exact = text_of(tokens.stem), text_of(tokens.exact)
        return (packed(stem, exact), "") if self._statements.packs_tokens else (stem, exact)

    def remove(self, session: Session, ids: Sequence[int]) -> None:
        """Drop the tokens of documents, and note it for whoever holds something that was made from them."""
        session.many(f"delete from tokens{self._mark} where id = ?", [(row,) for row in ids])
        if not self._mark:
            noted = list(zip(session.numbers(seq=len(ids))["seq"], ids, strict=True))
            session.many("insert into removed (seq, id) values (?, ?) on conflict do nothing", noted)

    def beside(self, session: Session) -> "TokenTable":
        """Return an empty table beside this one."""
        for statement in self._statements.beside:
            session.rows(statement)
        return TokenTable(self._statements, mark=BESIDE)

    def swap(self, session: Session) -> None:
        """Drop the table, in whatever state it is, and put the one beside it in its place."""
        for statement in self._statements.swap_words:
            session.rows(statement)
        lineage = int.from_bytes(os.urandom(8)) >> 2
        session.rows("update meta set value = ? where key = 'lineage'", (lineage,))

    def sums(self, session: Session) -> dict[int, int]:
        """Return what the tokens of each document add up to."""
        found: dict[int, int] = defaultdict(int)
        for row, *held in session.each(f"select id, stem, exact from tokens{self._mark}"):
            found[row] -= 1  # what is damaged adds up to nothing that tokens do
            with suppress(StoreDamaged):
                texts = texts_of(row, *held)
                found[row] += 1
                for form, text in zip(FORMS, texts, strict=True):
                    for name, tokens in tokens_of(text).items():
                        found[row] += sum(token_sum(form, name, place, token) for place, token in enumerate(tokens))
        return found

    def match(
        self, session: Session, query: WordQuery, asked: WordQuestion, *, limit: int, score_ids: Sequence[int]
    ) -> WordHits:
        """Return the best documents for *query*."""
        answering, mark = self._answering(session)
        asked = _with_unindexed(answering, asked)
        return answering.match(query, asked, limit=limit, score_ids=score_ids, version=mark.version)

    def matching(self, session: Session, query: WordQuery, asked: WordQuestion) -> Collection[int]:
        """Return all documents that *query* matches and that are wanted."""
        answering, mark = self._answering(session)
        asked = _with_unindexed(answering, asked)
        return answering.matching(query, asked, version=mark.version)

    def frequencies(
        self, session: Session, form: Form, words: Sequence[str] | None, *, scope: Scope
    ) -> Mapping[str, int]:
        """Return in how many documents words stand, in title or body."""
        answering, _ = self._answering(session)
        return answering.frequencies(form, words, scope=scope)

    def near(self, session: Session, words: Mapping[str, int], holding: Sequence[str], *, scope: Scope) -> NearWords:
        """Return the exact forms near *words* and those that hold a part."""
        answering, _ = self._answering(session)
        return answering.near(words, holding, scope=scope)

    def traits(self, session: Session, ids: Sequence[int]) -> Mapping[int, Traits]:
        """Return what weighing looks at of those of *ids* that are in memory."""
        answering, _ = self._answering(session)
        return answering.traits(ids)

    def _answering(self, session: Session) -> tuple[Answering, Mark]:
        """Return what answers as the open transaction sees the rows."""
        mark = session.kept(read_mark)
        answering = self._cache.at(session, mark, has_written=session.has_written)
        self.lacks_tokens = answering.unindexed > 0
        return answering, mark

    def settle(self, engine: Engine, *, whole: bool = False) -> None:
        """Seal what was written last, where there is enough of it; that is looked after every so many rows."""
        self._cache.catch_up(engine)
        mends, self._cache.has_met_damage = self._cache.has_met_damage, False
        if self._sealer is not None and (whole or mends or self._unsealed >= sealing.SEAL // 16):
            self._unsealed = 0
            self._sealer.settle(engine, whole=whole, mends=mends)

    def finish(self, engine: Engine) -> None:
        """Seal what was left for later while a lot was written, and let go of what is held."""
        if self._sealer is not None:
            self._sealer.finish(engine)
        self._cache.let_go()

    def compact(self, engine: Engine) -> tuple[str, ...]:
        """Write the segments anew that hold removed documents, and forget which those were."""
        return () if self._sealer is None else self._sealer.compact(engine, self._cache.let_go)

    def check(self, session: Session, *, deep: bool) -> Iterator[str]:
        """Yield the segments that cannot be used."""
        yield from self._cache.check(session, read_mark(session), deep=deep)
        if self._sealer is not None and self._sealer.failures.last:
            yield f"{self._sealer.failures.last}; searching is slower until that is mended"


def _with_unindexed(answering: Answering, asked: WordQuestion) -> WordQuestion:
    """Let *asked* look through the documents that have no tokens yet, too."""
    return replace(asked, extra={**asked.extra, **asked.unindexed()}) if answering.unindexed else asked
