"""The OpenAPI description of the server, made from the table of operations."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from recollect.surfaces.serve.doors import access_of, parameters_of
from recollect.surfaces.serve.service import LONG, LONGEST, PROJECT
from recollect.surfaces.table import Operation, Parameter

BASE: Final = "/api/v1"
PROBLEM: Final = "application/problem+json"
_TYPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "number": {"type": "integer", "minimum": -(2**63) + 1, "maximum": 2**63 - 1},
    "id": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
    "share": {"type": "number"},
    "flag": {"type": "boolean"},
}
_ID: Final = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
_FAILURES: Final[Mapping[str, str]] = {
    "400": "what is asked cannot be understood",
    "401": "a token is missing or not valid",
    "403": "the token does not allow this",
    "404": "there is no such thing",
    "413": "the body is too large",
    "415": "the body is not JSON",
    "429": "too many requests",
    "503": "the store is busy, or a model is missing",
    "504": "the time was up",
}


def describe(operations: Iterable[Operation], *, version: str) -> dict[str, Any]:
    """Return the description of a server that offers *operations*."""
    paths = {f"{BASE}/{each.name}": _path(each) for each in operations}
    return {
        "openapi": "3.1.0",
        "info": {"title": "recollect", "version": version, "summary": "Memory search for AI agents."},
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {}],
        "paths": {**paths, f"{BASE}/import": _import_path()},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": _problem(), "Answer": {"type": "object"}},
        },
    }


def schema_of(parameter: Parameter) -> dict[str, Any]:
    """Return what the values of *parameter* look like in JSON."""
    text = {"type": "string"} if parameter.name in LONG else {"type": "string", "maxLength": LONGEST}
    match parameter.kind:
        case "choice":
            schema: dict[str, Any] = {"type": "string", "enum": list(parameter.choices)}
        case "texts" | "paths":
            schema = {"type": "array", "items": text}
        case "text" | "words":
            schema = text
        case "ids":
            schema = {"anyOf": [_ID, {"type": "array", "items": _ID, "minItems": 1}]}
        case kind:
            schema = dict(_TYPES[kind])
    schema |= {
        key: bound for key, bound in (("minimum", parameter.least), ("maximum", parameter.most)) if bound is not None
    }
    default = {} if parameter.default is None else {"default": parameter.default}
    return {**schema, "description": parameter.about, **default}


def body_of(operation: Operation) -> dict[str, Any]:
    """Return what the body of a request for *operation* looks like."""
    taken = (*parameters_of(operation), PROJECT)
    required = [each.name for each in taken if each.place and not each.optional]
    properties = {each.name: schema_of(each) for each in taken}
    return {"type": "object", "properties": properties, "additionalProperties": False, "required": required}


def _path(operation: Operation) -> dict[str, Any]:
    told = {"summary": operation.about.split("\n")[0], "responses": _responses(operation)}
    post = {
        **told,
        "operationId": operation.name,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body_of(operation)}}},
    }
    if access_of(operation) == "write":
        return {"post": {**post, "parameters": [_idempotency()]}}
    asked = [_query(each) for each in (*parameters_of(operation), PROJECT)]
    return {"get": {**told, "operationId": f"{operation.name}-get", "parameters": asked}, "post": post}


def _query(parameter: Parameter) -> dict[str, Any]:
    required = parameter.place and not parameter.optional
    return {"name": parameter.name, "in": "query", "required": required, "schema": schema_of(parameter)}


def _responses(operation: Operation) -> dict[str, Any]:
    media = "application/x-ndjson" if operation.name == "export" else "application/json"
    done = {"description": "done", "content": {media: {"schema": {"$ref": "#/components/schemas/Answer"}}}}
    failed = {
        status: {"description": about, "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
        for status, about in _FAILURES.items()
    }
    return {"200": done, **failed}


def _idempotency() -> dict[str, Any]:
    return {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "maxLength": 200},
        "description": "a second request with the same key and body gets the answer of the first",
    }


def _import_path() -> dict[str, Any]:
    done = {"description": "one result for each line, in their order"}
    return {
        "post": {
            "operationId": "import",
            "summary": "Add one memory for each line; each line is what `add` takes.",
            "requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}},
            "responses": {"200": {**done, "content": {"application/x-ndjson": {}, "text/event-stream": {}}}},
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
