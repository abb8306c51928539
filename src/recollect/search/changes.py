"""Changed facts: of statements about the same thing the newest ranks first, unless the query asks for the past.

Certain updates are linked at intake. This stage handles the rest by the same rules (text/claims.py): a newer memory
that changes or denies what the best hit says, or is about the same thing and announces a change, ranks just above it
and names the one it follows. So does a memory of the present above a best hit that calls itself past.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice

from msgspec.structs import replace

from recollect.profile import Changes
from recollect.search.build_query import query_terms
from recollect.search.candidates import Candidate, Candidates
from recollect.search.parse import Query, query_length
from recollect.search.retrieve import with_vectors
from recollect.search.state import Outlined, SearchContext, State
from recollect.search.texts import with_outlines
from recollect.search.weigh import names_date
from recollect.text.changes import announces_change, asks_before, calls_itself_past, may_ask_past
from recollect.text.snippet import held
from recollect.vectors import plain_products


def include_superseded(query: Query, now: datetime) -> Query:
    """Return *query* with superseded memories included if it asks how something was before."""
    back = asks_before(query.text) or _end_of_time(query, now) is not None
    if query.tree is not None or not back:
        return query
    return replace(query, where=replace(query.where, include_superseded=True))


def compare_changes(state: State, context: SearchContext, *, rules: Changes, shown: int) -> State:
    """Load the texts and vectors of the candidates that may follow the best hit, and rank the right one above it.

    The texts of the first *shown* are loaded with them: later stages read those.
    """
    near = _comparable(state)
    least = rules.min_score * max(near.scores, default=0.0)
    scored = zip(near.ids, near.scores, strict=True)
    # A query for a time may be answered by a candidate with a lower score.
    ids = near.ids if state.query.dates else [row for row, score in scored if score >= least]
    state = with_outlines(state, context, list(dict.fromkeys((*ids, *state.candidates.ids[:shown]))))
    state = with_vectors(state, context, ids) if state.mode == "hybrid" else state
    return order_changes(state, rules=rules)


def _comparable(state: State) -> Candidates:
    """Return the first candidates that are not conversation turns."""
    candidates, known = state.candidates, state.known
    places = (at for at, row in enumerate(candidates.ids) if known[row].thread is None)
    return candidates.picked(list(islice(places, MAX_COMPARED)))


def order_changes(state: State, *, rules: Changes) -> State:
    """Rank the memory that follows the best hit above it, or the one before it if the query asks for that."""
    kept = _comparable(state)
    asked = query_length(state.query) >= MIN_QUERY_WORDS and state.query.tree is None
    if not kept or not asked:
        return state
    best, question = kept[0], state.query.text
    before, until = asks_before(question), _end_of_time(state.query, state.now)
    if until is not None:
        return _as_of(state, kept, until, rules)
    if may_ask_past(question) and not before:
        return state
    least = rules.min_score * best.score
    others = [row for row, score in islice(zip(kept.ids, kept.scores, strict=True), 1, None) if score >= least]
    linked = [row for row in others if _follows(best.id, row, state, back=before)]
    if not linked and not before and _is_past(state.outlines[best.id]):
        linked = [row for row in others if _is_present(row, state) and _alike(best.id, row, state)][:1]
    if not linked:
        return state if before else _marked(state, best, others)
    chosen = linked[0] if before else _newest(linked, state)
    return _raised(state, kept[kept.ids.index(chosen)], best)


def _marked(state: State, best: Candidate, others: Sequence[int]) -> State:
    """Return *state* with the older memory named whose value the best hit replaces."""
    if not others:
        return state
    from recollect.text.claims import gives_other_value  # noqa: PLC0415  (slow to load, and many answers are one hit)

    new = state.outlines[best.id]
    older = [
        row
        for row in others
        if state.outlines[row].when < new.when and gives_other_value(new.content, state.outlines[row].content)
    ]
    return replace(state, older={**state.older, best.id: older[0]}) if older else state


def _end_of_time(query: Query, now: datetime) -> datetime | None:
    """Return the end of the time that the query names, if it is over."""
    ends = [found.span.end for found in query.dates]
    return max(ends) if ends and max(ends) <= now else None


def _as_of(state: State, kept: Sequence[Candidate], until: datetime, rules: Changes) -> State:
    """Rank the newest statement made before *until* first, among the best hit and those about the same thing.

    A statement that follows a best hit of that time announces a change. A best hit that names the time is about it,
    whenever it was written.
    """
    best, memories = kept[0], state.outlines
    later = memories[best.id].when >= until
    if later and names_date(memories[best.id], [found.span for found in state.query.dates]):
        return state
    others = [
        each
        for each in kept[1:]
        if memories[each.id].when < until
        and _undated(each) >= rules.min_score * _undated(best)
        and (_alike if later else _follows)(best.id, each.id, state)
    ]
    if not others:
        return state
    nearest = max(others, key=_undated)
    by_row = {each.id: each for each in others}
    return _raised(state, nearest if later else by_row[_newest(by_row, state)], best)


def _newest(rows: Iterable[int], state: State) -> int:
    return max(rows, key=lambda row: (state.outlines[row].when, row))


def _undated(candidate: Candidate) -> float:
    return candidate.score / candidate.factors.get("date_boost", 1.0)


def _raised(state: State, chosen: Candidate, best: Candidate) -> State:
    """Return *state* with *chosen* just above *best*, and the link between them."""
    factor = chosen.score / chosen.fused if chosen.fused > 0 else 1.0
    points = (best.score * (1.0 + STEP)) / factor - chosen.fused if factor > 0 else 0.0
    ordered = state.candidates.lifted("change", {chosen.id: max(0.0, points)}).by_score()
    newer, older = sorted((chosen.id, best.id), key=lambda row: (state.outlines[row].when, row), reverse=True)
    return replace(state, candidates=ordered, older={**state.older, newer: older})


STEP = 0.01
"""How far the newer memory ranks above the one it follows."""
MIN_QUERY_WORDS = 2
"""A query of one word asks for everything about it, not for a state of it."""
MAX_COMPARED = 30
"""How many of the best are compared with the best hit."""


def _follows(row: int, other: int, state: State, *, back: bool = False) -> bool:
    """Return whether *other* changes what *row* says; with *back*, the reverse."""
    old, new = (state.outlines[other], state.outlines[row]) if back else (state.outlines[row], state.outlines[other])
    if old.superseded_by == new.id:
        return True
    if new.when <= old.when:
        return False
    from recollect.text.claims import gives_other_value, relation, same_subject  # noqa: PLC0415

    near = _cosine(row, other, state)
    if relation(new.content, old.content, cosine=near) in {"updates", "conflicts"}:
        return True
    if gives_other_value(new.content, old.content):
        return _holds_as_much(new, old, state)
    return announces_change(new.content) and same_subject(new.content, old.content, cosine=near)


def _holds_as_much(new: Outlined, old: Outlined, state: State) -> bool:
    """Return whether *new* contains as many query words as *old*: a query that names a value asks for that one."""
    terms = query_terms(state.tiers)
    return len(held(new.content, terms)) >= len(held(old.content, terms))


def _is_past(memory: Outlined) -> bool:
    return calls_itself_past(memory.content)


def _is_present(row: int, state: State) -> bool:
    return not calls_itself_past(state.outlines[row].content)


def _alike(row: int, other: int, state: State) -> bool:
    """Return whether two memories are about the same thing, in either order."""
    from recollect.text.claims import same_subject  # noqa: PLC0415

    old, new = sorted((state.outlines[row], state.outlines[other]), key=lambda each: (each.when, each.id))
    return same_subject(new.content, old.content, cosine=_cosine(row, other, state))


def _cosine(row: int, other: int, state: State) -> float | None:
    vectors = state.vectors
    if not state.scale.tells or row not in vectors or other not in vectors:
        return None
    return state.scale.of(plain_products(vectors[other], [vectors[row]])[0])
