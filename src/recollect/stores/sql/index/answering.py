"""What answers questions about words in a process: built from the rows once, followed as they change."""

import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from recollect.lazy import Bounded
from recollect.records import NO_FILTER, Form, NearWords, Scope, Traits, WordHits, WordQuery
from recollect.stores.bm25 import matching, rank, stats_of
from recollect.stores.sql.engine import Engine, Session, WordQuestion
from recollect.stores.sql.index.folder import SegmentFolder
from recollect.stores.sql.index.marks import Mark, read_mark, texts_of
from recollect.stores.token_text import TokenText, frequencies_in, postings_in, spaced, vocabulary_of
from recollect.stores.vocabulary import holding_among, near_among

SMALL: Final = 2_048
"""Up to how many documents no array is worth the time that loading NumPy takes."""
TINY: Final = 64
"""Up to how many it is not worth it even where NumPy is loaded."""
STATES: Final = 4
"""How many states are kept: readers of an older one go on beside those of the newest."""
MAX_BEHIND: Final = 64
"""How many changes of the index a writer reads by itself, each time again, before a state is kept for all."""
KEPT: Final = 16
"""How many answers to smaller questions are kept with the newest state."""
Kept = TypeVar("Kept")


class Answering(Protocol):
    """Answers from one state of the rows; never changed once it is made."""

    mark: Mark
    memo: "Memo"
    unindexed: int
    """How many documents have no tokens."""

    def is_intact(self) -> bool:
        """Tell whether the files that it reads from are as long as they were."""
        ...

    def match(
        self,
        query: WordQuery,
        asked: WordQuestion,
        *,
        limit: int,
        score_ids: Sequence[int],
        version: int,
    ) -> WordHits:
        """Return the best documents."""
        ...

    def matching(self, query: WordQuery, asked: WordQuestion, *, version: int) -> Collection[int]:
        """Return all documents that match and are wanted."""
        ...

    def frequencies(self, form: Form, words: Sequence[str] | None, *, scope: Scope) -> Mapping[str, int]:
        """Return how many documents hold words."""
        ...

    def near(self, words: Mapping[str, int], holding: Sequence[str], *, scope: Scope) -> NearWords:
        """Return words near others, and those that hold parts."""
        ...

    def traits(self, ids: Sequence[int]) -> Mapping[int, Traits]:
        """Return what weighing looks at of those of *ids* of which it is known here."""
        ...


class Memo:
    """What is found out about one state and asked for again; nothing is kept while it *has_written*."""

    def __init__(self, *, has_written: bool) -> None:
        self._has_written = has_written
        self._kept: Bounded[object, Any] = Bounded(KEPT)

    def kept(self, key: object, make: Callable[[], Kept]) -> Kept:
        """Return what *make* makes, made once for a *key*."""
        if self._has_written:
            return make()
        found: Kept | None = self._kept.get(key)
        if found is None:
            found = make()
            self._kept[key] = found
        return found

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()


class Texts:
    """The documents of a small store as texts of their tokens; nothing but Python is needed."""

    def __init__(self, mark: Mark, documents: Mapping[int, TokenText], *, has_written: bool) -> None:
        self.mark, self.memo = mark, Memo(has_written=has_written)
        self.documents, self.unindexed = documents, 0

    def is_intact(self) -> bool:
        """Tell that nothing is read from a file."""
        return True

    def match(
        self,
        query: WordQuery,
        asked: WordQuestion,
        *,
        limit: int,
        score_ids: Sequence[int],
        version: int,
    ) -> WordHits:
        """Return the best documents."""
        documents = self._searched(asked)
        stats = self.memo.kept((asked.scope, version), asked.stats)
        return rank(
            query,
            read=lambda leaf: postings_in(leaf, documents, query.weights),
            stats=stats + stats_of(asked.extra),
            admits=lambda rows: self._admitted(rows, asked),
            limit=limit,
            score_ids=score_ids,
            version=version,
        )

    def matching(self, query: WordQuery, asked: WordQuestion, *, version: int) -> Collection[int]:  # noqa: ARG002
        """Return all documents that match and are wanted."""
        documents = self._searched(asked)
        found = matching(query, read=lambda leaf: postings_in(leaf, documents, query.weights))
        return self._admitted(found, asked)

    def traits(self, ids: Sequence[int]) -> Mapping[int, Traits]:  # noqa: ARG002
        """Return nothing: texts have no columns."""
        return {}

    def _searched(self, asked: WordQuestion) -> Mapping[int, TokenText]:
        return {**self._of(asked.scope), **{row: TokenText.of(each) for row, each in asked.extra.items()}}

    def _admitted(self, rows: Collection[int], asked: WordQuestion) -> set[int]:
        if asked.where == NO_FILTER and not asked.extra:
            return {row for row in rows if not self.documents[row].superseded}
        return set(asked.admitted_among(rows))

    def _of(self, scope: Scope) -> Mapping[int, TokenText]:
        if scope.projects is None:
            return self.documents
        return {row: each for row, each in self.documents.items() if each.project in scope.projects}

    def frequencies(self, form: Form, words: Sequence[str] | None, *, scope: Scope) -> Mapping[str, int]:
        """Return how many documents hold words."""
        documents = self._of(scope).values()
        return vocabulary_of(documents, form) if words is None else frequencies_in(documents, form, words)

    def near(self, words: Mapping[str, int], holding: Sequence[str], *, scope: Scope) -> NearWords:
        """Return words near others, and those that hold parts."""
        held = vocabulary_of(self._of(scope).values(), "exact")
        return NearWords(
            near={word: near_among(held, word, reach) for word, reach in words.items()},
            holding={part: holding_among(held, part) for part in holding},
        )


def read_texts(session: Session, mark: Mark, base: Texts | None, *, has_written: bool) -> Texts:
    """Return all documents as texts, those that *base* has not read yet read now."""
    documents = {} if base is None else dict(base.documents)
    unseen = "true"
    if base is not None:
        unseen = base.mark.snapshot.unseen("t.seq")
        if mark.may_have_removed_since(base.mark):
            for (row,) in session.rows(f"select t.id from removed t where {unseen}"):
                documents.pop(row, None)
    sql = (
        "select t.id, d.project, d.superseded, t.stem, t.exact, d.stem_length, d.exact_length "
        f"from tokens t join document d on d.id = t.id where {unseen}"
    )
    for row, project, superseded, *tokens, stems, exacts in session.rows(sql):
        stem, exact = texts_of(row, *tokens)
        documents[row] = TokenText(project, bool(superseded), spaced(stem), spaced(exact), stems, exacts)
    return Texts(mark, documents, has_written=has_written)


class Cache:
    """The states that a process answers from; whoever needs one that is not there makes it while others wait."""

    def __init__(self, folder: "SegmentFolder | None") -> None:
        self._folder = folder
        self._states: list[Answering] = []
        self.has_met_damage = False
        self.is_behind = False
        self._begin()

    def _begin(self) -> None:
        self._process, self._lock = os.getpid(), threading.Lock()

    def at(self, session: Session, mark: Mark, *, has_written: bool) -> Answering:
        """Return what answers for *mark*, which the open transaction sees."""
        if self._process != os.getpid():  # a copy of a process whose other threads are not here to give the lock back
            self._begin()
        found = self._found(mark)
        if found is not None and self._is_good(found):
            return found
        if has_written:
            return self._uncommitted(session, mark)
        with self._lock:
            found = self._found(mark)
            if found is None or not self._is_good(found):
                self._states = [each for each in self._states if each.is_intact()]
                found = self._made(session, mark, has_written=False)
                others = [each for each in self._states if not _is_same(each.mark, mark)]
                for each in others:  # whoever still reads an older state works it out again
                    each.memo.clear()
                self._states = [found, *others][:STATES]
            return found

    def _uncommitted(self, session: Session, mark: Mark) -> Answering:
        """Return what answers for rows that others do not see yet; it stays with the transaction that wrote them."""
        last: Answering | None = session.uncommitted.get(self)
        if last is None or not _is_same(last.mark, mark):
            last = self._made(session, mark, has_written=True, last=last)
            session.uncommitted[self] = last
            if session.own_number:  # it is not kept, because it may have read newer rows than those of its mark
                self.is_behind |= all(mark.seq - each.mark.seq > MAX_BEHIND for each in self._states)
        return last

    def catch_up(self, engine: Engine) -> None:
        """Read what was written since the newest state that others may use, where writers meet much of that."""
        if self.is_behind:
            self.is_behind = False
            with engine.session() as session:
                self.at(session, session.kept(read_mark), has_written=False)

    def _found(self, mark: Mark) -> Answering | None:
        for each in self._states:
            if each.mark is mark or _is_same(each.mark, mark):
                return each
        return None

    def _is_good(self, state: Answering) -> bool:
        """Tell whether *state* may still answer: not outgrown, and none of its files cut short."""
        if isinstance(state, Texts):
            return len(state.documents) <= TINY or "numpy" not in sys.modules
        return state.is_intact()

    def _made(self, session: Session, mark: Mark, *, has_written: bool, last: Answering | None = None) -> Answering:
        documents = mark.documents
        if documents is None:
            documents = session.value("select coalesce(sum(documents), 0) from collection_stats")
        states = [*([] if last is None else [last]), *self._states]
        older = [each for each in states if _leads_to(each.mark, mark)]
        small = TINY if "numpy" in sys.modules else SMALL
        if documents <= small and not mark.segments:
            base = next((each for each in older if isinstance(each, Texts)), None)
            made = read_texts(session, mark, base, has_written=has_written)
            if base is not None and session.own_number:
                made.unindexed = base.unindexed
                return made
            if base is not None and len(made.documents) != documents:  # the note of a removal is gone
                made = read_texts(session, mark, None, has_written=has_written)
            made.unindexed = documents - len(made.documents)
            return made
        return self._made_of_parts(session, mark, older, documents, has_written=has_written)

    def _made_of_parts(
        self, session: Session, mark: Mark, older: Sequence[Answering], documents: int, *, has_written: bool
    ) -> Answering:
        from recollect.stores.sql.index.parts import Parts, read_parts  # noqa: PLC0415 (NumPy is loaded with it)

        base = next((each for each in older if isinstance(each, Parts)), None)
        made = read_parts(session, mark, base, self._folder, has_written=has_written)
        is_approximate = base is not None and bool(session.own_number)  # others may have written since it was counted
        if base is not None and made.documents != documents and not is_approximate:
            made = read_parts(session, mark, None, self._folder, has_written=has_written)
        made.unindexed = base.unindexed if base is not None and is_approximate else documents - made.documents
        self.has_met_damage = made.has_met_damage
        return made

    def let_go(self) -> None:
        """Forget all states, so that no file is held open by them."""
        self._states = []

    def check(self, session: Session, mark: Mark, *, deep: bool) -> Iterator[str]:
        """Yield the segments that cannot be used; *deep* compares each with the rows."""
        lost = session.value("select count(*) from document d left join tokens t on t.id = d.id where t.id is null")
        if lost:
            yield f"{lost} memories have no words in the index; run: recollect reindex"
        if not mark.segments or self._folder is None:
            return
        from recollect.stores.sql.index.parts import damaged_segments  # noqa: PLC0415

        yield from damaged_segments(session, mark, self._folder, deep=deep)


def _leads_to(old: Mark, new: Mark) -> bool:
    """Tell whether the state *new* can be made from *old*: tombstones since then are all there."""
    return old.lineage == new.lineage and old.seq <= new.seq and old.snapshot.settled >= new.pruned


def _is_same(one: Mark, other: Mark) -> bool:
    return (one.seq, one.lineage, one.segments) == (other.seq, other.lineage, other.segments)
