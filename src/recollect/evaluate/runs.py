"""Rankings as files: the run format of TREC, and JSON (query -> ids, or query -> id -> score).

Every ranking has a total order: by score, then by the rank its tool gave, then by id. A document named twice
for a query counts once, where it stands best.
"""

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from recollect.errors import FileError, InputError

_HINT: Final = 'a run is "query Q0 document rank score tag" on each line, or JSON: {"query": ["id", ...]}'
_STEP: Final = 2.0**-20
"""How far apart exported scores are kept, as other tools compare them with 24 bits."""


class Scored(Struct, frozen=True, kw_only=True):
    """A document and what its tool scored it."""

    id: str
    score: float


class Rankings(Struct, frozen=True, kw_only=True):
    """What one tool found for each query, best first."""

    name: str
    by_query: Mapping[str, tuple[Scored, ...]]

    @property
    def ids(self) -> dict[str, tuple[str, ...]]:
        """The documents of each ranking, best first."""
        return {query: tuple(one.id for one in found) for query, found in self.by_query.items()}


def read_run(path: Path) -> Rankings:
    """Read the run in *path*, whichever of the two formats it has."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}", hint=_HINT) from error
    if not text.strip():
        raise FileError(f"{path.name} is empty", hint=_HINT)
    parse = parse_json if text.lstrip()[0] in "{[" else parse_trec
    return parse(text, name=path.stem)


def parse_trec(text: str, *, name: str) -> Rankings:
    """Read lines of "query Q0 document rank score tag"."""
    found: dict[str, list[_Row]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            query, _, document, rank, score, _ = line.split()
            found.setdefault(query, []).append((-_finite(float(score)), int(rank), document))
        except ValueError as error:
            raise FileError(f"{name} line {number} is not of a run: {line.strip()[:80]!r}", hint=_HINT) from error
    return Rankings(name=name, by_query={query: _ranked(rows) for query, rows in found.items()})


def parse_json(text: str, *, name: str) -> Rankings:
    """Read an object of query -> ids, best first, or query -> id -> score."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{name} is not JSON: {error}", hint=_HINT) from error
    if not isinstance(found, dict):
        raise FileError(f"{name} is not an object of rankings", hint=_HINT)
    return Rankings(name=name, by_query={query: _ranked(_rows(value, query)) for query, value in found.items()})


def as_trec(rankings: Rankings) -> str:
    """Return *rankings* in the format of TREC.

    Tools that read it order by score alone, so a score that does not fall below the one before it is lowered a little.
    """
    tag = "_".join(rankings.name.split()) or "recollect"
    lines = (
        f"{_word(query)} Q0 {_word(one.id)} {rank} {score!r} {tag}\n"
        for query, found in sorted(rankings.by_query.items())
        for rank, (one, score) in enumerate(zip(found, _falling(found), strict=True), start=1)
    )
    return "".join(lines)


def as_json(rankings: Rankings) -> str:
    """Return *rankings* as JSON: query -> ids, best first."""
    return json.dumps(rankings.ids, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


_Row = tuple[float, int, str]
"""The score turned negative, the rank and the id of a document: so they sort best first."""


def _ranked(rows: Iterable[_Row]) -> tuple[Scored, ...]:
    """Return the documents of *rows*, best first, each once."""
    best: dict[str, float] = {}
    for negative, _, document in sorted(rows):
        best.setdefault(document, -negative)
    return tuple(Scored(id=document, score=score) for document, score in best.items())


def _rows(value: Any, query: str) -> list[_Row]:
    if isinstance(value, list) and all(isinstance(document, str | int) for document in value):
        return [(-1 / rank, rank, str(document)) for rank, document in enumerate(value, start=1)]
    if isinstance(value, dict) and all(isinstance(score, int | float) for score in value.values()):
        with suppress(ArithmeticError, ValueError):
            return [(-_finite(score), 0, document) for document, score in value.items()]
    raise FileError(f"the ranking of query {query!r} is neither ids nor scores", hint=_HINT)


def _finite(score: float) -> float:
    if not math.isfinite(score):
        raise ValueError(f"{score!r} is not a score")
    return float(score)


def _falling(found: Iterable[Scored]) -> list[float]:
    scores: list[float] = []
    for one in found:
        ceiling = scores[-1] - max(abs(scores[-1]) * _STEP, 1e-9) if scores else math.inf
        scores.append(min(one.score, ceiling))
    return scores


def _word(text: str) -> str:
    if text.split() != [text]:
        raise InputError(
            f"the id {text!r} cannot stand in a TREC run", hint="export as JSON, or use ids without spaces"
        )
    return text
