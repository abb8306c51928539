"""Draw facts out of a memory by rule: who or what, how, and with what.

A line "key: value" is a fact, and so is a sentence that one of the rules below recognises; what stands in a
fenced block is code and says nothing. The rules are a table: each names the type of fact it finds, how sure
it is, and the shape of the sentence. The first rule that fits a sentence has it; a date in it is a second fact.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from recollect.lazy import regex
from recollect.records import Fact, Memory
from recollect.text.code import fenced_blocks
from recollect.text.dates import MONTH, MONTH_NAMES

FactType = Literal[
    "kv", "relationship", "preference", "temporal", "identity", "location", "decision", "state", "config"
]

DECAY_RATES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "identity": 0.001,
        "decision": 0.002,
        "relationship": 0.003,
        "location": 0.005,
        "preference": 0.01,
        "kv": 0.01,
        "config": 0.01,
        "state": 0.05,
        "temporal": 0.1,
    }
)
"""How fast the confidence of each type of fact decays, a day since its last reinforcement (third Cortex document)."""

MAX_FACTS: Final = 10
"""How many facts one memory may have; more of them would be noise."""


def extract(memory: Memory, rates: Mapping[str, float] = DECAY_RATES) -> tuple[Fact, ...]:
    """Return the facts of *memory* in the order of its text, at most `MAX_FACTS`, none twice, with decay *rates*."""
    found: dict[tuple[str, str, str], Fact] = {}
    for fact in _facts(memory):
        if _is_complete(fact):
            found.setdefault((fact.subject.casefold(), fact.predicate, fact.object.casefold()), fact)
    facts = list(found.values())[:MAX_FACTS]
    return tuple(_fading(fact, rates.get(fact.type, DECAY_RATES["kv"])) for fact in facts)


def _fading(fact: Fact, rate: float) -> Fact:
    return fact if fact.decay_rate == rate else replace(fact, decay_rate=rate)


# --- the rules ------------------------------------------------------------------------------


class _Rule(Struct, frozen=True):
    """A type of fact, how sure the rule is, and what a sentence must look like; `s`, `p`, `o` name its parts.

    A sentence with none of the words it needs is not looked at: most sentences fit no rule, and finding that out
    by the shapes alone would take longer than all else of an import.
    """

    type: FactType
    confidence: float
    shape: re.Pattern[str]
    keywords: frozenset[str]


def _rule(
    kind: FactType, confidence: float, predicate: str, *, keywords: str, subject: str = r"[^,;:()]{1,80}?"
) -> _Rule:
    """Return the rule for sentences of the form subject, *predicate*, object."""
    shape = rf"(?P<s>{subject})\s+(?:also\s+|now\s+|currently\s+|usually\s+)?(?P<p>{predicate})\s+(?P<o>\S.*)"
    return _Rule(kind, confidence, regex(shape, re.IGNORECASE), frozenset(keywords.split()))


_WE: Final = r"we|i|they|you|the [\w-]+|[A-Z][\w-]+"
_STATES: Final = (
    r"broken|down|up|live|deployed|blocked|deprecated|failing|paused|done|finished|ready|pending|stuck|offline|online"
    r"|enabled|disabled|closed|open|merged|released|archived|in progress|on hold|out of date|unavailable|healthy"
)
_RULES: Final = (
    _rule(
        "decision",
        0.7,
        r"(?:have\s+|has\s+)?(?:decided\s+(?:to\s+use|to|on|against|that)|agreed\s+(?:to|on|that)|chose(?:n)?(?:\s+to)?"
        r"|picked|selected|settled\s+on|went\s+with|switched\s+to|will\s+use|are\s+going\s+with|opted\s+for)",
        keywords="decided agreed chose chosen picked selected settled went switched will going opted",
        subject=_WE,
    ),
    _Rule("identity", 0.7, regex(r"(?P<s>my)\s+(?P<p>name\s+is)\s+(?P<o>\S.*)", re.IGNORECASE), frozenset({"my"})),
    _Rule(
        "identity",
        0.7,
        regex(r"(?P<s>[iI])(?:\s+(?=am)|')(?P<p>am|m)\s+(?P<o>(?:(?:an?|the)\s+\S|[A-Z]).*)"),
        frozenset({"i", "i'am", "i'm"}),
    ),
    _rule(
        "identity",
        0.7,
        r"works?\s+as|is\s+known\s+as|is\s+called|is\s+named|goes\s+by",
        keywords="work works known called named goes",
    ),
    _rule(
        "location",
        0.7,
        r"lives?\s+(?:in|at|on)|(?:is|are)\s+(?:located|based|hosted|stored|deployed)\s+(?:in|at|on|to)|runs?\s+(?:on|in)"
        r"|moved\s+to|resides?\s+(?:in|at|on)",
        keywords="live lives located based hosted stored deployed run runs moved reside resides",
    ),
    _Rule(
        "state",
        0.7,
        regex(
            r"(?P<s>[^,;:()]{1,80}?)\s+(?P<p>(?:is|are)(?:\s+(?:now|currently|still|not|no longer))*)"
            rf"\s+(?P<o>(?:{_STATES})\b.*)",
            re.IGNORECASE,
        ),
        frozenset({"is", "are"}),
    ),
    _rule(
        "preference",
        0.7,
        r"(?:strongly\s+)?(?:prefers?|likes?|loves?|dislikes?|hates?|favou?rs?|avoids?)(?:\s+to)?",
        keywords="prefer prefers like likes love loves dislike dislikes hate hates favor favors favour favours"
        " avoid avoids",
    ),
    _Rule(
        "preference",
        0.7,
        regex(r"(?P<s>)(?:please\s+)?(?P<p>always|never)\s+(?P<o>\S.*)", re.IGNORECASE),
        frozenset({"always", "never"}),
    ),
    _rule("preference", 0.7, r"always|never", keywords="always never", subject=r"we|i|you|the user"),
    _rule(
        "relationship",
        0.7,
        r"uses?|depends?\s+on|owns?|(?:is|are)\s+owned\s+by|manages?|maintains?|leads?|reports?\s+to|belongs?\s+to"
        r"|(?:is|are)\s+part\s+of|requires?|needs?|contains?|replaces?|replaced|calls?|extends?|implements?"
        r"|works?\s+(?:on|with|for|at)|(?:is|are)\s+responsible\s+for|is|are",
        keywords="use uses depend depends own owns manage manages maintain maintains lead leads report reports belong"
        " belongs require requires need needs contain contains replace replaces replaced call calls extend extends"
        " implement implements work works is are",
    ),
)

_KEYWORDS: Final = frozenset[str]().union(*(rule.keywords for rule in _RULES))

_MONTH: Final = rf"(?=[A-Z])(?i:{MONTH})"
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE: Final = regex(
    rf"\b(?:\d{{4}}-\d\d-\d\d|{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+\d{{4}})?|{_MONTH}\s+{_DAY}\b(?:,?\s+\d{{4}})?"
    rf"|{_MONTH}\s+\d{{4}}|Q[1-4]\s+\d{{4}})\b"
)
_DIGIT: Final = regex(r"\d")
_ISO: Final = regex(r"-\d\d-\d\d")
_ANY_MONTH: Final = regex("|".join(f"{name[0]}(?i:{name[1:3]})" for name in MONTH_NAMES))
_PAIR: Final = regex(r"(?P<key>[A-Za-z][\w ./()-]{0,60}?)(?:\s*:\s+|\s*=\s*)(?P<value>\S.*)")
_SETTING: Final = regex(
    r"(?P<key>--[a-z][\w-]+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z][\w-]*(?:\.[\w-]+)+)(?:\s*[:=]\s*|\s+)(?P<value>\S+)"
)
_CUES: Final = regex(r"note|gotcha|pattern|decision|decided|important|todo|warning|example|e\.g|https?", re.IGNORECASE)
_OPENING: Final = regex(rf"^(?:{_CUES.pattern}):\s+", re.IGNORECASE)
_CLAUSE: Final = regex(
    r"\b(?:is|are|was|were|has|have|had|will|can|should|must|do|does|we|i|you|there|if|when)\b", re.IGNORECASE
)
_PRONOUN: Final = regex(
    r"(?:it|this|that|these|those|there|he|she|they|which|what|who|where|when|if|and|but|so|because|how|why|note|then|here)\b",
    re.IGNORECASE,
)
_SUBCLAUSE: Final = regex(
    r"\s(?:when|whenever|while|if|unless|because|although|though|after|before|until|since|that|which|who)\s",
    re.IGNORECASE,
)
"""What parts a sentence: a subject that reaches beyond it belongs to another verb."""
_USER: Final = frozenset({"i", "my", "me"})
_BULLET: Final = regex(r"^\s{0,12}(?:[>*+•-]\s+){0,4}(?:\d{1,3}[.)]\s)?(?:\[[ xX]\]\s)?")
_ARTICLE: Final = regex(r"^(?:the|a|an|our)\s+", re.IGNORECASE)
_PREPOSITION: Final = regex(r"\s+(?:on|in|at|by|since|until|of)$")
_LONGEST: Final = 500
_END: Final = regex(r"[.!?]\s+")
# As far as a rule can reach for its keyword: the subject, an adverb and the first words of the predicate hold no sign.
_REACH: Final = 160
_HEAD: Final = regex(rf"[^,;:()]{{0,{_REACH}}}")
_WORDS: Final = 8
_REASON: Final = regex(
    r"[,;]?\s+(?:because|since|so that|due to|as it|as we|in order to)\b|;|\s+[-\u2013\u2014]\s+", re.IGNORECASE
)


# --- the reading ----------------------------------------------------------------------------


def _facts(memory: Memory) -> Iterator[Fact]:
    """Yield every fact a rule finds, good or bad."""
    about = memory.section.rpartition(" > ")[2] if memory.section else memory.title
    for line in _without_code(memory.content).splitlines():
        bare = line if line[:1].isalpha() else _BULLET.sub("", line)
        text = bare.replace("**", "").replace("__", "").strip()
        if text.startswith("#") or text.endswith("?"):
            continue
        pair = _pair(text, about)
        if pair is not None:
            yield pair
            continue
        yield from _from_sentences(text)


def _from_sentences(line: str) -> Iterator[Fact]:
    """Yield what the sentences of a *line* state; most hold nothing by which a rule or a date is known."""
    dated, start = _may_hold_date(line), 0
    ends = [(each.start() + 1, each.end()) for each in _END.finditer(line)]
    for stop, following in (*ends, (len(line), 0)):
        sentence, start = line[start : min(stop, start + _LONGEST)], following
        text = (_OPENING.sub("", sentence) if ":" in sentence else sentence).rstrip(" .!")
        if text and not text.endswith("?"):
            words = _KEYWORDS.intersection(_head(text).casefold().split())
            if words or dated:
                yield from _from_sentence(text, sentence, words, dated=dated)


def _without_code(text: str) -> str:
    """Return *text* with a line break in the place of each fenced block."""
    pieces, end = [], 0
    for begin, behind in fenced_blocks(text):
        pieces.append(text[end:begin])
        end = behind
    return "\n".join((*pieces, text[end:]))


def _pair(text: str, about: str) -> Fact | None:
    """Return the fact of a "key: value" line, or None when it is a sentence like any other."""
    setting = _SETTING.fullmatch(text)
    if setting is not None:
        return _fact("config", 0.9, (setting["key"], "is set to", setting["value"]), text)
    pair = _PAIR.fullmatch(text[:500]) if ":" in text or "=" in text else None
    if pair is None or _CUES.fullmatch(pair["key"]) or _CLAUSE.search(pair["key"]) or len(pair["key"].split()) > 4:
        return None
    key = pair["key"].strip()
    said = (about, key.casefold(), pair["value"]) if about else (key, "is", pair["value"])
    return _fact("kv", 0.9, said, text)


def _from_sentence(text: str, sentence: str, words: frozenset[str], *, dated: bool) -> Iterator[Fact]:
    """Yield the fact that the *text* of a sentence states with its key *words*, and the date it names."""
    likely = _likely(words) if words else ()
    rule, match = next(((rule, match) for rule in likely if (match := rule.shape.fullmatch(text))), (None, None))
    subject = ""
    if rule is not None and match is not None and not (_PRONOUN.match(match["s"]) or _SUBCLAUSE.search(match["s"])):
        subject = match["s"] or "we"
        said = (subject, match["p"].replace("'", ""), _REASON.split(match["o"], maxsplit=1)[0])
        yield _fact(rule.type, rule.confidence, said, sentence)
    date = _DATE.search(text) if dated and _DIGIT.search(text) and _may_hold_date(text) else None
    if date is not None:
        what = subject or text[: date.start()].strip(" ,(")
        yield _fact("temporal", 0.5, (_PREPOSITION.sub("", what), "dated", date.group()), sentence)


@lru_cache(maxsize=1024)
def _likely(words: frozenset[str]) -> tuple[_Rule, ...]:
    """Return the rules that a sentence with these key *words* may fit."""
    return tuple(rule for rule in _RULES if not rule.keywords.isdisjoint(words))


def _head(text: str) -> str:
    """Return so much of a sentence that all words stand in it by which a rule may know it."""
    found = _HEAD.match(text)
    head = found[0] if found else text
    # A cut among few words, or behind blanks in a row, may come too early.
    whole = len(head) < _REACH or (head.isprintable() and "  " not in head and head.count(" ") > _WORDS)
    return head if whole else text


def _may_hold_date(text: str) -> bool:
    """Return whether a date is worth looking for: that takes longer than all else of a sentence with a number."""
    return "Q" in text or _ISO.search(text) is not None or _ANY_MONTH.search(text) is not None


def _fact(kind: FactType, confidence: float, said: tuple[str, str, str], quote: str) -> Fact:
    """Return the fact, its parts trimmed to what they name."""
    subject, predicate, thing = said
    named = _ARTICLE.sub("", subject.strip())
    return Fact(
        subject="user" if named.casefold() in _USER else named,
        predicate="is" if predicate in {"am", "m"} else " ".join(predicate.casefold().split()),
        object=thing.strip().strip("\"'`").rstrip(" .,;"),
        type=kind,
        confidence=confidence,
        decay_rate=DECAY_RATES[kind],
        quote=quote.strip(),
    )


def _is_complete(fact: Fact) -> bool:
    """Return whether *fact* is whole: parts long enough to mean something and a subject short enough to be one."""
    return 0 < len(fact.subject) <= 80 and len(fact.predicate) >= 2 and 2 <= len(fact.object) <= 300
