"""Decide what a new memory is to those the store already holds.

identical   the same words, whatever the case, spacing and punctuation
restates    the same thing in slightly other words: nothing that carries meaning is left over on either side
updates     the same slot of the same subject holds another value now, or the new text states a change of it
conflicts   one says what the other denies, or another source says otherwise
distinct    everything else; the nearest one, if any, is proposed: the two are linked

Only *identical* and *restates* lead to a merge, so both are judged to refuse when in doubt: a word that
one text has and the other has not, another order of the words, a question against a statement.

How trust and pins change a decision is a table: `OUTCOMES`.
"""

import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.lazy import cache_short, regex
from recollect.records import NEVER, NOTHING, Decision, Memory, Trust
from recollect.text.claims import Relation, relation
from recollect.text.differences import (
    NEGATING,
    NEGATORS,
    OPPOSITES,
    Said,
    differences,
    root,
    said,
    singular,
    spaced,
)
from recollect.text.tokenizer import word_set
from recollect.trust import against, may_change, outranks

MERGED: Final = ("identical", "restates")
"""The decisions after which a draft is no memory of its own."""
RESTATED: Final = 0.7
"""The share of words that a restatement has in common with what it restates."""
NEAR: Final = 0.5
"""The share of words from which on two memories are linked."""
COSINE: Final = 0.85
"""The cosine above which two memories are linked; profile `oro` takes the one for a duplicate of the other."""
BM25: Final = 0.7
"""The normalised BM25 above which profile `oro` takes a memory for a duplicate."""


class Existing(Struct, frozen=True):
    """A stored memory."""

    id: int


class InBatch(Struct, frozen=True):
    """An earlier draft of the same batch, which may have no id yet."""

    place: int


Target = Existing | InBatch
"""What a new memory is compared with."""


def row_of(target: Target | None) -> int | None:
    """Return the id of a stored memory; None for anything else."""
    return target.id if isinstance(target, Existing) else None


class DuplicateCandidate(Struct, frozen=True, kw_only=True):
    """A memory that may say the same as a new one, with its variants and how near it is, where that is known."""

    memory: Memory
    variants: tuple[str, ...] = ()
    cosine: float | None = None
    bm25: float | None = None
    """The normalized BM25 of the new memory's own words."""
    place: int | None = None
    """Its place in the batch, if it is a draft."""

    @property
    def target(self) -> Target:
        """Return the stored memory or the draft that it is."""
        return Existing(self.memory.id) if self.place is None else InBatch(self.place)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return its content and the variants merged into it."""
        return (self.memory.content, *self.variants)


class DedupResult(Struct, frozen=True, kw_only=True):
    """What a new memory is, to which one, and why."""

    decision: Decision
    of: Target | None = None
    evidence: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    proposes: Target | None = None
    """The nearest one, to be linked, where it is distinct."""
    supersedes: tuple[Target, ...] = ()
    """What else it takes the place of."""


DISTINCT: Final = DedupResult(decision="distinct")


MAX_COMPARED_CHARACTERS: Final = 100_000
"""A longer memory is known by its digest only."""


def is_comparable(memory: Memory) -> bool:
    """Return whether *memory* is short enough to be compared word for word."""
    return len(memory.content) <= MAX_COMPARED_CHARACTERS


def is_standalone(memory: Memory) -> bool:
    """Return whether *memory* is never merged: a record with its own id, or a turn of a conversation."""
    return memory.external_id is not None or memory.thread is not None


def decide(new: Memory, candidates: Sequence[DuplicateCandidate], *, read: bool = True) -> DedupResult:
    """Return what *new* is to the *candidates*: the strongest decision wins, then the nearest words, then the id.

    A cosine proposes a link and nothing more. A memory with an external id stays by itself, whatever it says. To *read*
    them as statements, which may change or deny each other in other words, takes longer; bulk does without.
    """
    compared = (_compare(new, candidate, read=read) for candidate in _closest(new, candidates))
    return min((result for result in compared if result is not None), key=_rank, default=DISTINCT)


def decide_oro(_: Memory, candidates: Sequence[DuplicateCandidate]) -> DedupResult:
    """Decide as profile `oro` does: a duplicate of the nearest by cosine, else by BM25, if it is near enough."""
    by_cosine = max(candidates, key=lambda each: (each.cosine or 0.0, -each.memory.id), default=None)
    by_words = max(candidates, key=lambda each: (each.bm25 or 0.0, -each.memory.id), default=None)
    if by_cosine is None or by_words is None:
        return DISTINCT
    evidence = {"bm25": by_words.bm25, "cosine": by_cosine.cosine}
    near = by_cosine if (by_cosine.cosine or 0.0) > COSINE else by_words if (by_words.bm25 or 0.0) > BM25 else None
    return DedupResult(decision="restates" if near else "distinct", of=near.target if near else None, evidence=evidence)


Decide = Callable[[Memory, Sequence[DuplicateCandidate]], DedupResult]
DECIDE: Final[Mapping[str, Decide]] = {"words": decide, "bm25": decide_oro}
"""How a profile decides, by the name it gives."""
IN_BULK: Final[Mapping[str, Decide]] = {**DECIDE, "words": partial(decide, read=False)}
"""How it decides on many at once."""


# --- who may change what ---------------------------------------------------------------------

Standing = Literal["peer", "lesser", "pinned", "protected"]
"""How a memory stands to a writer: of the same trust, trusted less, pinned by the writer itself, or out of reach."""

OUTCOMES: Final[Mapping[Standing, Mapping[Decision, Decision]]] = {
    "peer": {},
    "lesser": {"identical": "updates", "restates": "updates"},
    "pinned": {"updates": "conflicts"},
    "protected": {"restates": "distinct", "updates": "conflicts"},
}
"""What a decision becomes by the standing of the memory it is about; decisions that are not listed stay.

The words of a trusted writer replace those of a lesser one even where both say the same: they are kept as given.
A pinned memory takes another wording but is never superseded. A protected one is left as it is.
"""


def standing(writer: Trust, held: Memory) -> Standing:
    """Return how *held* stands to a *writer*."""
    if not may_change(writer, held):
        return "protected"
    return "pinned" if held.pinned else "lesser" if outranks(writer, held) else "peer"


def decide_by_trust(
    new: Memory, candidates: Sequence[DuplicateCandidate], decide_freely: Decide, *, replaces: Existing | None = None
) -> DedupResult:
    """Return what *new* is to *candidates* with respect to who wrote them; *replaces* is a copy of lesser trust.

    A peer that says the same comes first, then one that must not be superseded, then what *new* supersedes.
    """
    current = [(each, standing(new.trust, each.memory)) for each in candidates]
    peers = [each for each, rank in current if rank == "peer"]
    current = [(each, rank) for each, rank in current if each.memory.superseded_by is None]
    lesser = [each for each, rank in current if rank == "lesser"]
    kept = [each for each, rank in current if rank in ("pinned", "protected")]
    free = decide_freely(new, peers)
    if free.decision in MERGED or not (kept or lesser or replaces):
        return free
    guarded = guard(decide(new, kept), new, kept)
    if guarded.decision in MERGED:
        return guarded
    below = decide_freely(new, lesser)
    below = replace(below, decision=OUTCOMES["lesser"].get(below.decision, below.decision))
    outdated = [each for each in (free, below) if each.decision == "updates"]
    targets = tuple(dict.fromkeys(each for each in (*(each.of for each in outdated), replaces) if each is not None))
    if guarded.decision == "conflicts":
        return replace(guarded, supersedes=targets)
    if targets:
        evidence = outdated[0].evidence if outdated else {"by": "content"}
        return DedupResult(decision="updates", of=targets[0], evidence=evidence, supersedes=targets[1:])
    found = [each for each in (free, below, guarded) if each.of is not None or each.proposes is not None]
    return min(found, key=lambda each: _STRENGTH.index(each.decision), default=free)


def guard(result: DedupResult, new: Memory, candidates: Sequence[DuplicateCandidate]) -> DedupResult:
    """Return *result* as it is where *new* may not supersede the one of *candidates* that it is about."""
    old = next((each.memory for each in candidates if each.target == result.of), None)
    rank = "peer" if old is None else standing(new.trust, old)
    if old is None or rank in ("peer", "lesser"):
        return result
    evidence = {**result.evidence, **against(new.trust, old)}
    decision = OUTCOMES[rank].get(result.decision, result.decision)
    if decision == "distinct":
        return DedupResult(decision=decision, evidence=evidence, proposes=result.of)
    return DedupResult(decision=decision, of=result.of, evidence=evidence)


def says_the_same(a: str, b: str) -> bool:
    """Return whether *a* and *b* differ in nothing that carries meaning, nor in the order of what is said."""
    if not _same_values(a, b):
        return False
    ours, theirs = _content_words(a, b), _content_words(b, a)
    shared = set(ours) & set(theirs)
    kept, others = ([word for word in line if word in shared] for line in (ours, theirs))
    left, right = (_without_light_nouns(line, shared) for line in (ours, theirs))
    return left == kept and right == others and _same_order(kept, others)


# --- one candidate --------------------------------------------------------------------------

MAX_COMPARED: Final = 5
"""How many of those that share much of its words a memory is compared with, word for word."""
MAX_NEAR: Final = 3
"""How many of those nearest by vector it is compared with besides."""
_words: Final = cache_short(256)(word_set)

_STRENGTH: Final = ("identical", "restates", "updates", "conflicts", "distinct")


def _closest(new: Memory, candidates: Sequence[DuplicateCandidate]) -> Iterable[DuplicateCandidate]:
    """Return the candidates above the cosine, and of the others the few that share most words or are nearest.

    Lines made from one pattern share most of their words, so that without a limit each would meet all the others.
    """
    others = [each for each in candidates if (each.cosine or 0.0) <= COSINE]
    if len(others) <= MAX_COMPARED:
        return candidates
    by_words = sorted(others, key=lambda each: -max(_word_jaccard(new.content, text) for text in each.texts))
    by_vector = sorted((each for each in others if each.cosine is not None), key=lambda each: -(each.cosine or 0.0))
    kept = {each.target for each in (*by_words[:MAX_COMPARED], *by_vector[:MAX_NEAR])}
    return [each for each in candidates if (each.cosine or 0.0) > COSINE or each.target in kept]


def _rank(result: DedupResult) -> tuple[int, float, bool, int]:
    """Return a key that sorts by strength, then nearness by words and vector, then drafts, the last first, then id."""
    near = sum(float(str(result.evidence.get(name, 0.0))) for name in ("jaccard", "cosine"))
    target = result.of or result.proposes
    order = -target.place if isinstance(target, InBatch) else row_of(target) or 0
    return _STRENGTH.index(result.decision), -near, not isinstance(target, InBatch), order


def _compare(new: Memory, candidate: DuplicateCandidate, *, read: bool) -> DedupResult | None:
    """Return what *new* is to one candidate, or None when they have nothing to do with each other."""
    target, text = candidate.target, candidate.memory.content
    linked, related = (candidate.cosine or 0.0) > COSINE, _related(new, candidate) if read else None
    if not (linked or related) and max(_word_jaccard(new.content, text) for text in candidate.texts) < NEAR / 2:
        return None  # spelling cannot hide that much
    share = max(_similarity(new.content, text) for text in candidate.texts)
    evidence: dict[str, object] = {"jaccard": round(share, 4), "differs": list(differences(new.content, text))}
    if candidate.cosine is not None:
        evidence["cosine"] = candidate.cosine
    decision = _decision(new, candidate, close=share >= NEAR)
    if decision == "distinct" and related in ("updates", "conflicts"):
        decision = related
    if decision != "distinct":
        return DedupResult(decision=decision, of=target, evidence=evidence)
    if related:
        evidence["related"] = True
    if share >= NEAR or linked or related:
        return DedupResult(decision="distinct", evidence=evidence, proposes=target)
    return None


def _related(new: Memory, candidate: DuplicateCandidate) -> Relation | None:
    """Return what *new* is to one candidate as a statement about the same thing.

    What is dated before the other cannot change it, and what stands under another heading speaks of something else.
    """
    old = candidate.memory
    if NEVER < new.when < old.when:
        return "related" if relation(old.content, new.content, cosine=candidate.cosine) else None
    found = relation(new.content, old.content, cosine=candidate.cosine)
    apart = new.external_id is not None or new.section != old.section
    return "related" if found and apart else found


def _decision(new: Memory, candidate: DuplicateCandidate, *, close: bool) -> Decision:
    """Return the strongest decision that holds."""
    if new.external_id is not None:
        return "distinct"
    if any(_identical(new.content, text) for text in candidate.texts):
        return "identical"
    if differences(new.content, candidate.memory.content):
        return _change(new, candidate.memory, close=close)
    near = (text for text in candidate.texts if _similarity(new.content, text) >= RESTATED)
    return "restates" if any(says_the_same(new.content, text) for text in near) else "distinct"


def _identical(a: str, b: str) -> bool:
    """Return whether *a* and *b* are the same words in the same order."""
    words, others = (re.findall(r"\w+", spaced(text).casefold()) for text in (a, b))
    return words == others and bool(words) and _same_values(a, b)


def _same_values(a: str, b: str) -> bool:
    """Return whether values, names and negations agree, and all that punctuation can change a meaning with."""
    return not differences(a, b) and _is_question(a) == _is_question(b) and _symbols(a) == _symbols(b)


def _similarity(a: str, b: str) -> float:
    """Return the share of words in common, as written or once short forms, numbers and plurals are spelled alike."""
    return max(_word_jaccard(a, b), _jaccard(_content_words(a, b), _content_words(b, a)))


def _word_jaccard(a: str, b: str) -> float:
    """Return the Jaccard similarity of the words of *a* and *b* as they are written."""
    ours, theirs = _words(a), _words(b)
    return _jaccard(ours, theirs) if ours or theirs else 1.0


def _jaccard(ours: Iterable[Hashable], theirs: Iterable[Hashable]) -> float:
    """Return how many of the distinct words of both are in both; 0 when there are none."""
    left, right = frozenset(ours), frozenset(theirs)
    shared = len(left & right)
    return shared / max(1, len(left) + len(right) - shared)


def _is_question(text: str) -> bool:
    """Return whether *text* ends as a question."""
    return unicodedata.normalize("NFKC", text).rstrip(" \n\t\"')*_`").endswith("?")


def _symbols(text: str) -> list[str]:
    """Return the signs that mean something by themselves: a range, a "!" before a word, C#, arrows, ticks, emoji."""
    found = ((sign.group(sign.lastindex or 0), sign.lastindex) for sign in _SYMBOL.finditer(text))
    return [sign.replace("\u2013", "-") for sign, told in found if told or _is_symbol(sign)]


def _is_symbol(sign: str) -> bool:
    """Return whether a character is a symbol that stands for something, not mere punctuation or currency."""
    return unicodedata.category(sign) in {"So", "Sm", "No", "Co", "Cn"} and sign != "°"


_SYMBOL: Final = regex(
    r"(?<![\d/:.-])\d+\s?([-/\u2013])\s?\d+(?![\d/:-]|\.\d)|(?<![\w!])(!)(?=\w)|(?<=\w)(#)|[^\w\s]|[^\W\d_a-zA-Z]"
)


# --- the same thing in other words ----------------------------------------------------------


def _groups(text: str) -> dict[str, str]:
    """Return each word of the comma-separated groups of *text* with the first of its group."""
    return {word: words.split(",")[0] for words in text.split() for word in words.split(",")}


def _set(text: str) -> frozenset[str]:
    """Return the words of a table that is easier to read without quotes."""
    return frozenset(text.split())


_SYNONYMS: Final = _groups("""
    be,is,are,am have,has was,were with,using,via because,since every,each,all about,around,roughly,approximately
    remove,delete,erase show,display big,large start,begin run,execute check,verify use,utilise,utilize
    fetch,retrieve fast,quick buy,purchase change,alter repair,fix maybe,perhaps
""")
_FILLERS: Final = _set("""the a an that which just really actually basically simply please very quite indeed also and
    of do does we our""")
_LIGHT: Final = _set("check step process procedure")
"""Nouns that add nothing to the activity before them: linting, linting checks."""
_INVARIABLE: Final = _set("news means goods customs lens series species headquarters savings glasses")
_OPENING: Final = regex(r"^\W*(?:note|remember|important|fyi)\b[:,]?\s*(?:that\b)?", re.IGNORECASE)
_QUANTIFIER: Final = regex(r"\ba (few|little|bit)\b", re.IGNORECASE)
_CONTRACTIONS: Final = {"can't": "can not", "cannot": "can not", "won't": "will not", "let's": "let"}
_ENDINGS: Final = (("n't", "not"), ("'re", "are"), ("'ll", "will"), ("'ve", "have"), ("'m", "am"))
_RELATIONS: Final = _set("""in on at within by for from to into with during after before until when if while because
    without unless where as under over through across against""")
"""Words that open a phrase which may stand first or last."""
_SEARCHED: Final = 400
"""In how many words, at most, a moved phrase is looked for."""


@cache_short(256)
def _content_words(text: str, other: str) -> tuple[str, ...]:
    """Return the words of *text* that count, each in the form *other* would use for it."""
    there = {word.text for word in said(other)}
    words = said(_QUANTIFIER.sub(r"a-\1", _OPENING.sub("", text)))
    parts = (part for word in words for part in _split_word(word, there))
    return tuple(common for part in parts if (common := _canonical(part)) not in _FILLERS)


def _without_light_nouns(line: Sequence[str], shared: set[str]) -> list[str]:
    """Return *line* without the light nouns that the other text leaves away behind the same activity."""
    pairs = zip(["", *line], line, strict=False)
    return [word for before, word in pairs if word in shared or not (word in _LIGHT and before.endswith("ing"))]


def _split_word(said_word: Said, there: set[str]) -> list[str]:
    """Return a contraction or a hyphenated word in its parts, unless the other text writes it as one."""
    word = said_word.text
    if word in _CONTRACTIONS:
        return _CONTRACTIONS[word].split()
    for ending, full in _ENDINGS:
        if word.endswith(ending):
            return [word.removesuffix(ending), full]
    if said_word.kind not in {"word", "name"} or "-" not in word or word.startswith(("a-", "re-")):
        return [word]
    joined = word.replace("-", "")
    return [joined] if joined in there else [part for part in word.split("-") if part]


def _canonical(word: str) -> str:
    """Return the word that stands for *word* and its synonyms."""
    one = word if word in _INVARIABLE | _FILLERS else singular(word)
    return _SYNONYMS.get(word) or _SYNONYMS.get(one, one)


def _same_order(ours: list[str], theirs: list[str]) -> bool:
    """Return whether the words come in the same order, but for one phrase moved as a whole.

    Only a phrase that opens with a preposition or the like may move: "in CI we cache wheels" is "we cache
    wheels in CI", while "Ann told Ben" is not "Ben told Ann", nor "stop and copy" the same as "copy and stop".
    """
    if ours == theirs:
        return True
    if len(ours) != len(theirs) or len(ours) > _SEARCHED:
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
_HOLDING: Final = _set("""be equal default cost weigh expire live locate located base based host hosted listen last take
    hold due start end open close""")
"""Verbs behind which a subject has but one value at a time."""
_USING: Final = _set("use run need require prefer support build deploy")
"""Verbs behind which the value may be one of many, unless the text says that it changed."""
_COUNTED: Final = _set("""ticket issue pr bug case order invoice room user page line step chapter episode sprint task
    build commit phase row item test customer attempt run server node host number no id""")
"""Nouns whose number tells one thing from another instead of measuring it."""


def _change(new: Memory, old: Memory, *, close: bool) -> Decision:
    """Return "updates" or "conflicts" where two texts say something else about the same thing, else "distinct"."""
    if not close and _jaccard(_statement(new.content), _statement(old.content)) < NEAR:
        return "distinct"
    kinds = set(differences(new.content, old.content))
    cue = None if _CUE.search(old.content) else _CUE.search(new.content)
    if kinds == {"negation"}:
        contradicted = _contradicts(new.content, old.content)
        return "distinct" if not contradicted else "updates" if cue else "conflicts"
    dated_before = NEVER < new.when < old.when
    question = _is_question(new.content) or _is_question(old.content)
    if "negation" in kinds or dated_before or question or new.section != old.section:
        return "distinct"
    return "updates" if _same_slot(new.content, old.content, cue=cue) else "distinct"


def _contradicts(a: str, b: str) -> bool:
    """Return whether *a* and *b* are one sentence but for the words that turn it round."""
    ours, theirs = (
        {root(word) for word in _content_words(_ASIDE.sub(" ", text), other)} for text, other in ((a, b), (b, a))
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
    holder = next((n for n in range(start - 1, -1, -1) if ours[n].text not in _RELATIONS), 0)
    verb, subject = ours[holder].text, ours[:holder]
    if verb in _COUNTED or _weight(ours[:start] + ours[len(ours) - end :]) < (1 if cue else 2):
        return False
    changed = cue is not None and (verb in _USING or len(_statement(a[: cue.start()])) <= start)
    return changed or (verb in _HOLDING and _weight(subject) > 0)


def _statement(text: str) -> list[Said]:
    """Return the words that count, with the ways to say that something changed left out."""
    words = (Said(word.kind, _canonical(word.text)) for word in said(_ASIDE.sub(" ", _CHANGED.sub(" is ", text))))
    return [word for word in words if word.text not in _FILLERS]


def _common_prefix(ours: Sequence[Said], theirs: Sequence[Said]) -> int:
    """Return how many words *ours* and *theirs* have in common before the first that differs."""
    pairs = zip(ours, theirs, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(ours), len(theirs)))


def _weight(words: Sequence[Said]) -> int:
    """Return how much *words* say about what is meant: a name says more than a noun."""
    nouns = [word for word in words if word.text not in _HOLDING | _RELATIONS]
    return sum(2 if word.kind in {"name", "code"} else 1 for word in nouns)
