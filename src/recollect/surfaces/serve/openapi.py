"""The OpenAPI description of the server, made from the table of operations and the published schema of the answers."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from recollect.operations.answer import Operation
from recollect.operations.request import Parameter
from recollect.surfaces.serve.dispatcher import LONG, LONGEST, MAX_DIMENSIONS

BASE: Final = "/api/v1"
PROBLEM: Final = "application/problem+json"
_TYPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "number": {"type": "integer", "minimum": -(2**63) + 1, "maximum": 2**63 - 1},
    "id": {"type": "integer", "minimum": -(2**63) + 1, "maximum": 2**63 - 1},
    "float": {"type": "number"},
    "flag": {"type": "boolean"},
}
_ID: Final = _TYPES["id"]
_FAILURES: Final[Mapping[str, str]] = {
    "400": "what is asked cannot be understood",
    "401": "a token is missing or not valid",
    "403": "the token does not allow this, or a page of another site asks",
    "404": "there is no such thing",
    "405": "not by this method",
    "408": "the body took too long",
    "409": "no embedding model is chosen, or a request with this Idempotency-Key is under way",
    "413": "the body is too large",
    "415": "the body is not JSON",
    "421": "unknown host",
    "429": "too many requests",
    "500": "a fault of the server",
    "503": "the store or the server is busy",
    "504": "the time was up",
}
_WRITE_FAILURES: Final[Mapping[str, str]] = {"422": "the Idempotency-Key was used for another request"}
IN_ADDRESS: Final = 1000
"""How many characters a text in an address may have; longer ones are sent as a body."""
MOST_IN_ADDRESS: Final = 20
"""How often a parameter may be repeated in an address."""


def describe(operations: Iterable[Operation], *, version: str) -> dict[str, Any]:
    """Return the description of a server that offers *operations*."""
    known = list(operations)
    paths = {f"{BASE}/{each.name}": _path(each) for each in known}
    return {
        "openapi": "3.1.0",
        "info": {"title": "recollect", "version": version, "summary": "Memory search for AI agents."},
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {}],
        "paths": {**paths, f"{BASE}/import": _import_path(next(each for each in known if each.name == "add"))},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**_answers([each.name for each in known]), "ProblemDetails": _problem()},
        },
    }


@cache
def _published() -> Mapping[str, Any]:
    text = (files("recollect") / "schemas" / "answers.json").read_text(encoding="utf-8")
    made: dict[str, Any] = json.loads(text.replace('"#/$defs/', '"#/components/schemas/'))["$defs"]
    return made


def _answers(names: Iterable[str]) -> dict[str, Any]:
    """Return the schemas of the answers to *names*, and of all that they speak of."""
    found: dict[str, Any] = {}
    left = list(names)
    while left:
        name = left.pop(0)
        if name not in found:
            found[name] = _published()[name]
            left += _named(found[name])
    return found


def _named(schema: Any) -> Iterator[str]:
    """Yield the schemas that *schema* refers to."""
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].rpartition("/")[2]
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from _named(each)


def schema_of(parameter: Parameter, *, limits: bool = True) -> dict[str, Any]:
    """Return what the values of *parameter* look like in JSON, with the *limits* that hold for all of them."""
    text = {"type": "string", "maxLength": LONGEST} if limits and parameter.name not in LONG else {"type": "string"}
    match parameter.kind:
        case "choice":
            schema: dict[str, Any] = {"type": "string", "enum": list(parameter.choices)}
        case "texts" | "paths":
            schema = {"type": "array", "items": text}
        case "numbers":
            schema = {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": MAX_DIMENSIONS}
        case "text" | "words":
            schema = text
        case "ids":
            schema = {"anyOf": [_ID, {"type": "array", "items": _ID, "minItems": 1}]}
        case kind:
            schema = dict(_TYPES[kind]) if limits else {"type": _TYPES[kind]["type"]}
    schema |= {
        key: bound
        for key, bound in (("minimum", parameter.minimum), ("maximum", parameter.maximum))
        if bound is not None
    }
    default = {} if parameter.default is None else {"default": parameter.default}
    return {**schema, "description": parameter.about, **default}


def body_of(operation: Operation) -> dict[str, Any]:
    """Return what the body of a request for *operation* looks like."""
    taken = operation.served_parameters
    required = [each.name for each in taken if each.is_required]
    properties = {each.name: schema_of(each) for each in taken}
    return {"type": "object", "properties": properties, "additionalProperties": False, "required": required}


def _path(operation: Operation) -> dict[str, Any]:
    told = {"summary": operation.about.split("\n")[0], "responses": _responses(operation)}
    content = {"schema": body_of(operation), "example": operation.traits.example}
    post = {
        **told,
        "operationId": operation.name,
        "requestBody": {"required": True, "content": {"application/json": content}},
    }
    if operation.rights.always_writes:
        return {"post": {**post, "parameters": [_idempotency()]}}
    asked = [_query(each) for each in operation.served_parameters if each.kind != "numbers"]
    return {"get": {**told, "operationId": f"{operation.name}-get", "parameters": asked}, "post": post}


def _query(parameter: Parameter) -> dict[str, Any]:
    required = parameter.is_required
    schema = schema_of(parameter)
    if parameter.kind in ("texts", "paths"):
        schema |= {"items": {**schema["items"], "maxLength": IN_ADDRESS}, "maxItems": MOST_IN_ADDRESS}
    elif parameter.kind == "ids":
        schema = {"type": "array", "items": _ID, "minItems": 1, "maxItems": MOST_IN_ADDRESS}
    elif schema.get("type") == "string" and "enum" not in schema:
        schema["maxLength"] = IN_ADDRESS
    return {"name": parameter.name, "in": "query", "required": required, "schema": schema}


def _responses(operation: Operation) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{operation.name}"}}}
    if operation.name == "export":
        content = {"application/x-ndjson": {"schema": {"type": "string", "description": "one record a line"}}}
    done = {"200": {"description": "done", "content": content}}
    if operation.rights.always_writes:
        return {**done, **_failed({**_FAILURES, **_WRITE_FAILURES})}
    return {**done, "304": {"description": "nothing has changed since that ETag"}, **_failed(_FAILURES)}


def _failed(failures: Mapping[str, str]) -> dict[str, Any]:
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    return {status: {"description": about, "content": content} for status, about in failures.items()}


def _idempotency() -> dict[str, Any]:
    return {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "maxLength": 200},
        "description": "a second request with the same key and body gets the answer of the first",
    }


def _import_path(add: Operation) -> dict[str, Any]:
    line = json.dumps(add.traits.example)
    sent = {"application/x-ndjson": {"schema": {"type": "string"}, "example": f"{line}\n"}}
    results = {"schema": {"type": "string", "description": "one result for each line, in their order"}}
    done = {"description": "done, line by line", "content": {"application/x-ndjson": results, "text/event-stream": {}}}
    return {
        "post": {
            "operationId": "import",
            "summary": "Add one memory for each line; each line is what `add` takes.",
            "requestBody": {"required": True, "content": sent},
            "responses": {"200": done, **_failed(_FAILURES)},
        }
    }


def _problem() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "type": "object",
        "required": ["type", "title", "status", "detail", "error"],
        "properties": {
            "type": text,
            "title": text,
            "status": {"type": "integer"},
            "detail": text,
            "error": {
                "type": "object",
                "required": ["code", "message", "hint"],
                "properties": {"code": text, "message": text, "hint": text},
            },
        },
    }
