"""Compare a statement with an earlier one about the same thing: it changes it, denies it, or is related.

A statement has a topic and says something about it. Two statements are compared by the words they share, by the words
of their topics that they do not share, and by their values. If the topics agree, a stated change is an update. A
denial, or another value from another source, is a conflict. A text that is merely near is a link. None of these is
ever a reason to merge.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

from msgspec import Struct

from recollect.lazy import cache_short, regex
from recollect.text.changes import is_exception, is_report, is_uncertain, states_change, states_event
from recollect.text.differences import NEGATORS, OPPOSITES, Said, paired, root, said
from recollect.text.slots import changed_slot
from recollect.text.tokenizer import analyse_word, read_words
from recollect.text.wording import word_table

Relation = Literal["updates", "conflicts", "related"]

MAX_STATEMENT_CHARACTERS: Final = 400
"""Texts with more characters are more than one statement: nothing is decided about them."""
ABOUT_THE_SAME: Final = 0.5
"""The share of an earlier topic that a later statement names, and the least cosine of the two."""
NEARLY_ALL: Final = 0.75
"""The share of an earlier statement from which on a later one repeats nearly all of it."""
LEAST_SHARED_WITH_CUE: Final = 0.25
"""The least shared part of the shorter statement for a link, if there is a cue of change or of another source."""
LEAST_COSINE_RELATED: Final = 0.6
"""The least cosine for a link."""
LEAST_COSINE_APART: Final = 0.75
"""The least cosine for a link between statements that seem to be about two things."""
LEAST_COSINE_TO_ORDER: Final = 0.35
"""The least cosine, with some shared words, for two statements to be ordered as being about the same thing."""
MIN_SHARED_WORDS: Final = 2
"""How many words these must share."""
MAX_FRAME_WORDS: Final = 20
"""Statements with more words are not compared word by word."""
LEAST_COSINE_WITH_WORDS: Final = 0.4
"""The least cosine for a link if the words agree."""


class Term(Struct, frozen=True, kw_only=True):
    """One content word of a statement: its stems, and the kind of thing it stands for."""

    text: str
    stems: frozenset[str]
    kind: str
    numbers: bool = False
    """Whether it is a number or a date."""


_NO_TERM: Final = Term(text="", stems=frozenset(), kind="word")


class Claim(Struct, frozen=True, kw_only=True):
    """A statement, read."""

    terms: tuple[Term, ...]
    topic: tuple[Term, ...]
    plain: tuple[Term, ...]
    """Its words without values."""
    words: frozenset[str]
    """All its words, as they are written."""
    stems: frozenset[str]
    values: frozenset[tuple[str, str]]
    counts: bool
    """Whether it has a plain number."""
    counted: frozenset[str]
    """What its numbers count: the words right after them."""
    opening: tuple[Term, ...]
    """Its first words, with their numbers."""
    letters: frozenset[str]
    """The single letters that distinguish one thing from another: hall A."""
    denied: frozenset[str]
    """The stems of what it says is not so."""
    question: bool

    @property
    def head(self) -> Term:
        """Return the first word of its topic."""
        return self.topic[0]


class _Pair(Struct, frozen=True, kw_only=True):
    """Two statements, read, with what they have in common."""

    new: str
    old: str
    later: Claim
    earlier: Claim
    shared: tuple[Term, ...]
    """The words of the earlier one, values aside, that the later one has too."""
    cue: re.Match[str] | None
    """Where the later one states a change."""
    event: bool
    """Whether that is an event, which says less about what was before."""
    clash: bool
    """Whether their topics differ."""


def change(
    new: str,
    old: str,
    *,
    cosine: float | None = None,
    alike: bool = True,
    close: bool = False,
    before: bool = False,
    apart: bool = False,
    in_full: bool = True,
) -> Relation | None:
    """Return what *new* is to *old*, made before it: the one reader of changes. None when they are unrelated.

    Both are read as statements, unless *in_full* is false because there are too many of them. Texts that are *alike* or
    related are also compared word by word, which decides first; *close* ones share most words. A text that is dated
    *before* the other, or stands *apart* under another heading, can deny it but not change it.
    """
    found = None
    if in_full:
        found = relation(old, new, cosine=cosine) if before else relation(new, old, cosine=cosine)
    if found is not None and (before or apart):
        found = "related"
    if not (alike or found):
        return None
    return changed_slot(new, old, close=close, may_update=not (before or apart)) or found


def relation(new: str, old: str, *, cosine: float | None = None) -> Relation | None:
    """Return what *new* is to *old*, a statement made before it; None if they are unrelated."""
    if max(len(new), len(old)) > MAX_STATEMENT_CHARACTERS:
        return None
    if moves_away(new, old):
        return "updates"
    if (cosine or 0.0) < LEAST_COSINE_RELATED and not _may_relate(_stems(new), _stems(old)):
        return None
    pair = _pair(new, old)
    least = LEAST_COSINE_WITH_WORDS if _share(pair.earlier.topic, pair.later) == 1 else ABOUT_THE_SAME
    if (cosine is None or cosine >= least) and not pair.clash and not _SENTENCE.search(old):
        if _changes(pair):
            return "updates"
        if _contradicts(pair):
            return "conflicts"
    return "related" if _is_related(pair, cosine) else None


_RESIDES: Final = regex(
    r"(?P<who>[\w' ]{1,40}?) (?:(?:am|is|are|'m|'re)(?: currently| now)? (?:based|living|located)|"
    r"(?:currently |now )?lives?) (?:in|at|on|near) \w[^.!?;\n]{0,80}[.!]?",
    re.IGNORECASE,
)
_MOVES: Final = regex(
    r"(?P<who>[\w' ]{1,40}?) (?:(?:have|has|'ve)(?: just| recently)? )?(?:just |recently )?(?:moved|relocated)"
    r" (?:from [^.!?;\n]{1,40} )?to \w[^.!?;\n]{0,80}[.!]?",
    re.IGNORECASE,
)


def moves_away(new: str, old: str) -> bool:
    """Return whether *new* says that somebody moved who, by *old*, lives elsewhere: "I live in …", "I moved to …"."""
    home, move = _RESIDES.fullmatch(old.strip()), _MOVES.fullmatch(new.strip())
    return home is not None and move is not None and home["who"].lower() == move["who"].lower()


def gives_other_value(new: str, old: str) -> bool:
    """Return whether two short statements are the same but for one word in their later half: a value, not a subject.

    "We run PostgreSQL 15" and "We run PostgreSQL 17". Nothing says that one superseded the other, so this decides only
    the order in which they are shown.
    """
    ours, theirs = _frame(new), _frame(old)
    if len(ours) != len(theirs) or not 3 <= len(ours) <= MAX_FRAME_WORDS:
        return False
    differing = [place for place, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]]
    return len(differing) == 1 and 2 * differing[0] >= len(ours) and bool(_stems(new) & _stems(old))


@cache_short(1024)
def _frame(text: str) -> tuple[str, ...]:
    """Return the words of *text* in lower case; none if there are surely too many."""
    if len(text.split(None, 2 * MAX_FRAME_WORDS)) > 2 * MAX_FRAME_WORDS:
        return ()
    return tuple(word.text.lower() for word in read_words(text))


def same_subject(new: str, old: str, *, cosine: float | None = None) -> bool:
    """Return whether two statements are about the same thing, for ordering: looser than a relation.

    They are if they are related, near in meaning, or rather near with shared words; without a model, more than one.
    """
    if max(len(new), len(old)) > MAX_STATEMENT_CHARACTERS:
        return False
    shared = len(_stems(new) & _stems(old))
    if relation(new, old, cosine=cosine) is not None:
        return cosine is not None or shared >= MIN_SHARED_WORDS
    if cosine is None:
        return False
    return cosine >= ABOUT_THE_SAME or (cosine >= LEAST_COSINE_TO_ORDER and shared >= MIN_SHARED_WORDS)


_SENTENCE: Final = regex(r"[.!?;]\s+\S|\n\s*\S")
"""A text with several sentences is not superseded because of one: the rest would be lost with it."""


def _may_relate(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Return whether two texts share enough stems to be worth reading, which takes longer."""
    return len(ours & theirs) >= max(1, LEAST_SHARED_WITH_CUE * min(len(ours), len(theirs)))


@cache_short(1024)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem for word in read_words(text) if not word.stop for stem in word.stems)


def _pair(new: str, old: str) -> _Pair:
    later, earlier = read_claim(new), read_claim(old)
    stated = _new_cue(states_change(new), new, old)
    cue = stated or _new_cue(states_event(new), new, old)
    return _Pair(
        new=new,
        old=old,
        later=later,
        earlier=earlier,
        shared=tuple(term for term in earlier.terms if _named(term, later)),
        cue=cue,
        event=stated is None,
        clash=_clash(new, later, earlier, cue),
    )


def _new_cue(cue: re.Match[str] | None, new: str, old: str) -> re.Match[str] | None:
    """Return *cue* unless it is negated, or the earlier statement has it too and no new value has to follow."""
    if cue is None or _NEGATOR.search(new[max(0, cue.start() - 12) : cue.start()]):
        return None
    told = cue.group().casefold()
    again = told in {"now", "currently", "from now on"} or re.match(r"\s+to\b", new[cue.end() :])
    known = told if told.count(" ") < 3 else told.partition(" ")[0]
    return cue if again or not re.search(rf"\b{re.escape(known)}\b", old, re.IGNORECASE) else None


# --- reading --------------------------------------------------------------------------------

_COPULA: Final = regex(
    r"\b(?:is|are|was|were|am|be|been|has|have|had|must|(?-i:may)|can|can't|should|ist|sind|hat|wird|es|son|está|será|est|sont"
    r"|é|são)\b|[:=]",
    re.IGNORECASE,
)
"""After one of these, the topic ends."""
_VALUES: Final = frozenset({"number", "date", "version", "unit"})


@cache_short(512)
def read_claim(text: str) -> Claim:
    """Return *text* as a statement."""
    terms, behind = _terms(text), _COPULA.search(text)
    return Claim(
        terms=terms,
        topic=_topic(text) or terms or (_NO_TERM,),
        plain=tuple(term for term in terms if term.kind != "value"),
        words=frozenset(word.text for word in said(text)),
        stems=frozenset(stem for term in terms for stem in term.stems),
        values=_values(text),
        counts=any(word.kind == "number" for word in said(text)),
        counted=_counted(text),
        opening=_terms(text[: behind.start()]) if behind else terms[:2],
        letters=frozenset(re.findall(r"(?<=[a-z] )[A-Z]\b(?!\.)", text)),
        denied=_denied(text),
        question=text.rstrip(" \"')").endswith("?"),
    )


def _values(text: str) -> frozenset[tuple[str, str]]:
    """Return the values of *text* with their kinds; the weekday of a given date is not a value of its own."""
    values = {(_slot(word), word.text) for word in said(text) if word.kind in _VALUES}
    dated = any(kind == "date" and "-" in value for kind, value in values)
    return frozenset(each for each in values if not (dated and each[0] == "date" and each[1] in _WEEKDAYS))


_WEEKDAYS: Final = word_table("mon tue wed thu fri sat sun")


def _slot(word: Said) -> str:
    """Return the kind of value: an ordinal is not a number, a time of day is not a date."""
    if word.kind == "number":
        return "ordinal" if word.text.startswith("#") else "number"
    return "time" if word.kind == "date" and ":" in word.text else word.kind


@cache_short(2048)
def _terms(text: str) -> tuple[Term, ...]:
    """Return the words of *text* that are not stop words."""
    return tuple(_term(word.text, word.stems) for word in read_words(text) if not word.stop)


@lru_cache(maxsize=4096)
def _term(word: str, stems: tuple[str, ...]) -> Term:
    """Return *word* with the kind of thing it stands for by itself."""
    read = said(word)
    numbers = any(_slot(each) in {"number", "date"} for each in read)
    return Term(text=word.casefold(), stems=frozenset(stems), kind=_kind(word, read), numbers=numbers)


def _kind(word: str, read: Sequence[Said]) -> str:
    kinds = {each.kind for each in read}
    if kinds & _VALUES and not kinds - _VALUES:
        return "word" if word.endswith("ly") else "value"  # a weekly report is not the monthly one
    if any(char.isdigit() for char in word):
        return "code" if any(char.isalpha() for char in word) else "value"
    return "code" if "code" in kinds else "name" if "name" in kinds else "word"


def _topic(text: str) -> tuple[Term, ...]:
    """Return the words before the verb: what the statement is about."""
    behind = _COPULA.search(text)
    terms = _terms(text[: behind.start()] if behind else text)
    kept = (each for at, each in enumerate(terms) if behind or at == 0 or each.kind == "word")
    return tuple(term for term in kept if term.kind != "value" and term.stems.isdisjoint(_LIGHT))


_LIGHT: Final = word_table(
    "use need take get go come make run give put keep want do cost pay hold still alreadi alway usual onli also"
)
"""Verbs and adverbs that say little about a topic by themselves."""


_NEGATOR: Final = regex(
    r"\b(?:rather than|instead of|no longer|any ?more|[\w']+n't|leave|avoid|omit|skip|kein\w*|nicht|nie|ya no"
    r"|nunca|jamais|não|pas|" + "|".join(sorted(NEGATORS)) + r")\b",
    re.IGNORECASE,
)


def _denied(text: str) -> frozenset[str]:
    """Return the stems of the first content word after each negation in *text*."""
    found: set[str] = set()
    for negator in _NEGATOR.finditer(text):
        clause = re.split(r"[,;.:]", text[negator.end() :], maxsplit=1)[0]
        first = next((term for term in _terms(clause)), None)
        found |= first.stems if first else frozenset()
    return frozenset(found)


def _counted(text: str) -> frozenset[str]:
    """Return the words right after the numbers of *text*."""
    words = said(text)
    behind = (
        root(after.text) for word, after in pairwise(words) if word.kind == "number" and after.kind in {"word", "unit"}
    )
    return frozenset(word for word in behind if not analyse_word(word).stop)


# --- comparing ------------------------------------------------------------------------------


def _named(term: Term, other: Claim) -> bool:
    """Return whether *other* has the word too. Values never count; an identifier matches by its digits or whole."""
    stems = term.stems
    if term.kind == "code":
        stems = frozenset(stem for stem in stems if any(map(str.isdigit, stem))) or frozenset({max(stems, key=len)})
    return term.kind != "value" and not other.stems.isdisjoint(stems)


def _share(terms: Sequence[Term], other: Claim) -> float:
    return sum(_named(term, other) for term in terms) / max(1, len(terms))


def _clash(new: str, later: Claim, earlier: Claim, cue: re.Match[str] | None) -> bool:
    """Return whether the two are about different things.

    They are if both topics have words, numbers or letters that the other statement lacks, or if the later topic goes on
    after what they share: a student card is not a student.
    """
    zone = _zone(new, cue, earlier)
    said_words = [term for term in zone if term.kind != "value" and term.stems.isdisjoint(_LIGHT)]
    ours = [term for term in said_words if not _named(term, earlier) and not _turns_round(term, earlier)]
    theirs = [term for term in earlier.topic if not _named(term, later) and not _turns_round(term, later)]
    goes_on = cue is not None and bool(ours) and said_words[-1] is ours[-1]
    goes_on = goes_on and ours[-1].text in new[: cue.start() if cue else 0].casefold()
    owned = any(term.text.endswith("'s") for term in ours)
    named = _has_own_name(ours) and _has_own_name([term for term in earlier.terms if not _named(term, later)])
    numbered = _numbers(zone[1:3], earlier) and _numbers(earlier.opening[1:], later)
    lettered = later.letters - earlier.letters and earlier.letters - later.letters
    return bool((ours and theirs) or goes_on or owned or (named and cue) or numbered or lettered)


def _has_own_name(terms: Iterable[Term]) -> bool:
    return any(term.kind == "name" for term in terms)


def _turns_round(term: Term, other: Claim) -> bool:
    """Return whether a word negates, or is the opposite of a word of *other*: it does not distinguish topics."""
    opposed = _OPPOSED.get(root(term.text))
    turned = opposed is not None and not opposed.isdisjoint(map(root, other.words - {term.text}))
    return turned or term.text in NEGATORS


def _numbers(terms: Iterable[Term], other: Claim) -> list[Term]:
    """Return the numbers and dates among *terms* that the *other* statement lacks."""
    return [term for term in terms if term.numbers and term.text not in {each.text for each in other.terms}]


def _zone(new: str, cue: re.Match[str] | None, earlier: Claim) -> tuple[Term, ...]:
    """Return the words that say what *new* is about: before its cue of change, or right after it."""
    claim = read_claim(new)
    if cue is None:
        return (*claim.topic, *(term for term in claim.opening if term.kind == "value"))
    before = re.split(r"[,;:]\s", new[: cue.start()])[-1]
    for part in (_COPULA.split(before, maxsplit=1)[0], before):
        if any(_named(term, earlier) for term in _terms(part)):
            return _terms(part)
    inside, behind = cue.group().partition(" ")[2] if _HOLDS_TOPIC.match(cue.group()) else "", new[cue.end() :]
    behind = behind.strip(" ,;:")
    if cue.start() == 0 and _OPENER.match(cue.group()):
        return claim.terms
    ended = inside.endswith(" to") or re.match(r"to\b", behind)
    return _terms(inside + " " + ("" if ended else _PHRASE_END.split(behind, maxsplit=1)[0]))


_HOLDS_TOPIC: Final = regex(r"(?:set|turn|turned|switch|switched|put|brought|cut|took|gave)\b", re.IGNORECASE)
"""A cue with its topic inside: set ... to, turned ... on."""
_OPENER: Final = regex(r"(?:since|after|as of|following|due to|from|starting|ab|seit|nach|desde|tras)\b", re.IGNORECASE)
"""A cue that opens a statement and says since when it holds."""
_PHRASE_END: Final = regex(
    r"\b(?:to|from|with|instead|because|at|in|on|by|for|is|are|was)\b|[,;:](?=\s)|\.\s", re.IGNORECASE
)


def _changes(pair: _Pair) -> bool:
    """Return whether the later statement states a change of what the earlier one says."""
    later, earlier = pair.later, pair.earlier
    if pair.cue is None or not pair.shared or later.question or earlier.question or is_report(pair.new):
        return False
    if not any(_named(term, earlier) for term in _zone(pair.new, pair.cue, earlier)):
        return False
    if not _same_topic(later, earlier) or _loses(later, earlier):
        return False
    if pair.old.count(", ") > 1 and _share(earlier.plain, later) < NEARLY_ALL:
        return False
    if pair.event:
        values = {each for each in earlier.values if each[0] != "unit"}
        same = values and values <= later.values
        whole = len(pair.shared) >= 2 and _share(earlier.plain, later) >= NEARLY_ALL
        return whole and not same and not _are_opposed(later, earlier)
    return _same_attribute(pair)


def _same_topic(later: Claim, earlier: Claim) -> bool:
    """Return whether the later statement names what the earlier one is about: most of it, or half and a like value.

    An identifier stands for all of it.
    """
    about = _share(earlier.topic, later)
    measured = not later.counted.isdisjoint(earlier.counted)
    valued = _same_class(later, earlier) or (_same_slot(later, earlier) and (measured or not later.counts))
    if any(term.kind == "code" and _named(term, later) for term in earlier.topic):
        return about > ABOUT_THE_SAME or valued or _are_opposed(later, earlier)
    return _named(earlier.head, later) and (about > ABOUT_THE_SAME or (about == ABOUT_THE_SAME and valued))


def _loses(later: Claim, earlier: Claim) -> bool:
    """Return whether the later statement gives new values, but for fewer things than the earlier one does."""
    fresh, lost = (
        [value for kind, value in one.values - other.values if kind != "unit"]
        for one, other in ((later, earlier), (earlier, later))
    )
    return 0 < len(fresh) < len(lost)


def _same_attribute(pair: _Pair) -> bool:
    """Return whether both speak of the same attribute of their topic, by any of the signs for it."""
    later, earlier = pair.later, pair.earlier
    told = [term for term in earlier.plain if term not in earlier.topic and _named(term, later)]
    whole = len(earlier.topic) > 2 and _share(earlier.topic, later) >= NEARLY_ALL
    if told or whole or _same_slot(later, earlier) or _kept_and_new(later, earlier) or _same_class(later, earlier):
        return True
    if _are_opposed(later, earlier) or _denies(later, earlier) or _is_moved(pair):
        return True
    noun = any(term.kind == "word" for term in earlier.topic) and _share(earlier.topic, later) == 1
    is_value = noun and len(pair.shared) >= 2 and _OWNS.search(pair.old) is None
    return is_value and _GIVES_VALUE.search(pair.new) is not None


_OWNS: Final = regex(r"\b(?:has|have|had|hat|haben|tiene|ont|tem)\b")
"""What a topic has is one of many things that may be said of it."""
_GIVES_VALUE: Final = regex(r"\b(?:to|(?:is|are) now|now (?:is|are)|replaced .{1,40}(?:with|by))\b", re.IGNORECASE)


def _same_slot(later: Claim, earlier: Claim) -> bool:
    """Return whether both give a value of one kind, and not the same."""
    kinds = {kind for kind, _ in later.values - earlier.values} & {kind for kind, _ in earlier.values - later.values}
    return bool(kinds - ({"unit"} if _same_measure(later, earlier) else {"unit", "number"}))


def _same_measure(later: Claim, earlier: Claim) -> bool:
    """Return whether their numbers may count the same: not a price and a quantity of it."""
    return later.counted == earlier.counted or not later.counted.isdisjoint(earlier.counted)


def _is_moved(pair: _Pair) -> bool:
    """Return whether the earlier statement tells a place and the later one another."""
    place = _PLACE.search(pair.old)
    told = _terms(place.group(1)) if place else ()
    return bool(told) and told[0].kind != "value" and _MOVED.search(pair.new) is not None


_PLACE: Final = regex(r"\b(?:in|on|at|under|behind)\s+(?:the\s+|my\s+|our\s+)?([\w-]+)", re.IGNORECASE)
_MOVED: Final = regex(r"\b(?:moved|moves|relocated|migrated|transferred|shifted)\s+(?:in)?to\b", re.IGNORECASE)


def _kept_and_new(later: Claim, earlier: Claim) -> bool:
    """Return whether the later statement names the earlier value and one more of its kind: 35 days instead of 14."""
    kinds = {kind for kind, _ in later.values - earlier.values} & {kind for kind, _ in later.values & earlier.values}
    return bool(kinds - {"unit"})


_CLASSES: Final = (
    word_table("live move reloc resid stay base locat house"),
    word_table("work job employ hire join leav"),
)
"""Verbs that say where somebody lives, or for whom somebody works."""


def _same_class(later: Claim, earlier: Claim) -> bool:
    return any(not later.stems.isdisjoint(group) and not earlier.stems.isdisjoint(group) for group in _CLASSES)


def _contradicts(pair: _Pair) -> bool:
    """Return whether one denies what the other says, or another source gives another value."""
    later, earlier = pair.later, pair.earlier
    if pair.cue is not None and not pair.event:
        return False
    if later.question or earlier.question or len(pair.shared) < 2 or is_uncertain(pair.new) or is_exception(pair.new):
        return False
    if _denies(later, earlier) or _denies(earlier, later):
        return _by_words(pair) >= ABOUT_THE_SAME and not _same_slot(later, earlier)
    other_source = is_report(pair.new) and _share(earlier.topic, later) >= ABOUT_THE_SAME
    return _are_opposed(later, earlier) or (other_source and _same_slot(later, earlier))


def _denies(one: Claim, other: Claim) -> bool:
    """Return whether *one* negates a word that *other* states."""
    plain = other.stems - other.denied
    return not (one.denied & plain).isdisjoint(plain) and not one.denied & other.denied


def _are_opposed(later: Claim, earlier: Claim) -> bool:
    """Return whether a word of one is the opposite of a word of the other."""
    roots, others = ({root(word) for word in claim.words - {"of"}} for claim in (later, earlier))
    mine, theirs = roots - others, others - roots
    return any(not _OPPOSED[word].isdisjoint(theirs) for word in mine if word in _OPPOSED)


_OPPOSED: Final = paired(pair for pair in OPPOSITES if NEGATORS.isdisjoint(pair))
"""Without negators: a negation is compared by what it denies."""


def _by_words(pair: _Pair) -> float:
    """Return how much of the shorter statement both have in common."""
    return len(pair.shared) / max(1, min(len(pair.later.plain), len(pair.earlier.plain)))


def _is_related(pair: _Pair, cosine: float | None) -> bool:
    """Return whether two statements are near enough for a link."""
    told = pair.cue is not None or is_report(pair.new) or is_report(pair.old)
    by_words = _by_words(pair)
    if cosine is None:
        return by_words >= (LEAST_SHARED_WITH_CUE if told else ABOUT_THE_SAME) and len(pair.shared) >= (
            1 if told else 2
        )
    if pair.clash and not told and _is_other(pair.later, pair.earlier):
        return cosine >= LEAST_COSINE_APART
    return cosine >= LEAST_COSINE_RELATED or (
        cosine >= LEAST_COSINE_WITH_WORDS and by_words >= (LEAST_SHARED_WITH_CUE if told else ABOUT_THE_SAME)
    )


def _is_other(later: Claim, earlier: Claim) -> bool:
    """Return whether both have a value, a name or an identifier that the other lacks."""
    if later.values and later.values == earlier.values:
        return False
    return _same_slot(later, earlier) or all(
        any(term.kind in {"name", "code"} and not _named(term, other) for term in mine.topic)
        for mine, other in ((later, earlier), (earlier, later))
    )
