"""Where judged questions come from: what people said of the answers they got, or a file of their own."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from recollect.errors import FileError
from recollect.evaluate.tune import Question
from recollect.records import Event, Recall, Scope
from recollect.stores.change import writable
from recollect.stores.contract import Store

GOOD: Final[Mapping[str, int]] = {"used": 1, "useful": 1, "wrong": 0}
"""What a memory is worth as an answer, by what was said of it."""
HEADS: Final = frozenset({"score", "gain", "relevance"})
"""What the last column of a table may be called."""
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_SHAPE: Final = 'write {"query": "…", "relevant": ["id", …]} on each line, or: query TAB id TAB gain'


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The questions that can be asked again, where they come from, and what was left out, with how many."""

    questions: tuple[Question, ...]
    source: str
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vote:
    """What somebody says one memory is worth for one question."""

    text: str
    scope: Scope
    row: int
    gain: int


def _merged(votes: Iterable[_Vote]) -> tuple[Question, ...]:
    """Return each question once, with the last word on each memory; without anything good it is no question."""
    gains: dict[tuple[str, Scope], dict[int, int]] = {}
    for vote in votes:
        gains.setdefault((vote.text.strip(), vote.scope), {})[vote.row] = vote.gain
    return tuple(
        Question(text=text, scope=scope, gains=said)
        for (text, scope), said in gains.items()
        if text and max(said.values()) > 0
    )


# --- what people said -----------------------------------------------------------------------


def from_feedback(store: Store, *, scope: Scope) -> Judged:
    """Return the questions of *scope* whose answers somebody found used, useful or wrong."""
    rows = list(store.feedback_counts(scope=scope))
    events = [event for told in store.history(rows, scope=scope).values() for event in told if event.verb == "feedback"]
    log, votes, lost = _Log(store, scope), [], 0
    for event in sorted(events, key=lambda each: (each.at, each.memory_id)):
        asked = _asked(event, log)
        if asked is None:
            lost += 1
        else:
            gain = GOOD.get(str(event.detail["verdict"]), 0)
            votes.append(_Vote(text=asked[0], scope=asked[1], row=event.memory_id, gain=gain))
    left_out = {"verdicts of which nobody knows the question": lost} if lost else {}
    return Judged(questions=_merged(votes), source="feedback", left_out=left_out)


class _Log:
    """The recalls of each session, read once."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store, self.scope = store, scope
        self._sessions: dict[str, tuple[Recall, ...]] = {}

    def of(self, session: str, row: int) -> list[Recall]:
        """Return the recalls of *session* that showed memory *row*, the last first."""
        if session not in self._sessions:
            self._sessions[session] = self._store.recalls(scope=self.scope, session=session, limit=2**31)
        return [
            recall
            for recall in self._sessions[session]
            if any(hit.memory_id == row and hit.shown for hit in recall.hits)
        ]


def _asked(event: Event, log: _Log) -> tuple[str, Scope] | None:
    """Return the question that a verdict speaks of: the one it names, or the last that showed the memory before it."""
    query, session = event.detail.get("query"), event.detail.get("session")
    recalls = log.of(str(session), event.memory_id) if session else []
    if query:
        same = (recall.scope for recall in recalls if recall.query == query)
        return str(query), next(same, log.scope)
    earlier = [recall for recall in recalls if recall.at <= event.at] or recalls[-1:]
    return (earlier[0].query, earlier[0].scope) if earlier else None


# --- a file of one's own --------------------------------------------------------------------


def from_file(path: Path, store: Store, *, scope: Scope) -> Judged:
    """Return the questions that a file of JSON lines or tab-separated values judges."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FileError(f"cannot read {path}: {why}", hint="name a file of judged questions") from error
    said = [each for number, line in enumerate(lines, start=1) for each in _read(line, f"{path.name} line {number}")]
    known = _known([name for _, name, _ in said], store, scope=scope)
    votes = [
        _Vote(text=text, scope=scope, row=row, gain=gain) for text, name, gain in said for row in known.get(name, ())
    ]
    lost = Counter(name not in known for _, name, _ in said)[True]
    left_out = {"ids that no memory here has": lost} if lost else {}
    return Judged(questions=_merged(votes), source=path.name, left_out=left_out)


Said = tuple[str, str | int, int]
"""A question, the external id or the id of a memory, and what it is worth."""


def _read(line: str, place: str) -> Iterator[Said]:
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


def _object(line: str, place: str) -> Iterator[Said]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{place} is not JSON: {error}", hint=_SHAPE) from error
    query, relevant = record.get("query"), record.get("relevant")
    if not isinstance(query, str) or not query.strip():
        raise FileError(f"{place} has no query", hint=_SHAPE)
    if not isinstance(relevant, list | dict):
        raise FileError(f"{place} does not say what is relevant", hint=_SHAPE)
    gains = relevant if isinstance(relevant, dict) else dict.fromkeys(map(_name, relevant), 1)
    for name, gain in gains.items():
        if not isinstance(name, str | int):
            raise FileError(f"{place} names a memory by neither text nor number", hint=_SHAPE)
        yield query, name, _gain(gain, place)


def _name(value: Any) -> Any:
    """Return *value* if it can be a name; anything else becomes None, which cannot."""
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def _gain(value: Any, place: str) -> int:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = 0.5
    if not number.is_integer():
        raise FileError(f"{place}: {value!r} is no gain", hint="a whole number, 0 for what is wrong")
    return max(0, int(number))


def _known(names: Sequence[str | int], store: Store, *, scope: Scope) -> dict[str | int, tuple[int, ...]]:
    """Return the memories of *scope* that each name stands for: by external id where one has it, else by id."""
    projects = store.tally(scope=scope).projects if scope.projects is None else scope.projects
    texts = sorted({name for name in names if isinstance(name, str) and name == writable(name)})
    found: dict[str | int, tuple[int, ...]] = {}
    for project in sorted(projects):
        held = store.known(project, digests=(), external_ids=texts)
        for text, row in held.by_external_id.items():
            found[text] = (*found.get(text, ()), row)
    numbers = {name: int(name) for name in names if name not in found and _NUMBER.fullmatch(str(name))}
    there = store.load(sorted(set(numbers.values())), scope=scope)
    return found | {name: (row,) for name, row in numbers.items() if row in there}
