"""Tuning a profile on the store it searches: fit its knobs to judged queries, adopt only what is surely better."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from recollect.evaluate.compare import Comparison, Interval, compare
from recollect.evaluate.judgements import JudgedQuery, from_feedback, from_file
from recollect.evaluate.measures import mean, ndcg
from recollect.evaluate.tuning import Knob, Patch, adopt, in_force, knobs_of, patched, starts
from recollect.profile import Profile
from recollect.records import Progress, Scope
from recollect.remember.redact import redact_text
from recollect.replies import Reply, Request
from recollect.stores.contract import Store

LEAST: Final = 20
"""How many queries it takes to say anything."""
MOST: Final = 500
"""How many are asked; of more, always the same ones."""
WORTH: Final = 0.002
"""How much of nDCG@10 a knob must gain to be turned."""
CHANCE: Final = 0.05
"""How likely the gain may be by chance: of few queries the bootstrap alone is too sure (docs/tuning.md)."""
ROUNDS: Final = 2
DEPTH: Final = 10

Rank = Callable[[JudgedQuery, Profile], Sequence[int]]
"""Searches for a query as a profile ranks; the ids, best first."""


class Fitted(Struct, frozen=True, kw_only=True):
    """What fitting came to: the means on queries not fitted on, the interval of their gain, and whether it counts."""

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


class Tuned(Struct, frozen=True, kw_only=True):
    """What tuning came to, where the judgements came from, and whether the result is in force now."""

    fitted: Fitted
    source: str
    left_out: Mapping[str, int]
    adopted: bool


class TuningTarget(Struct, frozen=True, kw_only=True):
    """What is tuned: a profile, on a store, as far as a reader sees it, and how it is searched."""

    profile: Profile
    store: Store
    scope: Scope
    now: datetime
    search: Callable[[Request, Profile], Reply]
    project: str = ""
    """The project that keeps what is tuned; blank for none."""

    def rank(self, query: JudgedQuery, profile: Profile) -> list[int]:
        """Search for *query* as *profile* ranks."""
        request = Request(text=query.text, scope=query.scope, include_facts=False, snippets=False)
        return [hit.id for hit in self.search(request, profile).hits]


def tune(
    target: TuningTarget, judged: str | Path | None = None, *, dry_run: bool = False, progress: Progress | None = None
) -> Tuned:
    """Fit the profile to the queries of a file, or without one to the feedback log, and adopt what is better."""
    store, profile = target.store, target.profile
    if judged is None:
        found = from_feedback(store, scope=target.scope)
    else:
        found = from_file(Path(judged).expanduser(), store, scope=target.scope)
    tuning = in_force(profile, store, project=target.project)
    current = {} if tuning is None else tuning.values
    fitted = fit_profile(found.queries, profile, target.rank, current=current, progress=progress)
    adopted = fitted.better and not dry_run
    if adopted:
        source = redact_text(found.source).text
        adopt(profile, fitted, store=store, now=target.now, source=source, project=target.project)
    return Tuned(fitted=fitted, source=found.source, left_out=found.left_out, adopted=adopted)


# --- fitting --------------------------------------------------------------------------------


def fit_profile(
    queries: Sequence[JudgedQuery],
    base: Profile,
    rank: Rank,
    *,
    current: Patch | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Fit the knobs of *base*, which stand at *current*, to *queries*, and say whether the result is better.

    Knobs fitted to one half of the queries are judged on the other, so that nothing is judged on what it was fitted to.
    """
    asked = sorted(queries, key=lambda each: (each.checksum, each.key))[:MOST]
    if len(asked) < LEAST:
        reason = f"too few questions: {len(asked)}, at least {LEAST} are needed"
        return Fitted(profile=base.name, questions=len(asked), reason=reason)
    now, scores = current or {}, _Scores(base, rank, progress, queries=len(asked))
    halves = [[each for each in asked if each.checksum % 2 == odd] for odd in (0, 1)]
    new: dict[str, float] = {}
    for train, judged in (halves, halves[::-1]):
        new |= scores.of(judged, _fit(train, scores, start=now))
    compared = compare(scores.of(asked, now), new)
    sure = compared.better and compared.p_value < CHANCE
    values = _fit(asked, scores, start=now) if sure else scores.plain(now)
    moved = {
        name: (now.get(name, stood), values.get(name, stood))
        for name, stood in scores.starts.items()
        if now.get(name, stood) != values.get(name, stood)
    }
    return Fitted(
        profile=base.name,
        questions=len(asked),
        before=compared.baseline,
        after=compared.new,
        interval=compared.interval,
        values=values,
        moved=moved,
        better=sure and bool(moved),
        reason=_reason(compared, moved=bool(moved)),
    )


def _reason(compared: Comparison, *, moved: bool) -> str:
    if compared.wins == compared.losses == 0:
        return "no other weights answer these questions better"
    if not compared.better:
        return "the interval of the gain reaches down to 0 or below: it may be chance"
    if not compared.p_value < CHANCE:
        return f"so few questions gain as much by chance (p = {compared.p_value:.2f})"
    return "the whole interval of the gain is above 0" if moved else "all the questions together turn no knob"


class _Scores:
    """The nDCG@10 of queries under settings of the knobs; each is searched for once."""

    def __init__(self, base: Profile, rank: Rank, progress: Progress | None, *, queries: int) -> None:
        self._base, self._rank, self._progress = base, rank, progress
        self.knobs, self.starts = knobs_of(base), starts(base)
        self._expected = queries * (1 + sum(len(knob.grid) for knob in self.knobs))
        self._known: dict[tuple[str, tuple[tuple[str, float], ...]], float] = {}

    def plain(self, patch: Patch) -> Patch:
        """Return *patch* without the knobs that stand where the profile has them."""
        return {name: value for name, value in sorted(patch.items()) if value != self.starts.get(name)}

    def of(self, queries: Sequence[JudgedQuery], patch: Patch) -> dict[str, float]:
        """Return how well each of *queries* is answered."""
        setting = tuple(self.plain(patch).items())
        profile = patched(self._base, dict(setting))
        return {each.key: self._score(each, setting, profile) for each in queries}

    def mean(self, queries: Sequence[JudgedQuery], patch: Patch) -> float:
        """Return how well *queries* are answered on the mean."""
        return mean(self.of(queries, patch).values())

    def idle(self, queries: Sequence[JudgedQuery], patch: Patch, knob: Knob) -> bool:
        """Return whether *knob* changes nothing here, turned all the way down or up; then nothing between does."""
        ends = ({**patch, knob.name: end} for end in (knob.grid[0], knob.grid[-1]))
        return all(self.of(queries, end) == self.of(queries, patch) for end in ends)

    def _score(self, query: JudgedQuery, setting: tuple[tuple[str, float], ...], profile: Profile) -> float:
        place = (query.key, setting)
        if place not in self._known:
            ranking = [str(row) for row in self._rank(query, profile)]
            self._known[place] = ndcg(ranking, {str(row): gain for row, gain in query.gains.items()}, k=DEPTH)
            if self._progress is not None:
                done = len(self._known)
                self._progress(done, max(done, self._expected), "searches")
        return self._known[place]


def _fit(queries: Sequence[JudgedQuery], scores: _Scores, *, start: Patch) -> Patch:
    """Return the setting that answers *queries* best, one knob after the other; a knob turns only if that pays."""
    best, level = dict(start), scores.mean(queries, start)
    for _ in range(ROUNDS):
        before = dict(best)
        for knob in scores.knobs:
            here = best.get(knob.name, scores.starts[knob.name])
            if scores.idle(queries, best, knob):
                continue
            others = _nearest_first({*knob.grid, scores.starts[knob.name]} - {here}, here)
            tried = {value: scores.mean(queries, {**best, knob.name: value}) for value in others}
            top = max(tried, key=tried.__getitem__)  # of equals the first: the nearest
            if tried[top] >= level + WORTH:
                best[knob.name], level = top, tried[top]
        if best == before:
            break
    return scores.plain(best)


def _nearest_first(values: Iterable[float], here: float) -> list[float]:
    return sorted(values, key=lambda value: (abs(value - here), value))
