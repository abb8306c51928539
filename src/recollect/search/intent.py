"""What a question is after, and other ways to ask it.

The cues are English: a question in another language is general, and is asked as it stands.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from recollect.errors import InputError, QueryError
from recollect.text.normalise import fold, is_cjk
from recollect.text.tokenizer import STOPWORDS, segment

Booster = Literal["decisions", "changes", "how_it_works"]

BOOSTERS: Final[Mapping[Booster, str]] = {
    "decisions": "decision chose architecture",
    "changes": "changed modified refactored",
    "how_it_works": "architecture design pattern implements",
}


def boost(query: str, booster: Booster) -> str:
    """Return *query* with the words of *booster* behind it; a blank query stays blank."""
    if booster not in BOOSTERS:
        raise QueryError(f"unknown booster {booster!r}", hint=f"one of {', '.join(get_args(Booster))}")
    plain = query.strip()
    return f"{plain} {BOOSTERS[booster]}" if plain else ""


KEYS: Final = ("queries", "expansions")
_FENCE: Final = re.compile(r"```[a-zA-Z]{0,16}\s(.*?)```", re.DOTALL)
_HINT: Final = 'answer with a JSON array of strings, or {"queries": […]}; the original query is searched alone'


def read_expansions(answer: str) -> tuple[str, ...]:
    """Return the queries in *answer*: a JSON array, bare, in a code fence, or under "queries" or "expansions".

    Blank ones and repeats are left out. Anything else is refused with InputError.
    """
    fenced = _FENCE.search(answer)
    try:
        found = json.loads(fenced[1] if fenced else answer)
    except (ValueError, RecursionError) as error:
        raise InputError("the expansion answer is not JSON", hint=_HINT) from error
    if isinstance(found, dict):
        found = next((found[key] for key in KEYS if key in found), None)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise InputError("the expansion answer holds no list of queries", hint=_HINT)
    return tuple(dict.fromkeys(" ".join(one.split()) for one in found if one.strip()))


Intent = Literal["error", "question", "implementation", "architecture", "general"]
Reason = Literal["declarative", "solution", "how", "design"]

WEIGHTS: Final[Mapping[Reason, float]] = {"declarative": 0.85, "solution": 0.80, "how": 0.75, "design": 0.75}
"""What another way to ask counts beside the question itself, which counts 1."""

STRONG_SCORE: Final = 0.85
STRONG_GAP: Final = 0.15
_ROUNDING: Final = 1e-9

_CUES: Final[Mapping[Intent, str]] = {
    "error": (
        r"\b(?:errors?|exceptions?|fail(?:s|ed|ing|ures?)?|crash(?:e[sd]|ing)?|bugs?|broken?|panics?|tracebacks?"
        r"|stack ?traces?|segfaults?|timed out|debug(?:ging)?|fix(?:e[sd]|ing)?|problems?|cannot|unable to|wrong"
        r"|(?:not|never|stopped|(?:is|are|do|does|did|wo)n'?t) work(?:s|ing)?|can'?t)\b"
    ),
    "question": (
        r"^(?:how|what|why|when|where|who|whom|whose|which)\b|\?\s*$"
        r"|^(?:is|are|was|were|do|does|did|has|have|can|could|should|would|will)"
        r" (?:i|we|you|he|she|it|the|this|that|these|those|they|there)\b"
    ),
    "implementation": (
        r"^(?:add|build|create|make|write|extend|integrate|introduce|migrate|refactor|set ?up|support|configure"
        r"|install)\b|\bimplement(?:s|ed|ing|ation)?\b"
    ),
    "architecture": (
        r"\b(?:architectur(?:e|al)|designs?|data ?flows?|patterns?|structures?|components?|layers?|diagrams?|overview"
        r"|pipelines?|schemas?)\b"
    ),
}
"""The intents in the order they are tried, each with what gives it away."""

_WAYS: Final[Mapping[Intent, tuple[tuple[Reason, str], ...]]] = {
    "error": (("declarative", "{plain}"), ("solution", "{terms} fix solution")),
    "question": (("declarative", "{plain}"), ("how", "how {terms} works"), ("design", "{terms} design decision")),
    "implementation": (("how", "how to {terms}"), ("design", "{terms} design pattern")),
    "architecture": (("design", "{terms} design decision"), ("how", "how {terms} works")),
    "general": (),
}

_OPENING: Final = re.compile(
    r"^(?:how|what|why|when|where|who|whom|whose|which)(?:['’]s)?\b"  # noqa: RUF001
    r"(?:\s+(?:to|is|are|was|were|do|does|did|has|have|had|can|could|should|would|will|am)\b)?"
    r"(?:\s+(?:i|we|you|one|they)\b)?\s+"
    r"|^(?:can|could|should|would|do|does|did) (?:i|we|you|one|they)\s+"
    r"|^(?:is|are|was|were) there\s+(?:any\s+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """Another way to ask, what it counts beside the original (1), and why it was made."""

    text: str
    weight: float
    reason: Reason


def intent(query: str) -> Intent:
    """Return what *query* is after; the first of error, question, implementation, architecture, else general."""
    plain = " ".join(query.lower().split())
    return next((name for name, cue in _CUES.items() if re.search(cue, plain)), "general")


def key_terms(query: str) -> tuple[str, ...]:
    """Return the words of *query* that say what it is about, each once, as written and in order."""
    terms: dict[str, str] = {}
    for word in segment(query):
        if len(word) > 1 and fold(word) not in STOPWORDS:
            terms.setdefault(fold(word), word)
    return tuple(terms.values())


def declarative(query: str) -> str:
    """Return *query* as a statement: without its opening ("how do I") and its question mark."""
    plain = query.strip().rstrip("?？!").strip()  # noqa: RUF001
    return _OPENING.sub("", plain, count=1).strip() or plain


def expansions(query: str, *, most: int = 4, weights: Mapping[Reason, float] = WEIGHTS) -> tuple[Expansion, ...]:
    """Return at most *most* other ways to ask *query*, the weightiest first; none of them is the query itself."""
    terms, plain = " ".join(key_terms(query)), declarative(query)
    if not terms or any(is_cjk(char) for char in query):
        return ()
    ways = (
        Expansion(text=way.format(plain=plain, terms=terms), weight=weights[reason], reason=reason)
        for reason, way in _WAYS[intent(query)]
    )
    heaviest_last = sorted(ways, key=lambda way: (way.weight, way.text))
    distinct = {_same(way.text): way for way in heaviest_last if _same(way.text) != _same(query)}
    return tuple(sorted(distinct.values(), key=lambda way: (-way.weight, way.text)))[: max(most, 0)]


def strong_signal(top: float, second: float | None, *, intent_given: bool) -> bool:
    """Tell whether the best hit stands out so far that other ways to ask would only add noise.

    Someone who said what they are after is asked to look further: then no signal is strong.
    """
    if intent_given or not top >= STRONG_SCORE - _ROUNDING:
        return False
    return second is None or top - second >= STRONG_GAP - _ROUNDING


def _same(text: str) -> str:
    return " ".join(text.casefold().split())
