"""Queries with judged answers, from the feedback that was given or from a file: what a profile is tuned on."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from msgspec import Struct, field

from recollect.arguments import storable
from recollect.errors import FileError
from recollect.lazy import regex
from recollect.records import ALL_PROJECTS, Event, Filter, Recall, Scope
from recollect.stores.contract import Store

GAINS: Final[Mapping[str, int]] = {"used": 1, "useful": 1, "wrong": 0}
"""What a memory is worth as an answer, by what was said of it."""
HEADS: Final = frozenset({"score", "gain", "relevance"})
"""What the last column of a table may be called."""
_NUMBER: Final = regex(r"[0-9]{1,18}")
_SHAPE: Final = 'write {"query": "…", "relevant": ["id", …]} on each line, or: query TAB id TAB gain'


class JudgedQuery(Struct, frozen=True, kw_only=True):
    """What was asked, where, and what each memory is worth as an answer."""

    text: str
    gains: Mapping[int, int]
    scope: Scope = ALL_PROJECTS

    @property
    def key(self) -> str:
        """A name that no other query has."""
        projects = self.scope.projects
        return "\0".join((self.text, "" if projects is None else repr(sorted(projects))))

    @property
    def checksum(self) -> int:
        """A number that only the text decides."""
        return crc32(self.text.encode("utf-8", "surrogatepass"))


class JudgedQueries(Struct, frozen=True, kw_only=True):
    """The queries that can be asked again, where they come from, and what was left out, with how many."""

    queries: tuple[JudgedQuery, ...]
    source: str
    left_out: Mapping[str, int] = field(default_factory=dict)


_Judgement = tuple[str, Scope, int, int]
"""A query, where it was asked, a memory, and what that is worth as its answer."""


def _merged(judgements: Iterable[_Judgement]) -> tuple[JudgedQuery, ...]:
    """Return each query once, with the last judgement of each memory; without a right answer it is left out."""
    merged: dict[tuple[str, Scope], dict[int, int]] = {}
    for text, scope, memory_id, gain in judgements:
        merged.setdefault((text.strip(), scope), {})[memory_id] = gain
    return tuple(
        JudgedQuery(text=text, scope=scope, gains=gains)
        for (text, scope), gains in merged.items()
        if text and max(gains.values()) > 0
    )


# --- feedback -------------------------------------------------------------------------------


def from_feedback(store: Store, *, scope: Scope) -> JudgedQueries:
    """Return the queries of *scope* whose answers somebody found used, useful or wrong."""
    events = sorted(_verdicts(store, scope), key=lambda each: (each.at, each.memory_id))
    sessions = {str(event.detail["session"]) for event in events if event.detail.get("session")}
    recalls = {name: store.recalls(scope=scope, session=name, limit=2**31) for name in sessions}
    judged: list[_Judgement] = []
    for event in events:
        for text, where in _asked(event, recalls.get(str(event.detail.get("session")), ()), scope):
            judged.append((text, where, event.memory_id, GAINS.get(str(event.detail["verdict"]), 0)))
    lost = len(events) - len(judged)
    left_out = {"verdicts without a query (give one: feedback --query, or --session)": lost} if lost else {}
    return JudgedQueries(queries=_merged(judged), source="feedback", left_out=left_out)


def _verdicts(store: Store, scope: Scope) -> Iterator[Event]:
    judged = [memory_id for memory_id, usage in store.usage(scope=scope).items() if usage.verdicts]
    history = store.history(judged, scope=scope)
    return (event for events in history.values() for event in events if event.verb == "feedback")


def _asked(event: Event, recalls: Sequence[Recall], scope: Scope) -> list[tuple[str, Scope]]:
    """Return the query a verdict speaks of: the one it names, or the last that showed the memory before it."""
    query = event.detail.get("query")
    showing = [each for each in recalls if any(hit.memory_id == event.memory_id and hit.shown for hit in each.hits)]
    if query:
        return [(str(query), next((each.scope for each in showing if each.query == query), scope))]
    earlier = [each for each in showing if each.at <= event.at] or showing[-1:]
    return [(each.query, each.scope) for each in earlier[:1]]


# --- a file of one's own --------------------------------------------------------------------


def from_file(path: Path, store: Store, *, scope: Scope) -> JudgedQueries:
    """Return the queries that a file of JSON lines or tab-separated values judges."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, ValueError) as error:  # a NUL in a name is a ValueError
        why = (
            "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", str(error))
        )
        raise FileError(f"cannot read {path}: {why}", hint="name a file of judged questions") from error
    read = [each for number, line in enumerate(lines, start=1) for each in _read(line, f"{path.name} line {number}")]
    known = _memories([name for _, name, _ in read], store, scope=scope)
    judged = [(text, scope, row, gain) for text, name, gain in read for row in known.get(name, ())]
    lost = Counter(name not in known for _, name, _ in read)[True]
    left_out = {"ids that no memory here has": lost} if lost else {}
    return JudgedQueries(queries=_merged(judged), source=path.name, left_out=left_out)


_Named = tuple[str, str | int, int]
"""A query, the external id or the id of a memory, and what it is worth."""


def _read(line: str, place: str) -> Iterator[_Named]:
    if not line.strip():
        return
    if line.lstrip().startswith("{"):
        yield from _object(line, place)
        return
    cells = [cell.strip() for cell in line.split("\t")]
    if cells[-1].lower() in HEADS and place.endswith(" line 1"):
        return
    if len(cells) not in (2, 3) or not all(cells):
        raise FileError(f"{place} is no judgement: {line.strip()[:60]!r}", hint=_SHAPE)
    yield cells[0], cells[1], _gain(cells[2] if len(cells) == 3 else "1", place)


def _object(line: str, place: str) -> Iterator[_Named]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{place} is not JSON: {error}", hint=_SHAPE) from error
    query, relevant = record.get("query"), record.get("relevant")
    if not isinstance(query, str) or not query.strip():
        raise FileError(f"{place} has no query", hint=_SHAPE)
    if not isinstance(relevant, list | dict):
        raise FileError(f"{place} does not say what is relevant", hint=_SHAPE)
    gains = relevant.items() if isinstance(relevant, dict) else ((name, 1) for name in relevant)
    for name, gain in gains:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise FileError(f"{place} names a memory by neither text nor number", hint=_SHAPE)
        yield query, name, _gain(gain, place)


def _gain(value: Any, place: str) -> int:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = 0.5
    if not number.is_integer():
        raise FileError(f"{place}: {value!r} is no gain", hint="a whole number, 0 for what is wrong")
    return max(0, int(number))


def _memories(names: Sequence[str | int], store: Store, *, scope: Scope) -> dict[str | int, tuple[int, ...]]:
    """Return the memories of *scope* that each name stands for: by external id where one has it, else by id."""
    projects = store.stats(scope=scope).projects if scope.projects is None else scope.projects
    kinds = store.facets(query=None, scope=scope, where=Filter(include_superseded=True))["kind"]
    texts = sorted({name for name in names if isinstance(name, str) and name == storable(name)})
    keys = [(kind, text) for kind in kinds for text in texts]
    found: dict[str | int, tuple[int, ...]] = {}
    for project in sorted(projects):
        for (_, text), row in store.known(project, external_ids=keys).by_external_id.items():
            found[text] = (*found.get(text, ()), row)
    numbers = {name: int(name) for name in names if name not in found and _NUMBER.fullmatch(str(name))}
    there = store.load(sorted(set(numbers.values())), scope=scope)
    return found | {name: (row,) for name, row in numbers.items() if row in there}
