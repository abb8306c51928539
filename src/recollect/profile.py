"""Every number that moves a ranking, as data: a TOML file per profile, checked when it loads."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_args, get_origin, get_type_hints

from recollect.errors import ProfileError
from recollect.records import FIELDS

BUILT_IN: Final = ("default", "cortex", "oro", "boocode", "nornicdb", "engram")
FACTORS: Final = (
    "recency",
    "half_life",
    "dated",
    "confidence",
    "fact_confidence",
    "type_weight",
    "lens",
    "standing",
    "stated",
)
CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "blank": ("browse", "nothing"),
        "join": ("or", "and", "cascade"),
        "method": ("rrf", "sum"),
        "missing": ("zero", "last"),
        "dedup": ("words", "bm25"),
        "idf": ("fts5", "lucene"),
    }
)
NORMALISERS: Final = ("plain", "over_top", "over_25", "squashed", "lifted", "counted", "tanh", "min_max")
"""The maps of search/normalise.py that a profile may name."""
_RERANK: Final = {"top": (0, 1000), "weight": (0.0, 1.0), "windows": (1, 100), "window": (50, 100_000)}
"""From what to what the numbers of [rerank] may be."""
_KIN: Final = {"weight": (0.0, 1.0), "top": (0, 1000), "most": (1, 1000)}
"""Those of [kin]."""
_JUDGE: Final = {"bar": (0.0, 1.0), "among": (1, 100), "usual": (1.0, 1000.0), "lift": (0.0, 1.0)}
"""And those of [judge]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How words are asked of the keyword index."""

    join: str = "or"
    """How plain words combine: or, and, or boocode's cascade of tiers."""
    significant: bool = True
    """Whether stop words are dropped from a question, unless nothing else is left."""
    most: int = 256
    """How many distinct tokens a question may have; the rest of a very long one is not asked."""
    typo_weight: float = 0.0
    """What the words near to one that no memory holds count together; 0 asks for words as they are typed."""
    pair_weight: float = 0.0
    """What two words of the question count on top where they stand next to each other in a title or a body."""
    idf: str = "fts5"
    """What rarity is worth: fts5's measure or lucene's, in which a word of half the memories still counts."""
    k1: float = 1.2
    b: float = 0.75
    fields: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(FIELDS, 1.0))
    """What a word weighs by the field it stands in; 0 leaves the field out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuse:
    """How rankings become one order."""

    method: str = "rrf"
    k: float = 60.0
    weights: Mapping[str, float] = field(default_factory=lambda: {"words": 1.0, "vector": 1.0})
    """What each ranking counts; `alpha` of a search sets words to 1 - alpha and vector to alpha."""
    adaptive: tuple[tuple[int, float, float], ...] = ()
    """Rows of (words in the question up to, weight of words, weight of vector); the last row is for more."""
    bonus: tuple[float, ...] = ()
    """Points on top for the first ranks of each list."""
    missing: str = "zero"
    """What a list gives a memory it did not find: zero, or the rank after its last."""
    normalise: Mapping[str, str] = field(default_factory=dict)
    """How a ranking's own scores are mapped, by ranking; where not named they stay as they are."""
    for_code: Mapping[str, float] = field(default_factory=dict)
    """The weights where everything searched is program text; in between, in between."""
    alone: Mapping[str, str] = field(default_factory=dict)
    """The same for a ranking that is the only one, where it differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed:
    """How vectors are made."""

    context_weights: tuple[float, ...] = ()
    """How much the context vector of a conversation's turn has of the turn before, after, two before, two after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve:
    """How much is fetched, and what is skipped."""

    depth: int = 100
    """How many candidates each list brings; it does not depend on the limit, so longer answers begin alike."""
    per_limit: int = 0
    """When above 0, a list brings this many times the limit instead."""
    min_similarity: float = -1.0
    complete: bool = False
    """Whether a candidate of one list gets its exact score in the other."""
    short_circuit: tuple[float, float] = (0.0, 0.0)
    """Skip the vectors when the best normalised word score and its lead reach these; (0, 0) never."""
    context_vectors: bool = False
    """Whether a turn of a conversation is compared by the vector that carries something of the turns around it."""
    known_scripts: bool = False
    """Whether the vectors are left out for a question in a script that the model does not know."""
    fall_back: bool = False
    """Whether a list that is empty leaves the other one to answer alone, with its own scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expand:
    """How many other ways to ask are tried; the ranking kind `expansion` gives what they count."""

    most: int = 0
    """How many, at most; 0 asks the question alone."""
    vocabulary: int = 2000
    """How many of the store's most frequent words are compared with the key terms, when there is a model."""
    similarity: float = 0.5
    """How near in meaning such a word must be: the least cosine."""
    vocabulary_weight: float = 0.7
    """What the list of such words counts beside the other ways to ask."""
    neighbours: int = 8
    """How many such words are asked for."""
    terms: int = 8
    """How many key terms look for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """What makes two memories belong together."""

    limit: int = 10
    fact: float = 0.2
    """What each subject that both state something about adds to how near they are."""
    words: int = 32
    """How many of a memory's words are asked for when there is no model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """What is too little to be shown."""

    relative: float = 0.0
    """A share of the best score."""
    keyword: float = 0.0
    semantic: float = 0.0
    hybrid: float = 0.0
    confidence: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kin:
    """How far a candidate rises towards the better ones among those nearest to it in meaning."""

    weight: float = 0.0
    """So much of what they are ahead of it, from 0 to 1, in a search by words and meaning."""
    top: int = 50
    """Among how many of the best they are looked for; it does not depend on the limit."""
    most: int = 8
    """How many of them count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weigh:
    """Which factors weigh a candidate, in order; each is a function in search/weigh.py."""

    factors: tuple[str, ...] = ()
    modes: tuple[str, ...] = ("keyword", "semantic", "hybrid")
    """In which modes, as asked for, the factors count."""
    recency_weight: float = 0.1
    half_life_days: float = 30.0
    types: Mapping[str, float] = field(default_factory=dict)
    """What a memory of a type weighs; 1 where not named."""
    decay: Mapping[str, float] = field(default_factory=dict)
    """How fast a fact of a type fades, a day."""
    confidence_sway: float = 0.0
    age_sway: float = 0.0
    pin_sway: float = 0.0
    date_sway: float = 0.0
    """How much more a memory counts that is of a date which a plain question names."""
    stated_sway: float = 0.0
    """How much less a turn of a conversation counts that states nothing: a question back, a word of thanks."""
    stated_words: float = 16.0
    """After how many words of statement that has faded to about a third."""
    bounds: tuple[float, float] = (0.67, 1.25)
    """How far all the sways together may move a score."""
    lens_bounds: tuple[float, float] = (0.5, 2.0)
    """How far a lens may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank:
    """How a reranker's second reading counts, where the user names a reranker; nothing of it does where not."""

    top: int = 30
    """How many of the best are read; it does not depend on the limit, so longer answers begin alike."""
    weight: float = 0.5
    """The reranker's share of the score, between 0 and 1; the rest is what the rankings gave."""
    windows: int = 1
    """How many stretches of a long memory are read; the best one counts."""
    window: int = 500
    """How many characters a stretch has; a memory that is no longer is read whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How the last few are chosen."""

    repeats: float = 1.0
    """A hit that shares more than this of its word runs with a better one is left out; 1 leaves none out."""
    diversity: float = 1.0
    """The lambda of maximal marginal relevance: 1 keeps the order, less prefers hits unlike those before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A logistic line: how likely an answer is by the share of the question held in words and by the cosine."""

    offset: float = 0.0
    words: float = 0.0
    meaning: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the cosines of one model mean."""

    hybrid: Line = Line()
    """When words and vectors were asked."""
    semantic: Line = Line()
    """When only vectors were asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """When the first hits count as an answer; the numbers come from benchmarks/silence.py."""

    bar: float = 0.0
    """How likely an answer must be, between 0 and 1; 0 takes every hit for one."""
    among: int = 3
    """How many of the first hits are looked at; the likeliest speaks."""
    usual: float = 5.0
    """Up to how many words the share held counts as it is; of a longer question less is expected."""
    lift: float = 0.75
    """How much less: the power of how many times longer it is; 0 expects as much of every question."""
    words: Line = Line()
    """When only words were asked, or when nothing is known of the model's cosines."""
    models: Mapping[str, Calibration] = field(default_factory=dict)
    """By how the fingerprints of a model begin: what its cosines mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How to rank."""

    name: str = "default"
    limit: int = 20
    """How many hits an answer has when nobody says."""
    most: int = 100
    """How many it may have."""
    blank: str = "browse"
    """What a blank question does: browse the newest, or find nothing."""
    dedup: str = "words"
    """How intake tells a duplicate: by the words that differ, or by oro's BM25 and cosine."""
    words: Words = Words()
    embed: Embed = Embed()
    retrieve: Retrieve = Retrieve()
    expand: Expand = Expand()
    related: Related = Related()
    fuse: Fuse = Fuse()
    kin: Kin = Kin()
    weigh: Weigh = Weigh()
    floor: Floor = Floor()
    rerank: Rerank = Rerank()
    judge: Judge = Judge()
    fit: Fit = Fit()


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
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"the profile {name} is not TOML: {error}", hint="see docs/profiles.md") from error
    profile: Profile = _build(Profile, {"name": name, **values}, where=name)
    for factor in profile.weigh.factors:
        if factor not in FACTORS:
            raise ProfileError(f"{name}: no factor is called {factor!r}", hint=f"one of {', '.join(FACTORS)}")
    for section, ranges in (("rerank", _RERANK), ("kin", _KIN), ("judge", _JUDGE)):
        for key, (least, most) in ranges.items():
            if not least <= getattr(getattr(profile, section), key) <= most:
                raise ProfileError(f"{name}.{section}.{key} must be from {least:g} to {most:g}", hint="fix the profile")
    return profile


def _build(kind: type[Any], values: Mapping[str, Any], *, where: str) -> Any:
    known, hints = {each.name for each in fields(kind)}, get_type_hints(kind)
    for key in values:
        if key not in known:
            raise ProfileError(f"{where}: unknown key {key!r}", hint=f"one of {', '.join(sorted(known))}")
    return kind(**{key: _value(hints[key], value, where=f"{where}.{key}") for key, value in values.items()})


def _value(kind: Any, value: Any, *, where: str) -> Any:
    key = where.rsplit(".", 1)[-1]
    if is_dataclass(kind) and isinstance(kind, type) and isinstance(value, Mapping):
        return _build(kind, value, where=where)
    if get_origin(kind) is tuple and isinstance(value, list):
        return _tuple(kind, value, where=where)
    if get_origin(kind) is Mapping and isinstance(value, Mapping):
        return _mapping(kind, value, where=where)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ProfileError(f"{where} must be {getattr(kind, '__name__', kind)}, not {value!r}", hint="fix the profile")
    if value not in CHOICES.get(key, (value,)):
        raise ProfileError(f"{where} cannot be {value!r}", hint=f"one of {', '.join(CHOICES[key])}")
    return value


def _tuple(kind: Any, value: list[Any], *, where: str) -> tuple[Any, ...]:
    inner = get_args(kind)
    kinds = (inner[0],) * len(value) if inner[-1] is Ellipsis else inner
    if len(kinds) != len(value):
        raise ProfileError(f"{where} must have {len(kinds)} values, not {len(value)}", hint="fix the profile")
    return tuple(_value(each, one, where=where) for each, one in zip(kinds, value, strict=True))


def _mapping(kind: Any, value: Mapping[str, Any], *, where: str) -> Mapping[str, Any]:
    inner = get_args(kind)[1]
    if where.endswith(".fields"):
        for key in value:
            if key not in FIELDS:
                raise ProfileError(f"{where}: unknown field {key!r}", hint=f"one of {', '.join(FIELDS)}")
    if where.endswith((".normalise", ".alone")):
        for each in value.values():
            if each not in NORMALISERS:
                raise ProfileError(f"{where} cannot be {each!r}", hint=f"one of {', '.join(NORMALISERS)}")
    return MappingProxyType({key: _value(inner, each, where=f"{where}.{key}") for key, each in value.items()})
