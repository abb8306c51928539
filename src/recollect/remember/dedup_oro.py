"""Oro's way to tell a duplicate at intake: its own words find it, or its vector lies on another's."""

from collections.abc import Sequence

from recollect.embedders.contract import Embedder
from recollect.profile import Profile
from recollect.records import ALL_PROJECTS, NO_FILTER, AnyOf, Memory, Scope, Word, WordQuery
from recollect.remember.dedup import Candidate, Verdict, judge_oro
from recollect.remember.ingest import Judging
from recollect.stores.contract import Store
from recollect.text.tokenizer import read_words, significant
from recollect.vectors import pack


def oros_judge(store: Store, *, profile: Profile, embedder: Embedder | None) -> Judging:
    """Return how profile `oro` decides: BM25 of the new content above 0.7, or a cosine above 0.85."""

    def decide(new: Memory, _: Sequence[Candidate]) -> Verdict:
        scope = Scope(projects=frozenset({new.project}))
        stems = dict.fromkeys(stem for word in significant(read_words(new.content)) for stem in word.stems)
        found = _by_words(tuple(stems), store, scope, profile)
        near = _by_meaning(new, store, scope, embedder)
        row = near[0] if near is not None and near[1] > 0.85 else found and found[0]
        if not row:
            return Verdict(decision="distinct")
        other = store.load([row], scope=ALL_PROJECTS)[row].confidence
        return judge_oro(
            of=row,
            bm25_normalised=found[1] if found and found[0] == row else None,
            cosine=near[1] if near is not None and near[0] == row else None,
            confidence=new.confidence,
            other=other,
        )

    return decide


def _by_words(stems: Sequence[str], store: Store, scope: Scope, profile: Profile) -> tuple[int, float] | None:
    if not stems:
        return None
    expression = AnyOf(parts=tuple(Word(text=stem) for stem in stems[: profile.words.max_terms]))
    asked = WordQuery(expression=expression, weights=profile.words.fields)
    top = store.match_words(asked, scope=scope, where=NO_FILTER, limit=1).top
    return (top[0].id, min(1.0, max(0.0, top[0].score / profile.fuse.divisor))) if top else None


def _by_meaning(new: Memory, store: Store, scope: Scope, embedder: Embedder | None) -> tuple[int, float] | None:
    if embedder is None:
        return None
    (vector,) = embedder.embed_passages([new.heading + new.content])
    top = store.nearest(embedder.fingerprint, pack(vector), scope=scope, where=NO_FILTER, limit=1).top
    return (top[0].id, top[0].score) if top else None
