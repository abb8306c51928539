"""Documents into the arrays of a part: one sort of whole numbers for each form, no loop over tokens in Python."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recollect.records import FIELDS, Form
from recollect.stores.segments import signatures
from recollect.stores.segments.measures import USUAL, average_of, impacts
from recollect.stores.segments.part import PAIR, Mask, Part, Rows, Whole, keys_of
from recollect.stores.segments.rows import BLANK, COLUMNS, FORMS, ColumnKind, IndexRow, Value
from recollect.stores.segments.sorting import narrow, ordered, runs_of, starts_of

WIDTH: Final = len(FIELDS)
DENSE: Final = 16
"""A term in more than one of so many rows is kept by row as well."""
CHUNK: Final = 1 << 20
"""How many postings are looked at at once."""
BREAK: Final = 0
"""The number of the mark behind each field."""
NOTHING: Final = 1
"""The number of the empty text that a field without tokens leaves."""
NAMED: Final = 2
"""In how many fields, from the first on, pairs are looked for: title and body."""
BATCH: Final = 128
"""How many texts are split at once: so few that their tokens stay in the cache of the processor."""
PACKED: Final = 62
"""How many bits the counts of all fields may take in one number."""
KINDS: Final = {"whole": np.int64, "real": np.float64, "flag": np.bool_}


class _Numbers(dict[str, int]):
    """A number for each token, given when it is first met."""

    def __missing__(self, token: str) -> int:
        number = self[token] = len(self)
        return number


def build(rows: Sequence[IndexRow]) -> Part:
    """Return a part of *rows*, in memory."""
    ordered = sorted(rows, key=lambda row: (row.project, row.id))
    arrays = {**_documents(ordered), **_columns(ordered)}
    for form in FORMS:
        arrays |= _index([row.stem if form == "stem" else row.exact for row in ordered], form)
    return Part(arrays)


# --- documents and columns ------------------------------------------------------------------


def _documents(rows: Sequence[IndexRow]) -> dict[str, NDArray[Any]]:
    ids = np.array([row.id for row in rows], dtype=np.int64)
    sizes = {project: sum(1 for _ in each) for project, each in groupby(rows, key=lambda row: row.project)}
    return {
        "ids": ids,
        "by_id": np.argsort(ids, kind="stable").astype(np.int32),
        "ascending": np.array([bool((ids[1:] > ids[:-1]).all())]),
        "superseded": np.array([row.superseded for row in rows], dtype=np.bool_),
        "code": np.array([row.code for row in rows], dtype=np.bool_),
        "project.starts": starts_of(np.array(list(sizes.values()), dtype=np.int64)),
        **names_block("project", list(sizes)),
    }


def names_block(name: str, texts: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return *texts* as a block and where each begins."""
    whole = "".join(texts)
    parts = texts if whole.isascii() else [text.encode("utf-8", "surrogatepass") for text in texts]
    sizes = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
    raw = np.frombuffer(whole.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    return {f"{name}.blob": raw, f"{name}.offsets": starts_of(sizes)}


def _columns(rows: Sequence[IndexRow]) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for at, (name, kind) in enumerate(COLUMNS.items()):
        found |= _column(name, kind, [row.columns[at] if row.columns else BLANK[kind] for row in rows])
    return found


def _column(name: str, kind: ColumnKind, values: Sequence[Value]) -> dict[str, NDArray[Any]]:
    if kind != "text":
        return {f"column.{name}": np.array(values, dtype=KINDS[kind])}
    names = sorted({str(value) for value in values})
    number = {text: at for at, text in enumerate(names)}
    codes = np.array([number[str(value)] for value in values], dtype=np.int32)
    return {f"column.{name}": codes, **names_block(f"column.{name}", names)}


# --- terms and postings ---------------------------------------------------------------------


def _index(texts: Sequence[str], form: Form) -> dict[str, NDArray[Any]]:
    numbers, marks, place, terms = _read(texts)
    count, tokens = len(texts), ~marks
    row, field = place // WIDTH, place % WIDTH
    lengths = np.bincount(row[tokens], minlength=count).astype(np.int32)
    found = _postings(numbers[tokens].astype(np.int64) * (count * WIDTH) + place[tokens], len(terms), count)
    extra = (
        _pairs(numbers, marks, row, field, len(terms), lengths)
        if form == "stem"
        else _running(numbers, marks, row, field, count)
    )
    return {**form_arrays(form, terms, {**found, "lengths": lengths}), **extra}


def _read(texts: Sequence[str]) -> tuple[Rows, Mask, Whole, list[str]]:
    """Return the tokens in order as numbers of sorted terms, which are marks, where each stands, and the terms.

    A mark stands behind each field that has tokens; a place is row x fields + field.
    """
    known = _Numbers({"\n": BREAK, "": NOTHING})
    raw = np.concatenate([_numbered(texts[at : at + BATCH], known) for at in range(0, max(1, len(texts)), BATCH)])
    breaks = raw == BREAK
    place = np.cumsum(breaks) - breaks
    if place[-1] != len(texts) * WIDTH:
        raise ValueError(f"a document has {len(FIELDS)} fields, one a line")
    kept = raw > NOTHING
    ends = breaks.copy()
    ends[1:] &= kept[:-1]
    terms = sorted(list(known)[NOTHING + 1 :])
    order = np.zeros(len(known), dtype=np.int32)
    order[np.fromiter(map(known.__getitem__, terms), dtype=np.int64, count=len(terms))] = np.arange(len(terms))
    chosen = kept | ends
    return order[raw[chosen]], ends[chosen], place[chosen], terms


def _numbered(texts: Sequence[str], known: _Numbers) -> Rows:
    words = "".join(text + "\n" for text in texts).replace("\n", " \n ").replace("  ", " ").split(" ")
    return np.fromiter(map(known.__getitem__, words), dtype=np.int32, count=len(words))


def _postings(keys: Whole, terms: int, rows: int) -> dict[str, NDArray[Any]]:
    """Return postings from where each token stands: (term x rows + row) x fields + field."""
    keys.sort()
    starts, counts = runs_of(keys)
    held, field = keys[starts] // WIDTH, keys[starts] % WIDTH
    firsts, _ = runs_of(held)
    combos, codes = _combined(counts, field, firsts)
    held = held[firsts]
    term = held // max(1, rows)
    return {
        "pointers": starts_of(np.bincount(term, minlength=terms)),
        "rows": (held - term * rows).astype(np.int32),
        "codes": codes,
        "combos": combos,
    }


def _combined(counts: Whole, field: Whole, firsts: Whole) -> tuple[Rows, NDArray[Any]]:
    """Return the combinations of counts by field that there are, and the number of that of each posting."""
    most = np.zeros(WIDTH, dtype=np.int64)
    np.maximum.at(most, field, counts)
    bits = np.array([int(each).bit_length() for each in most], dtype=np.int64)
    if bits.sum() > PACKED:
        posting = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(counts)))
        whole = np.zeros((len(firsts), WIDTH), dtype=np.int32)
        whole[posting, field] = counts
        combos, codes = np.unique(whole, axis=0, return_inverse=True)
        return combos, narrow(codes.reshape(-1), len(combos))
    shifts = starts_of(bits)[:-1]
    packed = np.add.reduceat(counts << shifts[field], firsts) if len(firsts) else counts
    distinct = np.unique(packed)
    combos = ((distinct[:, None] >> shifts) & ((1 << bits) - 1)).astype(np.int32)
    return combos, narrow(distinct.searchsorted(packed), len(combos))


def _pairs(numbers: Rows, marks: Mask, row: Whole, field: Whole, terms: int, lengths: Rows) -> dict[str, NDArray[Any]]:
    """Return which stems follow each other in a title or a body."""
    both = ~marks[:-1] & ~marks[1:] & (field[:-1] < NAMED)
    ahead, behind = numbers[:-1][both], numbers[1:][both]
    ahead, behind, held = ordered((ahead, behind, row[:-1][both]), (terms, terms, len(lengths)))
    pair = ahead * terms + behind
    firsts, _ = runs_of(pair)
    fresh = np.ones(len(pair), dtype=np.bool_)
    fresh[1:] = (pair[1:] != pair[:-1]) | (held[1:] != held[:-1])
    starts = np.flatnonzero(fresh)
    sizes = np.diff(starts.searchsorted(firsts), append=len(starts))
    distinct = ahead[firsts], narrow(behind[firsts], terms)
    return pair_arrays(*distinct, terms, sizes, held[starts], np.diff(starts, append=len(pair)), lengths)


def pair_arrays(
    ahead: NDArray[Any],
    behind: NDArray[Any],
    terms: int,
    sizes: Whole,
    rows: NDArray[Any],
    counts: NDArray[Any],
    lengths: Rows,
) -> dict[str, NDArray[Any]]:
    """Return the arrays of pairs: the first and the second of each, how many rows each has, and those."""
    return {
        "pair.firsts": narrow(starts_of(np.bincount(ahead, minlength=terms)), len(ahead) + 1),
        "pair.seconds": behind,
        "pair.pointers": narrow(starts_of(sizes), len(rows) + 1),
        "pair.rows": rows.astype(np.int32),
        "pair.counts": narrow(counts, int(counts.max(initial=0)) + 1),
        "pair.single": impacts(np.full(len(lengths), PAIR), lengths, USUAL, average_of(lengths)),
    }


def _running(numbers: Rows, marks: Mask, row: Whole, field: Whole, rows: int) -> dict[str, NDArray[Any]]:
    """Return the tokens in order."""
    return {
        "running.tokens": np.where(marks, np.int32(-1), numbers).astype(np.int32, copy=False),
        "running.starts": starts_of(np.bincount(row, minlength=rows)),
        "running.gaps": np.flatnonzero(marks),
        "running.fields": field[marks].astype(np.uint8),
    }


def form_arrays(form: Form, terms: Sequence[str], found: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of one form under their names, with those that follow from the others."""
    block = names_block(form, terms)
    spelt = block[f"{form}.blob"], block[f"{form}.offsets"]
    named = (found["combos"][:, :NAMED].sum(axis=1) > 0)[found["codes"]]
    more = {
        "keys": keys_of(*spelt),
        "chars": signatures.lengths(*spelt),
        "letters": signatures.letters(*spelt),
        "digraphs": signatures.digraphs(*spelt),
        "named": np.diff(starts_of(named)[found["pointers"]]).astype(np.int32),
    }
    return block | {f"{form}.{name}": values for name, values in (found | more | bounds(found)).items()}


def bounds(found: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return what postings are worth by the usual measure, and of terms in many rows by row as well."""
    rows, codes, pointers, lengths = (found[name] for name in ("rows", "codes", "pointers", "lengths"))
    counts, average = found["combos"].astype(np.int64) @ np.array(USUAL.weights), average_of(lengths)
    worth = np.empty(len(rows), dtype=np.uint8)
    for at in range(0, len(rows), CHUNK):
        here = slice(at, at + CHUNK)
        worth[here] = impacts(counts[codes[here]], lengths[rows[here]], USUAL, average)
    terms = np.flatnonzero(np.diff(pointers) * DENSE > len(lengths)).astype(np.int32)
    dense = np.zeros((len(terms), len(lengths)), dtype=np.uint8)
    none = len(found["combos"])
    marks = np.full((len(terms), len(lengths)), none, dtype=np.min_scalar_type(none))
    for line, mark, term in zip(dense, marks, terms.tolist(), strict=True):
        here = slice(int(pointers[term]), int(pointers[term + 1]))
        line[rows[here]] = worth[here]
        mark[rows[here]] = codes[here]
    return {
        "average": np.array([average]),
        "impacts": worth,
        "most": np.maximum.reduceat(worth, pointers[:-1]) if len(worth) else worth,
        "dense.terms": terms,
        "dense.impacts": dense,
        "dense.codes": marks,
    }
