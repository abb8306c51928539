"""Tuning a profile on the store it searches: read what was judged, fit, and keep only what is surely better."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from recollect.errors import FileError
from recollect.evaluate.compare import Comparison, Interval, compare
from recollect.evaluate.measures import mean, ndcg
from recollect.evaluate.tuning import Knob, Patch, adopt, in_force, knobs_of, patched, starts
from recollect.profile import Profile
from recollect.records import ALL_PROJECTS, Event, Filter, Progress, Recall, Scope
from recollect.replies import Reply, Request
from recollect.stores.change import writable
from recollect.stores.contract import Store

LEAST: Final = 20
"""How many questions it takes to say anything."""
MOST: Final = 500
"""How many are asked; of more, always the same ones."""
WORTH: Final = 0.002
"""How much of nDCG@10 a knob must gain to be turned."""
CHANCE: Final = 0.05
"""How likely the gain may be by chance: of few questions the bootstrap alone is too sure (docs/tuning.md)."""
ROUNDS: Final = 2
DEPTH: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked, where, and what each memory is worth as an answer."""

    text: str
    gains: Mapping[int, int]
    scope: Scope = ALL_PROJECTS

    @property
    def key(self) -> str:
        """A name that no other question has."""
        projects = self.scope.projects
        return "\0".join((self.text, "" if projects is None else repr(sorted(projects))))

    @property
    def chance(self) -> int:
        """A number that only the text decides."""
        return crc32(self.text.encode("utf-8", "surrogatepass"))


Ask = Callable[[Question, Profile], Sequence[int]]
"""Searches for a question as a profile ranks; the ids, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What fitting came to: the means on questions not fitted on, the interval of their gain, and the verdict."""

    profile: str
    questions: int
    before: float = 0.0
    after: float = 0.0
    interval: Interval | None = None
    values: Patch = field(default_factory=dict)
    """All the knobs that would not stand where the profile has them."""
    moved: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """From where to where, for each knob that would be turned now."""
    better: bool = False
    reason: str = ""


class _Scores:
    """The nDCG@10 of questions under settings of the knobs; each is searched for once."""

    def __init__(self, base: Profile, ask: Ask, progress: Progress | None, *, expected: int) -> None:
        self._base, self._ask, self._progress = base, ask, progress
        self._starts, self._expected = starts(base), expected
        self._known: dict[tuple[str, tuple[tuple[str, float], ...]], float] = {}

    def plain(self, patch: Patch) -> Patch:
        """Return *patch* without the knobs that stand where the profile has them."""
        return {name: value for name, value in sorted(patch.items()) if value != self._starts.get(name)}

    def of(self, questions: Sequence[Question], patch: Patch) -> dict[str, float]:
        """Return how well each of *questions* is answered."""
        setting = tuple(self.plain(patch).items())
        profile = patched(self._base, dict(setting))
        return {each.key: self._score(each, setting, profile) for each in questions}

    def mean(self, questions: Sequence[Question], patch: Patch) -> float:
        """Return how well *questions* are answered on the mean."""
        return mean(self.of(questions, patch).values())

    def idle(self, questions: Sequence[Question], patch: Patch, knob: Knob) -> bool:
        """Return whether *knob* changes nothing here, turned all the way down or up; then nothing between does."""
        ends = ({**patch, knob.name: end} for end in (knob.grid[0], knob.grid[-1]))
        return all(self.of(questions, end) == self.of(questions, patch) for end in ends)

    def _score(self, question: Question, setting: tuple[tuple[str, float], ...], profile: Profile) -> float:
        place = (question.key, setting)
        if place not in self._known:
            ranking = [str(row) for row in self._ask(question, profile)]
            gains = {str(row): gain for row, gain in question.gains.items()}
            self._known[place] = ndcg(ranking, gains, k=DEPTH)
            if self._progress is not None:
                done = len(self._known)
                self._progress(done, max(done, self._expected), "searches")
        return self._known[place]


def fit(questions: Sequence[Question], scores: _Scores, knobs: Sequence[Knob], *, start: Patch, base: Patch) -> Patch:
    """Return the setting that answers *questions* best, one knob after the other; a knob turns only if that pays."""
    best, level = dict(start), scores.mean(questions, start)
    for _ in range(ROUNDS):
        before = dict(best)
        for knob in knobs:
            here = best.get(knob.name, base[knob.name])
            if scores.idle(questions, best, knob):
                continue
            others = _nearest_first({*knob.grid, base[knob.name]} - {here}, here)
            tried = {value: scores.mean(questions, {**best, knob.name: value}) for value in others}
            top = max(tried, key=tried.__getitem__)  # of equals the first: the nearest
            if tried[top] >= level + WORTH:
                best[knob.name], level = top, tried[top]
        if best == before:
            break
    return scores.plain(best)


def _nearest_first(values: Iterable[float], here: float) -> list[float]:
    return sorted(values, key=lambda value: (abs(value - here), value))


def tune(
    questions: Sequence[Question],
    base: Profile,
    ask: Ask,
    *,
    current: Patch | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Fit the knobs of *base*, which stand at *current*, to *questions*, and say whether the result is better."""
    asked = sorted(questions, key=lambda each: (each.chance, each.key))[:MOST]
    if len(asked) < LEAST:
        reason = f"too few questions: {len(asked)}, at least {LEAST} are needed"
        return Fitted(profile=base.name, questions=len(asked), reason=reason)
    now, knobs, at_rest = current or {}, knobs_of(base), starts(base)
    scores = _Scores(base, ask, progress, expected=len(asked) * (1 + sum(len(knob.grid) for knob in knobs)))
    halves = [[each for each in asked if each.chance % 2 == odd] for odd in (0, 1)]
    new: dict[str, float] = {}
    for train, judged in (halves, halves[::-1]):
        new |= scores.of(judged, fit(train, scores, knobs, start=now, base=at_rest))
    told = compare(scores.of(asked, now), new)
    sure = told.better and told.p_value < CHANCE
    values = fit(asked, scores, knobs, start=now, base=at_rest) if sure else scores.plain(now)
    turned = {
        name: (now.get(name, stood), values.get(name, stood))
        for name, stood in at_rest.items()
        if now.get(name, stood) != values.get(name, stood)
    }
    return Fitted(
        profile=base.name,
        questions=len(asked),
        before=told.baseline,
        after=told.new,
        interval=told.interval,
        values=values,
        moved=turned,
        better=sure and bool(turned),
        reason=_reason(told, turned=bool(turned)),
    )


def _reason(told: Comparison, *, turned: bool) -> str:
    if told.wins == told.losses == 0:
        return "no other weights answer these questions better"
    if not told.better:
        return "the interval of the gain reaches down to 0 or below: it may be chance"
    if not told.p_value < CHANCE:
        return f"so few questions gain as much by chance (p = {told.p_value:.2f})"
    return "the whole interval of the gain is above 0" if turned else "all the questions together turn no knob"


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
    rows = [row for row, each in store.usage(scope=scope).items() if each.verdicts]
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
    projects = store.stats(scope=scope).projects if scope.projects is None else scope.projects
    texts = sorted({name for name in names if isinstance(name, str) and name == writable(name)})
    kinds = store.facets(query=None, scope=scope, where=Filter(include_superseded=True))["kind"]
    found: dict[str | int, tuple[int, ...]] = {}
    for project in sorted(projects):
        held = store.known(project, external_ids=[(kind, text) for kind in kinds for text in texts])
        for (_, text), row in held.by_external_id.items():
            found[text] = (*found.get(text, ()), row)
    numbers = {name: int(name) for name in names if name not in found and _NUMBER.fullmatch(str(name))}
    there = store.load(sorted(set(numbers.values())), scope=scope)
    return found | {name: (row,) for name, row in numbers.items() if row in there}


Answer = Callable[[Request, Profile], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """What tuning came to, where the judgements came from, and whether the result is in force now."""

    fitted: Fitted
    source: str
    left_out: Mapping[str, int]
    adopted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """What is tuned: a profile, on a store, as far as a reader sees it, and how it is searched."""

    profile: Profile
    store: Store
    scope: Scope
    now: datetime
    answer: Answer

    def ask(self, question: Question, tried: Profile) -> list[int]:
        """Search for *question* as *tried* ranks."""
        request = Request(text=question.text, scope=question.scope, include_facts=False, snippets=False)
        return [hit.id for hit in self.answer(request, tried).hits]


def tune_here(
    here: Here, judged: str | Path | None = None, *, dry_run: bool = False, progress: Progress | None = None
) -> Tuned:
    """Fit the profile to the questions of a file, or without one to the feedback log, and adopt what is better."""
    if judged is None:
        found = from_feedback(here.store, scope=here.scope)
    else:
        found = from_file(Path(judged).expanduser(), here.store, scope=here.scope)
    tuning = in_force(here.profile, here.store)
    values = {} if tuning is None else tuning.values
    fitted = tune(found.questions, here.profile, here.ask, current=values, progress=progress)
    adopted = fitted.better and not dry_run
    if adopted:
        adopt(here.profile, fitted, store=here.store, now=here.now, source=found.source)
    return Tuned(fitted=fitted, source=found.source, left_out=found.left_out, adopted=adopted)
