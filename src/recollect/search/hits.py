"""The last stages: build the hits with snippets and reasons; browse the newest for a blank query."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count, groupby

from msgspec.structs import replace

from recollect.records import NO_FILTER, Event, FactQuery, Memory, Page, WordQuery, facts_by_memory
from recollect.replies import Hit, MatchType
from recollect.search.build_query import query_terms
from recollect.search.candidates import Candidate
from recollect.search.exchange import collapse, exchanges_told
from recollect.search.state import SearchContext, State
from recollect.search.texts import with_outlines
from recollect.search.weigh import mean_confidence
from recollect.text.analyser import plain_values
from recollect.text.snippet import QueryTerms, Snippet, held, held_in_line, joined, marked_snippet, most_held
from recollect.trust import DECIDING, conflicts_of, differing, stands_above

SHOWABLE = ("near_repeat", "limit", "imprecise")
"""Candidates dropped with one of these codes would be shown in a longer answer."""
SHOWN = 160
"""Characters shown of a memory while browsing."""
NO_SNIPPET = Snippet("")
METADATA_SHOWN = 60
"""Characters shown of a metadata value that matches."""


def load_shown(state: State, context: SearchContext, *, pool: int) -> State:
    """Load the memories that are shown, and the first *pool* of those under a higher limit."""
    near = state.in_reach.ids[:pool] if pool else ()
    ids = list(dict.fromkeys([*state.kept.ids, *near]))
    return _with_memories(with_outlines(state, context, near), context, ids) if ids else state


def _with_memories(state: State, context: SearchContext, ids: Sequence[int]) -> State:
    """Load the memories *ids*, and the decisions about them unless only the order is requested."""
    if not state.request.snippets:
        return replace(state, memories=context.ask.load(ids, scope=state.scope))
    memories, events = context.ask.load_with_events(ids, scope=state.scope, verbs=DECIDING)
    return replace(state, memories=memories, events=events)


def load_facts(state: State, context: SearchContext) -> State:
    """Load the facts of the kept candidates."""
    kept = state.kept.ids
    if not kept:
        return state
    found = context.ask.facts(FactQuery(memory_ids=tuple(kept)), scope=state.scope)
    return replace(state, facts=facts_by_memory(found)) if found else state


def build_hits(state: State) -> State:
    """Build hits of the kept candidates, in order; an exchange takes one place on the first page."""
    state = collapse(state)
    told, passages, terms = exchanges_told(state), _best_passages(state), query_terms(state.tiers)

    def hit(rank: int, each: Candidate) -> Hit:
        row, match_type, facts = each.id, _match_type(each), state.facts.get(each.id, ())
        memory, by_words = state.memories[row], match_type != "semantic"
        shown = _snippet(memory, passages.get(row), terms, by_words=by_words) if state.request.snippets else NO_SNIPPET
        return Hit(
            rank=rank,
            memory=memory,
            score=each.score,
            match_type=match_type,
            snippet=shown.text,
            marks=shown.marks,
            shares=each.shares,
            factors=each.factors,
            facts=facts if state.request.include_facts else (),
            effective_confidence=mean_confidence(facts, state.now),
            older=state.older.get(row),
            probability=state.chances.get(row),
            exchange=told.get(row, ()),
        )

    outcome = state.outcome if state.kept else "none"
    return replace(state, outcome=outcome, hits=tuple(map(hit, count(1), state.kept)), total=_total(state))


def mark_conflicts(state: State, context: SearchContext, *, limit: int) -> State:
    """Add to each hit the memories it conflicts with, and rank the more trusted side of a conflict first.

    However often somebody contradicts the owner, the owner's statement ranks above the first contradiction.
    """
    rows = {hit.id for hit in state.hits}
    events = {row: state.events[row] for row in rows if row in state.events}
    found, held = conflicts_of(rows, events, lambda missing: context.ask.load(missing, scope=state.scope))
    hits = tuple(replace(hit, conflicts=found[hit.id]) if hit.id in found else hit for hit in state.hits)
    if not state.browsing:
        admitted = {row: held[row] for row in held if row in found and _is_admitted(row, state)}
        hits = tuple(_owner_first(replace(state, hits=hits), events, admitted, found))[:limit]
    return replace(state, hits=tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1)))


def _is_admitted(row: int, state: State) -> bool:
    """Return whether a memory that is not a hit may be shown: it matched, or nothing in the request excludes it."""
    plain = state.where == NO_FILTER and not state.query.unwanted
    return plain or row in state.candidates.ids


def _owner_first(
    state: State,
    events: Mapping[int, Sequence[Event]],
    held: Mapping[int, Memory],
    conflicts: Mapping[int, tuple[int, ...]],
) -> Iterator[Hit]:
    """Yield the hits, each preceded by the more trusted memories that it contradicts, even if they are not hits."""
    ties = (tuple(tied) for _, tied in groupby(state.hits, key=lambda hit: hit.score))
    hits = [hit for tied in ties for hit in sorted(tied, key=lambda hit: hit.memory.trust != "owner")]
    known = {hit.id: hit for hit in hits}
    done: set[int] = set()
    for hit in hits:
        about = (*hit.conflicts, *(row for row in differing(events.get(hit.id, ())) if row in known))
        for row in about if hit.id not in done else ():
            memory = known[row].memory if row in known else held.get(row)
            if memory is not None and row not in done and stands_above(memory, hit.memory):
                done.add(row)
                yield _raised(known[row], hit) if row in known else _found_by(hit, memory, conflicts[row], state)
        if hit.id not in done:
            done.add(hit.id)
            yield hit


def _raised(hit: Hit, below: Hit) -> Hit:
    """Return *hit* with as high a score as *below*, which contradicts it."""
    if not 0 < hit.score < below.score:
        return hit
    return replace(hit, score=below.score, factors={**hit.factors, "trust": below.score / hit.score})


def _found_by(hit: Hit, memory: Memory, conflicts: tuple[int, ...], state: State) -> Hit:
    """Return *memory*, which no ranking contains, as a hit with the score of *hit*, which contradicts it."""
    terms = query_terms(state.tiers)
    shown = _snippet(memory, None, terms, by_words=True) if state.request.snippets else NO_SNIPPET
    return replace(
        hit,
        memory=memory,
        snippet=shown.text,
        marks=shown.marks,
        facts=(),
        conflicts=conflicts,
        older=None,
        exchange=(),
    )


def _best_passages(state: State) -> Mapping[int, tuple[int, int]]:
    """Return the span of each memory's passage that is nearest in meaning."""
    near, shown = state.ranking("vector"), set(state.kept.ids)
    scored = [near.by_id[row] for row in shown if row in near.by_id]
    return {row: span for row, _, _, span in chain(scored, near.hits) if row in shown and span is not None}


def _snippet(memory: Memory, passage: tuple[int, int] | None, terms: QueryTerms, *, by_words: bool) -> Snippet:
    """Return the matching part of a memory's text, then of metadata with terms that the text does not contain."""
    shown, more = (
        _passage_snippet(memory.content, passage, terms, by_words=by_words),
        [*_metadata_snippets(memory, terms)],
    )
    return joined((shown, *more), " · ") if more else shown


def _metadata_snippets(memory: Memory, terms: QueryTerms) -> Iterator[Snippet]:
    lines = [f"{key}: {', '.join(plain_values(value))}" for key, value in memory.metadata.items()]
    telling = {line: found for line in lines if (found := held_in_line(line, terms))}
    if not telling:
        return
    known = held(f"{memory.title}\n{memory.section or ''}\n{memory.content}", terms)
    for line, found in telling.items():
        if not found <= known:
            yield marked_snippet(line, terms, width=METADATA_SHOWN)
            known |= found


def _passage_snippet(content: str, passage: tuple[int, int] | None, terms: QueryTerms, *, by_words: bool) -> Snippet:
    """Return the snippet of the *passage* nearest in meaning, or of another place with more of the *terms*."""
    if passage is None or passage == (0, len(content)):
        return marked_snippet(content, terms)
    near = content[slice(*passage)]
    if by_words and most_held(content, terms) > len(held(near, terms)):
        return marked_snippet(content, terms)
    shown, before, after = marked_snippet(near, terms), content[: passage[0]].strip(), content[passage[1] :].strip()
    opening = "…" if before and not shown.text.startswith("…") else ""
    closing = "…" if after and not shown.text.endswith("…") else ""
    return joined((Snippet(opening), shown, Snippet(closing)), "")


def _match_type(candidate: Candidate) -> MatchType:
    by = {share.ranking for share in candidate.shares if share.rank is not None}
    if "vector" not in by:
        return "bm25"
    return "hybrid" if "words" in by else "semantic"


def _total(state: State) -> int:
    """Return how many hits there would be without a limit."""
    candidates = state.candidates
    codes: list[str] = [drop.code for drop in candidates.drops.values()]
    passed = len(candidates) - len(codes) + sum(map(codes.count, SHOWABLE))
    whole = state.mode == "keyword" and passed == len(candidates)
    return max(state.ranking("words").total, passed) if whole else passed


def browse(state: State, context: SearchContext, *, limit: int) -> State:
    """Show the newest memories that the filters admit."""
    return show_listed(state, context, context.ask.browse(scope=state.scope, where=state.where, limit=limit))


def show_listed(state: State, context: SearchContext, page: Page) -> State:
    """Show the memories of *page* in its order."""
    state = _with_memories(state, context, page.ids)
    hits = tuple(
        Hit(rank=rank, memory=memory, score=0.0, match_type="browse", snippet=memory.content[:SHOWN])
        for rank, memory in enumerate(state.memories.values(), start=1)
    )
    return replace(state, browsing=True, hits=hits, total=page.total, outcome="answered" if hits else "none")


def count_facets(state: State, context: SearchContext) -> State:
    """Count the facets of every memory that the words match, or while browsing, that the filters admit."""
    asked = next((tier for tier in state.tiers if isinstance(tier, WordQuery)), None)
    if asked is None and not state.browsing:
        return state
    return replace(state, facets=context.ask.facets(query=asked, scope=state.scope, where=state.where))
