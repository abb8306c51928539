"""What a caller asks and what a caller gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from recollect.records import ALL_PROJECTS, NO_FILTER, Event, Fact, Filter, Memory, Scope

Mode = Literal["keyword", "semantic", "hybrid"]
Outcome = Literal["answered", "weak", "none"]
ReasonCode = Literal["no_match", "below_threshold", "filtered_out", "blank_query", "empty_store"]
MatchType = Literal["bm25", "semantic", "hybrid", "browse"]
Degraded = Literal["no_model", "vectors_pending", "fts_unavailable", "reranker_failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One search, with everything that may change its answer."""

    text: str
    mode: Mode = "hybrid"
    limit: int | None = None
    alpha: float | None = None
    scope: Scope = ALL_PROJECTS
    where: Filter = NO_FILTER
    include_facts: bool = True
    snippets: bool = True
    """Whether each hit shows the stretch that speaks of what was asked; who only wants the order saves much time."""
    session: str | None = None
    lens: str | None = None
    without_model: Literal["keyword", "fail"] = "keyword"
    """What a search for meaning does when there is no model."""
    facets: bool = False
    """Whether the whole match set is counted by type, tag, project, source, kind, fact type and month."""
    intent: str | None = None
    """What the asker is after; whoever says so is searched for further, however sure the first hit looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one ranking gave a candidate."""

    ranking: str
    rank: int | None
    points: float
    native: float | None = None
    """The ranking's own score: BM25, or a cosine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that was found, and why. The score is the sum of the shares times the product of the factors."""

    rank: int
    memory: Memory
    score: float
    match_type: MatchType
    snippet: str
    shares: tuple[Share, ...] = ()
    factors: Mapping[str, float] = field(default_factory=dict)
    effective_confidence: float = 1.0
    facts: tuple[Fact, ...] = ()

    @property
    def id(self) -> int:
        """The memory's id."""
        return self.memory.id

    @property
    def kind(self) -> str:
        """The memory's kind."""
        return self.memory.kind

    def share(self, ranking: str) -> Share | None:
        """Return what *ranking* gave, if it gave anything."""
        return next((share for share in self.shares if share.ranking == ranking), None)

    @property
    def bm25_score(self) -> float | None:
        """How well the words matched."""
        share = self.share("words")
        return share.native if share else None

    @property
    def bm25_rank(self) -> int | None:
        """Its place among the word matches."""
        share = self.share("words")
        return share.rank if share else None

    @property
    def semantic_score(self) -> float | None:
        """How near it is in meaning: the cosine."""
        share = self.share("vector")
        return share.native if share else None

    @property
    def vector_rank(self) -> int | None:
        """Its place among the nearest vectors."""
        share = self.share("vector")
        return share.rank if share else None

    @property
    def fused_score(self) -> float:
        """What the rankings gave together, before the factors."""
        return sum(share.points for share in self.shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why there is no answer, and what was nearest to one."""

    code: ReasonCode
    message: str
    best_score: float | None = None
    hidden: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How likely it is that there is an answer, and what speaks for the hit most likely to be it."""

    id: int
    sure: float
    """The chance that there is an answer, between 0 and 1, if five of six questions have one."""
    bar: float
    """From where on the profile calls it answered."""
    coverage: float | None = None
    """The share of the question's weight that the hit holds in words, where words count."""
    cosine: float | None = None
    """How near the hit is in meaning, where the model's cosines are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The hits, and how far to trust them."""

    query: str
    mode: Mode
    profile: str
    outcome: Outcome
    hits: tuple[Hit, ...] = ()
    reason: Reason | None = None
    degraded: Degraded | None = None
    suggestions: tuple[str, ...] = ()
    facets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    total: int = 0
    near_misses: tuple[tuple[int, float], ...] = ()
    """The ids and scores of those that came next, for the recall log."""
    evidence: Evidence | None = None
    """What the outcome stands on; None where the profile does not judge or nothing can be told."""
    timings_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A memory that belongs to another, how near it is, and the reasons: "meaning 0.62", "fact: Database"."""

    memory: Memory
    score: float
    reasons: tuple[str, ...]

    @property
    def id(self) -> int:
        """The memory's id."""
        return self.memory.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Memories, newest first, and how many there are in all."""

    memories: tuple[Memory, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One memory with all that is known of it."""

    memory: Memory
    wordings: tuple[str, ...]
    events: tuple[Event, ...]
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What a check-up found: nothing wrong, or lines that say what and what to do."""

    problems: tuple[str, ...]
    memories: int
    address: str
    advice: tuple[str, ...] = ()
    """What could be done though nothing is wrong."""

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems
