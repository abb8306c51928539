"""The asynchronous door has every verb, and each gives the same answer."""

import asyncio
import inspect
from collections.abc import Awaitable
from typing import Any

import pytest

import recollect
from recollect import Memory, RecollectError, aio
from recollect.recollection import Recollection

NOT_AWAITED = {"now", "in_project"}
"""A clock and a view: nothing to wait for."""


def verbs() -> list[str]:
    named = inspect.getmembers(Recollection, inspect.isfunction)
    return [name for name, _ in named if not name.startswith("_") and name not in NOT_AWAITED]


def test_every_method_can_be_awaited() -> None:
    assert [name for name in verbs() if not hasattr(aio.AsyncRecollection, name)] == []


def test_the_methods_of_a_namespace_can_be_awaited() -> None:
    async def kept() -> tuple[str, ...]:
        async with aio.open(":memory:", model="none") as db:
            await db.lenses.create("work", type="decision")
            return tuple(each.name for each in await db.lenses.list())

    assert asyncio.run(kept()) == ("work",)


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


def test_every_method_has_the_signature_of_the_plain_one() -> None:
    signatures = {name: str(inspect.signature(getattr(aio.AsyncRecollection, name))) for name in verbs()}

    assert signatures == {name: str(inspect.signature(getattr(Recollection, name))) for name in verbs()}


def test_a_store_is_opened_and_closed_by_one_block() -> None:
    async def story() -> tuple[str, aio.AsyncRecollection]:
        async with recollect.aio.open(":memory:", model="none") as db:
            await db.add("The port is 5432", type="config", date="2026-05-01")
            (hit,) = (await db.search("port", type="config", since="2026-04-30", until="2026-05-01")).hits
            return hit.memory.content, db

    content, db = asyncio.run(story())

    assert content == "The port is 5432"
    with pytest.raises(RecollectError):
        asyncio.run(_awaited(db.stats()))


def test_a_long_answer_is_read_record_by_record_and_may_be_left_early() -> None:
    async def story() -> tuple[int, str]:
        async with aio.open(":memory:", model="none") as db:
            await db.add_all([Memory(content=f"note number {number}") for number in range(250)])
            whole = [record async for record in db.archive()]
            async for memory, _ in db.export():
                return sum(record["record"] == "memory" for record in whole), memory.content
        return 0, ""

    assert asyncio.run(story()) == (250, "note number 0")


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value
