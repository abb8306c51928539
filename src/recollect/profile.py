"""Ranking profiles: one TOML file per profile, with a table for each stage of the search that runs.

A table lists a stage and holds its settings; a stage without a table does not run, unless it has a default below.
The types below are the only description of the settings: `msgspec.convert` checks names, types and ranges, and any
mismatch is a ProfileError that says where it is.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Protocol, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, field
from msgspec.structs import fields

from recollect.errors import ProfileError
from recollect.lazy import convert
from recollect.records import FIELDS
from recollect.vectors import RAW, Scale

BUILT_IN: Final = ("default", "cortex", "oro", "boocode", "nornicdb", "engram")

_FINITE: Final = 1e12
"""Every number is below this, so infinity is refused."""
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Cosine = Annotated[float, Meta(ge=-1.0, le=1.0)]
Weight = Annotated[float, Meta(ge=0.0, lt=_FINITE)]
Positive = Annotated[float, Meta(ge=1e-9, lt=_FINITE)]
Number = Annotated[float, Meta(gt=-_FINITE, lt=_FINITE)]
Count = Annotated[int, Meta(ge=0)]
AtLeastOne = Annotated[int, Meta(ge=1)]
FieldName = Annotated[str, Meta(pattern=f"^({'|'.join(FIELDS)})$")]
Factor = Literal[
    "prior",
    "informativeness",
    "speaker",
    "recency",
    "half_life",
    "dated",
    "confidence",
    "fact_confidence",
    "type_weight",
    "importance",
    "lens",
]
Normalizer = Literal["plain", "max_norm", "divide", "saturate", "shifted_saturate", "term_count"]
"""The functions in search/fuse.py."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one stage."""


# --- asking the indexes ---------------------------------------------------------------------


class Embed(Settings, frozen=True, kw_only=True):
    """What is embedded when a memory is written."""

    context_weights: tuple[Weight, ...] = ()
    """Weights of the turns before, after, second before and second after in a turn's context vector; () makes none."""


class DropDates(Settings, frozen=True, kw_only=True):
    """Drop date words ("last week") from a plain query if the store has memories of that time."""


class Period(Settings, frozen=True, kw_only=True):
    """List the memories of a period if a plain query asks for nothing else, and read sessions counted in a query."""


class Words(Settings, frozen=True, kw_only=True):
    """How the word index is queried."""

    join: Literal["or", "and", "cascade"] = "or"
    """How plain words combine; `cascade` is boocode's sequence of tiers."""
    drop_stopwords: bool = True
    """Drop stop words from the query, unless nothing else is left."""
    operator_forms: Literal["exact", "stem"] = "exact"
    """Whether a word next to OR, AND or NOT matches only itself, or its other forms too, like a plain word."""
    require_phrases: bool = False
    """Require the quoted phrases of a plain query in every hit, in every mode; otherwise they only add to the score."""
    bigram_weight: Weight = 0.0
    """Extra weight of two adjacent query words that are adjacent in a title or a body."""
    idf: Literal["fts5", "lucene"] = "fts5"
    """With `lucene` a word in half of the memories still counts; the seeds score with FTS5's."""
    k1: Weight = 1.2
    b: Share = 0.75
    fields: Mapping[FieldName, Weight] = field(default_factory=lambda: dict.fromkeys(FIELDS, 1.0))
    """Weight of a word by the field it occurs in; 0 ignores the field."""


class Typos(Settings, frozen=True, kw_only=True):
    """Also search for words of the store that are one edit away from a query word that no memory contains."""

    weight: Share
    """Total weight of those words, and of the corrected query's vector."""


class Retrieve(Settings, frozen=True, kw_only=True):
    """How many candidates each index returns."""

    depth: AtLeastOne = 100
    """Candidates per ranking. It does not depend on the limit, so a longer answer starts like a shorter one."""
    depth_per_limit: Count = 0
    """If above 0, each ranking returns this many times the limit instead."""
    min_similarity: Cosine = -1.0
    """The lowest cosine in the vector ranking."""
    cross_score: bool = False
    """Whether a candidate of one ranking gets its exact score in the other."""
    context_vectors: bool = False
    """Whether a conversation turn is compared by its context vector, if it has one."""
    skip_unknown_scripts: bool = False
    """Skip the vectors for a query in a script that the model does not know."""


class ShortCircuit(Settings, frozen=True, kw_only=True):
    """Skip the vectors if the word ranking is decisive."""

    score: Weight
    """The lowest normalized score of the best hit."""
    lead: Weight
    """Its smallest lead over the second."""


class Expand(Settings, frozen=True, kw_only=True):
    """Also search for variants of the query; each is a ranking of kind `expansion`."""

    max_variants: AtLeastOne


# --- one order ------------------------------------------------------------------------------


class Fusion(Settings, frozen=True, kw_only=True):
    """The settings that both methods of fusion share."""

    weights: Mapping[str, Weight] = field(default_factory=lambda: {"words": 1.0, "vector": 1.0, "expansion": 1.0})
    """Weight of each kind of ranking; 0 leaves it out."""
    normalize: Mapping[str, Normalizer] = field(default_factory=dict)
    """How the scores of a ranking are mapped, by its kind; other kinds keep their scores."""
    divisor: Positive = 25.0
    """The divisor of the normalizer `divide`."""


class WeightedSum(Fusion, frozen=True, kw_only=True, tag_field="method", tag="sum"):
    """The sum of normalized scores, each times the weight of its ranking."""

    code_weights: Mapping[str, Weight] = field(default_factory=dict)
    """Weights if everything searched is program text; a mixed store interpolates."""
    normalize_single: Mapping[str, Normalizer] = field(default_factory=dict)
    """Normalizers that differ for a ranking that answers alone."""
    full_words: Weight = 0.0
    """A hit with this many query words, or all of a shorter query, counts in full; fewer count by the square of their
    share. 0 counts every hit in full."""


class ReciprocalRanks(Fusion, frozen=True, kw_only=True, tag_field="method", tag="rrf"):
    """Reciprocal rank fusion, as the seeds use it; a ranking that answers alone keeps its normalized scores."""

    k: Weight = 60.0
    list_weights: tuple[Weight, ...] = ()
    """Weight by position of the ranking instead (words, vectors, expansions); the last applies to all after it."""
    rank_bonus: tuple[Weight, ...] = ()
    """Extra points for the first ranks of each ranking."""
    short_query: Count = 0
    """Queries of up to this many words are short."""
    short_weights: Mapping[str, Weight] = field(default_factory=dict)
    """Weights that differ for a short query."""
    long_query: Count = 0
    """Queries of this many words or more are long."""
    long_weights: Mapping[str, Weight] = field(default_factory=dict)
    """Weights that differ for a long query."""
    fallback: bool = False
    """If one ranking is empty, the other answers alone."""


Fuse = ReciprocalRanks | WeightedSum


class Smooth(Settings, frozen=True, kw_only=True):
    """Raise a candidate towards the better ones among its nearest neighbors in meaning."""

    weight: Share
    """Share of the neighbors' lead that is added, in a search by words and vectors."""
    top_k: Annotated[int, Meta(ge=1, le=1000)] = 50
    """Neighbors are searched among this many of the best; independent of the limit."""
    max_neighbors: Annotated[int, Meta(ge=1, le=1000)] = 8
    max_rise: Weight
    """Largest rise as a multiple of the candidate's own score, so that an unrelated memory stays low."""


class Dialogue(Settings, frozen=True, kw_only=True):
    """Give a reply in a conversation the score of the question it answers."""

    reply_weight: Weight
    """Share of the question's score that goes to the turn after it."""
    same_question: Annotated[float, Meta(ge=1.0, le=10.0)] = 1.0
    """Multiplier if both questions ask alike: who, where, how many."""
    min_informativeness: Share = 0.9
    """Lower bound of the factor `informativeness` of a reply: replies may be short."""


# --- weighing -------------------------------------------------------------------------------


class Importance(Settings, frozen=True, kw_only=True):
    """Engram's importance: type weight x 0.5 ^ (days / half-life) + feedback + concepts + retrievals."""

    half_life_days: Positive = 7.0
    type_weights: Mapping[str, Weight] = field(default_factory=dict)
    """Initial value by memory type; 1 if not named."""
    feedback_weight: Weight = 0.0
    """Added for good feedback, subtracted for bad."""
    concept_weight: Weight = 0.0
    """Multiplier of the concept weights."""
    concepts: Mapping[str, Weight] = field(default_factory=dict)
    """Weight of a tag as a concept; 0 if not named."""
    retrieval_weight: Weight = 0.0
    """Multiplier of log2(retrievals + 1)."""
    minimum: Weight = 0.01


class Weigh(Settings, frozen=True, kw_only=True):
    """The factors that multiply a candidate's score, in order; each is a function in search/weigh.py."""

    factors: tuple[Factor, ...] = ("lens",)
    modes: tuple[Literal["keyword", "semantic", "hybrid"], ...] = ("keyword", "semantic", "hybrid")
    """The requested modes in which the factors count."""
    recency_weight: Weight = 0.1
    half_life_days: Positive = 30.0
    type_weights: Mapping[str, Weight] = field(default_factory=dict)
    """Factor by memory type; 1 if not named."""
    decay_rates: Mapping[str, Weight] = field(default_factory=dict)
    """How fast the confidence of a fact decays per day, by its type."""
    confidence_shift: Share = 0.0
    age_shift: Share = 0.0
    pin_shift: Share = 0.0
    """How far confidence, age and a pin each move the factor `prior`."""
    bounds: tuple[Weight, Weight] = (0.67, 1.25)
    """Lower and upper bound of the factor `prior`."""
    informativeness_shift: Share = 0.0
    """Penalty for a conversation turn that states nothing, such as a question back or thanks."""
    informativeness_words: Positive = 16.0
    """Number of informative words after which that penalty has faded to about a third."""
    speaker_shift: Share = 0.0
    """Penalty for an assistant's turn if the query asks for the person's own words, and the other way round."""
    importance: Importance = Importance()


class DateBoost(Settings, frozen=True, kw_only=True):
    """Boost memories of a date that a plain query names, or that mention a date within it."""

    boost: Weight
    margin_days: Positive = 1.0
    """Days before or after the date in which the boost fades to about a third."""
    margin_share: Share = 0.0
    """Additional days, as a share of the date's length."""
    around: Share = 1.0
    """Share of the boost at the edge of the date, from which it fades."""
    both: Share = 0.0
    """Extra share for a memory that is of the date and mentions it too."""


class Changes(Settings, frozen=True, kw_only=True):
    """Rank a newer memory above the best hit if it changes what the best hit says; judged as at intake."""

    min_score: Share
    """Lowest score of the newer memory, as a share of the best."""


class Floor(Settings, frozen=True, kw_only=True):
    """Drop candidates that score too low, always those below 0."""

    relative: Share = 0.0
    """Share of the best fused score; never applies to a search by words alone."""
    keyword: Weight = 0.0
    semantic: Weight = 0.0
    hybrid: Weight = 0.0
    min_confidence: Share = 0.0
    """Lowest mean confidence of a memory's facts."""


# --- choosing and judging -------------------------------------------------------------------


class MarginalRelevance(Settings, frozen=True, kw_only=True):
    """Prefer hits unlike those ranked before them (maximal marginal relevance)."""


class Diversify(Settings, frozen=True, kw_only=True):
    """Drop near-duplicates of better hits."""

    max_overlap: Share
    """Largest share of five-word shingles that a hit may have in common with a better one."""
    page: Count = 0
    """Keep only the first page of this size free of duplicates, and put them after it; 0 drops them everywhere."""


class WordModel(Settings, frozen=True, kw_only=True):
    """Log odds of an answer by the share of the query that a hit covers."""

    intercept: Number = 0.0
    coverage: Number = 0.0


class VectorModel(Settings, frozen=True, kw_only=True):
    """Log odds of an answer by coverage and cosine."""

    intercept: Number = 0.0
    coverage: Number = 0.0
    cosine: Number = 0.0
    size: Number = 0.0
    """Weight of the logarithm of how many memories were compared: among many, something is always rather near."""


class Answerability(Settings, frozen=True, kw_only=True):
    """Decide whether the first hits answer the query; benchmarks/silence.py fits the numbers."""

    threshold: Share
    """Lowest probability of an answer."""
    top_k: Annotated[int, Meta(ge=1, le=100)] = 3
    """How many of the first hits are judged; the most probable one decides."""
    length_pivot: Annotated[float, Meta(ge=1.0, le=1000.0)] = 5.0
    """Coverage counts as it is up to this many query words; a longer query needs less of it."""
    length_exponent: Share = 0.75
    """How much less: the exponent of length / pivot; 0 needs the same coverage of every query."""
    words: WordModel = WordModel()
    """Used if only words were searched, or for a hit without a vector of a model whose scale is known."""
    hybrid: VectorModel = VectorModel()
    semantic: VectorModel = VectorModel()
    ceiling: Weight = 30.0
    """Upper bound of the log odds from words and meaning alone."""
    absent: Weight = 0.0
    """Log-odds penalty of a hit that contains none of the names and numbers in the query."""
    lacking: Weight = 0.0
    """Log-odds penalty of a hit without a value of the kind that the query asks for."""
    turn_share: Share = 1.0
    """Share of both penalties for a conversation turn, which rarely says everything itself."""
    max_gap: Weight = 30.0
    """Consider hits within this many log odds of the best."""


class Precise(Settings, frozen=True, kw_only=True):
    """Show only probable answers, if the request is `precise`."""

    cut: Share
    """Lowest probability of a hit; the first is always shown."""
    top_k: Annotated[int, Meta(ge=2, le=100)] = 10
    """The probability is shared among this many of the first hits; independent of the limit."""
    steepness: Weight = 5.0
    """How fast a hit's share falls with its score: exp(steepness x score / best score)."""
    details: Weight = 0.0
    """Penalty in the same exponent for a hit without the names or the value asked for."""
    intercept: Number = 0.0
    slope: Weight = 1.0
    """The probability of a hit: logistic(intercept + slope x ln(share))."""
    clause: Share = 0.5
    """Also show a hit with at least this share of one clause of a query of several, if it has the most of it."""


class HasScale(Protocol):
    """An embedder, as far as a profile knows it."""

    @property
    def scale(self) -> Scale:
        """How its cosines compare with those of others."""
        ...


class Profile(Settings, frozen=True, kw_only=True):
    """How to rank: limits, and the stages in the order they run; a stage that is None does not run."""

    name: str = "default"
    limit: AtLeastOne = 20
    """Number of hits if the request does not say."""
    max_limit: AtLeastOne = 100
    clamp_limit: bool = False
    """Whether a limit below 1 means the default, as in engram; otherwise it is an error."""
    blank: Literal["browse", "nothing"] = "browse"
    """What a blank query returns: the newest memories, or nothing."""
    dedup: Literal["words", "bm25"] = "words"
    """How intake recognizes a duplicate: by the words that differ, or by oro's BM25 and cosine."""
    cosines: Literal["scaled", "raw"] = "scaled"
    """Whether rules read cosines on the scale that is common to all models, or as the model gives them."""
    embed: Embed = Embed()
    period: Period | None = None
    drop_dates: DropDates | None = None
    words: Words = Words()
    typos: Typos | None = None
    retrieve: Retrieve = Retrieve()
    short_circuit: ShortCircuit | None = None
    expand: Expand | None = None
    fuse: Fuse = ReciprocalRanks()
    smooth: Smooth | None = None
    dialogue: Dialogue | None = None
    weigh: Weigh = Weigh()
    date_boost: DateBoost | None = None
    changes: Changes | None = None
    floor: Floor | None = None
    mmr: MarginalRelevance | None = None
    diversify: Diversify | None = None
    answerability: Answerability | None = None
    precise: Precise | None = None

    def scale(self, embedder: HasScale | None) -> Scale:
        """Return the scale on which rules read the cosines of *embedder*."""
        return RAW if embedder is None or self.cosines == "raw" else embedder.scale


def load_profile(name: str) -> Profile:
    """Return the built-in profile *name*, or the one in the TOML file it names."""
    if name in BUILT_IN:
        return _built_in(name)
    path = Path(name)
    if path.suffix == ".toml":
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ProfileError(f"cannot read the profile {name}: {error.strerror}", hint="check the path") from error
        except UnicodeDecodeError as error:
            raise ProfileError(f"the profile {name} is not UTF-8 text", hint="save it as UTF-8") from error
        return read_profile(text, name=path.stem)
    raise ProfileError(f"no profile is called {name!r}", hint=f"one of {', '.join(BUILT_IN)}, or a .toml file")


@cache
def _built_in(name: str) -> Profile:
    text = (Path(__file__).parent / "profiles" / f"{name}.toml").read_text(encoding="utf-8")
    return read_profile(text, name=name)


def read_profile(text: str, *, name: str) -> Profile:
    """Return the profile that *text* describes; an unknown stage, key or value is a ProfileError."""
    try:
        from tomllib import loads  # noqa: PLC0415  (a client of a server reads none)

        values = loads(text)
    except ValueError as error:
        raise ProfileError(f"the profile {name} is not TOML: {error}", hint="see docs/profiles.md") from error
    try:
        return convert({"name": name, **values}, Profile)
    except ValidationError as error:
        said = str(error).replace("Object contains unknown field", "unknown stage or key").replace("`$.", "`")
        allowed = _names_at(str(error).rpartition("`$")[2])
        hint = f"one of {', '.join(allowed)}" if allowed else "see docs/profiles.md for its type and range"
        raise ProfileError(f"the profile {name}: {said}", hint=hint) from error


def _names_at(place: str) -> tuple[str, ...]:
    """Return the keys or names that the profile allows at *place*, a path in a message of msgspec."""
    kind: Any = Profile
    for key in re.findall(r"\.(\w+)", place):
        structs = _structs(kind)
        if key == structs[0].__struct_config__.tag_field:
            return tuple(str(each.__struct_config__.tag) for each in structs)
        kind = next(each.type for struct in structs for each in fields(struct) if each.name == key)
    return _literals(kind) or tuple(dict.fromkeys(name for each in _structs(kind) for name in each.__struct_fields__))


def _structs(kind: Any) -> tuple[type[Struct], ...]:
    if isinstance(kind, type) and issubclass(kind, Struct):
        return (kind,)
    return tuple(struct for each in get_args(kind) for struct in _structs(each))


def _literals(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(name for each in get_args(kind) for name in _literals(each))
