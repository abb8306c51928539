"""Read a request: its body within limits of time and size, and the values in a body or a query string."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.types import Receive

from recollect.errors import InputError
from recollect.operations.answer import Operation
from recollect.operations.request import Parameter
from recollect.surfaces.serve.openapi import IN_ADDRESS, MOST_IN_ADDRESS
from recollect.surfaces.serve.problems import HttpError

JSON: Final = "application/json"
BODY_TIMEOUT_SECONDS: Final = 30.0
MAX_BODY_BYTES: Final = 1024 * 1024
"""Uploads and imports line by line have limits of their own."""
MOST_FIELDS: Final = 1000
"""How many fields a query string may have."""


async def read_body(
    receive: Receive, seconds: float = BODY_TIMEOUT_SECONDS, *, max_bytes: int = MAX_BODY_BYTES
) -> bytes:
    """Return the body of a request; HttpError if it takes longer than *seconds* or has more than *max_bytes*."""
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(seconds):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise HttpError("bad_input", "the body ended early", hint="send all of it")
                body += message.get("body", b"")
                if len(body) > max_bytes:
                    raise too_large(max_bytes)
                more = message.get("more_body", False)
    except TimeoutError as error:
        raise HttpError("slow", "the body took too long", hint=f"send it within {seconds:g} seconds") from error
    return bytes(body)


def too_large(max_bytes: int = MAX_BODY_BYTES) -> HttpError:
    """Return the error for a body of more than *max_bytes*."""
    hint = f"at most {max_bytes // 1024} KB" + ("; larger: POST /api/v1/import" if max_bytes == MAX_BODY_BYTES else "")
    return HttpError("too_large", "the body is too large", hint=hint)


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass


def media_type(headers: Mapping[str, str]) -> str:
    """Return the Content-Type without its parameters, in lower case."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def from_json(body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the values in a JSON body."""
    media = media_type(headers)
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
    kinds = {each.name: each for each in operation.served_parameters}
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
            values[name] = several[0] if parameter is None else value_from_text(parameter, several[0])
    return values


def _fields(query: bytes) -> dict[str, list[str]]:
    try:
        return parse_qs(query.decode("latin-1"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise InputError("the query string cannot be read", hint="encode it as UTF-8, then by %XX") from error


def value_from_text(parameter: Parameter, text: str) -> Any:
    """Return the number or the flag that *text* is, if *parameter* takes one; else *text*."""
    flags = {"true": True, "false": False}
    try:
        match parameter.kind:
            case "number":
                return int(text)
            case "float":
                return float(text)
            case "flag":
                return flags[text.lower()]
    except (ValueError, KeyError) as error:
        raise InputError(f"{parameter.name} cannot be {text[:60]!r}", hint=parameter.about) from error
    return text
