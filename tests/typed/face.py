"""Calls that a type checker must accept; `wrong.py` has those that it must refuse."""

from datetime import UTC, date, datetime

import recollect
from recollect import Filter, Reply


def plain() -> None:
    with recollect.open(":memory:", model="none") as db:
        db.add("text", type="decision", tag="a", date="2026-05-01", confidence=0.5)
        db.add("text", tags=["a", "b"], date=date(2026, 5, 1), metadata={"n": 1})
        reply: Reply = db.search("query", type=["decision"], since=datetime(2026, 5, 1, tzinfo=UTC), limit=3)
        db.decisions("query", on=date(2026, 5, 1), project="web", weights={"words": 1.0})
        db.list(where=Filter(types=("note",)), until="yesterday", offset=3)
        db.inject(reply.query, tag=("a",), only_tag="b", budget=100)
        db.why(1, "query", mode="keyword")
        db.purge(older_than=date(2026, 1, 1), trace="word", dry_run=True)
        db.facts(type="config")


async def awaited() -> None:
    async with recollect.aio.open(":memory:", model="none") as db:
        await db.add("text", type="decision", date="yesterday")
        reply: Reply = await db.search("query", tag="a", since="2026-05-01")
        await db.list(type="note", limit=3)
        async for record in db.archive(everything=True):
            record.items()
    opened = await recollect.aio.open(":memory:")
    await opened.forget(reply.hits[0].id, reason="old")
