"""Answer a request: run the pipeline on one snapshot of the store, and build the reply."""

from itertools import islice
from time import perf_counter

from recollect.errors import StoreInterrupted
from recollect.replies import Degraded, Reply, Request
from recollect.search.pipeline import prepare
from recollect.search.state import SearchContext, State

NEAR_MISSES = 5
"""How many candidates that are not shown go to the recall log."""


def search(request: Request, context: SearchContext) -> Reply:
    """Answer *request* from one snapshot of the store; once more if the connection to the database broke."""
    started = perf_counter()
    try:
        answered = _answered(request, context)
    except StoreInterrupted:
        answered = _answered(request, context)
    return as_reply(answered, context, milliseconds=(perf_counter() - started) * 1000)


def _answered(request: Request, context: SearchContext) -> State:
    with context.store.reading():
        pipeline, state, watched = prepare(request, context)
        return pipeline.run(state, watched)


def degraded_by(state: State) -> Degraded | None:
    """Return what did not run as requested: failures first, then limits of this query."""
    lasting = state.degraded in (None, "no_model", "vectors_pending")
    return state.limited or state.degraded if lasting else state.degraded


def as_reply(state: State, context: SearchContext, *, milliseconds: float) -> Reply:
    """Return the reply."""
    shown, candidates = {hit.id for hit in state.hits}, state.candidates
    missed = (pair for pair in zip(candidates.ids, candidates.scores, strict=True) if pair[0] not in shown)
    return Reply(
        query=state.request.text,
        mode=state.request.mode,
        profile=context.profile.name,
        outcome=state.outcome,
        hits=state.hits,
        reason=state.reason,
        degraded=degraded_by(state),
        suggestions=state.suggestions,
        facets=state.facets,
        total=state.total,
        hidden=[drop.code for drop in candidates.drops.values()].count("imprecise"),
        near_misses=tuple(islice(missed, NEAR_MISSES)) if state.hits else (),
        evidence=state.evidence,
        timings_ms={"total": round(milliseconds, 3)},
        version=state.version,
    )
