"""Read the best few again, question and evidence together; the order among them may change, nothing else does."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from recollect.errors import ModelError
from recollect.profile import Rerank
from recollect.records import Memory
from recollect.replies import Share
from recollect.rerankers.contract import Reranker
from recollect.search.gather import Gathered
from recollect.search.hits import looked_for
from recollect.search.parse import Query
from recollect.search.ranking import Candidate
from recollect.text.snippet import MatchSpan, QueryTerms, match_spans

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """All candidates and those that are shown, best first, and whether the reranker failed."""

    weighed: tuple[Candidate, ...]
    kept: tuple[Candidate, ...]
    failed: bool = False


def read_again(
    weighed: Sequence[Candidate],
    kept: Sequence[Candidate],
    memories: Mapping[int, Memory],
    *,
    query: Query,
    gathered: Gathered,
    rules: Rerank,
    reranker: Callable[[], Reranker | None],
) -> Reread:
    """Return *weighed* and *kept* with the first of *kept* as the reranker orders them, if there is one.

    Only a plain question is read: a text does not answer operators. Where the reranker fails at its work,
    the former order stands and the reply says so; where it cannot even be loaded, that is an error.
    """
    former = Reread(weighed=tuple(weighed), kept=tuple(kept))
    first = kept[: rules.top] if query.tree is None and rules.weight > 0 else ()
    reader = reranker() if first else None
    if reader is None:
        return former
    texts = evidence([memories[each.id] for each in first], gathered, rules)
    try:
        read = rerank(weighed, texts, question=query.text, reranker=reader, weight=rules.weight)
    except ModelError:
        return replace(former, failed=True)
    shown = {each.id for each in kept}
    return Reread(weighed=read, kept=tuple(each for each in read if each.id in shown))


def rerank(
    candidates: Sequence[Candidate],
    evidence: Mapping[int, Sequence[str]],
    *,
    question: str,
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
    best = _best_windows({each.id: evidence[each.id] for each in read}, question, reranker)
    ranks = {row: rank for rank, row in enumerate(sorted(best, key=lambda row: -best[row]), start=1)}
    most = max(each.fused for each in read)
    scale = weight * (most if most > 0 else 1.0)
    shares = {
        row: Share(ranking="rerank", rank=ranks[row], points=scale * score, native=score) for row, score in best.items()
    }
    mixed = [_mixed(each, shares.get(each.id), left=1.0 - weight) for each in candidates]
    # Sorting is stable, so ties keep the former order, and all of it keeps those who were not read.
    return tuple(sorted(mixed, key=lambda each: (0, -each.score) if each.id in shares else (1, 0.0)))


def _best_windows(evidence: Mapping[int, Sequence[str]], question: str, reranker: Reranker) -> dict[int, float]:
    """Return the score of each memory's best window, asked for all at once."""
    owners = [row for row, windows in evidence.items() for _ in windows]
    scores = reranker.score(question, [window for windows in evidence.values() for window in windows])
    best: dict[int, float] = {}
    for row, score in zip(owners, scores, strict=True):
        best[row] = max(score, best.get(row, 0.0))
    return best


def _mixed(candidate: Candidate, share: Share | None, *, left: float) -> Candidate:
    shares = tuple(replace(each, points=left * each.points) for each in candidate.shares)
    return replace(candidate, shares=shares if share is None else (*shares, share))


# --- evidence -------------------------------------------------------------------------------


def evidence(memories: Sequence[Memory], gathered: Gathered, rules: Rerank) -> dict[int, tuple[str, ...]]:
    """Return what of each memory is read: its best windows, each with the title in front."""
    wanted, vector = looked_for(gathered.tiers), gathered.ranking("vector")
    near = {entry.id: entry.span for entry in (*vector.by_id.values(), *vector.found)}
    return {
        memory.id: tuple(
            f"{memory.title}\n{memory.content[start:end]}".strip()
            for start, end in windows(memory.content, wanted, near=near.get(memory.id), rules=rules)
        )
        for memory in memories
    }


def windows(text: str, wanted: QueryTerms, *, near: Span | None, rules: Rerank) -> list[Span]:
    """Return the stretches of *text* that speak most of what is *wanted*, each of other places.

    First the one with the most wanted words; then the passage *near*est in meaning, whole; then what holds the
    most words besides. A text of one window is read whole, one that offers nothing from its beginning.
    """
    if len(text) <= rules.window:
        return [(0, len(text))]
    spots = match_spans(text, wanted)
    chosen: list[Span] = []
    while len(chosen) < rules.windows:
        free = [spot for spot in spots if _apart((spot.start, spot.end), chosen)]
        passage = [near] if near and _apart(near, chosen) else []
        dense = [_framed(text, _densest(free, rules.window), rules.window)] if free else []
        offered = [*passage, *dense] if len(chosen) == 1 else [*dense, *passage]
        if not offered:
            break
        chosen.append(offered[0])
    return chosen or [_framed(text, (0, 0), rules.window)]


def _apart(span: Span, others: Sequence[Span]) -> bool:
    return all(span[1] <= start or span[0] >= end for start, end in others)


def _densest(spots: Sequence[MatchSpan], width: int) -> Span:
    """Return the stretch of at most *width* with the most distinct finds, the earliest of equals."""
    starts = [spot.start for spot in spots]

    def within(at: int) -> Sequence[MatchSpan]:
        return spots[at : bisect_left(starts, starts[at] + width)]

    most = max(range(len(spots)), key=lambda at: len(frozenset[str]().union(*(spot.found for spot in within(at)))))
    return starts[most], min(starts[most] + width, max(spot.end for spot in within(most)))


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
