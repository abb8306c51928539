"""The asynchronous door has every verb, and each gives the same answer."""

import asyncio
import inspect

import recollect
from recollect import aio
from recollect.recollection import Recollection

NOT_AWAITED = {"archive", "export", "now", "scope"}
"""Generators, a clock and a property: nothing to wait for."""


def test_every_verb_can_be_awaited() -> None:
    verbs = {name for name, _ in inspect.getmembers(Recollection) if not name.startswith("_")} - NOT_AWAITED

    assert {name for name in vars(aio.AsyncRecollection) if not name.startswith("_")} == verbs


def test_opening_takes_what_the_plain_door_takes() -> None:
    async def opened() -> tuple[str, str | None, str, str]:
        async with await aio.open(":memory:", profile="oro", project="web", model="none", reranker="/models/r") as db:
            return db.inner.profile.name, db.inner.project, db.inner.models.name, db.inner.rerankers.folder

    assert inspect.signature(aio.open) == inspect.signature(recollect.open)
    assert asyncio.run(opened()) == ("oro", "web", "none", "/models/r")


def test_verbs_run_side_by_side_and_answer_like_the_plain_ones() -> None:
    async def story() -> list[str]:
        async with await aio.open(":memory:", model="none") as db:
            await asyncio.gather(*(db.add(f"note number {number} about topic{number}") for number in range(8)))
            reply = await db.search("topic5")
            return [hit.memory.content for hit in reply.hits]

    assert asyncio.run(story())[0] == "note number 5 about topic5"
    assert aio.AsyncRecollection.search.__doc__ == Recollection.search.__doc__
