"""The recall log in a list, and what can be counted from it."""

from collections import Counter
from collections.abc import Iterator, Sequence

from recollect.records import Recall, Scope, Usage
from recollect.stores.admit import covers
from recollect.stores.change import logged
from recollect.stores.ram.held import Held


def log(held: Held, recalls: Sequence[Recall]) -> None:
    """Keep *recalls*."""
    held.recalls += map(logged, recalls)


def recalls(
    held: Held, scope: Scope, *, session: str | None, memory_id: int | None, fact_id: int | None, limit: int
) -> tuple[Recall, ...]:
    """Return the recalls that fit, newest first."""
    found = [
        recall
        for recall in _visible(held, scope)
        if (session is None or recall.session == session)
        and (memory_id is None or any(hit.memory_id == memory_id for hit in recall.hits))
        and (fact_id is None or any(fact_id in hit.fact_ids for hit in recall.hits))
    ]
    return tuple(found[:limit])


def _visible(held: Held, scope: Scope) -> Iterator[Recall]:
    return (recall for recall in reversed(held.recalls) if covers(scope, recall.scope))


def usage(held: Held, scope: Scope) -> dict[int, Usage]:
    """Return how often each memory was shown and judged."""
    seen = Counter((hit.memory_id, hit.shown) for recall in held.recalls for hit in recall.hits)
    given = Counter(
        (event.memory_id, str(event.detail["verdict"])) for event in held.events if event.verb == "feedback"
    )
    live = {memory.id for memory in held.live(scope)}
    rows = sorted({row for row, _ in (*seen, *given)} & live)
    verdicts = {row: {name: count for (of, name), count in sorted(given.items()) if of == row} for row in rows}
    return {row: Usage(shown=seen[row, True], missed=seen[row, False], verdicts=verdicts[row]) for row in rows}


def unanswered(held: Held, scope: Scope, *, limit: int) -> tuple[tuple[str, int], ...]:
    """Return the queries that found nothing, and how often."""
    counts = Counter(recall.query for recall in _visible(held, scope) if recall.outcome == "none")
    return tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:limit])
