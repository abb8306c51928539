"""Tuning a profile on the store it searches: read what was judged, fit, and keep only what is surely better."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from recollect.evaluate.tune import Fitted, Progress, Question, tune
from recollect.evaluate.tune_judged import from_feedback, from_file
from recollect.evaluate.tune_keep import adopt, in_force
from recollect.profile import Profile
from recollect.records import Scope
from recollect.replies import Reply, Request
from recollect.stores.contract import Store

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
