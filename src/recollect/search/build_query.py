"""From a query to the tiers of the word index; a tier is used if the one before it finds nothing."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from recollect.profile import Words
from recollect.records import (
    AllOf,
    AndNot,
    AnyOf,
    Bigram,
    Expression,
    Filter,
    Phrase,
    Prefix,
    SubstringQuery,
    Word,
    WordQuery,
)
from recollect.replies import Degraded
from recollect.search.limits import MAX_NEEDLES, MAX_PHRASE, MAX_PREFIXES, MAX_TERMS
from recollect.search.parse import Query, symbol_of, without_dates
from recollect.search.state import SearchContext, State, Tier
from recollect.text.dates import TimeSpan
from recollect.text.snippet import QueryTerms
from recollect.text.tokenizer import QueryWord, read_words, significant


def build_query(state: State, *, rules: Words) -> State:
    """Build the tiers of the query, of as much of it as the limits allow."""
    query = within_limits(state.query)
    return replace(state, query=query, tiers=tiers_of(query, rules), limited=_left_out(state.query, query, rules))


Clause = Phrase | Prefix | Word


def within_limits(query: Query) -> Query:
    """Return *query* with the first clauses that the limits allow, and the first words of a long phrase."""
    first = [replace(each, texts=each.texts[:MAX_PHRASE]) if isinstance(each, Phrase) else each for each in query.exact]
    exact, unwanted = (tuple(_first(each, MAX_TERMS, MAX_PREFIXES)) for each in (first, query.unwanted))
    return (
        query if (exact, unwanted) == (query.exact, query.unwanted) else replace(query, exact=exact, unwanted=unwanted)
    )


def _first(clauses: Sequence[Clause], words: int, prefixes: int) -> Iterator[Clause]:
    """Yield the first *clauses* with at most this many *words* and *prefixes* in total."""
    for clause in clauses:
        cost = len(clause.texts) if isinstance(clause, Phrase) else 1
        prefix = isinstance(clause, Prefix)
        if cost <= words and prefix <= prefixes:
            yield clause
            words, prefixes = words - cost, prefixes - prefix


def _left_out(asked: Query, query: Query, words: Words) -> Degraded | None:
    """Return which limit cuts the query, if one does."""
    if asked.tree is not None:
        prefixes = _prefixes(asked.tree) > MAX_PREFIXES
        return "prefixes_cut" if prefixes else "words_cut" if not _is_affordable(asked.tree) else None
    if sum(isinstance(each, Prefix) for each in asked.exact) > MAX_PREFIXES:
        return "prefixes_cut"
    if asked.cut or query != asked:
        return "words_cut"
    if sum(1 + len(word.stems) for word in query.words) + len(query.exact) <= MAX_TERMS:
        return None  # so few cannot be too many
    leaves = _or_leaves(query, words) if words.join == "or" else _and_leaves(query, words)
    return "words_cut" if len(leaves) > MAX_TERMS else None


def drop_dates(state: State, context: SearchContext) -> State:
    """Drop the words that only say when ("last week", "mid") from the query if there are memories of that time.

    If there are none, the words may quote a memory that itself says "last week". A future time has plans only.
    """
    if not any(found.idle_end > found.start for found in state.query.dates):
        return state
    held = [found for found in state.query.dates if found.span.end > state.now or _holds(state, context, found.span)]
    return replace(state, query=without_dates(state.query, held))


def _holds(state: State, context: SearchContext, span: TimeSpan) -> bool:
    return context.ask.browse(scope=state.scope, where=within(state.where, span), limit=1, count=False).total > 0


def within(where: Filter, span: TimeSpan) -> Filter:
    """Return *where* for the memories of *span* only."""
    since = span.start if where.since is None else max(where.since, span.start)
    until = span.end if where.until is None else min(where.until, span.end)
    return replace(where, since=since, until=until)


def tiers_of(query: Query, words: Words) -> tuple[Tier, ...]:
    """Return the tiers of *query*; none if there is nothing to look up.

    Operators over more leaves than the limits allow are read as plain words, and only the first of those are used.
    """
    if query.tree is not None and _is_affordable(query.tree):
        return (word_query(_stemmed(query.tree) if words.operator_forms == "stem" else query.tree, words),)
    if words.join == "cascade":
        return _cascade(query, words)
    leaves = _and_leaves(query, words) if words.join == "and" else _or_leaves(query, words)
    join = AllOf if words.join == "and" else AnyOf
    bonus = _bigrams(query, words) if words.join == "or" and words.bigram_weight > 0 else ()
    parts = (*leaves[:MAX_TERMS], *bonus[:MAX_TERMS])
    return (_without_unwanted(join(parts=parts), query, words),) if leaves else ()


def _stemmed(expression: Expression) -> Expression:
    """Return *expression* with words that match their other forms too; phrases and prefixes are unchanged."""
    match expression:
        case AnyOf(parts=parts) | AllOf(parts=parts):
            return replace(expression, parts=tuple(_stemmed(part) for part in parts))
        case AndNot(wanted=wanted, unwanted=unwanted):
            return AndNot(wanted=_stemmed(wanted), unwanted=_stemmed(unwanted))
        case Word(text=text, form="exact"):
            stems = tuple(stem for word in read_words(text) for stem in word.stems)
            return Word(text=stems[0]) if len(stems) == 1 else expression
    return expression


def word_query(expression: Expression, words: Words) -> WordQuery:
    """Return *expression* as a query with the profile's BM25 settings."""
    return WordQuery(expression=expression, weights=words.fields, k1=words.k1, b=words.b, idf=words.idf)


def substring_query(query: Query) -> SubstringQuery | None:
    """Return the runs of CJK characters and the words of three letters or more to look for in the text itself."""
    runs = (_needle(word) for word in query.words if word.tokens and (word.cjk or len(_needle(word)) >= 3))
    needles = tuple(dict.fromkeys(runs))[:MAX_NEEDLES]
    return SubstringQuery(needles=needles) if needles else None


def _without_unwanted(wanted: Expression, query: Query, words: Words) -> WordQuery:
    unwanted = AnyOf(parts=query.unwanted[:MAX_TERMS])
    return word_query(AndNot(wanted=wanted, unwanted=unwanted) if query.unwanted else wanted, words)


def _is_affordable(tree: Expression) -> bool:
    """Return whether the limits allow all of *tree*."""
    size = sum(len(leaf.texts) if isinstance(leaf, Phrase) else 1 for leaf in _leaves(tree))
    return size <= MAX_TERMS and _prefixes(tree) <= MAX_PREFIXES


def _prefixes(tree: Expression) -> int:
    return sum(isinstance(leaf, Prefix) for leaf in _leaves(tree))


def _leaves(expression: Expression, *, wanted_only: bool = False) -> Iterator[Expression]:
    """Yield the leaves of *expression*, by default also the excluded ones."""
    match expression:
        case AnyOf(parts=parts) | AllOf(parts=parts):
            for part in parts:
                yield from _leaves(part, wanted_only=wanted_only)
        case AndNot(wanted=wanted, unwanted=unwanted):
            yield from _leaves(wanted, wanted_only=wanted_only)
            if not wanted_only:
                yield from _leaves(unwanted)
        case _:
            yield expression


def _chosen(query: Query, words: Words) -> Sequence[QueryWord]:
    return significant(query.words) if words.drop_stopwords else query.words


def _or_leaves(query: Query, words: Words) -> tuple[Expression, ...]:
    """Return every stem once, with its forms in other languages, and the phrases and prefixes."""
    chosen = [] if query.exact and all(word.stop for word in query.words) else _chosen(query, words)
    leaves = dict.fromkeys(leaf for word in chosen for leaf in _stem_leaves(word))
    return (*leaves, *query.exact)


COMPOUND: Final = 0.5
"""Weight of a compound for one of its parts, and of a part for its compound."""


def _stem_leaves(word: QueryWord) -> tuple[Expression, ...]:
    """Return the stems of *word*: one by one, or as one clause with their alternatives."""
    plain = tuple(Word(text=stem) for stem in word.stems)
    if not word.others and not word.parts:
        return plain
    others = (Word(text=stem) for stem in word.others)
    parts = (Word(text=stem, weight=COMPOUND) for stem in word.parts)
    return (AnyOf(parts=(*plain, *others, *parts)),)


def _bigrams(query: Query, words: Words) -> tuple[Bigram, ...]:
    """Return each pair of adjacent significant words of the query, ignoring stop words between them."""
    stems = [word.stems[0] for word in significant(query.words) if word.stems and not word.cjk]
    pairs = dict.fromkeys(pair for pair in pairwise(stems) if pair[0] != pair[1])
    return tuple(Bigram(first=first, second=second, weight=words.bigram_weight) for first, second in pairs)


def _and_leaves(query: Query, words: Words) -> tuple[Expression, ...]:
    """Return one leaf for each word: its stem, or a phrase of its parts."""
    plain = tuple(
        _stem_leaves(word)[0] if len(word.stems) == 1 else _exact(word) for word in _chosen(query, words) if word.stems
    )
    return (*dict.fromkeys(plain), *query.exact)


def _exact(word: QueryWord) -> Expression:
    if symbol_of(word):
        return Word(text=symbol_of(word), form="exact")
    return Phrase(texts=word.tokens) if len(word.tokens) > 1 else Word(text=word.tokens[0], form="exact")


def _cascade(query: Query, words: Words) -> tuple[Tier, ...]:
    """Return boocode's tiers: any word of the index, then all of them, then each term as a substring."""
    runs = [word for word in query.words if word.tokens]
    if not runs and not query.exact:
        return ()
    leaves = tuple(dict.fromkeys((*(_exact(word) for word in runs), *query.exact)))[:MAX_TERMS]
    joins = (AllOf,) if any(word.cjk for word in runs) else (AnyOf, AllOf)
    substrings = substring_query(query)
    tiers = (_without_unwanted(join(parts=leaves), query, words) for join in joins)
    return (*tiers, *(() if substrings is None else (substrings,)))


def _needle(word: QueryWord) -> str:
    return "".join(word.tokens) if word.cjk else word.text.lower()


# --- snippets -------------------------------------------------------------------------------


def query_terms(tiers: Sequence[Tier]) -> QueryTerms:
    """Return the tokens that a snippet marks; those of a bigram are there as words."""
    stems, tokens, prefixes = list[str](), list[str](), list[str]()
    for tier in tiers:
        if isinstance(tier, SubstringQuery):
            tokens += [token for needle in tier.needles for word in read_words(needle) for token in word.tokens]
            continue
        for leaf in _leaves(tier.expression, wanted_only=True):
            match leaf:
                case Word(form="stem"):
                    stems.append(leaf.text)
                case Word():
                    tokens.append(leaf.text)
                case Phrase():
                    tokens += leaf.texts
                case Prefix():
                    prefixes.append(leaf.text)
    return QueryTerms(stems=frozenset(stems), tokens=frozenset(tokens), prefixes=tuple(prefixes))
