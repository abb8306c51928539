"""What was recalled: each search, what it showed, and what it nearly showed."""

from dataclasses import dataclass
from datetime import datetime

from recollect.records.questions import EVERYTHING, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """One memory in an answer, with the facts it came with; not shown means a near miss."""

    memory_id: int
    rank: int
    score: float
    shown: bool
    fact_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """One search: what was asked, by whom, through which lens, in which scope, and what came of it."""

    query: str
    mode: str
    outcome: str
    at: datetime
    session: str | None = None
    lens: str | None = None
    scope: Scope = EVERYTHING
    hits: tuple[Recalled, ...] = ()
