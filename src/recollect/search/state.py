"""What travels between the stages of a search, and what a search works with."""

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

Tier = WordQuery | SubstringQuery
"""One question to the word index; a query is a cascade of them."""
Outlined = Outline | Memory
"""What ranking looks at of a memory."""
Boost = Callable[[Outlined, Sequence[Fact]], float]
"""What a lens makes of a memory and its facts."""
_ID: Final = itemgetter(IndexHit._fields.index("id"))


class Ranking(Struct, frozen=True, kw_only=True):
    """What one question to one index found, best first; `by_id` has the exact scores of some it did not rank."""

    name: str
    hits: tuple[IndexHit, ...] = ()
    by_id: Mapping[int, IndexHit] = field(default_factory=dict)
    total: int = 0
    code_share: float = 0.0
    """How much of what was searched is program text."""
    kind: str = ""
    """Which weight and normaliser it takes; its name unless told."""
    weight: float = 1.0
    """What it counts beside others of its kind."""
    strengths: Mapping[int, float] = field(default_factory=dict)
    """How much of its points each memory gets where that differs: what holds little of the question gets less."""
    tiers: tuple[Tier, ...] = ()
    """What was asked for it, of the word index."""
    answered: Tier | None = None
    """Which of them found something."""
    document_frequencies: Mapping[str, int] = field(default_factory=dict)
    """How many memories hold each word that was asked for."""
    near: Mapping[str, tuple[NearWord, ...]] = field(default_factory=dict)
    """What may be meant by words that no memory holds."""
    degraded: Degraded | None = None
    """What could not run as it should."""
    version: int | None = None
    """The version of the store that it was read at."""

    def __post_init__(self) -> None:
        """Go by the name where no kind is told."""
        force_setattr(self, "kind", self.kind or self.name)

    def find(self, memory_id: int) -> tuple[int | None, IndexHit | None]:
        """Return the rank and the entry of a memory, as far as this ranking knows them."""
        at = next((at for at, row in enumerate(map(_ID, self.hits)) if row == memory_id), None)
        return (None, self.by_id.get(memory_id)) if at is None else (at + 1, self.hits[at])


class State(Struct, frozen=True, kw_only=True):
    """What a search knows; each stage makes the next one of it."""

    request: Request
    """As the lens it names leaves it."""
    query: Query
    scope: Scope
    now: datetime
    boost: Boost | None = None
    mode: Mode = "hybrid"
    """The mode that the request amounts to here."""
    tiers: tuple[Tier, ...] = ()
    """What is asked of the word index; after retrieving, with what may be meant by mistyped words."""
    rankings: tuple[Ranking, ...] = ()
    generations: tuple[str, ...] = ()
    """The fingerprints of the vectors that were compared, the generation in use first."""
    vectors: Mapping[int, bytes] = field(default_factory=dict)
    """The vector of the first passage of those candidates whose likeness stages look at."""
    answering_alone: str = ""
    """The kind of the ranking whose own scores are the scores, if nothing was fused."""
    candidates: Candidates = NO_CANDIDATES
    """Best first; dropped ones stay among them with the reason."""
    traits: Mapping[int, Traits] = field(default_factory=dict)
    """What weighing looks at of the candidates."""
    outlines: Mapping[int, Outlined] = field(default_factory=dict)
    """What ranking looks at of those candidates whose text it reads."""
    exchanges: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """The turns of the exchange that each candidate belongs to, the one that asks first, where there are several."""
    memories: Mapping[int, Memory] = field(default_factory=dict)
    """The memories that are shown, or would be in a longer answer."""
    events: Mapping[int, tuple[Event, ...]] = field(default_factory=dict)
    """What was decided about those memories, where anybody is told."""
    older: Mapping[int, int] = field(default_factory=dict)
    """What a memory follows: the newer one of two about the same thing, and the older one."""
    facts: Mapping[int, tuple[Fact, ...]] = field(default_factory=dict)
    usage: Mapping[int, Usage] = field(default_factory=dict)
    browsing: bool = False
    """Whether nothing was asked for, so that the newest are shown."""
    foreign: bool = False
    """Whether the model does not know the script of the query, so that its cosines say nothing."""
    gibberish: bool = False
    """Whether no word of the query is known to the store, and the model can only spell them."""
    degraded: Degraded | None = None
    limited: Degraded | None = None
    """What the limits left out of the query."""
    outcome: Outcome = "answered"
    """Of the hits; without hits there is no answer."""
    evidence: Evidence | None = None
    chances: Mapping[int, float] = field(default_factory=dict)
    """How likely each candidate is to answer, where only those that do were asked for."""
    hits: tuple[Hit, ...] = ()
    total: int = 0
    facets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    suggestions: tuple[str, ...] = ()
    reason: Reason | None = None

    @property
    def where(self) -> Filter:
        """Which memories the request and the query admit."""
        return self.query.where

    @property
    def known(self) -> dict[int, Traits | Outlined]:
        """What is known of each candidate, its text too where that was loaded."""
        return {**self.traits, **self.outlines}

    @property
    def version(self) -> int | None:
        """The version of the store that the indexes answered at; None where none was asked."""
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
        """Return the ranking *name*, empty if it was not asked for."""
        return next((each for each in self.rankings if each.name == name), None) or Ranking(name=name)


class Watch(Struct, frozen=True, kw_only=True):
    """When to give up: at a moment of `perf_counter`, or when the caller says so."""

    until: float = math.inf
    cancelled: Callable[[], bool] | None = None

    @classmethod
    def over(cls, request: Request) -> "Watch":
        """Return a watch that starts now."""
        until = math.inf if request.timeout is None else perf_counter() + request.timeout
        return cls(until=until, cancelled=request.cancelled)

    def check(self) -> None:
        """Raise if it is time to give up."""
        if self.cancelled is not None and self.cancelled():
            raise SearchCancelled("the search was cancelled", hint="ask again when you need the answer")
        if self.until < math.inf and perf_counter() >= self.until:
            raise SearchTimeout("the search took longer than it was given", hint="give it more time, or narrow it")


class SearchContext(Struct, frozen=True, kw_only=True):
    """What a search works with: the store, how to rank, the time, and the models."""

    store: Store
    profile: Profile
    now: datetime
    embedder: Embedder | None = None
    named: Callable[[str], Embedder | None] = lambda _: None
    """Finds a model by its name: vectors of the one before serve until the new ones are made."""
    reranker: Callable[[], Reranker | None] = lambda: None
    look_through: Callable[[Request], tuple[Request, Boost | None]] = lambda request: (request, None)
    """Returns a request as the lens it names leaves it, and what that lens makes of a memory."""
    begin: Callable[[str], object] = lambda _: None
    """Begins to make the vector of a query that the embedder will be asked for."""
    watch: Watch = Watch()

    @property
    def ask(self) -> Store:
        """The store, unless the search is to be given up."""
        self.watch.check()
        return self.store
