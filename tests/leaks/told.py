"""All that a caller gets of a verb or a method, as one text."""

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator
from typing import Any

from kit import answered
from recollect import RecollectError, Recollection
from recollect.operations.answer import Operation
from recollect.serialize import serialize


def public(kind: type) -> set[str]:
    """Return the methods of *kind* that anybody may call."""
    return {name for name, each in vars(kind).items() if not name.startswith("_") and callable(each)}


def answer(operation: Operation, db: Recollection, values: dict[str, Any]) -> str:
    """Return all that a surface could show of what *operation* answers."""
    try:
        done = answered(operation, db, values)
        value = list(done.value) if done.stream else serialize(done.value)
        return "\n".join([json.dumps(value, default=str, ensure_ascii=False), done.text(), *done.problems])
    except RecollectError as error:
        return f"{error} {error.hint} {json.dumps(serialize(error), default=str)}"


def called(method: Callable[..., Any], args: tuple[Any, ...], more: dict[str, Any]) -> str:
    """Return all that a caller of *method* gets."""
    try:
        value = method(*args, **more)
        if inspect.isawaitable(value):
            value = asyncio.run(_awaited(value))
        return repr(list(value) if isinstance(value, Iterator) else value)
    except RecollectError as error:
        return f"{error} {error.hint}"


async def _awaited(value: Any) -> Any:
    return await value
