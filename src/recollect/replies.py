"""What a caller asks and what a caller gets."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, get_args, get_type_hints

from msgspec import Meta, Struct, field
from msgspec.structs import asdict, force_setattr, replace

from recollect.arguments import fit
from recollect.errors import InputError, QueryError
from recollect.parameters import about
from recollect.records import ALL_PROJECTS, NO_FILTER, Compared, Event, Fact, Filter, Memory, Scope
from recollect.serialize import serialize

Mode = Literal["keyword", "semantic", "hybrid"]
Outcome = Literal["answered", "weak", "none"]
ReasonCode = Literal["no_match", "below_threshold", "filtered_out", "blank_query", "empty_store"]
MatchType = Literal["bm25", "semantic", "hybrid", "browse"]
Degraded = Literal[
    "no_model",
    "model_failed",
    "vectors_pending",
    "fts_unavailable",
    "reranker_failed",
    "words_cut",
    "prefixes_cut",
    "corrections_cut",
]

WEIGHTED: Final = ("words", "vector", "expansion")
"""The kinds of ranking that `Request.weights` may name."""
SETTABLE: Final = "program"  # the command line has --set KEY=NUMBER for all of these


class Request(Compared, frozen=True, kw_only=True):
    """One search, with everything that may change its answer; an option without a meaning is a QueryError."""

    _not_compared = frozenset({"timeout", "cancelled"})

    text: str
    mode: Mode = "hybrid"
    limit: Annotated[int, about("how many hits (5 on a terminal, else what the profile says)", short="n")] | None = None
    alpha: Annotated[float, about("0 asks words alone, 1 meaning alone", ge=0, le=1, only=SETTABLE)] | None = None
    min_confidence: (
        Annotated[float, about("drop hits whose facts are less sure than this", ge=0, le=1, only=SETTABLE)] | None
    ) = None
    recency_weight: (
        Annotated[float, about("how much newer memories are preferred; 0 not at all", ge=0, only=SETTABLE)] | None
    ) = None
    min_similarity: (
        Annotated[float, about("how near in meaning a memory must be to be found by it", ge=-1, le=1, only=SETTABLE)]
        | None
    ) = None
    min_score: Annotated[float, about("drop hits that score less than this", ge=0, only=SETTABLE)] | None = None
    rrf_k: Annotated[float, about("the k of reciprocal rank fusion", ge=0, only=SETTABLE)] | None = None
    timeout: Annotated[float, about("give up after this many seconds", ge=0)] | None = None
    lens: Annotated[str, about("look through this lens")] | None = None
    intent: Annotated[str, about("what you are after; looks further, however sure the first hit seems")] | None = None
    precise: Annotated[bool, about("show only the hits that probably answer (all that match)", off="no_precise")] = (
        False
    )
    embedding: (
        Annotated[
            tuple[float, ...],
            about("the vector to search with, instead of the model's own of the query", only="program"),
        ]
        | None
    ) = None
    weights: (
        Annotated[
            Mapping[str, float],
            about("what the rankings count: words, vector, expansion", only="python", python="Mapping[str, float]"),
        ]
        | None
    ) = None
    snippets: Annotated[bool, about("cut from each hit what speaks of the query (on)", only="python")] = True
    cancelled: (
        Annotated[
            Any, about("asked now and then; True gives up the search", only="python", python="Callable[[], bool]")
        ]
        | None
    ) = None
    scope: Scope = ALL_PROJECTS
    where: Filter = NO_FILTER
    include_facts: bool = True
    session: str | None = None
    without_model: Literal["keyword", "fail"] = "keyword"
    facets: bool = False

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        try:
            fit(self)
        except InputError as error:
            raise QueryError(str(error), hint=error.hint) from error
        for name, (least, most) in ranges().items():
            value = getattr(self, name)
            if value is not None and not (least <= value < math.inf and (most is None or value <= most)):
                bounds = f"at least {least:g}" if most is None else f"from {least:g} to {most:g}"
                raise QueryError(f"{name} cannot be {value}", hint=f"give a number {bounds}")
        for name, weight in (self.weights or {}).items():
            if name not in WEIGHTED or not (weight >= 0 and math.isfinite(weight)):
                hint = f"one of {', '.join(WEIGHTED)} with a number of at least 0"
                raise QueryError(f"the ranking {name!r} cannot weigh {weight}", hint=hint)
        if self.embedding is not None:
            force_setattr(self, "embedding", _numbers(self.embedding))
            finite = math.isfinite(sum(self.embedding)) or all(map(math.isfinite, self.embedding))
            if not finite or not any(self.embedding):
                raise QueryError("the embedding has no direction", hint="give finite numbers that are not all 0")

    @property
    def asked_mode(self) -> Mode:
        """The mode asked for; a hybrid that gives one list no weight is a search by the other."""
        ends: Mapping[float | None, Mode] = {0.0: "keyword", 1.0: "semantic"}
        return ends.get(self.alpha, self.mode) if self.mode == "hybrid" else self.mode

    def key(self) -> str:
        """Return what a cache may know this request by: every field that is compared, white space collapsed."""
        values = {name: value for name, value in asdict(self).items() if name not in self._not_compared}
        return json.dumps(_plain({**values, "text": " ".join(self.text.split())}), sort_keys=True)


@cache
def ranges() -> Mapping[str, tuple[float, float | None]]:
    """Return the bounds of each number of a request, as its field declares them."""
    hints = get_type_hints(Request, include_extras=True)
    metas = {name: meta for name, hint in hints.items() for meta in _metas(hint) if meta.ge is not None}
    return {name: (float(meta.ge or 0), meta.le) for name, meta in metas.items()}


def _metas(hint: Any) -> Iterator[Meta]:
    """Yield the descriptions in an annotation."""
    for each in get_args(hint):
        if isinstance(each, Meta):
            yield each
        else:
            yield from _metas(each)


def _numbers(embedding: Iterable[float]) -> tuple[float, ...]:
    try:
        return tuple(map(float, embedding))
    except (TypeError, ValueError, OverflowError) as error:
        raise QueryError("the embedding must be numbers", hint="give a list of floats") from error


def _plain(value: Any) -> Any:
    """Return *value* as JSON may hold it, equal for equal values."""
    if isinstance(value, Struct):
        return {name: _plain(each) for name, each in asdict(value).items()}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(_plain, value))
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


class Share(NamedTuple):
    """What one ranking gave a candidate."""

    ranking: str
    rank: int | None
    points: float
    native: float | None = None
    """The ranking's own score: BM25, or a cosine."""


class Turn(Struct, frozen=True, kw_only=True):
    """Another turn of the exchange that a hit belongs to, in short."""

    json_members: ClassVar[str] = "id speaker text before"

    id: int | None
    """None where only its words are known."""
    speaker: str | None
    text: str
    before: bool
    """Whether it was said before the hit."""

    @property
    def line(self) -> str:
        """What was said, and by whom where that is known."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


class Explanation(Struct, frozen=True, kw_only=True):
    """What a score is made of."""

    shares: tuple[Share, ...]
    factors: Mapping[str, float]


class Hit(Struct, frozen=True, kw_only=True):
    """A memory that was found, and why. The score is the sum of the shares times the product of the factors."""

    json_members: ClassVar[str] = (
        "rank id kind score match_type bm25_score bm25_rank semantic_score vector_rank fused_score "
        "effective_confidence snippet memory facts conflicts? older? probability? exchange? explain?"
    )

    rank: int
    memory: Memory
    score: float
    match_type: MatchType
    snippet: str
    marks: tuple[tuple[int, int], ...] = ()
    """Where in the snippet the words found stand, with the brackets around them."""
    shares: tuple[Share, ...] = ()
    factors: Mapping[str, float] = field(default_factory=dict)
    effective_confidence: float = 1.0
    facts: tuple[Fact, ...] = ()
    conflicts: tuple[int, ...] = ()
    """The other hits that say something else of the same."""
    older: int | None = None
    """The older memory about the same thing that this one follows."""
    probability: float | None = None
    """How likely it is to answer, where only what answers was asked for."""
    exchange: tuple[Turn, ...] = ()
    """What was asked before it, or answered after it, where it is a turn of a conversation."""

    is_explained: bool = False
    """Whether the JSON of the hit includes its explanation."""

    @property
    def explain(self) -> Explanation | None:
        """How the score comes about, where that was asked for."""
        return Explanation(shares=self.shares, factors=self.factors) if self.is_explained else None

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


class Reason(Struct, frozen=True, kw_only=True):
    """Why there is no answer, and what was nearest to one."""

    code: ReasonCode
    message: str
    best_score: float | None = None
    hidden: int = 0


class Evidence(Struct, frozen=True, kw_only=True):
    """How likely it is that there is an answer, and what speaks for the hit most likely to be it."""

    json_members: ClassVar[str] = "sure=probability bar=threshold id coverage cosine against?"

    id: int
    probability: float
    """The chance that there is an answer, between 0 and 1, if five of six questions have one."""
    threshold: float
    """From where on the profile calls it answered."""
    coverage: float | None = None
    """The share of the question's weight that the hit holds in words, where words count."""
    cosine: float | None = None
    """How near the hit is in meaning, where the model's cosines are known."""
    absent: tuple[str, ...] = ()
    """The names and numbers of the question that the hit does not hold."""
    lacks: str | None = None
    """The kind of value that the question asks for, where the hit holds none: "a phone number"."""
    near: tuple[tuple[str, str], ...] = ()
    """Words of the question that no memory holds, each with the near one that the hit holds."""
    searched: int = 0
    """How many memories were compared by meaning."""

    @property
    def against(self) -> tuple[str, ...]:
        """What speaks against an answer, in words."""
        told = [f"{name} is not in it" for name in self.absent]
        told += [f"no memory holds {asked}; it holds {held}" for asked, held in self.near]
        return tuple([*told, f"asks for {self.lacks}; it has none"] if self.lacks else told)


class Reply(Compared, frozen=True, kw_only=True):
    """The hits, and how far to trust them."""

    json_members: ClassVar[str] = (
        "query mode profile outcome evidence reason degraded hits hidden=cut? suggestions facets timings_ms"
    )

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
    hidden: int = 0
    """How many hits a precise search left out, as they probably do not answer."""
    near_misses: tuple[tuple[int, float], ...] = ()
    """The ids and scores of those that came next, for the recall log."""
    evidence: Evidence | None = None
    """What the outcome stands on; None where the profile does not judge or nothing can be told."""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    version: int | None = None
    """The version of the store that it was read at, where an index was asked."""
    tuned: str = ""
    """The profile and the day of the tuning that ranked the hits, if they are explained."""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __bool__(self) -> bool:
        return True  # a reply without hits is still an answer

    def to_dict(self) -> dict[str, Any]:
        """Return the reply as plain values, as `--json` prints it."""
        values: dict[str, Any] = serialize(self)
        return values

    def _repr_html_(self) -> str:
        """Return the hits as a table, which notebooks show."""
        from html import escape  # noqa: PLC0415  (only notebooks need it)

        head = f"<p>{escape(self.query)}: {self.outcome}</p>"
        cells = ((hit.rank, hit.id, f"{hit.score:.3f}", hit.memory.type, hit.snippet) for hit in self.hits)
        rows = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in cells)
        names = "".join(f"<th>{name}</th>" for name in ("rank", "id", "score", "type", "snippet"))
        return f"{head}<table><tr>{names}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"

    def explained(self, *, tuned: str = "") -> "Reply":
        """Return the reply with the explanation of each hit, and the tuning that ranked them."""
        return replace(self, hits=tuple(replace(hit, is_explained=True) for hit in self.hits), tuned=tuned)

    @property
    def cut(self) -> int | None:
        """How many hits were left out, where any were."""
        return self.hidden or None


class Related(Struct, frozen=True, kw_only=True):
    """A memory that belongs to another, how near it is, and the reasons: "meaning 0.62", "fact: Database"."""

    json_members: ClassVar[str] = "id score reasons memory"

    memory: Memory
    score: float
    reasons: tuple[str, ...]

    @property
    def id(self) -> int:
        """The memory's id."""
        return self.memory.id


class Listing(Struct, frozen=True, kw_only=True):
    """Memories, newest first, and how many there are in all."""

    json_members: ClassVar[str] = "memories total next_cursor?"

    memories: tuple[Memory, ...]
    total: int
    next_cursor: str | None = None
    """The cursor of the next page, if there is one."""


class Shown(Struct, frozen=True, kw_only=True):
    """One memory with all that is known of it."""

    json_members: ClassVar[str] = "*memory deleted_at=memory.deleted_at wordings facts events passages?"

    memory: Memory
    wordings: tuple[str, ...]
    events: tuple[Event, ...]
    facts: tuple[Fact, ...] = ()
    passages: tuple[tuple[int, int], ...] = ()
    """Where its passages stand in its content, where it is long enough to have several vectors."""


class Health(Struct, frozen=True, kw_only=True):
    """What a check-up found: nothing wrong, or lines that say what and what to do."""

    json_members: ClassVar[str] = "store=address healthy memories problems advice? privacy? last_backup?"

    problems: tuple[str, ...]
    memories: int
    address: str
    advice: tuple[str, ...] = ()
    """What could be done though nothing is wrong."""
    privacy: tuple[str, ...] = ()
    """What leaves the machine, and what keeps the rest here."""
    last_backup: Mapping[str, Any] | None = None
    """When the store was last backed up, and where to."""

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems
