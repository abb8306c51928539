"""Several parts into one, on arrays: what is dead is left out, and so is every word that nothing living holds."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recollect.records import Form
from recollect.stores.bm25 import FORMS
from recollect.stores.segments.build import build, form_arrays, names_block, pair_arrays
from recollect.stores.segments.part import FormIndex, Mask, Names, Part, Rows, Whole
from recollect.stores.segments.rows import COLUMNS
from recollect.stores.segments.sorting import narrow, ordered, starts_of

CHUNK: Final = 1 << 21
"""How many postings are sorted at once."""
SLICE: Final = 1 << 16
"""How many rows are copied at once."""

Living = Sequence[tuple[Part, Mask | None]]


def merge(parts: Living) -> Part:
    """Return one part of the rows of *parts* that are alive; no mask says that all are."""
    if not parts:
        return build(())
    rows, arrays = _documents(parts)
    for name, kind in COLUMNS.items():
        arrays |= _names(parts, rows, f"column.{name}") if kind == "text" else {}
        arrays.setdefault(f"column.{name}", _gathered(parts, rows, f"column.{name}"))
    for form in FORMS:
        terms, numbers = _terms(parts, form)
        found = _postings(parts, rows, form, numbers, len(terms))
        found["lengths"] = _gathered(parts, rows, f"{form}.lengths")
        arrays |= form_arrays(form, terms, found)
        arrays |= (
            _pairs(parts, rows, numbers, len(terms)) if form == "stem" else _running(parts, rows, numbers, len(terms))
        )
    return Part(arrays)


# --- documents ------------------------------------------------------------------------------


def _documents(parts: Living) -> tuple[list[Rows], dict[str, NDArray[Any]]]:
    """Return the new row of each old one, -1 for what is dead, and the arrays of documents."""
    names = sorted({name for part, _ in parts for name in part.projects})
    number = {name: at for at, name in enumerate(names)}
    kept = [_kept(part, alive) for part, alive in parts]
    ids = _joined([part.ids[rows] for (part, _), rows in zip(parts, kept, strict=True)], np.int64)
    projects = _joined([_projects(part, number)[rows] for (part, _), rows in zip(parts, kept, strict=True)], np.int64)
    order = np.lexsort((ids, projects))
    places = np.empty(len(order), dtype=np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    rows, ends = [], starts_of(np.array([len(each) for each in kept], dtype=np.int64)).tolist()
    for (part, _), each, start, stop in zip(parts, kept, ends[:-1], ends[1:], strict=True):
        rows.append(np.full(len(part), -1, dtype=np.int32))
        rows[-1][each] = places[start:stop]
    sizes = np.bincount(projects, minlength=len(names))
    found: dict[str, NDArray[Any]] = {
        "ids": ids[order],
        "by_id": np.argsort(ids[order], kind="stable").astype(np.int32),
        "ascending": np.array([bool((ids[order][1:] > ids[order][:-1]).all())]),
        "project.starts": starts_of(sizes[sizes > 0]),
        **names_block("project", [name for name, size in zip(names, sizes.tolist(), strict=True) if size]),
    }
    return rows, found | {name: _gathered(parts, rows, name) for name in ("superseded", "code")}


def _kept(part: Part, alive: Mask | None) -> Whole:
    return np.arange(len(part)) if alive is None else np.flatnonzero(alive)


def _projects(part: Part, number: dict[str, int]) -> Whole:
    numbers = np.array([number[name] for name in part.projects], dtype=np.int64)
    return np.repeat(numbers, np.diff(part.arrays["project.starts"]))


def _joined(several: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(several) if several else np.empty(0, dtype=dtype)


def _gathered(parts: Living, rows: Sequence[Rows], name: str) -> NDArray[Any]:
    """Return an array of one entry a row, in the new order."""
    size = sum(int(np.count_nonzero(each >= 0)) for each in rows)
    found = np.zeros(size, dtype=parts[0][0].arrays[name].dtype if parts else np.int64)
    for (part, _), each in zip(parts, rows, strict=True):
        there = each >= 0
        found[each[there]] = part.arrays[name][there]
    return found


def _names(parts: Living, rows: Sequence[Rows], name: str) -> dict[str, NDArray[Any]]:
    """Return a column of names, of which only those are kept that a row has."""
    several = [Names(part.arrays[f"{name}.blob"], part.arrays[f"{name}.offsets"]).texts() for part, _ in parts]
    used = [np.unique(part.arrays[name][each >= 0]).tolist() for (part, _), each in zip(parts, rows, strict=True)]
    texts = sorted({mine[at] for mine, those in zip(several, used, strict=True) for at in those})
    number = {text: at for at, text in enumerate(texts)}
    found = np.zeros(sum(int(np.count_nonzero(each >= 0)) for each in rows), dtype=np.int32)
    for (part, _), each, mine in zip(parts, rows, several, strict=True):
        there = each >= 0
        numbers = np.array([number.get(text, 0) for text in mine], dtype=np.int32)
        found[each[there]] = numbers[part.arrays[name][there]]
    return {name: found, **names_block(name, texts)}


# --- terms and postings ---------------------------------------------------------------------


def _terms(parts: Living, form: Form) -> tuple[list[str], list[Rows]]:
    """Return the terms that something living holds, and the number of each old term among them, or -1."""
    several = [_living_terms(part.form(form), alive) for part, alive in parts]
    terms = sorted({term for mine in several for term in mine if term is not None})
    number: dict[str | None, int] = {term: at for at, term in enumerate(terms)}
    number[None] = -1
    return terms, [np.fromiter(map(number.__getitem__, mine), dtype=np.int32, count=len(mine)) for mine in several]


def _living_terms(index: FormIndex, alive: Mask | None) -> Sequence[str | None]:
    terms = index.names.texts()
    if alive is None or not terms:
        return terms
    held = np.add.reduceat(alive[index.rows], index.pointers[:-1], dtype=np.int64)
    return [term if count else None for term, count in zip(terms, held.tolist(), strict=True)]


def _postings(
    parts: Living, rows: Sequence[Rows], form: Form, numbers: Sequence[Rows], terms: int
) -> dict[str, NDArray[Any]]:
    indexes = [part.form(form) for part, _ in parts]
    combos, codes = _combos([index.combos for index in indexes])
    sizes = [np.diff(index.pointers) for index in indexes]
    outcome: list[Sequence[NDArray[Any]]] = []
    for start, stop in _chunks(sizes, numbers, terms):
        columns = []
        for index, number, row, code in zip(indexes, numbers, rows, codes, strict=True):
            first, last = _range(number, start, stop)
            here = slice(int(index.pointers[first]), int(index.pointers[last]))
            term = np.repeat(number[first:last] - start, np.diff(index.pointers[first : last + 1]))
            new = row[index.rows[here]]
            columns.append(_alive((term, new, code[index.codes[here]]), new >= 0))
        term, new, code = ordered(_columns(columns), (stop - start, _count(rows), len(combos)))
        outcome.append(
            (np.bincount(term, minlength=stop - start), narrow(new, _count(rows)), narrow(code, len(combos)))
        )
    held, found, marks = _columns(outcome) if outcome else (np.empty(0, dtype=np.int64),) * 3
    return {
        "pointers": starts_of(held),
        "rows": found if outcome else narrow(found, _count(rows)),
        "codes": narrow(marks, len(combos)) if not outcome else marks,
        "combos": combos,
    }


def _combos(several: Sequence[Rows]) -> tuple[Rows, list[Rows]]:
    """Return all combinations of counts, and the number of each old one among them."""
    combos, numbers = np.unique(np.concatenate(several), axis=0, return_inverse=True)
    ends = starts_of(np.array([len(each) for each in several], dtype=np.int64)).tolist()
    flat = numbers.reshape(-1).astype(np.int32)
    return combos, [flat[start:stop] for start, stop in pairwise(ends)]


def _chunks(sizes: Sequence[Whole], numbers: Sequence[Rows], terms: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of new terms that together have about so many entries as are sorted at once."""
    total = np.zeros(terms, dtype=np.int64)
    for size, number in zip(sizes, numbers, strict=True):
        there = number >= 0
        total[number[there]] += size[there]
    ends = starts_of(total)
    start = 0
    while start < terms:
        stop = max(start + 1, int(ends.searchsorted(ends[start] + CHUNK, "right")) - 1)
        yield start, stop
        start = stop


def _range(number: Rows, start: int, stop: int) -> tuple[int, int]:
    """Return the old terms from the first that is now in a range to the last one."""
    places = np.flatnonzero((number >= start) & (number < stop))
    return (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)


def _alive(columns: Sequence[NDArray[Any]], there: Mask) -> Sequence[NDArray[Any]]:
    return columns if there.all() else [each[there] for each in columns]


def _columns(several: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
    return [np.concatenate(each) for each in zip(*several, strict=True)]


def _count(rows: Sequence[Rows]) -> int:
    return sum(int(np.count_nonzero(each >= 0)) for each in rows)


# --- pairs and the running text -------------------------------------------------------------


def _pairs(parts: Living, rows: Sequence[Rows], numbers: Sequence[Rows], terms: int) -> dict[str, NDArray[Any]]:
    several = [part.pairs for part, _ in parts]
    begins = [each.firsts.astype(np.int64) for each in several]
    sizes = [np.diff(each) for each in begins]
    outcome: list[Sequence[NDArray[Any]]] = []
    for start, stop in _chunks(sizes, numbers, terms):
        columns = []
        for pairs, firsts, number, row in zip(several, begins, numbers, rows, strict=True):
            first, last = _range(number, start, stop)
            here = slice(int(firsts[first]), int(firsts[last]))
            ahead = np.repeat(number[first:last] - start, np.diff(firsts[first : last + 1]))
            new = row[pairs.rows[here]]
            columns.append(_alive((ahead, number[pairs.seconds[here]], new), new >= 0))
        ahead, behind, new = ordered(_columns(columns), (stop - start, terms, _count(rows)))
        outcome.append(((ahead + start).astype(np.int32), narrow(behind, terms), narrow(new, _count(rows))))
    firsts, seconds, found = _columns(outcome) if outcome else (np.empty(0, dtype=np.int64),) * 3
    return pair_arrays(firsts, seconds, found, terms, _count(rows))


def _running(parts: Living, rows: Sequence[Rows], numbers: Sequence[Rows], terms: int) -> dict[str, NDArray[Any]]:
    sizes = np.zeros(_count(rows), dtype=np.int64)
    for (part, _), row in zip(parts, rows, strict=True):
        there = row >= 0
        sizes[row[there]] = np.diff(part.running.starts)[there]
    starts = starts_of(sizes)
    tokens = np.empty(int(starts[-1]), dtype=np.int32)
    fields = [
        each
        for (part, _), row, number in zip(parts, rows, numbers, strict=True)
        for each in _copied(part, row, np.append(number, np.int32(terms)), starts, tokens)
    ]
    gaps, marks = _columns(fields) if fields else (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8))
    order = np.argsort(gaps)
    return {
        "running.tokens": narrow(tokens, terms + 1),
        "running.starts": starts,
        "running.gaps": gaps[order],
        "running.fields": marks[order],
    }


def _copied(part: Part, row: Rows, number: Rows, starts: Whole, tokens: Rows) -> Iterator[Sequence[NDArray[Any]]]:
    """Copy the tokens of *part* to their new places; yield where its gaps are now, and of which field each is."""
    running = part.running
    for first in range(0, len(part), SLICE):
        here = running.starts[first : first + SLICE + 1]
        new = row[first : first + len(here) - 1]
        moved = np.where(new >= 0, starts[new] - here[:-1], np.int64(-1))
        shift = np.repeat(moved, np.diff(here))
        alive = np.repeat(new >= 0, np.diff(here))
        places = shift + np.arange(here[0], here[-1])
        tokens[places[alive]] = number[running.tokens[here[0] : here[-1]]][alive]
        low, high = running.gaps.searchsorted((here[0], here[-1]))
        gaps = running.gaps[low:high] - here[0]
        yield places[gaps][alive[gaps]], running.fields[low:high][alive[gaps]]
