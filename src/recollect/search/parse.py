"""Parse a query into words, phrases, operators and filters. Any text is a query; none raises."""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from recollect.lazy import regex
from recollect.records import (
    FILTER_FIELDS,
    NO_FILTER,
    AllOf,
    AndNot,
    AnyOf,
    Expression,
    Filter,
    Phrase,
    Prefix,
    Scope,
    Word,
)
from recollect.search.limits import MAX_NESTING, MAX_TOKENS
from recollect.text.dates import DateMatch, TimeSpan, find_dates, parse_moment
from recollect.text.normalise import fold
from recollect.text.tokenizer import QueryWord, read_words, significant

Kind = Literal["word", "phrase", "prefix", "exclude", "filter", "and", "or", "not", "open", "close"]
DATES = ("since", "until", "on")
NAMES = {each.key: each.name for each in FILTER_FIELDS}
"""Filter key -> field of `Filter`; `projects` narrows the scope instead."""
LONGEST_OPERAND = 3
"""More adjacent words than this are a sentence, not part of an expression."""
OPERATORS: dict[str, Kind] = {"AND": "and", "OR": "or", "NOT": "not"}
INSIDE: dict[str, tuple[Kind, tuple[str, ...]]] = {
    "exclude": ("exclude", ("unphrase", "unword")),
    "phrase": ("phrase", ("inside",)),
    "prefix": ("prefix", ("stem",)),
    "open": ("open", ("open",)),
    "close": ("close", ("close",)),
}

_SIGNS = frozenset('"():*-')
"""Every token that is not a word has one of these."""
_TOKEN = regex(
    r"""
    (?P<filter>(?<!\S)(?P<key>[a-z_]+):(?:"(?P<quoted>[^"]+)"|(?P<value>[^\s"]+)))
  | (?P<exclude>(?<![^\s(])-(?:"(?P<unphrase>[^"]+)"|(?P<unword>[^\W\d_][^\s"()]*)))
  | (?P<phrase>(?<![^\s(])"(?P<inside>[^"]+)"(?=[\s).,;:!?]|$))
  | (?P<prefix>(?<![^\s(])(?P<stem>[^\s"()*:-][^\s"()*]*)\*(?=[\s)]|$))
  | (?P<open>\()
  | (?P<close>\))
  | (?P<word>[^\s()]+)
    """,
    re.VERBOSE,
)


class Token(Struct, frozen=True, kw_only=True):
    """One token of a query: its kind, its text, and for a filter its key."""

    kind: Kind
    text: str
    key: str = ""


def lex(text: str) -> tuple[list[Token], bool]:
    """Return the first tokens of *text*, in order, and whether it has more; an unmatched quote is not a token."""
    if _SIGNS.isdisjoint(text):  # only words, as in most queries
        words = text.split(maxsplit=MAX_TOKENS)
        plain = [Token(kind=OPERATORS.get(word, "word"), text=word) for word in words[:MAX_TOKENS]]
        return plain, len(words) > MAX_TOKENS
    found = _TOKEN.finditer(text)
    return [_token(match) for match in islice(found, MAX_TOKENS)], next(found, None) is not None


def _token(match: re.Match[str]) -> Token:
    whole, kind = match.group(), match.lastgroup
    if kind == "filter" and match["key"] in (*NAMES, *DATES):
        return Token(kind="filter", text=match["quoted"] or match["value"], key=match["key"])
    if kind in INSIDE:
        return Token(kind=INSIDE[kind][0], text=next(match[name] for name in INSIDE[kind][1] if match[name]))
    return Token(kind=OPERATORS.get(whole, "word"), text=whole.replace('"', ""))


class Query(Struct, frozen=True, kw_only=True):
    """A parsed query: plain words, phrases and prefixes; or a tree if it has operators."""

    text: str
    words: tuple[QueryWord, ...] = ()
    exact: tuple[Phrase | Prefix | Word, ...] = ()
    unwanted: tuple[Phrase | Prefix | Word, ...] = ()
    tree: Expression | None = None
    where: Filter = NO_FILTER
    projects: frozenset[str] | None = None
    cut: bool = False
    """Whether the text was longer than what is read."""
    dates: tuple[DateMatch, ...] = ()
    """The dates that a query without operators names."""

    @property
    def is_blank(self) -> bool:
        """Whether it has no words, though perhaps filters."""
        return not self.text.strip()

    @property
    def asks_nothing(self) -> bool:
        """Whether nothing in it can be looked up."""
        return self.tree is None and not self.words and not self.exact

    def narrow(self, scope: Scope) -> Scope:
        """Return *scope* with no other projects than the query names, if it names any."""
        if self.projects is None:
            return scope
        return Scope(projects=self.projects if scope.projects is None else scope.projects & self.projects)


def parse(text: str, *, now: datetime, where: Filter = NO_FILTER) -> Query:
    """Return *text* parsed, its filters combined with *where*."""
    tokens: list[Token] = []
    names: list[Token] = []
    spans: list[tuple[str, TimeSpan]] = []
    lexed, cut = lex(text)
    for token in lexed:
        span = parse_moment(token.text, now=now) if token.key in DATES else None
        if token.key in NAMES:
            names.append(token)
        elif span is not None:
            spans.append((token.key, span))
        else:
            tokens.append(_literal(token) if token.kind == "filter" else token)
    tree, written = _tree(tokens), " ".join([_written(token) for token in tokens])
    return Query(
        text=written,
        words=_spoken(tokens) if tree else _words(tokens),
        exact=() if tree else _clauses(tokens, ("phrase", "prefix")),
        unwanted=() if tree else _clauses(tokens, ("exclude",)),
        tree=tree,
        where=_bounded(_named(where, names), spans) if names or spans else where,
        projects=frozenset(token.text for token in names if token.key == "project") or None,
        cut=cut,
        dates=() if tree else find_dates(written, now=now),
    )


def _written(token: Token) -> str:
    return f"-{token.text}" if token.kind == "exclude" else token.text


def _literal(token: Token) -> Token:
    """Return a filter with an invalid value as a plain word."""
    return Token(kind="word", text=f"{token.key}:{token.text}")


def _named(where: Filter, filters: Sequence[Token]) -> Filter:
    """Return *where* with the names of *filters* added to its own; a list that admits nothing stays so."""
    wishes: dict[str, Any] = {}
    for key in {token.key: None for token in filters if token.key != "project"}:
        own, more = getattr(where, NAMES[key]), [token.text for token in filters if token.key == key]
        if own != ():
            wishes[NAMES[key]] = tuple(dict.fromkeys((*(own or ()), *more)))
    return replace(where, **wishes) if wishes else where


def _bounded(where: Filter, spans: Sequence[tuple[str, TimeSpan]]) -> Filter:
    """Return *where* narrowed to the dates of the filters."""
    starts = [span.start for key, span in spans if key in ("since", "on")]
    ends = [span.end for key, span in spans if key in ("until", "on")]
    since = max((each for each in (where.since, *starts) if each is not None), default=None)
    until = min((each for each in (where.until, *ends) if each is not None), default=None)
    return replace(where, since=since, until=until) if spans else where


def _spoken(tokens: Sequence[Token]) -> tuple[QueryWord, ...]:
    """Return the words of *tokens* without the operators."""
    text = " ".join(token.text for token in tokens if token.kind in ("word", "phrase", "prefix"))
    return read_words(text)


def _words(tokens: Sequence[Token]) -> tuple[QueryWord, ...]:
    """Return the plain words of *tokens*; operators count as words."""
    return read_words(" ".join([token.text for token in tokens if token.kind in ("word", "and", "or", "not")]))


def _clauses(tokens: Sequence[Token], kinds: tuple[Kind, ...]) -> tuple[Phrase | Prefix | Word, ...]:
    """Return the leaves of the *tokens* of these *kinds*, each once."""
    leaves = [_leaf(token) for token in tokens if token.kind in kinds]
    return tuple(dict.fromkeys(leaf for leaf in leaves if leaf is not None))


def _leaf(token: Token) -> Phrase | Prefix | Word | None:
    if token.kind == "prefix":
        folded = fold(token.text).strip()
        return Prefix(text=folded) if folded.isalnum() else _phrase(token.text)
    return _phrase(token.text)


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


def _tree(tokens: Sequence[Token]) -> Expression | None:
    """Return *tokens* as a tree if they have operators in a valid order and are not a sentence, else None."""
    if not any(token.kind in ("and", "or", "not") for token in tokens) or _is_sentence(tokens):
        return None
    reader = _Reader(tokens)
    tree = reader.any_of(0)
    return tree if reader.at == len(tokens) and not reader.failed else None


def _is_sentence(tokens: Sequence[Token]) -> bool:
    """Return whether operators are part of a sentence, where NOT is a loud "not": many words, or mostly stop words."""
    runs = ([token.text for token in run] for plain, run in groupby(tokens, lambda each: each.kind == "word") if plain)
    spoken = (read_words(" ".join(run)) for run in runs)
    return any(
        len(words) > LONGEST_OPERAND or 2 * sum(map(_is_filler, words)) >= max(1, len(words)) for words in spoken
    )


def _is_filler(word: QueryWord) -> bool:
    return word.stop and len(word.text) > 1


class _Reader:
    """A recursive descent parser: OR over AND over NOT; adjacent words are joined by AND."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.failed = False

    def _next(self) -> str:
        return self.tokens[self.at].kind if self.at < len(self.tokens) else "end"

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
                unwanted.append(_phrase(self.tokens[self.at].text))
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
        if kind in ("end", "and", "or", "not", "close") or depth > MAX_NESTING:
            self.failed = True
            return None
        token = self.tokens[self.at]
        self.at += 1
        if kind != "open":
            return _leaf(token)
        inner = self.any_of(depth + 1)
        self.failed |= self._next() != "close"
        self.at += 1
        return inner

    def _follows(self, kinds: tuple[str, ...]) -> bool:
        after = self.tokens[self.at + 1].kind if self.at + 1 < len(self.tokens) else "end"
        return after in kinds

    def _complete(self, parts: Sequence[Expression | None]) -> tuple[Expression, ...]:
        """Return each part once, without empty ones such as lone punctuation."""
        return tuple(dict.fromkeys(part for part in parts if part is not None))


def without_dates(query: Query, dates: Sequence[DateMatch]) -> Query:
    """Return *query* without the words of *dates* that only say when, unless nothing else is left."""
    text = query.text
    for found in reversed(dates):
        text = f"{text[: found.start]} {text[found.idle_end :]}"
    kept = {word.text for word in read_words(text)}
    words = tuple(word for word in query.words if word.text in kept)
    return replace(query, words=words) if any(not word.stop for word in words) else query


CHARACTERS = 2
"""About how many characters of a script without spaces make a word."""


def query_length(query: Query) -> float:
    """Return the number of distinct words in *query*; scripts without spaces count by characters."""
    words = significant(query.words)
    spaced = {stem for word in words if not word.cjk for stem in word.stems}
    return len(spaced) + sum(len(word.text) for word in words if word.cjk) / CHARACTERS
