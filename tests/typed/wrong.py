"""Calls that a type checker must refuse, each line for a reason of its own."""

import recollect


async def refused(db: recollect.Recollection, later: recollect.aio.AsyncRecollection) -> None:
    db.search("query", colour="red")
    db.search("query", limit="three")
    db.search("query", mode="magic")
    db.search("query", since=5)
    db.search(None)
    db.add("text", confidence="sure")
    db.add("text", colour="red")
    db.list(type=5)
    await later.search("query", colour="red")
    await later.search("query", limit="three")
    await later.add("text", confidence="sure")
    recollect.aio.open(5)
