"""Documents into the arrays of a part: terms are numbered, and the numbers sorted once for each form."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recollect.records import FIELDS, Form
from recollect.stores.bm25 import FORMS
from recollect.stores.segments import signatures
from recollect.stores.segments.measures import USUAL, average_of, impacts
from recollect.stores.segments.part import Mask, Part, Rows, Whole, keys_of
from recollect.stores.segments.rows import BLANK, COLUMNS, ColumnKind, IndexRow, Value
from recollect.stores.segments.sorting import narrow, places_by, runs_of, starts_of

WIDTH: Final = len(FIELDS)
CHUNK: Final = 1 << 20
"""How many postings are looked at at once."""
NAMED: Final = 2
"""In how many fields, from the first on, pairs are looked for: title and body."""
PACKED: Final = 62
"""How many bits the counts of all fields may take in one number."""
KINDS: Final = {"whole": np.int64, "real": np.float64, "flag": np.bool_}


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
    order = np.flatnonzero(tokens)[places_by(numbers[tokens], len(terms))]
    found = _postings(numbers[order].astype(np.int64) * (count * WIDTH) + place[order], len(terms), count)
    extra = (
        _pairs(numbers, marks, row, field, order, count, len(terms))
        if form == "stem"
        else _running(numbers, marks, row, field, count, len(terms))
    )
    return {**form_arrays(form, terms, {**found, "lengths": lengths}), **extra}


class _Numbers(dict[str, int]):
    """Numbers of terms in the order in which they are first asked for."""

    def __missing__(self, term: str) -> int:
        self[term] = number = len(self)
        return number


def _read(texts: Sequence[str]) -> tuple[Rows, Mask, Whole, list[str]]:
    """Return the tokens in order as numbers of sorted terms, which are marks, where each stands, and the terms.

    A mark stands behind each field that has tokens; a place is row x fields + field.
    """
    known = _Numbers()
    found: list[int] = []
    sizes: list[int] = []
    for text in texts:
        fields = text.split("\n")
        if len(fields) != WIDTH:
            raise ValueError(f"a document has {WIDTH} fields, one a line")
        for field in fields:
            tokens = [*filter(None, field.split(" "))]
            found += map(known.__getitem__, tokens)
            found += (0,) if tokens else ()
            sizes.append(len(tokens) + bool(tokens))
    terms = sorted(known)
    order = np.empty(len(terms), dtype=np.int32)
    order[np.array([known[term] for term in terms], dtype=np.int64)] = np.arange(len(terms), dtype=np.int32)
    runs = np.array(sizes, dtype=np.int64)
    marks = np.zeros(len(found), dtype=np.bool_)
    marks[runs.cumsum()[runs > 0] - 1] = True
    return order[np.array(found, dtype=np.int64)], marks, np.repeat(np.arange(len(runs)), runs), terms


def _postings(keys: Whole, terms: int, rows: int) -> dict[str, NDArray[Any]]:
    """Return postings from where each token stands, in order: (term x rows + row) x fields + field."""
    starts, counts = runs_of(keys)
    held, field = keys[starts] // WIDTH, keys[starts] % WIDTH
    firsts, _ = runs_of(held)
    combos, codes = _combined(counts, field, firsts)
    held = held[firsts]
    term = held // max(1, rows)
    return {
        "pointers": starts_of(np.bincount(term, minlength=terms)),
        "rows": narrow(held - term * rows, rows),
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
    shifts = starts_of(bits[::-1])[:-1][::-1]  # the first field counts most, as where rows are sorted
    packed = np.add.reduceat(counts << shifts[field], firsts) if len(firsts) else counts
    distinct = np.sort(packed)  # `np.unique` would load ten milliseconds of NumPy
    distinct = distinct[runs_of(distinct)[0]]
    combos = ((distinct[:, None] >> shifts) & ((1 << bits) - 1)).astype(np.int32)
    return combos, narrow(distinct.searchsorted(packed), len(combos))


def _pairs(
    numbers: Rows, marks: Mask, row: Whole, field: Whole, order: Whole, count: int, terms: int
) -> dict[str, NDArray[Any]]:
    """Return which stems follow each other in a title or a body; *order* is that of the tokens by their terms."""
    both = np.zeros(len(marks), dtype=np.bool_)
    both[1:] = ~marks[:-1] & ~marks[1:] & (field[:-1] < NAMED)
    second = order[both[order]]
    second = second[places_by(numbers[second - 1], terms)]
    ahead, behind, held = numbers[second - 1].astype(np.int64), numbers[second], row[second]
    return pair_arrays(ahead, behind, held, terms, count)


def pair_arrays(
    ahead: NDArray[Any], behind: NDArray[Any], rows: NDArray[Any], terms: int, count: int
) -> dict[str, NDArray[Any]]:
    """Return the arrays of pairs, of which each occurrence has its first term, its second and its row."""
    return {
        "pair.firsts": narrow(starts_of(np.bincount(ahead, minlength=terms)), len(ahead) + 1),
        "pair.seconds": narrow(behind, terms),
        "pair.rows": narrow(rows, count),
    }


def _running(numbers: Rows, marks: Mask, row: Whole, field: Whole, rows: int, terms: int) -> dict[str, NDArray[Any]]:
    """Return the tokens in order; a number that no term has is a mark."""
    return {
        "running.tokens": narrow(np.where(marks, np.int32(terms), numbers), terms + 1),
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
        "named": np.diff(starts_of(named)[found["pointers"]]).astype(np.int32),
    }
    if form == "exact":  # the form that words are looked for by how they are spelt
        more |= {name: make(*spelt) for name, make in signatures.ALL.items()}
    return block | {f"{form}.{name}": values for name, values in (found | more | bounds(found)).items()}


def bounds(found: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return what postings are worth by the usual measure."""
    rows, codes, lengths = (found[name] for name in ("rows", "codes", "lengths"))
    counts, average = found["combos"] @ np.array(USUAL.weights), average_of(lengths)
    worth = np.empty(len(rows), dtype=np.uint8)
    for at in range(0, len(rows), CHUNK):
        here = slice(at, at + CHUNK)
        worth[here] = impacts(counts[codes[here]], lengths[rows[here]], USUAL, average)
    return {"average": np.array([average]), "impacts": worth}
