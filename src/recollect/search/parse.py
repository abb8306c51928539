"""A query's text into what it asks: words, phrases, operators, filters. Any text is a query; none raises."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, Literal

from recollect.records import NO_FILTER, AllOf, AndNot, AnyOf, Expression, Filter, Phrase, Prefix, Word
from recollect.text.dates import TimeSpan, parse_moment
from recollect.text.normalise import fold
from recollect.text.tokenizer import QueryWord, read_words

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


NAMES = ("project", "type", "tag", "source", "kind")
DATES = ("since", "until", "on")
DEEPEST = 40
"""How deep parentheses may nest; deeper ones are read as plain text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What a query asks: plain words, phrases and prefixes; or a tree when it holds operators."""

    text: str
    words: tuple[QueryWord, ...] = ()
    exact: tuple[Phrase | Prefix | Word, ...] = ()
    unwanted: tuple[Expression, ...] = ()
    tree: Expression | None = None
    where: Filter = NO_FILTER
    projects: frozenset[str] | None = None

    @property
    def is_blank(self) -> bool:
        """Whether it holds no words at all, though perhaps filters."""
        return not self.text.strip()

    @property
    def asks_nothing(self) -> bool:
        """Whether nothing in it can be looked up."""
        return self.tree is None and not self.words and not self.exact


def parse(text: str, *, now: datetime, where: Filter = NO_FILTER) -> Query:
    """Return what *text* asks, its filters joined with *where*."""
    signs: list[Sign] = []
    names: list[Sign] = []
    spans: list[tuple[str, TimeSpan]] = []
    for sign in lex(text):
        span = parse_moment(sign.text, now=now) if sign.key in DATES else None
        if sign.key in NAMES:
            names.append(sign)
        elif span is not None:
            spans.append((sign.key, span))
        else:
            signs.append(_literal(sign) if sign.kind == "filter" else sign)
    query = Query(
        text=" ".join(_written(sign) for sign in signs),
        where=_bounded(_named(where, names), spans),
        projects=frozenset(sign.text for sign in names if sign.key == "project") or None,
    )
    tree = _tree(signs)
    return replace(query, **({"words": _spoken(signs), "tree": tree} if tree else _plain(signs)))


def _written(sign: Sign) -> str:
    return f"-{sign.text}" if sign.kind == "exclude" else sign.text


def _literal(sign: Sign) -> Sign:
    """Return a filter whose value means nothing as the word it looks like."""
    return Sign(kind="word", text=f"{sign.key}:{sign.text}")


def _named(where: Filter, filters: Sequence[Sign]) -> Filter:
    """Return *where* with the names that *filters* wish for beside its own; a list that admits nothing stays so."""
    wishes: dict[str, Any] = {}
    for key in NAMES[1:]:
        own, more = getattr(where, f"{key}s"), [sign.text for sign in filters if sign.key == key]
        if more and own != ():
            wishes[f"{key}s"] = tuple(dict.fromkeys((*(own or ()), *more)))
    return replace(where, **wishes) if wishes else where


def _bounded(where: Filter, spans: Sequence[tuple[str, TimeSpan]]) -> Filter:
    """Return *where* within the dates of the filters too."""
    starts = [span.start for key, span in spans if key in ("since", "on")]
    ends = [span.end for key, span in spans if key in ("until", "on")]
    since = max((each for each in (where.since, *starts) if each is not None), default=None)
    until = min((each for each in (where.until, *ends) if each is not None), default=None)
    return replace(where, since=since, until=until) if spans else where


def _spoken(signs: Sequence[Sign]) -> tuple[QueryWord, ...]:
    """Return the words a reader would see in *signs*, operators apart."""
    text = " ".join(sign.text for sign in signs if sign.kind in ("word", "phrase", "prefix"))
    return read_words(text)


def _plain(signs: Sequence[Sign]) -> dict[str, object]:
    """Read *signs* as plain words, phrases, prefixes and exclusions; operators are words here."""
    words = read_words(" ".join(sign.text for sign in signs if sign.kind in ("word", "and", "or", "not")))
    exact = [_leaf(sign) for sign in signs if sign.kind in ("phrase", "prefix")]
    unwanted = [_leaf(sign) for sign in signs if sign.kind == "exclude"]
    return {
        "words": words,
        "exact": tuple(dict.fromkeys(leaf for leaf in exact if leaf is not None)),
        "unwanted": tuple(dict.fromkeys(leaf for leaf in unwanted if leaf is not None)),
    }


def _leaf(sign: Sign) -> Phrase | Prefix | Word | None:
    if sign.kind == "prefix":
        folded = fold(sign.text).strip()
        return Prefix(text=folded) if folded.isalnum() else _phrase(sign.text)
    return _phrase(sign.text)


def _phrase(text: str) -> Phrase | Word | None:
    """Return the exact forms of *text* as one leaf: a word, or words next to each other."""
    words = read_words(text)
    tokens = tuple(token for word in words for token in word.tokens)
    if len(words) == 1 and symbol_of(words[0]):
        return Word(text=symbol_of(words[0]), form="exact")
    if len(tokens) == 1:
        return Word(text=tokens[0], form="exact")
    return Phrase(texts=tokens) if tokens else None


def symbol_of(word: QueryWord) -> str:
    """Return the whole of a name whose sign is part of it, such as c++ or c#; blank for other words."""
    return next((stem for stem in word.stems if stem[-1] in "+#"), "")


def _tree(signs: Sequence[Sign]) -> Expression | None:
    """Return *signs* as a tree when they hold operators in a sensible order, else None."""
    if not any(sign.kind in ("and", "or", "not") for sign in signs):
        return None
    reader = _Reader(signs)
    tree = reader.any_of(0)
    return tree if reader.at == len(signs) and not reader.failed else None


class _Reader:
    """A reader of signs by descent: OR over AND over NOT; words side by side are joined by AND."""

    def __init__(self, signs: Sequence[Sign]) -> None:
        self.signs = signs
        self.at = 0
        self.failed = False

    def _next(self) -> str:
        return self.signs[self.at].kind if self.at < len(self.signs) else "end"

    def any_of(self, depth: int) -> Expression | None:
        parts = [self.all_of(depth)]
        while self._next() == "or":
            self.at += 1
            parts.append(self.all_of(depth))
        kept = self._complete(parts)
        return AnyOf(parts=kept) if len(kept) > 1 else next(iter(kept), None)

    def all_of(self, depth: int) -> Expression | None:
        wanted: list[Expression | None] = []
        unwanted: list[Expression | None] = []
        while (kind := self._next()) not in ("or", "close", "end") and not self.failed:
            if kind == "and":
                self.failed |= not wanted or self._follows(("and", "or", "close", "end"))
                self.at += 1
            elif kind == "not":
                self.at += 1
                unwanted.append(self.one(depth))
            elif kind == "exclude":
                unwanted.append(_phrase(self.signs[self.at].text))
                self.at += 1
            else:
                wanted.append(self.one(depth))
        kept = self._complete(wanted)
        if not kept:
            self.failed = True
            return None
        whole = AllOf(parts=kept) if len(kept) > 1 else kept[0]
        hidden = self._complete(unwanted)
        return AndNot(wanted=whole, unwanted=AnyOf(parts=hidden)) if hidden else whole

    def one(self, depth: int) -> Expression | None:
        kind = self._next()
        if kind in ("end", "and", "or", "not", "close") or depth > DEEPEST:
            self.failed = True
            return None
        sign = self.signs[self.at]
        self.at += 1
        if kind != "open":
            return _leaf(sign)
        inner = self.any_of(depth + 1)
        self.failed |= self._next() != "close"
        self.at += 1
        return inner

    def _follows(self, kinds: tuple[str, ...]) -> bool:
        after = self.signs[self.at + 1].kind if self.at + 1 < len(self.signs) else "end"
        return after in kinds

    def _complete(self, parts: Sequence[Expression | None]) -> tuple[Expression, ...]:
        """Return each part once, without those that hold nothing to look up, such as lone punctuation."""
        return tuple(dict.fromkeys(part for part in parts if part is not None))
