"""The signs of a query: phrases, operators, prefixes, exclusions, filters, words. Nothing here can fail."""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Literal

Kind = Literal["word", "phrase", "prefix", "exclude", "filter", "and", "or", "not", "open", "close"]
FILTERS = frozenset({"type", "tag", "source", "project", "kind", "since", "until", "on"})
MOST = 4096
"""How many signs of a query are read; what comes after them in a longer one is not asked."""
OPERATORS: dict[str, Kind] = {"AND": "and", "OR": "or", "NOT": "not"}
INSIDE: dict[str, tuple[Kind, tuple[str, ...]]] = {
    "exclude": ("exclude", ("unphrase", "unword")),
    "phrase": ("phrase", ("inside",)),
    "prefix": ("prefix", ("stem",)),
    "open": ("open", ("open",)),
    "close": ("close", ("close",)),
}

_SIGN = re.compile(
    r"""
    (?P<filter>(?<!\S)(?P<key>[a-z]+):(?:"(?P<quoted>[^"]+)"|(?P<value>[^\s"]+)))
  | (?P<exclude>(?<![^\s(])-(?:"(?P<unphrase>[^"]+)"|(?P<unword>[^\W\d_][^\s"()]*)))
  | (?P<phrase>(?<![^\s(])"(?P<inside>[^"]+)"(?=[\s).,;:!?]|$))
  | (?P<prefix>(?<![^\s(])(?P<stem>[^\s"()*:-][^\s"()*]*)\*(?=[\s)]|$))
  | (?P<open>\()
  | (?P<close>\))
  | (?P<word>[^\s()]+)
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One sign of a query: its kind, its text, and for a filter its key."""

    kind: Kind
    text: str
    key: str = ""


def lex(text: str) -> list[Sign]:
    """Return the signs of *text*, in order; a quote that closes nothing is no sign at all."""
    return [_sign(match) for match in islice(_SIGN.finditer(text), MOST)]


def _sign(match: re.Match[str]) -> Sign:
    whole, kind = match.group(), match.lastgroup
    if kind == "filter" and match["key"] in FILTERS:
        return Sign(kind="filter", text=match["quoted"] or match["value"], key=match["key"])
    if kind in INSIDE:
        return Sign(kind=INSIDE[kind][0], text=next(match[name] for name in INSIDE[kind][1] if match[name]))
    return Sign(kind=OPERATORS.get(whole, "word"), text=whole.replace('"', ""))
