"""Every number that moves a ranking, as data: a TOML file per profile, checked when it loads.

A key is a field of one of the classes below, and its type says what it may hold: a `Literal` its names, a `Range` its
numbers. Anything else in a file is a ProfileError that names the key.
"""

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

from msgspec import Struct, field

from recollect.errors import ProfileError
from recollect.records import FIELDS

BUILT_IN: Final = ("default", "cortex", "oro", "boocode", "nornicdb", "engram")


class Range(NamedTuple):
    """From what to what a number may be."""

    least: float
    most: float = math.inf


class Names(NamedTuple):
    """Which keys a table may have."""

    names: tuple[str, ...]


Share = Annotated[float, Range(0.0, 1.0)]
Cosine = Annotated[float, Range(-1.0, 1.0)]
Weight = Annotated[float, Range(0.0)]
Positive = Annotated[float, Range(1e-9)]
Count = Annotated[int, Range(0)]
AtLeastOne = Annotated[int, Range(1)]
Factor = Literal[
    "prior",
    "informativeness",
    "recency",
    "half_life",
    "dated",
    "confidence",
    "fact_confidence",
    "type_weight",
    "importance",
    "lens",
]
Normaliser = Literal["plain", "max_norm", "min_max", "divide", "saturate", "shifted_saturate", "term_count", "tanh"]
"""The maps of search/fuse.py."""


class Words(Struct, frozen=True, kw_only=True):
    """How words are asked of the keyword index."""

    join: Literal["or", "and", "cascade"] = "or"
    """How plain words combine: or, and, or boocode's cascade of tiers."""
    drop_stopwords: bool = True
    """Whether stop words are dropped from a query, unless nothing else is left."""
    operator_forms: Literal["exact", "stem"] = "exact"
    """Whether a word beside OR, AND or NOT finds itself alone, or its other forms too, as a plain word does."""
    drop_dates: bool = False
    """Whether the words of a date are dropped from a plain query, unless nothing else is left."""
    require_phrases: bool = False
    """Whether every hit must hold the quoted phrases of a plain query, in every mode; else they only count."""
    max_terms: AtLeastOne = 256
    """How many distinct tokens a query may have; the rest of a very long one is not asked."""
    typo_weight: Share = 0.0
    """What the words near to one that no memory holds count together; 0 asks for words as they are typed."""
    bigram_weight: Weight = 0.0
    """What two words of the query count on top where they stand next to each other in a title or a body."""
    idf: Literal["fts5", "lucene"] = "fts5"
    """The inverse document frequency: fts5's, or lucene's, in which a word of half the memories still counts."""
    k1: Weight = 1.2
    b: Share = 0.75
    fields: Annotated[Mapping[str, Weight], Names(FIELDS)] = field(default_factory=lambda: dict.fromkeys(FIELDS, 1.0))
    """What a word weighs by the field it stands in; 0 leaves the field out."""


class Embed(Struct, frozen=True, kw_only=True):
    """What is stored beside the vectors of a memory when they are written."""

    context_weights: tuple[Weight, ...] = ()
    """What the turns before, after, second before and second after count in a turn's context vector; () makes none."""


class Retrieve(Struct, frozen=True, kw_only=True):
    """How much is fetched, and what is skipped."""

    depth: AtLeastOne = 100
    """How many candidates each list brings; it does not depend on the limit, so longer answers begin alike."""
    depth_per_limit: Count = 0
    """When above 0, a list brings this many times the limit instead."""
    min_similarity: Cosine = -1.0
    """The least cosine that the list of vectors brings."""
    cross_score: bool = False
    """Whether a candidate of one list gets its exact score in the other."""
    short_circuit: tuple[Weight, Weight] = (0.0, 0.0)
    """Skip the vectors when the best normalised word score and its lead reach these; (0, 0) never."""
    context_vectors: bool = False
    """Whether a turn of a conversation is compared by its context vector, where it has one."""
    exact_vectors: bool = False
    """Whether vectors are compared one by one however many there are; else a large store may miss one in a thousand."""
    skip_unknown_scripts: bool = False
    """Whether the vectors are left out for a query in a script that the model does not know."""
    fallback: bool = False
    """Whether a list that is empty leaves the other one to answer alone, with its own scores."""


class Expand(Struct, frozen=True, kw_only=True):
    """Which variants of a query are asked too, each a list of its own, of the kind `expansion`."""

    max_variants: Count = 0
    """How many, at most; 0 asks the query alone."""
    vocabulary_size: Count = 2000
    """How many of the store's most frequent words are compared with the key terms, when there is a model."""
    min_similarity: Cosine = 0.5
    """How near in meaning such a word must be: the least cosine."""
    vocabulary_weight: Weight = 0.7
    """What the list of such words counts beside the other variants, where lists weigh by their kind."""
    max_neighbours: Count = 8
    """How many such words are asked for."""
    max_terms: Count = 8
    """How many key terms look for them."""


class Fuse(Struct, frozen=True, kw_only=True):
    """How rankings become one order."""

    method: Literal["rrf", "sum"] = "rrf"
    k: Weight = 60.0
    weights: Mapping[str, Weight] = field(default_factory=lambda: {"words": 1.0, "vector": 1.0, "expansion": 1.0})
    """What each kind of ranking counts; 0 leaves it out."""
    list_weights: tuple[Weight, ...] = ()
    """What each list counts by its place instead: words, vectors, expansions; the last number holds for those after."""
    short_query: Count = 0
    """Up to how many words a query is short."""
    short_weights: Mapping[str, Weight] = field(default_factory=dict)
    """What differs in the weights for a short query."""
    long_query: Count = 0
    """From how many words on a query is long."""
    long_weights: Mapping[str, Weight] = field(default_factory=dict)
    """What differs in the weights for a long query."""
    rank_bonus: tuple[Weight, ...] = ()
    """Points on top for the first ranks of each list."""
    missing: Literal["zero", "last"] = "zero"
    """What a list gives a memory it did not find: zero, or the rank after its last."""
    normalise: Mapping[str, Normaliser] = field(default_factory=dict)
    """How a ranking's own scores are mapped, by its kind; where not named they stay as they are."""
    normalise_single: Mapping[str, Normaliser] = field(default_factory=dict)
    """The same for a ranking that is the only one, where it differs."""
    code_weights: Mapping[str, Weight] = field(default_factory=dict)
    """The weights where everything searched is program text; in between, in between."""
    divisor: Positive = 25.0
    """What the normaliser `divide` divides by."""
    full_words: Weight = 0.0
    """A hit that holds so many words of the question, or all of a shorter one, counts in full; one that holds less
    counts by the square of its share; 0 counts every hit in full."""


class Smooth(Struct, frozen=True, kw_only=True):
    """How far a candidate rises towards the better ones among its nearest neighbours in meaning."""

    weight: Share = 0.0
    """So much of what they are ahead of it, in a search by words and vectors."""
    top_k: Annotated[int, Range(0, 1000)] = 50
    """Among how many of the best they are looked for; it does not depend on the limit."""
    max_neighbours: Annotated[int, Range(1, 1000)] = 8
    """How many of them count."""
    max_rise: Weight = 1000.0
    """It rises by at most so much of its own score: what is itself unrelated stays where it is."""


class Dialogue(Struct, frozen=True, kw_only=True):
    """How a turn of a conversation that answers takes over what the turn that asks has found."""

    reply_weight: Weight = 0.0
    """So much of the score of the turn that asks goes to the turn after it; 0 leaves replies alone."""
    same_question: Annotated[float, Range(1.0, 10.0)] = 1.0
    """So many times more where both ask alike: who, where, how many."""
    min_informativeness: Share = 0.9
    """A reply may be short: its factor `informativeness` is at least this."""


class Changes(Struct, frozen=True, kw_only=True):
    """When a newer memory that changes what the best hit says stands above it; what does so is judged as at intake."""

    min_score: Share = 0.0
    """It scores at least so much of the best; 0 leaves the order alone."""
    top_k: Annotated[int, Range(1, 1000)] = 30
    """Among how many of the best it is looked for."""


class Importance(Struct, frozen=True, kw_only=True):
    """Engram's importance: type weight x 0.5 ^ (days / half-life) + feedback + concepts + retrievals."""

    half_life_days: Positive = 7.0
    type_weights: Mapping[str, Weight] = field(default_factory=dict)
    """What a memory of a type starts with; 1 where not named."""
    feedback_weight: Weight = 0.0
    """What feedback adds when it is good and takes away when it is bad."""
    concept_weight: Weight = 0.0
    """What the weights of the concepts are multiplied with."""
    concepts: Mapping[str, Weight] = field(default_factory=dict)
    """What a tag counts as a concept; 0 where not named."""
    retrieval_weight: Weight = 0.0
    """What log2(retrievals + 1) is multiplied with."""
    minimum: Weight = 0.01


class Weigh(Struct, frozen=True, kw_only=True):
    """Which factors weigh a candidate, in order; each is a function in search/weigh.py."""

    factors: tuple[Factor, ...] = ()
    modes: tuple[Literal["keyword", "semantic", "hybrid"], ...] = ("keyword", "semantic", "hybrid")
    """In which modes, as asked for, the factors count."""
    recency_weight: Weight = 0.1
    half_life_days: Positive = 30.0
    type_weights: Mapping[str, Weight] = field(default_factory=dict)
    """What a memory of a type weighs; 1 where not named."""
    decay_rates: Mapping[str, Weight] = field(default_factory=dict)
    """How fast the confidence of a fact of a type decays, a day."""
    confidence_shift: Share = 0.0
    age_shift: Share = 0.0
    pin_shift: Share = 0.0
    """How far confidence, age and a pin each move the factor `prior`."""
    date_boost: Weight = 0.0
    """How much more a memory counts that is of a date which a plain query names, or names one within it."""
    date_margin_days: Positive = 1.0
    """After how many days before or after a date that has faded to about a third."""
    date_margin_share: Share = 0.0
    """How many days more, as a share of how long the date lasts."""
    date_both: Share = 0.0
    """How much more of it a memory gets that is of the date and names it too."""
    informativeness_shift: Share = 0.0
    """How much less a turn of a conversation counts that states nothing: a question back, a word of thanks."""
    informativeness_words: Positive = 16.0
    """After how many informative words that has faded to about a third."""
    bounds: tuple[Weight, Weight] = (0.67, 1.25)
    """How far the factor `prior` may go."""
    lens_bounds: tuple[Weight, Weight] = (0.5, 2.0)
    """How far the factor `lens` may."""
    importance: Importance = Importance()


class Floor(Struct, frozen=True, kw_only=True):
    """What is too little to be shown."""

    relative: Share = 0.0
    """A share of the best fused score; it never cuts a search by words alone."""
    keyword: Weight = 0.0
    semantic: Weight = 0.0
    hybrid: Weight = 0.0
    min_confidence: Share = 0.0
    """What the facts of a memory must still be worth on average."""


class Rerank(Struct, frozen=True, kw_only=True):
    """How a reranker's second reading counts, where the user names a reranker; nothing of it does where not."""

    top_k: Annotated[int, Range(0, 1000)] = 30
    """How many of the best are read; it does not depend on the limit, so longer answers begin alike."""
    weight: Share = 0.5
    """The reranker's share of the score; the rest is what the rankings gave."""
    max_windows: Annotated[int, Range(1, 100)] = 1
    """How many windows of a long memory are read; the best one counts."""
    window_chars: Annotated[int, Range(50, 100_000)] = 500
    """How many characters a window has; a memory that is no longer is read whole."""


class Diversify(Struct, frozen=True, kw_only=True):
    """How the last few are chosen."""

    max_overlap: Share = 1.0
    """A hit that shares more than this of its shingles with a better one is left out; 1 leaves none out."""
    page: Count = 0
    """Only the first so many are kept free of such repeats, which stand behind them; 0 leaves them out everywhere."""
    mmr_lambda: Share = 1.0
    """The lambda of maximal marginal relevance: 1 keeps the order, less prefers hits unlike those before."""


class LogisticModel(Struct, frozen=True, kw_only=True):
    """How likely an answer is, by the share of the query that a hit covers and by its cosine."""

    intercept: float = 0.0
    coverage: float = 0.0
    cosine: float = 0.0
    size: float = 0.0
    """What the logarithm of how many memories were compared counts: among many, something is always rather near."""


class Calibration(Struct, frozen=True, kw_only=True):
    """What the cosines of one embedding model mean."""

    hybrid: LogisticModel = LogisticModel()
    """When words and vectors were asked."""
    semantic: LogisticModel = LogisticModel()
    """When only vectors were asked."""


class Answerability(Struct, frozen=True, kw_only=True):
    """When the first hits count as an answer; the numbers come from benchmarks/silence.py."""

    threshold: Share = 0.0
    """How likely an answer must be; 0 takes every hit for one."""
    top_k: Annotated[int, Range(1, 100)] = 3
    """How many of the first hits are looked at; the likeliest speaks."""
    length_pivot: Annotated[float, Range(1.0, 1000.0)] = 5.0
    """Up to how many words the coverage counts as it is; of a longer query less is expected."""
    length_exponent: Share = 0.75
    """How much less: the power of how many times longer it is; 0 expects as much of every query."""
    words: LogisticModel = LogisticModel()
    """When only words were asked, or when nothing is known of the model's cosines."""
    models: Mapping[str, Calibration] = field(default_factory=dict)
    """By how the fingerprints of a model begin: what its cosines mean."""
    ceiling: Weight = 30.0
    """Words and meaning say that a hit is about what was asked; so sure of an answer, in log odds, they are at most."""
    absent: Weight = 0.0
    """What is taken from the log odds where the hit holds none of the names and numbers that the question gives."""
    lacking: Weight = 0.0
    """What is taken from them where the hit holds no value of the kind that the question asks for."""
    turn_share: Share = 1.0
    """How much of both is taken for a turn of a conversation, which rarely says everything itself."""
    reach: Weight = 30.0
    """A hit that holds the details is heard where, in log odds, it is at most so much less about it than the best."""


class Precise(Struct, frozen=True, kw_only=True):
    """How likely each hit is to answer, and which are shown to who wants only those that do."""

    cut: Share = 0.0
    """How likely a hit must be to answer; the first is always shown. 0 shows all."""
    top_k: Annotated[int, Range(2, 100)] = 10
    """Among how many of the first hits the chance is shared; it does not depend on the limit."""
    steepness: Weight = 5.0
    """How fast the share of a hit falls with its score: exp(steepness x score / best score)."""
    details: Weight = 0.0
    """What a hit without the names or the value asked for loses beside one that has them, in the same exponent."""
    intercept: float = 0.0
    slope: Weight = 1.0
    """The chance of a hit: logistic(intercept + slope x ln(share))."""
    clause: Share = 0.5
    """A hit that holds so much of one clause of a question of several, and most of it, is shown too."""


class Related(Struct, frozen=True, kw_only=True):
    """What makes two memories belong together."""

    limit: AtLeastOne = 10
    fact_weight: Weight = 0.2
    """What each subject that both state something about adds to how near they are."""
    max_terms: AtLeastOne = 32
    """How many of a memory's words are asked for when there is no model."""


class Profile(Struct, frozen=True, kw_only=True):
    """How to rank."""

    name: str = "default"
    limit: AtLeastOne = 20
    """How many hits an answer has when nobody says."""
    max_limit: AtLeastOne = 100
    """How many it may have."""
    clamp_limit: bool = False
    """Whether a limit below 1 means the usual one, as engram has it; else it is an error."""
    blank: Literal["browse", "nothing"] = "browse"
    """What a blank query does: browse the newest, or find nothing."""
    dedup: Literal["words", "bm25"] = "words"
    """How intake tells a duplicate: by the words that differ, or by oro's BM25 and cosine."""
    words: Words = Words()
    embed: Embed = Embed()
    retrieve: Retrieve = Retrieve()
    expand: Expand = Expand()
    fuse: Fuse = Fuse()
    smooth: Smooth = Smooth()
    dialogue: Dialogue = Dialogue()
    weigh: Weigh = Weigh()
    changes: Changes = Changes()
    floor: Floor = Floor()
    rerank: Rerank = Rerank()
    diversify: Diversify = Diversify()
    answerability: Answerability = Answerability()
    precise: Precise = Precise()
    related: Related = Related()


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
    """Return the profile that *text* describes; an unknown key or value is an error."""
    try:
        values = tomllib.loads(text)
    except ValueError as error:
        raise ProfileError(f"the profile {name} is not TOML: {error}", hint="see docs/profiles.md") from error
    profile: Profile = _build(Profile, {"name": name, **values}, where=name)
    return profile


# --- checking -------------------------------------------------------------------------------


def _build(kind: type[Any], values: Mapping[str, Any], *, where: str) -> Any:
    hints = get_type_hints(kind, include_extras=True)
    _check_names(values, kind.__struct_fields__, where=where)
    return kind(**{key: _value(hints[key], value, where=f"{where}.{key}") for key, value in values.items()})


def _check_names(values: Mapping[str, Any], known: tuple[str, ...], *, where: str) -> None:
    for key in values:
        if key not in known:
            raise ProfileError(f"{where}: unknown key {key!r}", hint=f"one of {', '.join(sorted(known))}")


def _value(kind: Any, value: Any, *, where: str) -> Any:
    """Return *value* as *kind* has it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _limited(inner[0], inner[1], value, where=where)
    if origin is tuple and isinstance(value, list):
        return _tuple(inner, value, where=where)
    if origin is Mapping and isinstance(value, Mapping):
        return MappingProxyType({key: _value(inner[1], each, where=f"{where}.{key}") for key, each in value.items()})
    if isinstance(kind, type) and issubclass(kind, Struct) and isinstance(value, Mapping):
        return _build(kind, value, where=where)
    return _scalar(kind, value, where=where)


def _scalar(kind: Any, value: Any, *, where: str) -> Any:
    """Return one of the names, the number, the text or the boolean that *kind* takes."""
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ProfileError(f"{where} cannot be {value!r}", hint=f"one of {', '.join(get_args(kind))}")
        return value
    made = float(value) if kind is float and type(value) is int else value
    if type(made) is not kind or (kind is float and not math.isfinite(made)):
        raise ProfileError(f"{where} must be {getattr(kind, '__name__', kind)}, not {value!r}", hint="fix the profile")
    return made


def _limited(kind: Any, limits: Range | Names, value: Any, *, where: str) -> Any:
    """Return *value* as *kind* has it, within its range or with its names."""
    if isinstance(limits, Names) and isinstance(value, Mapping):
        _check_names(value, limits.names, where=where)
    made = _value(kind, value, where=where)
    if isinstance(limits, Range) and not limits.least <= made <= limits.most:
        most = f"to {limits.most:g}" if math.isfinite(limits.most) else "up"
        raise ProfileError(f"{where} must be from {limits.least:g} {most}, not {made!r}", hint="fix the profile")
    return made


def _tuple(inner: tuple[Any, ...], value: list[Any], *, where: str) -> tuple[Any, ...]:
    kinds = (inner[0],) * len(value) if inner[-1] is Ellipsis else inner
    if len(kinds) != len(value):
        raise ProfileError(f"{where} must have {len(kinds)} values, not {len(value)}", hint="fix the profile")
    return tuple(_value(each, one, where=where) for each, one in zip(kinds, value, strict=True))
