"""The words of a collection: the most frequent, those near a word, those that hold a part."""

from collections.abc import Iterable, Mapping

from recollect.records import NearWord

LEAST = 2
"""How many characters a token has that counts as a word."""


def near_among(vocabulary: Mapping[str, int], word: str, reach: int) -> tuple[NearWord, ...]:
    """Return the words of *vocabulary* that begin as *word* does, at most *reach* edits away."""
    sizes = range(max(LEAST, len(word) - reach), len(word) + reach + 1)
    terms = [term for term in vocabulary if len(term) in sizes and term[0] == word[:1] and term.isalpha()]
    if not terms:
        return ()
    from rapidfuzz import process  # noqa: PLC0415 (30 ms, paid only by a mistyped query)
    from rapidfuzz.distance import OSA  # noqa: PLC0415

    found = process.extract(word, terms, scorer=OSA.distance, score_cutoff=reach, limit=None)
    return nearest(NearWord(text=term, distance=int(far), frequency=vocabulary[term]) for term, far, _ in found)


def holding_among(vocabulary: Mapping[str, int], part: str) -> tuple[NearWord, ...]:
    """Return the words of *vocabulary* that hold *part* and more; how much more is their distance."""
    held = (term for term in vocabulary if part in term and len(term) > max(len(part), LEAST - 1) and term.isalpha())
    return nearest(
        NearWord(text=term, distance=len(term) - len(part), frequency=vocabulary[term]) for term in held if part
    )


def nearest(words: Iterable[NearWord]) -> tuple[NearWord, ...]:
    """Return *words*, the nearest first, then the most frequent, then by text."""
    return tuple(sorted(words, key=lambda each: (each.distance, -each.frequency, each.text)))
