"""What a query is after, and paraphrases of it.

The cues are English: a query in another language is general, and is asked as it stands.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, get_args

from msgspec import Struct

from recollect.errors import QueryError
from recollect.lazy import regex
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


Intent = Literal["error", "question", "implementation", "architecture", "general"]
Reason = Literal["declarative", "solution", "how", "design"]

WEIGHTS: Final[Mapping[Reason, float]] = {"declarative": 0.85, "solution": 0.80, "how": 0.75, "design": 0.75}
"""What a variant counts beside the query itself, which counts 1, where lists weigh by their kind."""

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

_PATTERNS: Final[Mapping[Intent, tuple[tuple[Reason, str], ...]]] = {
    "error": (
        ("declarative", "{plain}"),
        ("solution", "{terms} debug"),
        ("solution", "{terms} fix"),
        ("solution", "{terms} solution"),
    ),
    "question": (("declarative", "{plain}"), ("how", "how {terms} works"), ("design", "{terms} design decision")),
    "implementation": (("how", "how to {terms}"), ("design", "{terms} design pattern")),
    "architecture": (("design", "{terms} design decision"), ("how", "how {terms} works")),
    "general": (),
}

_OPENING: Final = regex(
    r"^(?:how|what|why|when|where|who|whom|whose|which)(?:['’]s)?\b"  # noqa: RUF001
    r"(?:\s+(?:to|is|are|was|were|do|does|did|has|have|had|can|could|should|would|will|am)\b)?"
    r"(?:\s+(?:i|we|you|one|they)\b)?\s+"
    r"|^(?:can|could|should|would|do|does|did) (?:i|we|you|one|they)\s+"
    r"|^(?:is|are|was|were) there\s+(?:any\s+)?",
    re.IGNORECASE,
)


class Paraphrase(Struct, frozen=True, kw_only=True):
    """A query in other words, what it counts beside the original (1), and why it was made."""

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


def paraphrases(query: str, *, most: int = 4) -> tuple[Paraphrase, ...]:
    """Return at most *most* paraphrases of *query*, the weightiest first; none of them is the query itself."""
    terms, plain = " ".join(key_terms(query)), declarative(query)
    if not terms or any(is_cjk(char) for char in query):
        return ()
    made = (
        Paraphrase(text=pattern.format(plain=plain, terms=terms), weight=WEIGHTS[reason], reason=reason)
        for reason, pattern in _PATTERNS[intent(query)]
    )
    heaviest_last = sorted(made, key=lambda each: (each.weight, each.text))
    distinct = {_same(each.text): each for each in heaviest_last if _same(each.text) != _same(query)}
    return tuple(sorted(distinct.values(), key=lambda each: (-each.weight, each.text)))[: max(most, 0)]


def _same(text: str) -> str:
    return " ".join(text.casefold().split())
