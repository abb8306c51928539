"""The last stage: the best few, with a snippet and the reason each was found."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from recollect.profile import Profile
from recollect.records import (
    AllOf,
    AndNot,
    AnyOf,
    Bigram,
    Expression,
    Fact,
    Memory,
    Phrase,
    Prefix,
    SubstringQuery,
    Word,
    WordQuery,
)
from recollect.replies import Hit, MatchType
from recollect.search.build_query import Tier
from recollect.search.gather import Gathered
from recollect.search.ranking import Candidate
from recollect.search.retrieve import Desk
from recollect.search.weigh import mean_confidence
from recollect.text.snippet import QueryTerms, snippet
from recollect.text.tokenizer import read_words

Facets = Mapping[str, Mapping[str, int]]


def facet(tiers: Sequence[Tier], desk: Desk) -> Facets:
    """Count every memory that the words match, not only those shown; nothing when nothing was asked for."""
    asked = next((tier for tier in tiers if isinstance(tier, WordQuery)), None)
    return {} if asked is None else desk.store.facets(query=asked, scope=desk.scope, where=desk.where)


def facet_all(desk: Desk) -> Facets:
    """Count every memory that the filters admit."""
    return desk.store.facets(query=None, scope=desk.scope, where=desk.where)


def clamp(limit: int | None, profile: Profile) -> int:
    """Return how many hits to show: the profile's number for none or less, never more than it allows."""
    return min(limit, profile.most) if limit is not None and limit > 0 else profile.limit


def fit(
    candidates: Sequence[Candidate],
    memories: Mapping[int, Memory],
    *,
    gathered: Gathered,
    facts: Mapping[int, tuple[Fact, ...]],
    now: datetime,
    snippets: bool = True,
) -> tuple[Hit, ...]:
    """Return *candidates* as hits, in their order; without *snippets* theirs are blank."""
    wanted = looked_for(gathered.tiers)
    passages = best_passages(gathered)
    return tuple(
        Hit(
            rank=rank,
            memory=memories[each.id],
            score=each.score,
            match_type=_match_type(each),
            snippet=snippet(_spoken(memories[each.id], passages.get(each.id)), wanted) if snippets else "",
            shares=each.shares,
            factors=each.factors,
            facts=facts.get(each.id, ()),
            effective_confidence=mean_confidence(facts.get(each.id, ()), now),
        )
        for rank, each in enumerate(candidates, start=1)
    )


def best_passages(gathered: Gathered) -> Mapping[int, tuple[int, int]]:
    """Return where the best passage of each memory stands, when meaning alone was asked for."""
    if gathered.mode != "semantic":
        return {}
    return {entry.id: entry.span for entry in gathered.ranking("vector").found if entry.span is not None}


def _spoken(memory: Memory, span: tuple[int, int] | None) -> str:
    return memory.content if span is None else memory.content[span[0] : span[1]]


def _match_type(candidate: Candidate) -> MatchType:
    by = {share.ranking for share in candidate.shares if share.rank is not None}
    if "vector" not in by:
        return "bm25"
    return "hybrid" if "words" in by else "semantic"


def looked_for(tiers: Sequence[Tier]) -> QueryTerms:
    """Return the tokens that a snippet marks."""
    leaves = [leaf for tier in tiers for leaf in _leaves(tier)]
    words = [leaf for leaf in leaves if isinstance(leaf, Word)]
    phrases = [leaf for leaf in leaves if isinstance(leaf, Phrase)]
    return QueryTerms(
        stems=frozenset(word.text for word in words if word.form == "stem"),
        tokens=frozenset(word.text for word in words if word.form == "exact")
        | frozenset(text for phrase in phrases for text in phrase.texts),
        prefixes=tuple(leaf.text for leaf in leaves if isinstance(leaf, Prefix)),
    )


def _leaves(tier: Tier) -> list[Word | Prefix | Phrase]:
    if isinstance(tier, SubstringQuery):
        return [
            Word(text=token, form="exact")
            for needle in tier.needles
            for word in read_words(needle)
            for token in word.tokens
        ]
    assert isinstance(tier, WordQuery)  # noqa: S101  (the other kind of tier)
    return _wanted(tier.expression)


def _wanted(expression: Expression) -> list[Word | Prefix | Phrase]:
    match expression:
        case AnyOf(parts=parts) | AllOf(parts=parts):
            return [leaf for part in parts for leaf in _wanted(part)]
        case AndNot(wanted=wanted):
            return _wanted(wanted)
        case Word() | Prefix() | Phrase():
            return [expression]
        case Bigram():
            return []  # its words are there themselves
