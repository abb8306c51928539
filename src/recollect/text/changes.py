"""Say whether a text announces a change, and whether a question asks for what was before one.

The words are those of everyday English, with the commonest of German, Spanish, French and Portuguese. They are cues
and not proofs: what they say counts only beside a memory about the same thing.
"""

import re
from functools import lru_cache
from typing import Final

_MONTH: Final = (
    "january february march april may june july august september october november december "
    "januar februar märz april mai juni juli august september oktober november dezember"
).replace(" ", "|")


def _any_of(*phrases: str) -> re.Pattern[str]:
    """Return a pattern for any of the words and phrases in *phrases*, separated by commas, as whole words."""
    listed = [phrase.strip() for each in phrases for phrase in each.split(",") if phrase.strip()]
    return re.compile(
        r"(?<!\w)(?:" + "|".join(phrase.replace(" ", r"\s+") for phrase in listed) + r")(?!\w)", re.IGNORECASE
    )


_CHANGE: Final = _any_of(
    "now, nowadays, no longer, not \\w+ any ?more, any ?more, instead, rather than, from now on, going forward, as of",
    "changed, changes, moved, moves, moving, switched, switches, replaced, replaces, swapped, renamed, reverted",
    "lowered, raised, reduced, increased, doubled, halved, bumped, dropped, cut, went up, goes up, went down, up to",
    "down to, back to, put up, upgraded, downgraded, migrated, updated, revised, extended, shortened, widened",
    "rescheduled, postponed, brought forward, shifted, cancelled, canceled, called off, stopped, quit, gave up, ended",
    "retired, removed, dropped, discontinued, closed, expired, new, newly, finally, after all, again, since, \\w+ off",
    "turned out, correction, corrected, accepted, rejected, approved, resolved, fixed, done, shipped, formerly, left",
    "used to, previously, was \\d\\S*, from \\S+ to, not \\S+ but, changed my mind, over to, took over, takes over",
    f"statt, nicht mehr, kein \\w+ mehr, ab sofort, ab (?:{_MONTH}), jetzt, nun, neu, neue[nrs]?, umgezogen, geändert",
    "ya no, ahora, en lugar de, a partir de, nuevo, nueva, cambió, desde, não mais, agora, em vez de, novo, nova",
    "désormais, maintenant, à partir de, au lieu de, nouveau, nouvelle, ne \\w+ plus, passe à, passe au, depuis",
)
"""A text with one of these may tell that something is no longer as it was."""

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


@lru_cache(maxsize=4096)
def calls_itself_past(text: str) -> bool:
    """Return whether *text* tells only of how something was: it says so, and does not say how it is now."""
    return _BYGONE.search(text) is not None and _PRESENT.search(text) is None


@lru_cache(maxsize=4096)
def announces_change(text: str) -> bool:
    """Return whether *text* has a cue that something is no longer as it was."""
    return _CHANGE.search(text) is not None


def may_ask_past(question: str) -> bool:
    """Return whether *question* may ask for how something was, so that the newest is not what is wanted first."""
    return _PAST.search(question) is not None


def asks_before(question: str) -> bool:
    """Return whether *question* asks for how something was before it changed."""
    return _BEFORE.search(question) is not None
