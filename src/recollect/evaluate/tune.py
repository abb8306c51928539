"""Fitting a profile's few weights to judged questions, and saying honestly whether that is worth anything.

The weights are fitted on one half of the questions and judged on the other, both ways round, so that every question
is judged by weights that never saw it; a paired bootstrap of those differences decides. What is proposed in the end
is fitted on all of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from recollect.evaluate.compare import Comparison, Interval, compare
from recollect.evaluate.measures import mean, ndcg
from recollect.evaluate.tune_knobs import Knob, Patch, knobs_of, patched, starts
from recollect.profile import Profile
from recollect.records import EVERYTHING, Scope

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
    scope: Scope = EVERYTHING

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
Progress = Callable[[int, int, str], None]


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
