"""A query into questions to the keyword index, tier by tier: the next tier is asked when one finds nothing."""

from collections.abc import Sequence
from itertools import pairwise

from recollect.profile import Words
from recollect.records import AllOf, AndNot, AnyOf, Bigram, Expression, Phrase, SubstringQuery, Word, WordQuery
from recollect.search.parse import Query, symbol_of
from recollect.text.tokenizer import QueryWord, significant

Tier = WordQuery | SubstringQuery


def ask(query: Query, words: Words) -> tuple[Tier, ...]:
    """Return the tiers that *words* makes of *query*; none when there is nothing to look up.

    Operators over more leaves than `words.most` are read as plain words, of which only the first are asked.
    """
    if query.tree is not None and _size(query.tree) <= words.most:
        return (_keywords(query.tree, words),)
    if words.join == "cascade":
        return _cascade(query, words)
    leaves = _and_leaves(query, words) if words.join == "and" else _or_leaves(query, words)
    join = AllOf if words.join == "and" else AnyOf
    bonus = _pairs(query, words) if words.join == "or" and words.pair_weight > 0 else ()
    return _tiers(join(parts=(*leaves[: words.most], *bonus[: words.most])), query, words) if leaves else ()


def _tiers(wanted: Expression, query: Query, words: Words) -> tuple[Tier, ...]:
    hidden = AnyOf(parts=query.unwanted[: words.most])
    return (_keywords(AndNot(wanted=wanted, unwanted=hidden) if query.unwanted else wanted, words),)


def _size(expression: Expression) -> int:
    """Return how many leaves *expression* has."""
    match expression:
        case AnyOf(parts=parts) | AllOf(parts=parts):
            return sum(map(_size, parts))
        case AndNot(wanted=wanted, unwanted=unwanted):
            return _size(wanted) + _size(unwanted)
        case _:
            return 1


def _keywords(expression: Expression, words: Words) -> WordQuery:
    return WordQuery(expression=expression, weights=words.fields, k1=words.k1, b=words.b, idf=words.idf)


def _chosen(query: Query, words: Words) -> Sequence[QueryWord]:
    return significant(query.words) if words.significant else query.words


def _or_leaves(query: Query, words: Words) -> tuple[Expression, ...]:
    """Return every stem once, and the phrases and prefixes beside them."""
    stems = dict.fromkeys(stem for word in _chosen(query, words) for stem in word.stems)
    if query.exact and all(word.stop for word in query.words):
        stems = {}
    return (*(Word(text=stem) for stem in stems), *query.exact)


def _pairs(query: Query, words: Words) -> tuple[Bigram, ...]:
    """Return each two significant words of the question that follow one another, stop words between them left out."""
    stems = [word.stems[0] for word in significant(query.words) if word.stems and not word.cjk]
    pairs = dict.fromkeys(pair for pair in pairwise(stems) if pair[0] != pair[1])
    return tuple(Bigram(first=first, second=second, weight=words.pair_weight) for first, second in pairs)


def _and_leaves(query: Query, words: Words) -> tuple[Expression, ...]:
    """Return one leaf for each word: its stem, or its parts next to each other."""
    plain = tuple(
        Word(text=word.stems[0]) if len(word.stems) == 1 else _exact(word)
        for word in _chosen(query, words)
        if word.stems
    )
    return (*dict.fromkeys(plain), *query.exact)


def _exact(word: QueryWord) -> Expression:
    if symbol_of(word):
        return Word(text=symbol_of(word), form="exact")
    return Phrase(texts=word.tokens) if len(word.tokens) > 1 else Word(text=word.tokens[0], form="exact")


def _cascade(query: Query, words: Words) -> tuple[Tier, ...]:
    """Return boocode's tiers: word index, then substrings all together, then LIKE, each term by itself."""
    runs = [word for word in query.words if word.tokens]
    if not runs and not query.exact:
        return ()
    leaves = tuple(dict.fromkeys((*(_exact(word) for word in runs), *query.exact)))
    tiers: list[Tier] = []
    if not any(word.cjk for word in runs):
        tiers.extend(_tiers(AnyOf(parts=leaves[: words.most]), query, words))
    tiers.extend(_tiers(AllOf(parts=leaves[: words.most]), query, words))
    needles = tuple(dict.fromkeys(_needle(word) for word in runs if word.cjk or len(_needle(word)) >= 3))
    return (*tiers, SubstringQuery(needles=needles[: words.most])) if needles else tuple(tiers)


def _needle(word: QueryWord) -> str:
    return "".join(word.tokens) if word.cjk else word.text.lower()
