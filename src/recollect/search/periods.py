"""A time that a query asks for: the sessions it counts, and all memories of it if it asks for nothing else."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from msgspec.structs import replace

from recollect.records import Conversation, Page
from recollect.search.build_query import within
from recollect.search.hits import show_listed
from recollect.search.parse import without_dates
from recollect.search.state import Outlined, SearchContext, State
from recollect.search.texts import with_outlines
from recollect.text.dates import DateMatch, TimeSpan
from recollect.text.talk import SessionMatch, asks_only_when, find_sessions

MOMENT = timedelta(microseconds=1)
DAY = timedelta(days=1)


def read_period(state: State, context: SearchContext, *, limit: int) -> State:
    """Add the sessions that a plain query counts to its dates; list the memories of a time if it asks for no more.

    A period without memories is searched for as usual: a memory may mention it.
    """
    query = state.query
    if query.tree is not None or query.exact or query.unwanted or state.request.embedding is not None:
        return state
    counted = find_sessions(query.text)
    if not counted and not query.dates:
        return state
    places = [*((found.start, found.end) for found in query.dates), *((found.start, found.end) for found in counted)]
    only = asks_only_when(query.text, places) and all(found.span.start <= state.now for found in query.dates)
    sessions = tuple(_resolved(state, context, [found for found in counted if only or found.counted]))
    if sessions:
        dates = tuple(each for each in query.dates if not any(_overlap(each, found) for found in sessions))
        query = replace(query, dates=tuple(sorted((*dates, *sessions), key=lambda found: found.start)))
    if only and query.dates:
        listed = _listed(state, context, query.dates, limit)
        if listed.ids:
            return show_listed(replace(state, query=query), context, listed)
    return replace(state, query=without_dates(query, sessions)) if sessions else state


def _overlap(one: DateMatch, other: DateMatch) -> bool:
    return one.start < other.end and other.start < one.end


def _resolved(state: State, context: SearchContext, counted: Sequence[SessionMatch]) -> Iterator[DateMatch]:
    """Yield the time of the conversations that each of *counted* means, of those that began by now."""
    until = within(state.where, TimeSpan(start=state.now.replace(year=1), end=state.now + MOMENT))
    for found in counted:
        told = context.ask.conversations(
            scope=state.scope,
            where=until,
            limit=found.last - found.first + 1,
            offset=found.first - 1,
            latest=found.from_latest,
        )
        if told:
            yield DateMatch(
                span=_span(told),
                start=found.start,
                end=found.end,
                idle_end=found.end,
                threads=frozenset((each.project, each.thread) for each in told),
            )


def _span(told: Sequence[Conversation]) -> TimeSpan:
    return TimeSpan(start=min(each.start for each in told), end=max(each.end for each in told) + MOMENT)


def _listed(state: State, context: SearchContext, dates: Sequence[DateMatch], limit: int) -> Page:
    """Return the memories of *dates*, the earliest first; of a day without any, those of the days next to it."""
    exact = _period(state, context, dates, limit)
    days = [found for found in dates if found.span.end - found.span.start <= DAY and not found.threads]
    if exact.ids or len(days) < len(dates):
        return exact
    around = [replace(found, span=TimeSpan(start=found.span.start - DAY, end=found.span.end + DAY)) for found in days]
    return _period(state, context, around, limit)


def _period(state: State, context: SearchContext, dates: Sequence[DateMatch], limit: int) -> Page:
    found: dict[int, Outlined] = {}
    total = 0
    for date in dates:
        where = within(state.where, date.span)
        page = context.ask.browse(scope=state.scope, where=where, limit=limit)
        if page.total > limit:  # the earliest are on the last page
            page = context.ask.browse(scope=state.scope, where=where, limit=limit, offset=page.total - limit)
        told = with_outlines(state, context, page.ids).outlines
        kept = {row: told[row] for row in page.ids if not date.threads or _thread(told[row]) in date.threads}
        total += page.total - (len(page.ids) - len(kept)) - len(kept.keys() & found.keys())
        found |= kept
    return Page(ids=tuple(_in_order(found))[:limit], total=total)


def _thread(memory: Outlined) -> tuple[str, str | None]:
    return memory.project, memory.thread


def _in_order(found: dict[int, Outlined]) -> Iterator[int]:
    """Yield *found* by session, then by turn; a memory outside a session by its own time."""
    ordered = sorted(found.items(), key=lambda each: (each[1].when, each[0]))
    begun: dict[tuple[str, str | None], int] = {}
    for place, (_, memory) in enumerate(ordered):
        begun.setdefault(_thread(memory), place)

    def key(place: int, memory: Outlined) -> tuple[int, int, int]:
        return (place, 0, place) if memory.thread is None else (begun[_thread(memory)], memory.turn or 0, place)

    placed = sorted((key(place, memory), row) for place, (row, memory) in enumerate(ordered))
    return (row for _, row in placed)
