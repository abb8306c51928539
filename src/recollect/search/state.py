"""The state that the stages of a search pass on, and the context they work in."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from time import perf_counter
from typing import Final

from msgspec import Struct, field
from msgspec.structs import force_setattr

from recollect.embedders.contract import Embedder
from recollect.errors import SearchCancelled, SearchTimeout
from recollect.profile import Profile
from recollect.records import (
    Event,
    Fact,
    Filter,
    IndexHit,
    Memory,
    NearWord,
    Outline,
    Scope,
    SubstringQuery,
    Traits,
    Usage,
    WordQuery,
)
from recollect.replies import Degraded, Evidence, Hit, Mode, Outcome, Reason, Request
from recollect.rerankers.contract import Reranker
from recollect.search.candidates import NO_CANDIDATES, Candidates
from recollect.search.parse import Query
from recollect.stores.contract import Store
from recollect.vectors import RAW, Scale

Tier = WordQuery | SubstringQuery
"""One query to the word index; a search is a cascade of them."""
Outlined = Outline | Memory
"""The parts of a memory that ranking reads."""
Boost = Callable[[Outlined, Sequence[Fact]], float]
"""Returns the boost of a lens for a memory and its facts."""
_ID: Final = itemgetter(IndexHit._fields.index("id"))


class Ranking(Struct, frozen=True, kw_only=True):
    """The hits of one query to one index, best first; `by_id` has exact scores of memories it did not rank."""

    name: str
    hits: tuple[IndexHit, ...] = ()
    by_id: Mapping[int, IndexHit] = field(default_factory=dict)
    total: int = 0
    code_share: float = 0.0
    """The share of program text in everything searched."""
    kind: str = ""
    """Chooses its weight and normalizer; its name by default."""
    weight: float = 1.0
    """Relative weight among rankings of its kind."""
    strengths: Mapping[int, float] = field(default_factory=dict)
    """Multiplier of a memory's points: a hit that contains little of the query gets less."""
    tiers: tuple[Tier, ...] = ()
    """The queries that were sent to the word index."""
    answered: Tier | None = None
    """The one that matched."""
    document_frequencies: Mapping[str, int] = field(default_factory=dict)
    """Number of memories that contain each query word."""
    near: Mapping[str, tuple[NearWord, ...]] = field(default_factory=dict)
    """Likely corrections of words that no memory contains."""
    degraded: Degraded | None = None
    """What failed or was missing."""
    version: int | None = None
    """The store version it was read at."""

    def __post_init__(self) -> None:
        """Use the name as the default kind."""
        force_setattr(self, "kind", self.kind or self.name)

    def find(self, memory_id: int) -> tuple[int | None, IndexHit | None]:
        """Return the rank and the hit of a memory, None where the ranking has none."""
        at = next((at for at, row in enumerate(map(_ID, self.hits)) if row == memory_id), None)
        return (None, self.by_id.get(memory_id)) if at is None else (at + 1, self.hits[at])


class State(Struct, frozen=True, kw_only=True):
    """The state of a search; each stage returns the next one."""

    request: Request
    """Narrowed by its lens."""
    query: Query
    scope: Scope
    now: datetime
    boost: Boost | None = None
    mode: Mode = "hybrid"
    """The mode that runs; without a model it is keyword."""
    tiers: tuple[Tier, ...] = ()
    """The queries to the word index; after retrieval, with corrections of mistyped words."""
    rankings: tuple[Ranking, ...] = ()
    generations: Mapping[str, Scale] = field(default_factory=dict)
    """The scales of the vector generations compared, by fingerprint, the current one first."""
    vectors: Mapping[int, bytes] = field(default_factory=dict)
    """First-passage vectors of the candidates that stages compare with each other."""
    scale: Scale = RAW
    """The scale of those vectors."""
    answering_alone: str = ""
    """The kind of the only ranking, if nothing was fused and it kept its own scores."""
    candidates: Candidates = NO_CANDIDATES
    """Best first; dropped ones stay among them with the reason."""
    traits: Mapping[int, Traits] = field(default_factory=dict)
    """The parts of every candidate that weighing reads."""
    outlines: Mapping[int, Outlined] = field(default_factory=dict)
    """The candidates whose text was loaded."""
    exchanges: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """The turns of each candidate's exchange, the question first; only exchanges of several turns."""
    memories: Mapping[int, Memory] = field(default_factory=dict)
    """The memories that are shown, or would be under a higher limit."""
    events: Mapping[int, tuple[Event, ...]] = field(default_factory=dict)
    """Decisions about those memories, if the reply shows them."""
    older: Mapping[int, int] = field(default_factory=dict)
    """Newer memory -> older memory about the same thing."""
    facts: Mapping[int, tuple[Fact, ...]] = field(default_factory=dict)
    usage: Mapping[int, Usage] = field(default_factory=dict)
    browsing: bool = False
    """Whether nothing was ranked: the newest memories are shown, or those of the period asked for."""
    foreign: bool = False
    """Whether the model does not know the script of the query, so its cosines mean nothing."""
    gibberish: bool = False
    """Whether the store knows no word of the query and the model can only spell them out."""
    degraded: Degraded | None = None
    limited: Degraded | None = None
    """Which limit cut the query."""
    outcome: Outcome = "answered"
    """Every hit counts as an answer unless a stage judges otherwise; without hits it becomes `none`."""
    evidence: Evidence | None = None
    chances: Mapping[int, float] = field(default_factory=dict)
    """Probability that each candidate answers, in a precise search."""
    hits: tuple[Hit, ...] = ()
    total: int = 0
    facets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    suggestions: tuple[str, ...] = ()
    reason: Reason | None = None

    @property
    def where(self) -> Filter:
        """The filters of the request and the query."""
        return self.query.where

    @property
    def known(self) -> dict[int, Traits | Outlined]:
        """The traits of each candidate, or its outline if that was loaded."""
        return {**self.traits, **self.outlines}

    @property
    def version(self) -> int | None:
        """The store version that the indexes answered at; None if none was queried."""
        return next((each.version for each in self.rankings if each.version is not None), None)

    @property
    def kept(self) -> Candidates:
        """The candidates that no stage has dropped."""
        return self.candidates.kept

    @property
    def in_reach(self) -> Candidates:
        """The candidates that are kept, or would be under a higher limit."""
        candidates = self.candidates
        near = {row for row, drop in candidates.drops.items() if drop.code == "limit"}
        far = candidates.drops.keys() - near
        return candidates.picked([at for at, row in enumerate(candidates.ids) if row not in far])

    def ranking(self, name: str) -> Ranking:
        """Return the ranking *name*, empty if there is none."""
        return next((each for each in self.rankings if each.name == name), None) or Ranking(name=name)


class Watch(Struct, frozen=True, kw_only=True):
    """The deadline of a search, as a value of `perf_counter`, and its cancellation callback."""

    until: float = math.inf
    cancelled: Callable[[], bool] | None = None

    @classmethod
    def over(cls, request: Request) -> "Watch":
        """Return the deadline of a request that starts now."""
        until = math.inf if request.timeout is None else perf_counter() + request.timeout
        return cls(until=until, cancelled=request.cancelled)

    def check(self) -> None:
        """Raise if the search is cancelled or out of time."""
        if self.cancelled is not None and self.cancelled():
            raise SearchCancelled("the search was cancelled", hint="ask again when you need the answer")
        if self.until < math.inf and perf_counter() >= self.until:
            raise SearchTimeout("the search took longer than it was given", hint="give it more time, or narrow it")


class SearchContext(Struct, frozen=True, kw_only=True):
    """The store, the profile, the time and the models of a search."""

    store: Store
    profile: Profile
    now: datetime
    embedder: Embedder | None = None
    named: Callable[[str], Embedder | None] = lambda _: None
    """Finds a model by name: the previous model's vectors are used until the new ones are complete."""
    reranker: Callable[[], Reranker | None] = lambda: None
    look_through: Callable[[Request], tuple[Request, Boost | None]] = lambda request: (request, None)
    """Returns a request narrowed by its lens, and the boost of that lens."""
    begin: Callable[[str], object] = lambda _: None
    """Starts to embed a query in the background."""
    watch: Watch = Watch()

    @property
    def ask(self) -> Store:
        """The store; raises if the search is cancelled or out of time."""
        self.watch.check()
        return self.store
