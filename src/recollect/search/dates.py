"""The dates of a question: what they leave of its words, and the memories of the time beside the best of all times."""

from dataclasses import replace

from recollect.records import Filter
from recollect.search.parse import without_dates
from recollect.search.state import SearchContext, State
from recollect.text.dates import TimeSpan


def drop_dates(state: State, context: SearchContext) -> State:
    """Drop the words that only say when ("last week", "mid") from the question, where there are memories of that time.

    Where there are none the words may be a quotation: what a memory itself calls last week. Of a time that is still to
    come there are only plans.
    """
    held = [found for found in state.query.dates if found.span.end > state.now or _holds(state, context, found.span)]
    return replace(state, query=without_dates(state.query, held))


def _holds(state: State, context: SearchContext, span: TimeSpan) -> bool:
    return context.ask.browse(scope=state.scope, where=within(state.where, span), limit=1).total > 0


def within(where: Filter, span: TimeSpan) -> Filter:
    """Return *where* for the memories of *span* only."""
    since = span.start if where.since is None else max(where.since, span.start)
    until = span.end if where.until is None else min(where.until, span.end)
    return replace(where, since=since, until=until)
