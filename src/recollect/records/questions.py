"""What a store is asked, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from recollect.records.memory import Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which projects a reader may see; part of every question. None means all of them."""

    projects: frozenset[str] | None = None


EVERYTHING: Final = Scope()


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Which memories a reader wants. None leaves a field open; an empty tuple matches nothing.

    A source matches when it equals the wish, lies below it as a folder, or ends with "/" and the wish.
    Dates compare with `Memory.when`: since <= when < until. A fact type is that of one of its facts.

    *as_of* asks for what was believed at that moment: recorded by then, not forgotten or superseded until
    later, and within the time it is valid for. Words are those of today: an edit is a correction, and only
    what supersedes changes a belief.
    """

    kinds: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    include_superseded: bool = False
    fact_types: tuple[str, ...] | None = None
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        """Read a moment without a time zone as UTC."""
        for name in ("since", "until", "as_of"):
            at = getattr(self, name)
            if at is not None and at.tzinfo is None:
                object.__setattr__(self, name, at.replace(tzinfo=UTC))


ANYTHING: Final = Where()


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A token of the index."""

    text: str
    form: Form = "stem"
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """Every exact form that begins with *text*."""

    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """Exact forms next to each other, in this order, in one field."""

    texts: tuple[str, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two stems next to each other, in this order, in a title or a body; a bonus that no coverage counts."""

    first: str
    second: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """At least one part matches; all that match add to the score."""

    parts: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    """Every part matches."""

    parts: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Without:
    """*wanted* matches and *unwanted* does not."""

    wanted: "Expression"
    unwanted: "Expression"


Leaf = Word | Prefix | Phrase | Pair
Expression = Leaf | AnyOf | AllOf | Without


@dataclass(frozen=True, slots=True, kw_only=True)
class Keywords:
    """A question to the keyword index, with the numbers of its BM25."""

    expression: Expression
    weights: Mapping[str, float]
    k1: float = 1.2
    b: float = 0.75
    idf: str = "fts5"
    """What a word's rarity is worth: fts5's, nothing for a word in half of the rows, or lucene's, never nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A memory the keyword index found: its BM25 score and the share of the question's weight it holds."""

    id: int
    score: float
    coverage: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The best matches, best first; those asked for by id; how many there are; the share of code in the scope.

    *seen* says how many memories of the scope hold each word of the question in a field that weighs.
    """

    top: tuple[Match, ...] = ()
    also: Mapping[int, Match] = field(default_factory=dict)
    total: int = 0
    code_share: float = 0.0
    seen: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Ids, newest first, and how many there are in all."""

    ids: tuple[int, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a store already holds of what is about to be written."""

    by_digest: Mapping[bytes, int] = field(default_factory=dict)
    by_external_id: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How much a store holds."""

    memories: int
    forgotten: int
    superseded: int
    projects: Mapping[str, int]
    types: Mapping[str, int]
    sources: int
    variants: int
    events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the analyser makes of a memory: tokens by form and field, near-duplicate keys, whether it is code."""

    stem: Mapping[str, tuple[str, ...]]
    exact: Mapping[str, tuple[str, ...]]
    sketch: tuple[int, ...] = ()
    code: bool = False
