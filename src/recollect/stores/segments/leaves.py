"""Where the leaves of a question stand in a part: rows and weighted counts."""

from collections.abc import Mapping
from typing import NamedTuple, assert_never

import numpy as np

from recollect.records import FIELDS, Bigram, Leaf, Phrase, Prefix, Word
from recollect.stores.bm25 import TOGETHER
from recollect.stores.segments.part import FormIndex, Part, Rows, Whole

PAIR = TOGETHER["body"]
SCANNED = 8
"""From this share of the tokens on, reading all of them in order is faster than picking rows."""


class Held(NamedTuple):
    """The rows that hold a leaf, ascending, and its weighted count in each."""

    rows: Rows
    counts: Whole


NONE = Held(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64))


def read(part: Part, leaf: Leaf, weights: Mapping[str, int]) -> Held:
    """Return where *leaf* stands in *part*, dead rows and all."""
    match leaf:
        case Word(text=text, form=form):
            index = part.form(form)
            term = index.term(text)
            return NONE if term < 0 else _of_term(index, term, weights)
        case Prefix(text=text):
            return _of_prefix(part.form("exact"), text, weights)
        case Phrase(texts=texts):
            return _of_phrase(part, texts, weights)
        case Bigram(first=first, second=second):
            stems = part.form("stem")
            ahead, behind = stems.term(first), stems.term(second)
            return NONE if ahead < 0 or behind < 0 else _of_pair(part, ahead, behind)
    assert_never(leaf)


def _present(held: Held) -> Held:
    """Return *held* without the rows where it stands only in fields that weigh nothing."""
    if held.counts.all():
        return held
    there = held.counts > 0
    return Held(held.rows[there], held.counts[there])


def _of_term(index: FormIndex, term: int, weights: Mapping[str, int]) -> Held:
    start, stop = index.pointers[term], index.pointers[term + 1]
    return _present(Held(index.rows[start:stop], index.weighted(weights).take(index.codes[start:stop])))


def _of_pair(part: Part, ahead: int, behind: int) -> Held:
    start, stop = part.pairs.find(ahead, behind)
    return Held(part.pairs.rows[start:stop], part.pairs.counts[start:stop].astype(np.int64) * PAIR)


def _of_prefix(index: FormIndex, text: str, weights: Mapping[str, int]) -> Held:
    low, high = index.beginning(text)
    if high - low <= 1:
        return _of_term(index, low, weights) if high > low else NONE
    start, stop = index.pointers[low], index.pointers[high]
    return summed(index.rows[start:stop], index.weighted(weights).take(index.codes[start:stop]))


def summed(rows: Rows, counts: Whole) -> Held:
    """Return *counts* added up by row, as whole numbers."""
    order = np.argsort(rows, kind="stable")
    rows, counts = rows[order], counts[order]
    first = np.ones(len(rows), dtype=np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    return _present(Held(rows[starts], np.add.reduceat(counts, starts))) if len(rows) else NONE


# --- phrases --------------------------------------------------------------------------------


def _of_phrase(part: Part, texts: tuple[str, ...], weights: Mapping[str, int]) -> Held:
    index = part.form("exact")
    terms = [index.term(text) for text in texts]
    if min(terms, default=-1) < 0:
        return NONE
    running = part.running
    places = _scan(running.tokens, terms) if _is_frequent(part, terms) else _among(part, terms)
    rows = (running.starts.searchsorted(places, "right") - 1).astype(np.int32)
    field = running.fields[running.gaps.searchsorted(places)]
    factors = np.array([weights.get(name, 0) for name in FIELDS], dtype=np.int64)
    return summed(rows, factors[field])


def _is_frequent(part: Part, terms: list[int]) -> bool:
    pointers = part.form("exact").pointers
    return SCANNED * min(int(pointers[term + 1] - pointers[term]) for term in terms) > len(part)


def _scan(tokens: Rows, terms: list[int]) -> Whole:
    """Return where in *tokens* the *terms* follow each other."""
    size = len(tokens) - len(terms) + 1
    if size <= 0:
        return np.empty(0, dtype=np.int64)
    same = tokens[:size] == terms[0]
    for step, term in enumerate(terms[1:], start=1):
        same &= tokens[step : size + step] == term
    return np.flatnonzero(same)


def _among(part: Part, terms: list[int]) -> Whole:
    """Return where the *terms* follow each other, looking only into the rows that hold all of them."""
    index, running = part.form("exact"), part.running
    ordered = sorted(set(terms), key=lambda term: int(index.pointers[term + 1] - index.pointers[term]))
    rows = None
    for term in ordered:
        here = index.rows[index.pointers[term] : index.pointers[term + 1]]
        rows = here if rows is None else rows[here.take(here.searchsorted(rows), mode="clip") == rows]
    rows = np.empty(0, dtype=np.int32) if rows is None else rows
    starts, sizes = running.starts[rows], running.starts[rows + 1] - running.starts[rows]
    ends = np.cumsum(sizes)
    places = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)
    found: Whole = places[_scan(running.tokens[places], terms)]
    return found
