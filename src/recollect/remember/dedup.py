"""Decide what a new memory is to those the store already holds.

identical   the same words, whatever the case, spacing and punctuation
restates    the same thing in slightly other words: nothing that carries meaning is left over on either side
updates     the same slot of the same subject holds another value now
conflicts   one says what the other denies
distinct    everything else; the nearest one, if any, stands in the evidence as "proposes"

Only *identical* and *restates* lead to a merge, so both are judged to refuse when in doubt: a word that
one text has and the other has not, another order of the words, a question against a statement.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from recollect.records import NEVER, NOTHING, Decision, Memory
from recollect.remember.differ import NEGATING, NEGATORS, OPPOSITES, Said, differences, root, said, singular
from recollect.text import similar


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that may say the same: what it says, in all its wordings, and how near a model thinks it is."""

    id: int
    content: str
    wordings: tuple[str, ...] = ()
    confidence: float = 0.8
    type: str = "note"
    cosine: float | None = None
    section: str | None = None
    when: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a new memory is, to which one, and why."""

    decision: Decision
    of: int | None = None
    evidence: Mapping[str, object] = field(default_factory=lambda: NOTHING)


def judge(
    new: Memory,
    candidates: Sequence[Candidate],
    *,
    jaccard: float = 0.7,
    near: float = 0.5,
    cosine: float = 0.85,
) -> Verdict:
    """Return what *new* is to the *candidates*: the strongest decision wins, then the nearest words, then the id.

    *jaccard* is the share of words a restatement needs, *near* the share a link needs; a cosine above *cosine*
    proposes a link and nothing more. A memory with an external id stays by itself, whatever it says.
    """
    found = [_compare(new, candidate, jaccard=jaccard, near=near, cosine=cosine) for candidate in candidates]
    linked = [verdict for verdict in found if verdict is not None]
    if not linked:
        return Verdict(decision="distinct")
    return min(linked, key=lambda verdict: (_STRENGTH[verdict.decision], *_nearness(verdict)))


def judge_oro(
    *,
    of: int,
    bm25_normalised: float | None,
    cosine: float | None,
    confidence: float,
    other: float,
    bm25_above: float = 0.7,
    cosine_above: float = 0.85,
) -> Verdict:
    """Decide as profile `oro` does: near enough to the top hit *of* by either score is a duplicate of it.

    The evidence holds the confidence to keep, the higher one of *confidence* (the new one's) and *other*.
    """
    evidence = {"bm25": bm25_normalised, "cosine": cosine}
    if (bm25_normalised or 0.0) > bm25_above or (cosine or 0.0) > cosine_above:
        return Verdict(decision="restates", of=of, evidence={**evidence, "confidence": max(confidence, other)})
    return Verdict(decision="distinct", evidence=evidence)


def says_the_same(a: str, b: str) -> bool:
    """Return whether *a* and *b* differ in nothing that carries meaning, nor in the order of what is said."""
    if differences(a, b) or _asks(a) != _asks(b) or _signs(a) != _signs(b):
        return False
    ours, theirs = _line(a, b), _line(b, a)
    surplus, missing = set(ours) - set(theirs), set(theirs) - set(ours)
    if (surplus and missing) or not (surplus | missing) <= _LIGHT:
        return False
    shared = set(ours) & set(theirs)
    return _same_order([w for w in ours if w in shared], [w for w in theirs if w in shared])


# --- one candidate --------------------------------------------------------------------------

_STRENGTH: Final[Mapping[Decision, int]] = {
    "identical": 0,
    "restates": 1,
    "updates": 2,
    "conflicts": 3,
    "distinct": 4,
}


def _nearness(verdict: Verdict) -> tuple[float, int]:
    """Return a key that puts the nearest words first and settles ties by id."""
    share, of = verdict.evidence["jaccard"], verdict.of or verdict.evidence.get("proposes")
    return -float(str(share)), int(str(of))


def _compare(new: Memory, candidate: Candidate, *, jaccard: float, near: float, cosine: float) -> Verdict | None:
    """Return what *new* is to one candidate, or None when they have nothing to do with each other."""
    share = max(_share(new.content, text) for text in (candidate.content, *candidate.wordings))
    kinds = differences(new.content, candidate.content)
    evidence: dict[str, object] = {"jaccard": round(share, 4), "differs": list(kinds)}
    if candidate.cosine is not None:
        evidence["cosine"] = candidate.cosine
    decision = _decide(new, candidate, share=share, jaccard=jaccard, near=near)
    if decision != "distinct":
        return Verdict(decision=decision, of=candidate.id, evidence=evidence)
    if share >= near or (candidate.cosine or 0.0) > cosine:
        return Verdict(decision="distinct", evidence={**evidence, "proposes": candidate.id})
    return None


def _decide(new: Memory, candidate: Candidate, *, share: float, jaccard: float, near: float) -> Decision:
    """Return the strongest decision that holds."""
    texts = (candidate.content, *candidate.wordings)
    if new.external_id is not None or share < near:
        return "distinct"
    if not differences(new.content, candidate.content):
        if any(_identical(new.content, text) for text in texts):
            return "identical"
        if any(_share(new.content, text) >= jaccard and says_the_same(new.content, text) for text in texts):
            return "restates"
        return "distinct"
    return _change(new, candidate)


def _identical(a: str, b: str) -> bool:
    """Return whether *a* and *b* are the same words in the same order."""
    words, others = (re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()) for text in (a, b))
    return words == others and bool(words) and _asks(a) == _asks(b) and _signs(a) == _signs(b) and not differences(a, b)


def _share(a: str, b: str) -> float:
    """Return the share of words in common, as written or once short forms, numbers and plurals are spelled alike."""
    ours, theirs = set(_line(a, b)), set(_line(b, a))
    return max(similar.jaccard(a, b), len(ours & theirs) / max(1, len(ours | theirs)))


def _asks(text: str) -> bool:
    """Return whether *text* ends as a question."""
    return unicodedata.normalize("NFKC", text).rstrip(" \n\t\"')*_`").endswith("?")


def _signs(text: str) -> Counter[str]:
    """Return the signs that mean something by themselves: arrows, ticks, crosses, emoji, the # of C#."""
    return Counter(
        sign
        for sign in re.findall(r"(?<=\w)#|[^\w\s]", text)
        if sign == "#" or (sign != "°" and unicodedata.category(sign) in {"So", "Sm", "Co", "Cn"})
    )


# --- the same thing in other words ----------------------------------------------------------


def _groups(text: str) -> dict[str, str]:
    """Return each word of the comma-separated groups of *text* with the first of its group."""
    return {word: words.split(",")[0] for words in text.split() for word in words.split(",")}


def _set(text: str) -> frozenset[str]:
    """Return the words of a table that is easier to read without quotes."""
    return frozenset(text.split())


_SYNONYMS: Final = _groups("""
    be,is,are,am have,has was,were in,on,at,within with,using,via because,since every,each,all
    about,around,roughly,approximately remove,delete,erase show,display big,large start,begin
    run,execute check,verify use,utilise,utilize fetch,retrieve create,make fast,quick buy,purchase
    change,alter repair,fix maybe,perhaps also,too picture,image
""")
_FILLERS: Final = _set("""the a an that which just really actually basically simply please very quite indeed also and
    of do does we our note remember""")
_LIGHT: Final = _set("check step process procedure thing purpose")
"""Nouns that add nothing to the word before them: linting, linting checks."""
_CONTRACTIONS: Final = {"can't": "can not", "cannot": "can not", "won't": "will not", "let's": "let"}
_ENDINGS: Final = (("n't", "not"), ("'re", "are"), ("'ll", "will"), ("'ve", "have"), ("'m", "am"))
_RELATIONS: Final = _set("""in by for from to into with during after before until when if while because without unless
    where as under over through across against""")
"""Words that open a phrase which may stand first or last."""


def _line(text: str, other: str) -> list[str]:
    """Return the words of *text* that count, each in the form *other* would use for it."""
    there = {word.text for word in said(other)}
    words = [part for word in said(text) for part in _parts(word.text, there)]
    return [common for word in words if (common := _common(word)) not in _FILLERS]


def _parts(word: str, there: set[str]) -> list[str]:
    """Return a contraction or a hyphenated word in its parts, unless the other text writes it as one."""
    if word in _CONTRACTIONS:
        return _CONTRACTIONS[word].split()
    for ending, full in _ENDINGS:
        if word.endswith(ending):
            return [word.removesuffix(ending), full]
    joined = word.replace("-", "")
    if "-" not in word or joined in there:
        return [joined if joined in there else word]
    return [part for part in word.split("-") if part]


def _common(word: str) -> str:
    """Return the word that stands for *word* and its synonyms."""
    return _SYNONYMS.get(word) or _SYNONYMS.get(singular(word), singular(word))


def _same_order(ours: list[str], theirs: list[str]) -> bool:
    """Return whether the words come in the same order, but for one phrase moved as a whole.

    Only a phrase that opens with a preposition or the like may move: "in CI we cache wheels" is "we cache
    wheels in CI", while "Ann told Ben" is not "Ben told Ann", nor "stop and copy" the same as "copy and stop".
    """
    if ours == theirs:
        return True
    if len(ours) != len(theirs):
        return False
    start = next(n for n, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
    end = next(n for n, (a, b) in enumerate(zip(ours[::-1], theirs[::-1], strict=True)) if a != b)
    if start == 0 and _moved(ours, theirs, least=1):
        return True
    rest = len(ours) - end
    closed = end == 0 or ours[rest] in _RELATIONS
    return closed and _moved(ours[start:rest], theirs[start:rest], least=1 if start == 0 else 2)


def _moved(ours: list[str], theirs: list[str], *, least: int) -> bool:
    """Return whether *theirs* is *ours* with its two halves swapped, *least* of which open with a relation."""
    return any(
        theirs == ours[cut:] + ours[:cut] and (ours[0] in _RELATIONS) + (word in _RELATIONS) >= least
        for cut, word in enumerate(ours)
        if cut and word == theirs[0]
    )


# --- another value, or the opposite ---------------------------------------------------------

_CUE: Final = re.compile(
    r"\b(?:now|currently|no longer|any ?more|instead|as of|from now on|going forward|since then|updated?|newly"
    r"|(?:changed|moved|switched|bumped|raised|lowered|renamed|migrated|set)(?: from .{1,30}?)? to)\b|改为|変更",
    re.IGNORECASE,
)
_CHANGED: Final = re.compile(
    r"\b(?:(?:has|have|was|were|is|are)\s+)?(?:been\s+)?(?:changed|moved|switched|bumped|raised|lowered|updated|set)"
    r"\s+(?:from\s+.{1,30}?\s+)?to\b",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(
    r"\b(?:instead(?:\s+of\s+[\w.+-]+)?|as\s+of\s+[\w, -]{1,20}?(?=,|$)|from now on|going forward|now|currently"
    r"|already|still|any\s?more|no longer|updated?:?|newly)\b[,:]?",
    re.IGNORECASE,
)
_VALUES: Final = frozenset({"number", "date", "version", "unit", "name", "code"})
_HOLDING: Final = _set("""be equal default cost weigh expire live locate located base based host hosted listen last take
    hold due start end open close""")
"""Verbs behind which a subject has but one value at a time."""
_COUNTED: Final = _set("""ticket issue pr bug case order invoice room user page line step chapter episode sprint task
    build commit phase row item test customer attempt run server node host number no id""")
"""Nouns whose number tells one thing from another instead of measuring it."""


def _change(new: Memory, candidate: Candidate) -> Decision:
    """Return "updates" or "conflicts" where two texts say something else about the same thing, else "distinct"."""
    kinds = set(differences(new.content, candidate.content))
    cue = bool(_CUE.search(new.content)) and not _CUE.search(candidate.content)
    if kinds == {"negation"}:
        against = _against(new.content, candidate.content)
        return "distinct" if not against else "updates" if cue else "conflicts"
    older = candidate.when is not None and NEVER < new.when < candidate.when
    if "negation" in kinds or older or new.section != candidate.section:
        return "distinct"
    return "updates" if _same_slot(new.content, candidate.content, cue=cue) else "distinct"


def _against(a: str, b: str) -> bool:
    """Return whether *a* and *b* are one sentence but for the words that turn it round."""
    ours, theirs = ({root(word) for word in _line(_ASIDE.sub(" ", text), other)} for text, other in ((a, b), (b, a)))
    apart = ours ^ theirs
    opposed = {word for pair in OPPOSITES if apart.issuperset(pair) for word in pair}
    negated = {word for word in apart for prefix in NEGATING if prefix + word in apart}
    prefixed = {prefix + word for word in negated for prefix in NEGATING}
    return apart <= opposed | negated | prefixed | {root(word) for word in NEGATORS}


def _same_slot(a: str, b: str, *, cue: bool) -> bool:
    """Return whether *a* and *b* give different values to one slot of one subject."""
    ours, theirs = _told(a), _told(b)
    start = _alike(ours, theirs)
    end = min(_alike(ours[::-1], theirs[::-1]), len(ours) - start, len(theirs) - start)
    values = ours[start : len(ours) - end] + theirs[start : len(theirs) - end]
    if not values or any(word.kind not in _VALUES for word in values) or start == 0:
        return False
    holder = next((n for n in range(start - 1, -1, -1) if ours[n].text not in _RELATIONS), 0)
    holding = ours[holder].text in _HOLDING and _weight(ours[:holder]) > 0
    known = _weight(ours[:start] + ours[len(ours) - end :]) >= (1 if cue else 2)
    return known and ours[holder].text not in _COUNTED and (cue or holding)


def _told(text: str) -> list[Said]:
    """Return the words that count, with the ways to say that something changed left out."""
    words = (Said(word.kind, _common(word.text)) for word in said(_ASIDE.sub(" ", _CHANGED.sub(" is ", text))))
    return [word for word in words if word.text not in _FILLERS]


def _alike(ours: Sequence[Said], theirs: Sequence[Said]) -> int:
    """Return how many words *ours* and *theirs* have in common before the first that differs."""
    pairs = zip(ours, theirs, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(ours), len(theirs)))


def _weight(words: Sequence[Said]) -> int:
    """Return how much *words* say about what is meant: a name says more than a noun."""
    nouns = [word for word in words if word.text not in _HOLDING | _RELATIONS]
    return sum(2 if word.kind in {"name", "code"} else 1 for word in nouns)
