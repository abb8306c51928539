"""Read the best few again, query and evidence together; the order among them may change, nothing else does."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from recollect.errors import ModelError
from recollect.profile import Rerank
from recollect.replies import Share
from recollect.rerankers.contract import Reranker
from recollect.search.build_query import query_terms
from recollect.search.candidates import Candidate
from recollect.search.state import Outlined, SearchContext, State
from recollect.search.texts import with_outlines
from recollect.text.snippet import MatchSpan, QueryTerms, match_spans

Span = tuple[int, int]


def rerank(state: State, context: SearchContext, *, rules: Rerank) -> State:
    """Order the first candidates as the reranker does, if there is one.

    Only a plain query is read: a text does not answer operators. Where the reranker fails at its work,
    the order stays and the reply says so; where it cannot even be loaded, that is an error.
    """
    plain = state.query.tree is None and not state.query.is_blank
    first = state.kept.ids[: rules.top_k] if plain and rules.weight > 0 else ()
    reranker = context.reranker() if first else None
    if reranker is None:
        return state
    context.watch.check()
    state = with_outlines(state, context, first)
    texts = evidence([state.outlines[row] for row in first], state, rules)
    try:
        read = mix_scores(state.candidates, texts, query=state.query.text, reranker=reranker, weight=rules.weight)
    except ModelError:
        return replace(state, degraded="reranker_failed")
    return replace(state, candidates=read)


def mix_scores(
    candidates: Sequence[Candidate],
    evidence: Mapping[int, Sequence[str]],
    *,
    query: str,
    reranker: Reranker,
    weight: float,
) -> tuple[Candidate, ...]:
    """Return *candidates* with those that have *evidence* in front, ordered by both opinions; ties as before.

    Score before the factors = (1 - weight) x what the rankings gave + weight x the best window's score x the most
    that the rankings gave any of them. So scores stay on their scale, and who was not read loses nothing to another
    who was not.
    """
    read = [each for each in candidates if evidence.get(each.id)]
    if not read:
        return tuple(candidates)
    best = _best_windows({each.id: evidence[each.id] for each in read}, query, reranker)
    ranks = {row: rank for rank, row in enumerate(sorted(best, key=lambda row: -best[row]), start=1)}
    most = max(each.fused for each in read)
    scale = weight * (most if most > 0 else 1.0)
    shares = {
        row: Share(ranking="rerank", rank=ranks[row], points=scale * score, native=score) for row, score in best.items()
    }
    mixed = [_mixed(each, shares.get(each.id), left=1.0 - weight) for each in candidates]
    # Sorting is stable, so ties keep the former order, and all of it keeps those who were not read.
    return tuple(sorted(mixed, key=lambda each: (0, -each.score) if each.id in shares else (1, 0.0)))


def _best_windows(evidence: Mapping[int, Sequence[str]], query: str, reranker: Reranker) -> dict[int, float]:
    """Return the score of each memory's best window, asked for all at once."""
    owners = [row for row, windows in evidence.items() for _ in windows]
    scores = reranker.score(query, [window for windows in evidence.values() for window in windows])
    best: dict[int, float] = {}
    for row, score in zip(owners, scores, strict=True):
        best[row] = max(score, best.get(row, 0.0))
    return best


def _mixed(candidate: Candidate, share: Share | None, *, left: float) -> Candidate:
    shares = tuple(each._replace(points=left * each.points) for each in candidate.shares)
    return replace(candidate, shares=shares if share is None else (*shares, share))


# --- evidence -------------------------------------------------------------------------------


def evidence(memories: Sequence[Outlined], state: State, rules: Rerank) -> dict[int, tuple[str, ...]]:
    """Return what of each memory is read: its best windows, each with the title in front."""
    terms, vector = query_terms(state.tiers), state.ranking("vector")
    near = {hit.id: hit.span for hit in (*vector.by_id.values(), *vector.hits)}
    return {
        memory.id: tuple(
            f"{memory.title}\n{memory.content[start:end]}".strip()
            for start, end in windows(memory.content, terms, near=near.get(memory.id), rules=rules)
        )
        for memory in memories
    }


def windows(text: str, terms: QueryTerms, *, near: Span | None, rules: Rerank) -> list[Span]:
    """Return the stretches of *text* that hold most of the *terms*, each of other places.

    First the one with the most terms; then the passage *near*est in meaning, whole; then what holds the
    most terms besides. A text of one window is read whole, one that offers nothing from its beginning.
    """
    if len(text) <= rules.window_chars:
        return [(0, len(text))]
    spans = match_spans(text, terms)
    chosen: list[Span] = []
    while len(chosen) < rules.max_windows:
        free = [span for span in spans if _apart((span.start, span.end), chosen)]
        passage = [near] if near and _apart(near, chosen) else []
        dense = [_framed(text, _densest(free, rules.window_chars), rules.window_chars)] if free else []
        offered = [*passage, *dense] if len(chosen) == 1 else [*dense, *passage]
        if not offered:
            break
        chosen.append(offered[0])
    return chosen or [_framed(text, (0, 0), rules.window_chars)]


def _apart(span: Span, others: Sequence[Span]) -> bool:
    return all(span[1] <= start or span[0] >= end for start, end in others)


def _densest(spans: Sequence[MatchSpan], width: int) -> Span:
    """Return the stretch of at most *width* with the most distinct finds, the earliest of equals."""
    starts = [span.start for span in spans]

    def within(at: int) -> Sequence[MatchSpan]:
        return spans[at : bisect_left(starts, starts[at] + width)]

    most = max(range(len(spans)), key=lambda at: len(frozenset[str]().union(*(span.found for span in within(at)))))
    return starts[most], min(starts[most] + width, max(span.end for span in within(most)))


def _framed(text: str, core: Span, width: int) -> Span:
    """Return *width* characters around *core*, cut between words where there is a space."""
    first, last = core
    start = max(0, min(first - (width - (last - first)) // 2, len(text) - width))
    end = start + width
    if start:
        start += 1 + text[start:first].find(" ")
    if end < len(text):
        end = last + len(text[last:end].rpartition(" ")[0]) if " " in text[last:end] else end
    return start, end
