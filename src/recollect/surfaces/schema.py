"""The shape of every answer in JSON, as JSON Schema: made from the records and from the table of what is shown.

Written as a hint (a type), as `{"key": shape}` for an object, as `[shape]` for a list, as `(shape, shape)` where one
verb answers in several ways. In an object `"key?"` may be missing, and `"*"` takes in the members of another shape.
"""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from recollect.recall.inject import Rendered
from recollect.recall.lens import Lens
from recollect.recall.log import MemoryUse, Retention
from recollect.records import Fact, Generation, LogSize, Memory, Moved, Recall, Recovery, StoreStats
from recollect.remember.edit import EditResult
from recollect.remember.import_files import FileRead, Problem
from recollect.remember.ingest import IngestResult
from recollect.remember.redact import FoundSecret
from recollect.remember.roots import Root
from recollect.replies import Degraded, Health, Listing, Related, Reply, Share, Shown
from recollect.search.why import Why
from recollect.surfaces.serialise import SHAPES
from recollect.upkeep.activity import Entry
from recollect.upkeep.backup import Backup, RestoredBackup
from recollect.upkeep.consolidate import LinkProposal, MergeProposal
from recollect.upkeep.facts import Conflict
from recollect.upkeep.purge import PurgeReport
from recollect.upkeep.review import ReviewItem
from recollect.upkeep.shards import ShardState
from recollect.upkeep.tokens import Token

Shape = Any
Schema = dict[str, Any]

_COUNTS: Final = Mapping[str, int]
_STATED: Final = {"facts": [{"*": Fact, "memory_id": int, "quote": str}]}
_BACKED_UP: Final = {"at": str, "path": str}
_RUN: Final = {
    **dict.fromkeys(("dataset", "profile", "mode", "split"), str),
    "queries": int,
    "measures": Mapping[str, float],
    "latency_ms": Mapping[str, object] | None,
    "outcomes": _COUNTS,
    "unanswerable": _COUNTS,
    "categories": Mapping[str, object],
    "degraded": [str],
}
_MODEL: Final = {
    "name": str,
    "about": str,
    "dimensions": int,
    "installed": bool,
    "in_use": bool,
    "fingerprint": str | None,
    "problem": str | None,
}
_TUNING: Final = {
    "profile": str,
    "tuned": bool,
    "at": str,
    "values": Mapping[str, float],
    "source": str,
    "questions": int,
    "before": float,
    "after": float,
    "interval": Mapping[str, float],
}
_TUNED: Final = {
    "profile": str,
    "source": str,
    "questions": int,
    "left_out": object,
    "before": float | None,
    "after": float | None,
    "interval": object,
    "moved": Mapping[str, Mapping[str, float]],
    "adopted": bool,
    "reason": str,
    "dry_run": bool,
}


def _each(shape: Shape) -> Shape:
    """Return the shape of a verb that takes one id or several."""
    return (shape, {"results": [shape]})


ANSWERS: Final[Mapping[str, Shape]] = {
    "activity": {"entries": [Entry]},
    "add": IngestResult,
    "backup": Backup,
    "brief": Rendered,
    "capture": {"memories": [IngestResult]},
    "changes": Reply,
    "conflicts": {"conflicts": [Conflict]},
    "consolidate": (
        {"applied": bool, "merges": [MergeProposal], "links": [LinkProposal], "faded": [int], "facts": int},
        {"restored": [int]},
    ),
    "decisions": Reply,
    "doctor": Health,
    "edit": EditResult,
    "embed": {"embedded": int, "model": str, "generations": [Generation]},
    "eval": {
        **{f"{name}?": shape for name, shape in _RUN.items()},
        "runs": [_RUN],
        "comparisons": [Mapping[str, object]],
        "datasets": [Mapping[str, object]],
        "facts": Mapping[str, str],
        "written": [str],
    },
    "export": ({"path": str, "memories": int, "left_out?": [str]}, {"record": str, "...": object}),
    "facts": _STATED,
    "feedback": {"id": int, "verdict": str},
    "forget": _each({"id": int, "event": str}),
    "how-it-works": Reply,
    "import": {
        "files": _COUNTS,
        "memories": _COUNTS,
        "withheld": _COUNTS,
        "links": int,
        "redacted": int,
        "secrets?": [FoundSecret],
        "formats": _COUNTS,
        "read": [FileRead],
        "passed_over": _COUNTS,
        "left_out": _COUNTS,
        "found?": {"places": [str], "bytes": int},
        "errors": [Problem],
        "vectors": {"made": int, "waiting": int},
        "degraded?": Degraded,
    },
    "init": {"store": str, "memories": int},
    "inject": Rendered,
    "lens": (Lens, {"lenses": [Lens]}, {"name": str, "dropped": bool}),
    "list": Listing,
    "log": (
        {"recalls": [Recall]},
        {"ids": [int]},
        {"memories": [MemoryUse]},
        {"queries": [{"query": str, "times": int}]},
        {"pruned": int},
    ),
    "model": (
        {"models": [_MODEL]},
        {"name": str, "path": str},
        {"name": str, "healthy": bool, "problems": [str]},
        {"name": str, "settings": str},
        {"dropped": [Generation], "dry_run": bool},
    ),
    "move": {"old": str, "new": str, "*": Moved},
    "open": {"id": int, "source": str, "line": int | None, "address": str},
    "pin": _each({"id": int, "pinned": bool}),
    "purge": PurgeReport,
    "recover": Recovery,
    "reindex": {"memories": int},
    "reinforce": {"reinforced": [int]},
    "related": {"id": int, "related": [Related]},
    "restore": _each({"id": int, "event": str}),
    "restore-backup": RestoredBackup,
    "review": ({"items": [ReviewItem]}, {"key": str, "settled": bool}),
    "roots": (Root, {"roots": [Root]}, {"path": str, "dropped": bool}),
    "search": Reply,
    "shards": ({"shards": [ShardState]}, ShardState),
    "show": _each(Shown),
    "stale": _STATED,
    "stats": {
        "store": str,
        "*": StoreStats,
        "log": {"*": LogSize, "kept": Retention},
        "last_backup": (_BACKED_UP, NoneType),
        "vectors": int,
        "vectors_waiting?": int,
    },
    "supersede": {"id": int, "superseded_by": int},
    "tag": _each(EditResult),
    "timeline": {"memories": [Memory]},
    "token": ({"secret": str, "*": Token}, {"tokens": [Token]}, {"name": str, "revoked": bool}),
    "tune": (_TUNED, _TUNING, {"profile": str, "tuned": bool}, {"undone": _TUNING, "now": (_TUNING, NoneType)}),
    "why": Why,
}
"""What `--json` prints, by verb; `export` without a path prints a record a line."""
ERROR: Final[Shape] = {"error": {"code": str, "message": str, "hint": str}}
"""What `--json` prints to standard error where a verb fails."""
_ADDED: Final[Mapping[str, Mapping[str, Shape]]] = {
    "Hit": {"explain?": {"shares": [Share], "factors": Mapping[str, float]}},
}
"""What a verb adds to a record on request."""
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
    """Return the schema of every answer: `#/$defs/search` is what `search --json` prints, and `#/$defs/error` an error.

    A *strict* one has no room for members that it does not name; what is published has, so that members can be added.
    """
    made = _Definitions(strict=strict)
    verbs = {verb: made.schema_of(shape) for verb, shape in ANSWERS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Answers of recollect in JSON",
        "$defs": {**verbs, "error": made.schema_of(ERROR), **dict(sorted(made.records.items()))},
    }


class _Definitions:
    """Schemas of records, each made once."""

    def __init__(self, *, strict: bool) -> None:
        self.records: dict[str, Schema] = {}
        self._strict = strict

    def schema_of(self, shape: Shape) -> Schema:
        """Return the schema of *shape*."""
        if isinstance(shape, Mapping):
            return self._closed(*self._object(shape))
        if isinstance(shape, list):
            return {"type": "array", "items": self.schema_of(shape[0])}
        if isinstance(shape, tuple):
            return {"anyOf": [self.schema_of(each) for each in shape]}
        return self._of_type(shape)

    def _of_type(self, hint: Any) -> Schema:
        origin, arms = get_origin(hint) or hint, get_args(hint)
        if hint in _PLAIN:
            return _PLAIN[hint]
        if origin is Literal:
            return {"enum": list(arms)}
        if origin in (Union, UnionType):
            return {"anyOf": [self._of_type(arm) for arm in arms]}
        is_record = (isinstance(origin, type) and issubclass(origin, Struct)) or getattr(
            origin, "__name__", ""
        ) in SHAPES
        return self._record(origin) if is_record else self._of_many(origin, arms)

    def _of_many(self, origin: Any, arms: tuple[Any, ...]) -> Schema:
        if issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self._of_type(arms[1])}
        if origin is tuple and arms[-1] is not ...:
            return {"type": "array", "prefixItems": [self._of_type(arm) for arm in arms], "items": False}
        return {"type": "array", "items": self._of_type(arms[0])}

    def _record(self, kind: Any) -> Schema:
        name = kind.__name__
        if name not in self.records:
            self.records[name] = {}  # its own members may speak of it
            self.records[name] = {
                "description": (inspect.getdoc(kind) or "").splitlines()[0],
                **self._closed(*self._members(kind)),
            }
        return {"$ref": f"#/$defs/{name}"}

    def _members(self, kind: Any) -> tuple[Schema, list[str]]:
        """Return the members that are shown of a record, and those that are always there."""
        properties: Schema = {}
        required: list[str] = []
        shape = SHAPES.get(kind.__name__) or " ".join(kind.__struct_fields__)
        for word in shape.split():
            key, _, attribute = word.strip("*?").partition("=")
            hint, about = _attribute(kind, attribute or key)
            if word.startswith("*"):
                more, always = self._members(hint)
                properties, required = {**properties, **more}, [*required, *always]
                continue
            properties[key] = {**self._of_type(hint), **({"description": about} if about else {})}
            required += [] if word.endswith("?") else [key]
        more, _ = self._object(_ADDED.get(kind.__name__, {}))
        return {**properties, **more}, required

    def _object(self, shape: Mapping[str, Shape]) -> tuple[Schema, list[str]]:
        properties: Schema = {}
        required: list[str] = []
        for key, each in shape.items():
            if key == "*":
                more, always = self._members(each)
                properties, required = {**properties, **more}, [*required, *always]
            elif key == "...":
                properties["..."] = {}
            else:
                properties[key.rstrip("?")] = self.schema_of(each)
                required += [] if key.endswith("?") else [key]
        return properties, list(dict.fromkeys(required))

    def _closed(self, properties: Schema, required: list[str]) -> Schema:
        open_ended = properties.pop("...", None) is not None
        closing = {"additionalProperties": False} if self._strict and not open_ended else {}
        return {"type": "object", "properties": properties, "required": required, **closing}


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
