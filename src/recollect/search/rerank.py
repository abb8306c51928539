"""Let a reranker, if the settings name one, read the best few candidates again; only their order changes."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from recollect.errors import ModelError
from recollect.rerankers.contract import Reranker
from recollect.search.build_query import query_terms
from recollect.search.candidates import Candidates, Given
from recollect.search.state import Outlined, SearchContext, State
from recollect.search.texts import with_outlines
from recollect.text.snippet import QueryTerms, densest, match_spans, stretch

RERANK_TOP_K: Final = 30
"""How many of the best are read; independent of the limit, so a longer answer starts like a shorter one."""
RERANK_WEIGHT: Final = 0.5
"""The reranker's share of the score; the rest is from the rankings."""
WINDOW_CHARS: Final = 500
"""How much of a longer memory is read."""


def rerank(state: State, context: SearchContext) -> State:
    """Order the first candidates by the reranker, if there is one.

    Only a plain query is read: a text does not answer operators. If the reranker fails, the order stays and the reply
    says so; if it cannot be loaded, that is an error.
    """
    is_plain = state.query.tree is None and not state.query.is_blank
    first = state.kept.ids[:RERANK_TOP_K] if is_plain else ()
    reranker = context.reranker() if first else None
    if reranker is None:
        return state
    context.watch.check()
    state = with_outlines(state, context, first)
    texts = evidence([state.outlines[row] for row in first], state)
    try:
        return replace(state, candidates=mix_scores(state.candidates, texts, state.query.text, reranker))
    except ModelError:
        return replace(state, degraded="reranker_failed")


def mix_scores(candidates: Candidates, texts: Mapping[int, str], query: str, reranker: Reranker) -> Candidates:
    """Return *candidates* with those that have a text in front, ordered by the mixed score; ties keep their order.

    Score before the factors = (1 - weight) x the shares of the rankings + weight x the reranker's score x the best sum
    of shares among those read. So scores stay on their scale, and the order of the others does not change.
    """
    fused = {row: own for row, own in zip(candidates.ids, candidates.fused, strict=True) if row in texts}
    read = list(fused)
    natives = dict(zip(read, reranker.score(query, [texts[row] for row in read]), strict=True))
    ranks = {row: rank for rank, row in enumerate(sorted(read, key=lambda row: -natives[row]), start=1)}
    scale = RERANK_WEIGHT * (max(fused.values()) if max(fused.values()) > 0 else 1.0)
    points = {row: scale * max(0.0, score) for row, score in natives.items()}
    scaled = [each._replace(points=_scaled(each.points)) for each in candidates.given]
    mixed = Candidates.fuse(candidates.ids, [*scaled, Given("rerank", points, ranks, natives)])
    mixed = mixed.weighed(candidates.factors).dropped(candidates.drops)
    scores = dict(zip(mixed.ids, mixed.scores, strict=True))
    return mixed.led_by(sorted(read, key=lambda row: -scores[row]))


def _scaled(points: Mapping[int, float]) -> dict[int, float]:
    return {row: (1.0 - RERANK_WEIGHT) * each for row, each in points.items()}


# --- evidence -------------------------------------------------------------------------------


def evidence(memories: Sequence[Outlined], state: State) -> dict[int, str]:
    """Return the part of each memory that is read: its title and its best window."""
    terms, vector = query_terms(state.tiers), state.ranking("vector")
    near = {hit.id: hit.span for hit in (*vector.by_id.values(), *vector.hits)}
    windows = {each.id: window(each.content, terms, near=near.get(each.id)) for each in memories}
    return {each.id: f"{each.title}\n{each.content[slice(*windows[each.id])]}".strip() for each in memories}


def window(text: str, terms: QueryTerms, *, near: tuple[int, int] | None) -> tuple[int, int]:
    """Return the span of *text* with the most distinct *terms*; without any, the passage *near*est in meaning.

    A short text is read whole, and a long one that offers neither from its beginning.
    """
    if len(text) <= WINDOW_CHARS:
        return 0, len(text)
    spans = match_spans(text, terms)
    if near is not None and not spans:
        return near
    return stretch(text, densest(spans, WINDOW_CHARS), WINDOW_CHARS)
