"""Say whether a text announces a change, what takes that back, and whether a question asks for what was before.

The words are those of everyday English, with the commonest of German, Spanish, French and Portuguese. They are cues
and not proofs: what they say counts only beside a memory about the same thing.
"""

import re
from typing import Final

from recollect.lazy import cache_short, regex

_MONTH: Final = (
    "january february march april may june july august september october november december "
    "januar februar märz april mai juni juli august september oktober november dezember"
).replace(" ", "|")


def _any_of(*phrases: str) -> re.Pattern[str]:
    """Return a pattern for any of the words and phrases in *phrases*, separated by commas, as whole words."""
    listed = [phrase.strip() for each in phrases for phrase in each.split(", ") if phrase.strip()]
    return regex(r"(?<!\w)(?:" + "|".join(phrase.replace(" ", r"\s+") for phrase in listed) + r")(?!\w)", re.IGNORECASE)


_AGAIN: Final = "again(?! (?:on|at|every|each|next)(?!\\w))"
"""What happens again on Mondays has not changed."""
_LEFT: Final = "left(?! (?:of|side|hand|over)(?!\\w))"
"""What is left of something is where it was."""

_CHANGE: Final = _any_of(
    "now, nowadays, no longer, not \\w+ any ?more, any ?more, instead, rather than, from now on, going forward, as of",
    "changed, changes, moved, moves, moving, switched, switches, replaced, replaces, swapped, renamed, reverted",
    "lowered, raised, reduced, increased, doubled, halved, bumped, dropped, cut, went up, goes up, went down, up to",
    "down to, back to, put up, upgraded, downgraded, migrated, updated, revised, extended, shortened, widened",
    "rescheduled, postponed, brought forward, shifted, cancelled, canceled, called off, stopped, quit, gave up, ended",
    "retired, removed, dropped, discontinued, closed, expired, (?<!a\\s)new, newly, finally, after all, \\w+ off",
    _AGAIN,
    "(?<!up\\s)since",
    "turned out, correction, corrected, accepted, rejected, approved, resolved, fixed, done, shipped, formerly",
    _LEFT,
    "used to, previously, was \\d\\S*, from \\S+ to, not \\S+ but, changed my mind, over to, took over, takes over",
    f"statt, nicht mehr, kein \\w+ mehr, ab sofort, ab (?:{_MONTH}), jetzt, nun, neu, neue[nrs]?, umgezogen, geändert",
    "ya no, ahora, en lugar de, a partir de, nuevo, nueva, cambió, desde, não mais, agora, em vez de, novo, nova",
    "désormais, maintenant, à partir de, au lieu de, nouveau, nouvelle, ne \\w+ plus, passe à, passe au, depuis",
)
"""A text with one of these may tell that something is no longer as it was."""

_ALTERED: Final = (
    "moved|moves|shifted|shifts|switched|switches|changed|changes|replaced|replaces|swapped|renamed|reverted|migrated"
    "|upgraded|downgraded|updated|bumped|flashed|raised|raises|lowered|lowers|reduced|reduces|increased|increases"
    "|decreased|doubled|doubles|halved|halves|cut|extended|shortened|postponed|rescheduled|relocated|transferred"
    "|converted|promoted|renewed|renegotiated|reassigned|retired|removed|discontinued|dropped|abolished|cancelled"
    "|canceled|revoked|lifted|stopped|quit|expired"
)
_HAPPENED: Final = (
    "ended|finished|closed|merged|elected|appointed|hired|resigned|joined|sold|repaired|fixed|resolved|accepted|approved"
    "|rejected|published|released|shipped|launched|settled|repaid|returned|done|became|passed away|is over|a new"
    "|the new|(?:has|have) paid|paid off|" + _LEFT + "|(?:has|have) (?:left|started|begun|become|grown)"
)
_STATED: Final = _any_of(
    "now, nowadays, currently, no longer, not \\w+ any ?more, any ?more, instead, instead of, this time, from now on",
    "going forward, effective, as of, henceforth, (?:is|are) gone",
    f"(?<!up\\s)since (?:{_MONTH}|then|yesterday|today|last|this)",
    f"from (?:{_MONTH}|today|tomorrow|this|next|monday|tuesday|wednesday|thursday|friday|saturday|sunday)",
    f"(?:starting|beginning) (?:in|on|with|from|{_MONTH}|next|this|today|tomorrow)",
    "changed (?:my|our|his|her|their) mind",
    _ALTERED,
    "(?:turned|turn|switched|set|put|brought|went|gone|goes|go|came|is|are|cut) (?:\\w+ ){0,4}(?:up|down|back) to",
    "(?:turned|turn|switched|switch) (?:\\S+ ){0,4}(?:on|off|up|down), set (?:\\S+ ){1,6}to",
    "(?:went|gone) (?:up|down)",
    "given up, gave up, gave \\S+ ?(?:\\w+ )?back, took (?:\\w+ ){0,4}away, taken over, took over, takes over",
    "stepped down",
    "(?:is|are|am|was|were) back, no more",
    _AGAIN,
    f"ab (?:{_MONTH}|sofort|heute|morgen), seit (?:{_MONTH}|heute|gestern), nicht mehr, kein\\w* (?:\\w+ )?mehr",
    "jetzt",
    "neuerdings, neue[rs]?, umgezogen, gewechselt, geändert, verschoben, erhöht, gesenkt, ersetzt, abgeschafft, statt",
    "ya no, ahora, a partir de, desde (?:ayer|hoy|hace), cambió, se mudó, en vez de, en lugar de, ha pasado a",
    "agora, não (?:\\w+ )?mais, mudou, passou a, désormais, dorénavant, maintenant, ne \\w+ plus, a déménagé",
    "au lieu de",
)
"""Stronger than a cue: this states that something changed."""

_EVENT: Final = _any_of(_HAPPENED)
"""This states that something happened, which may have changed what is said of it."""

_OPENING: Final = regex(
    r"^\W*(?:since|after|as of|following|due to|seit|nach|desde|tras|depuis|après|após)\s", re.IGNORECASE
)
"""A statement that opens like this tells since when, or after what, it holds."""

_EXCEPTION: Final = _any_of(
    "(?:this|next|that) (?:week|weekend|month|season|sprint) only, (?:today|tomorrow|tonight) only",
    "only (?:this|today)",
    "just (?:this|for|today|once), for now, for the moment, for the time being, for today, temporarily, temporary",
    "provisionally, meanwhile, as an exception, exceptionally, by way of exception, one-off, this once, until further",
    "until, till, while \\w+ is, during, for a (?:day|week|month|while), for one (?:day|week|month|night|evening)",
    "for the (?:\\w+ ){0,2}(?:weekend|week|night|evening|day|holidays?|trip|tour|festival|wedding|event|season|summer)",
    "vorübergehend, ausnahmsweise, bis auf weiteres, nur (?:heute|diese), por ahora, de momento, solo (?:hoy|esta)",
    "provisoirement, pour l'instant, exceptionnellement, por enquanto, temporariamente",
)
_SPAN: Final = _any_of(
    "(?<!from\\s)(?<!since\\s)(?<!starting\\s)(?<!of\\s)(?:this|next) (?:week|weekend|month|season)",
    "(?<!from\\s)(?<!since\\s)(?<!starting\\s)(?<!of\\s)tomorrow",
)
"""A time that ends by itself: what holds in it holds only then."""

_UNCERTAIN: Final = _any_of(
    "idea, maybe, perhaps, possibly, probably, proposes?, proposed, proposal, suggests?, suggested, suggestion",
    "plans?",
    "planned, planning, hopes?, hoping, wish, wishes, would, could, might, should we, considers?, considering",
    "thinks?",
    "thinking, wonders?, hypothesis, assume, assumes, guess, rumou?r, draft, option, if, whether, will",
    "wants? to, todo",
    "going to, intends?, expects?, vielleicht, eventuell, vorschlag, möchte, könnte, wird, soll, quizás?, tal vez",
    "propone, podría, peut-être, propose, pourrait, talvez, poderia",
)
"""What is said so is a wish, a plan or a guess: nothing has changed yet."""

_REPORT: Final = _any_of(
    "says?, said, claims?, claimed, insists?, insisted, reports, reported, states, stated, according to, argues?",
    "denies",
    "denied, maintains that, remembers, swears, told \\w+, shows? that, (?:he|she|they) counts?, count only",
    "\\w+ counts? (?:only )?(?:\\d\\S*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)",
    "(?:book|papers?|documentation|docs|manual|report|certificate|sheet|plan|table|timeline|register|ledger|log|minutes"
    "|notes|contract|file|label|map|readme|reference) (?:says?|shows?|has|have|names?|lists?|gives?|reads?|states?)",
    "in the (?:\\w+ )?(?:books?|papers|sheet|table|plan|register|ledger|file|records)",
    "laut, zufolge, behauptet, sagt, según, dice, afirma, en los papeles, selon, affirme, segundo, diz",
)
"""Another source speaks: where it says something else, both cannot be right."""

_PAST: Final = _any_of(
    "before, former, formerly, previous, previously, used to, originally, original, initially, earlier, old, older",
    "at first, first, back then, in the beginning, at the beginning, beginning, until, history, past, once, last time",
    "was, were, did, had, last (?:year|spring|summer|autumn|fall|winter|month)",
    f"in (?:early |mid |late |spring |summer |autumn |fall |winter )?(?:{_MONTH}|20\\d\\d|spring|summer|autumn|winter)",
    "vorher, früher, ehemals, zuerst, damals, antes, al principio, avant, auparavant, au début, autrefois",
)
"""A question with one of these may ask for what was before a change."""

_BEFORE: Final = _any_of(
    "before, former, formerly, previous, previously, used to, originally, original, initially, earlier, old, older",
    "at first, back then, in the beginning, at the beginning, vorher, früher, ehemals, zuerst, antes, al principio",
    "avant, auparavant, au début",
)
"""A question with one of these asks for it."""


_BYGONE: Final = _any_of(
    "previously, formerly, used to, (?:later|since|then|was|were) (?:replaced|superseded) (?:by|with), früher, ehemals",
    "auparavant, autrefois, anteriormente, antiguamente",
)
_PRESENT: Final = _any_of("now, nowadays, currently, today, instead, jetzt, heute, maintenant, désormais, ahora")


@cache_short(4096)
def calls_itself_past(text: str) -> bool:
    """Return whether *text* tells only of how something was: it says so, and does not say how it is now."""
    return _BYGONE.search(text) is not None and _PRESENT.search(text) is None


@cache_short(4096)
def announces_change(text: str) -> bool:
    """Return whether *text* has a cue that something is no longer as it was."""
    return _CHANGE.search(text) is not None


def may_ask_past(question: str) -> bool:
    """Return whether *question* may ask for how something was, so that the newest is not what is wanted first."""
    return _PAST.search(question) is not None


def asks_before(question: str) -> bool:
    """Return whether *question* asks for how something was before it changed."""
    return _BEFORE.search(question) is not None


@cache_short(4096)
def states_change(text: str) -> re.Match[str] | None:
    """Return where *text* states that something changed, not for a while, not as a wish, a plan or a question."""
    return None if _is_open(text) else _STATED.search(text) or _OPENING.search(text)


@cache_short(4096)
def states_event(text: str) -> re.Match[str] | None:
    """Return where *text* states, in the same way, that something happened."""
    return None if _is_open(text) else _EVENT.search(text)


def _is_open(text: str) -> bool:
    return is_exception(text) or is_uncertain(text) or text.rstrip(" \"')").endswith("?")


@cache_short(4096)
def is_exception(text: str) -> bool:
    """Return whether what *text* says holds for a while only."""
    return _EXCEPTION.search(text) is not None or _SPAN.search(text) is not None


@cache_short(4096)
def is_uncertain(text: str) -> bool:
    """Return whether *text* tells a wish, a plan or a guess."""
    return _UNCERTAIN.search(text) is not None


@cache_short(4096)
def is_report(text: str) -> bool:
    """Return whether *text* tells what another source says."""
    return _REPORT.search(text) is not None
