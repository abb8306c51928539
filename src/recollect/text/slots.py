"""Compare two texts word by word: the same sentence with another value, or turned into its opposite.

This is one half of `claims.change`, for texts that share most of their words.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal

from recollect.lazy import regex
from recollect.text.differences import NEGATING, NEGATORS, OPPOSITES, Said, differences, root, said
from recollect.text.wording import FILLERS, PREPOSITIONS, canonical, content_words, is_question, jaccard, word_table

SAME_SENTENCE: Final = 0.5
"""The share of words, changes aside, from which on two texts are one sentence."""
_CUE: Final = regex(
    r"\b(?:now|currently|no longer|any ?more|instead|as of|from now on|going forward|since then|updated?|newly"
    r"|(?:changed|moved|switched|bumped|raised|lowered|renamed|migrated|set)(?: from .{1,30}?)? to)\b|改为|変更",
    re.IGNORECASE,
)
_CHANGED: Final = regex(
    r"\b(?:(?:has|have|was|were|is|are)\s+)?(?:been\s+)?(?:changed|moved|switched|bumped|raised|lowered|updated|set)"
    r"\s+(?:from\s+.{1,30}?\s+)?to\b",
    re.IGNORECASE,
)
_ASIDE: Final = regex(
    r"\b(?:instead(?:\s+of\s+[\w.+-]+)?|as\s+of\s+[\w, -]{1,20}?(?=,|$)|from now on|going forward|now|currently"
    r"|already|still|any\s?more|no longer|updated?:?|newly)\b[,:]?",
    re.IGNORECASE,
)
_VALUES: Final = frozenset({"number", "date", "version", "unit", "name", "code"})
_HOLDING: Final = word_table("""be equal default cost weigh expire live locate located base based host hosted listen
    last take hold due start end open close""")
"""Verbs after which a subject has only one value at a time."""
_USING: Final = word_table("use run need require prefer support build deploy")
"""Verbs after which the value may be one of many, unless the text says that it changed."""
_COUNTED: Final = word_table("""ticket issue pr bug case order invoice room user page line step chapter episode sprint
    task build commit phase row item test customer attempt run server node host number no id""")
"""Nouns whose number tells one thing from another instead of measuring it."""


def changed_slot(new: str, old: str, *, close: bool, may_update: bool) -> Literal["updates", "conflicts"] | None:
    """Return what *new* is to *old* if both are one sentence but for a value or a negation.

    *close* says that they share enough words as they are. Another value counts only if *new* *may_update* the other.
    """
    kinds = set(differences(new, old))
    if not kinds or (not close and jaccard(_statement(new), _statement(old)) < SAME_SENTENCE):
        return None
    cue = None if _CUE.search(old) else _CUE.search(new)
    if kinds == {"negation"}:
        return None if not _contradicts(new, old) else "updates" if cue else "conflicts"
    if "negation" in kinds or not may_update or is_question(new) or is_question(old):
        return None
    return "updates" if _same_slot(new, old, cue=cue) else None


def _contradicts(a: str, b: str) -> bool:
    """Return whether *a* and *b* are one sentence but for the words that negate it."""
    ours, theirs = (
        {root(word) for word in content_words(_ASIDE.sub(" ", text), other)} for text, other in ((a, b), (b, a))
    )
    apart = ours ^ theirs
    opposed = {word for pair in OPPOSITES if apart.issuperset(pair) for word in pair}
    negated = {word for word in apart for prefix in NEGATING if prefix + word in apart}
    prefixed = {prefix + word for word in negated for prefix in NEGATING}
    return apart <= opposed | negated | prefixed | {root(word) for word in NEGATORS}


def _same_slot(a: str, b: str, *, cue: re.Match[str] | None) -> bool:
    """Return whether *a* gives another value than *b* to one slot of one subject; *cue* says in *a* that it changed."""
    ours, theirs = _statement(a), _statement(b)
    start = _common_prefix(ours, theirs)
    end = min(_common_prefix(ours[::-1], theirs[::-1]), len(ours) - start, len(theirs) - start)
    new, old = ours[start : len(ours) - end], theirs[start : len(theirs) - end]
    if start == 0 or not new or not old or any(word.kind not in _VALUES for word in new + old):
        return False
    holder = next((n for n in range(start - 1, -1, -1) if ours[n].text not in PREPOSITIONS), 0)
    verb, subject = ours[holder].text, ours[:holder]
    if verb in _COUNTED or _weight(ours[:start] + ours[len(ours) - end :]) < (1 if cue else 2):
        return False
    changed = cue is not None and (verb in _USING or len(_statement(a[: cue.start()])) <= start)
    return changed or (verb in _HOLDING and _weight(subject) > 0)


def _statement(text: str) -> list[Said]:
    """Return the content words of *text*, without the phrases that announce a change."""
    words = (Said(word.kind, canonical(word.text)) for word in said(_ASIDE.sub(" ", _CHANGED.sub(" is ", text))))
    return [word for word in words if word.text not in FILLERS]


def _common_prefix(ours: Sequence[Said], theirs: Sequence[Said]) -> int:
    """Return how many words *ours* and *theirs* have in common before the first that differs."""
    pairs = zip(ours, theirs, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(ours), len(theirs)))


def _weight(words: Sequence[Said]) -> int:
    """Return how specific *words* are: a name counts twice."""
    nouns = [word for word in words if word.text not in _HOLDING | PREPOSITIONS]
    return sum(2 if word.kind in {"name", "code"} else 1 for word in nouns)
