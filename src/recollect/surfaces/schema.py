"""The JSON of every reply as JSON Schema, derived from the types that operations return."""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from recollect.operations import OPERATIONS
from recollect.serialize import members_of

Schema = dict[str, Any]


class ErrorDetail(Struct, frozen=True, kw_only=True):
    """What went wrong, and what to do about it."""

    code: str
    message: str
    hint: str


class ErrorReply(Struct, frozen=True, kw_only=True):
    """What `--json` prints to standard error when an operation fails."""

    error: ErrorDetail


_PLAIN: Final[Mapping[Any, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    Path: {"type": "string"},
    object: {},
    Any: {},
}


def answers_schema(*, strict: bool = False) -> Schema:
    """Return the schema of every reply: `#/$defs/search` is what `search --json` prints, `#/$defs/error` an error.

    A *strict* schema allows only the members it names; the published one allows more, so that members can be added.
    """
    made = _Definitions(strict=strict)
    replies = {name: made.schema_of(each.reply) for name, each in sorted(OPERATIONS.items())}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Answers of recollect in JSON",
        "$defs": {**replies, "error": made.schema_of(ErrorReply), **dict(sorted(made.records.items()))},
    }


@cache
def schema_of_record(kind: type[Struct]) -> Schema:
    """Return the schema of the values of *kind* alone."""
    made = _Definitions(strict=False)
    made.schema_of(kind)
    own = made.records.pop(kind.__name__)
    return {**own, "$defs": made.records} if made.records else own


class _Definitions:
    """Schemas of records, each made once."""

    def __init__(self, *, strict: bool) -> None:
        self.records: dict[str, Schema] = {}
        self._strict = strict

    def schema_of(self, hint: Any) -> Schema:
        """Return the schema of the type *hint*."""
        origin, arms = get_origin(hint) or hint, get_args(hint)
        if hint in _PLAIN:
            return _PLAIN[hint]
        if origin is Literal:
            return {"enum": list(arms)}
        if origin in (Union, UnionType):
            return {"anyOf": [self.schema_of(arm) for arm in arms]}
        if issubclass(origin, Struct) and arms:
            return self._closed(*self._members(origin, dict(zip(origin.__parameters__, arms, strict=True))))
        if members_of(origin) is not None:
            return self._record(origin)
        return self._of_many(origin, arms)

    def _of_many(self, origin: Any, arms: tuple[Any, ...]) -> Schema:
        if issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.schema_of(arms[1])}
        if issubclass(origin, Iterator):
            return self.schema_of(arms[0])  # a stream: one value a line
        if origin is tuple and arms[-1] is not ...:
            return {"type": "array", "prefixItems": [self.schema_of(arm) for arm in arms], "items": False}
        return {"type": "array", "items": self.schema_of(arms[0])}

    def _record(self, kind: Any) -> Schema:
        name = kind.__name__
        if name not in self.records:
            self.records[name] = {}  # its own members may refer to it
            self.records[name] = {
                "description": (inspect.getdoc(kind) or "").splitlines()[0],
                **self._closed(*self._members(kind, {})),
            }
        return {"$ref": f"#/$defs/{name}"}

    def _members(self, kind: Any, variables: Mapping[Any, Any]) -> tuple[Schema, list[str]]:
        """Return the members that are shown of a record, and those that are always there."""
        properties: Schema = {}
        required: list[str] = []
        for word in (members_of(kind) or "").split():
            key, _, attribute = word.strip("*?").partition("=")
            hint, about = _attribute(kind, attribute or key)
            if word.startswith("*"):
                more, always = self._members(hint, {})
                properties, required = {**properties, **more}, [*required, *always]
                continue
            member = self.schema_of(_filled(hint, variables))
            properties[key] = {**member, **({"description": about} if about else {})}
            required += [] if word.endswith("?") else [key]
        return properties, list(dict.fromkeys(required))

    def _closed(self, properties: Schema, required: list[str]) -> Schema:
        closing = {"additionalProperties": False} if self._strict else {}
        return {"type": "object", "properties": properties, "required": required, **closing}


def _filled(hint: Any, variables: Mapping[Any, Any]) -> Any:
    """Return *hint* with the types that its type variables stand for."""
    names = getattr(hint, "__parameters__", ())
    if isinstance(hint, TypeVar):
        return variables[hint]
    return hint[tuple(variables[name] for name in names)] if names else hint


def _attribute(kind: Any, path: str) -> tuple[Any, str]:
    """Return the type of an attribute of *kind* or of one of its records, and what its docstring says."""
    name, _, rest = path.partition(".")
    declared = getattr(kind, name, None)
    if isinstance(declared, property):
        hint, about = get_type_hints(declared.fget)["return"], inspect.getdoc(declared) or ""
    else:
        hint, about = get_type_hints(kind)[name], field_notes(kind).get(name, "")
    return _attribute(hint, rest) if rest else (hint, " ".join(about.split()))


@cache
def field_notes(kind: Any) -> Mapping[str, str]:
    """Return what stands below the fields of *kind* in its source."""
    (made,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    body = made.body if isinstance(made, ast.ClassDef) else []
    return {
        one.target.id: " ".join(str(other.value.value).split())
        for one, other in pairwise(body)
        if isinstance(one, ast.AnnAssign)
        and isinstance(one.target, ast.Name)
        and isinstance(other, ast.Expr)
        and isinstance(other.value, ast.Constant)
    }
