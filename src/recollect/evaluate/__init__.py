"""Measuring what is found, and fitting a profile to its user."""

from typing import TYPE_CHECKING

from recollect.lazy import lazily

if TYPE_CHECKING:
    from recollect.evaluate import cache, corpus, evaluate, markup, plan, report, runs, tune, tuning

__all__ = ["cache", "corpus", "evaluate", "markup", "plan", "report", "runs", "tune", "tuning"]
__getattr__ = lazily(__name__)
