"""What comes in with a request: its body within limits of time, and the values in a body or a query string."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.types import Receive

from recollect.errors import InputError
from recollect.surfaces.serve.openapi import IN_ADDRESS, MOST_IN_ADDRESS, parameters
from recollect.surfaces.serve.problems import HttpError
from recollect.surfaces.table import Operation, Parameter

JSON: Final = "application/json"
BODY_SECONDS: Final = 30.0
"""How long the body of a request may take to come in."""
MOST_FIELDS: Final = 1000
"""How many fields a query string may have."""


async def read_body(receive: Receive, seconds: float = BODY_SECONDS, *, most: int | None = None) -> bytes:
    """Return the body of a request, if it comes in time and has at most *most* bytes."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise HttpError("bad_input", "the body ended early", hint="send all of it")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if most is not None and size > most:
                    raise HttpError("too_large", "the body is too large", hint=f"at most {most // 1024} KB")
                more = message.get("more_body", False)
    except TimeoutError as error:
        raise HttpError("slow", "the body took too long", hint=f"send it within {seconds:g} seconds") from error
    return b"".join(parts)


def from_json(body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the values in a JSON body."""
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != JSON:
        raise HttpError("not_json", f"the body must be JSON, not {media or 'untyped'}", hint=f"Content-Type: {JSON}")
    try:
        values = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError("the body is not JSON", hint="send one object") from error
    if not isinstance(values, dict):
        raise InputError("the body is no object", hint='such as {"query": "how do we ship"}')
    return values


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def from_query(operation: Operation, query: bytes) -> dict[str, Any]:
    """Return the values in a query string, as the parameters of *operation* are read."""
    kinds = {each.name: each for each in parameters(operation)}
    values: dict[str, Any] = {}
    for name, several in _fields(query).items():
        if len(several) > MOST_IN_ADDRESS or any(len(each) > IN_ADDRESS for each in several):
            raise InputError(f"{name} is too long for an address", hint="send it as the body of a POST")
        parameter = kinds.get(name)
        if parameter is not None and parameter.kind in ("texts", "paths", "ids"):
            values[name] = several
        elif len(several) > 1:
            raise InputError(f"{name} is given {len(several)} times", hint="give it once")
        else:
            values[name] = several[0] if parameter is None else _read(parameter, several[0])
    return values


def _fields(query: bytes) -> dict[str, list[str]]:
    try:
        return parse_qs(query.decode("latin-1"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise InputError("the query string cannot be read", hint="encode it as UTF-8, then by %XX") from error


def _read(parameter: Parameter, text: str) -> Any:
    flags = {"true": True, "false": False}
    try:
        match parameter.kind:
            case "number":
                return int(text)
            case "share":
                return float(text)
            case "flag":
                return flags[text.lower()]
    except (ValueError, KeyError) as error:
        raise InputError(f"{parameter.name} cannot be {text[:60]!r}", hint=parameter.about) from error
    return text
