"""Four bits for each number: quantisation by faiss, scanned in place of the vectors, which then decide.

The scan of faiss takes a bitmap of the rows that may be found, so that a filter costs nothing and loses nothing. It
rounds the products of a question with the levels to eight bits: where few dimensions have the large numbers, that loses
the others. So codes are measured when they are made, and kept only where they find what the vectors find.
"""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from recollect.files import FILE, open_regular

SAMPLE: Final = 8_192
"""From so many rows the code book is learnt."""
BITS: Final = 4
LEVELS: Final = 2**BITS
STEPS: Final = 25
"""How often the levels of a code book are moved to where numbers are, as often as faiss does."""
CACHED: Final = 512
"""How many rows are encoded at a time, so that they stay near the processor."""
PORTION: Final = 16_384
"""How many rows are encoded or copied at a time."""
LEAST: Final = 1_024
"""Fewer rows than this get no codes: a code book is learnt from more, and they are compared as they are."""

NARROW: Final = 2
"""How many rows for each one wanted codes bring where that is enough."""
_WIDTHS: Final = {NARROW: NARROW, 4: 8, 8: 16}
"""What codes bring for each one wanted, by what was enough for the sample: codes that miss some bring twice as many."""
_FOUND: Final = 0.9995
"""The part of the nearest that codes must find."""
_NEAREST: Final = 100
_ASKED: Final = 32
"""How many questions of each kind are asked to measure codes."""
_FEW: Final = 8
"""A short question has one in so many of the numbers of a row."""
_COMPARED: Final = 50_000
"""Among about so many rows codes are measured at most."""
_EQUAL: Final = 1e-6
"""Products that differ less are of equals."""


@cache
def available() -> bool:
    """Return whether faiss is installed; it is loaded when the first vectors are encoded or scanned."""
    return importlib.util.find_spec("faiss") is not None


def fits(rows: int, dimensions: int) -> bool:
    """Return whether a table of this shape can have codes."""
    return rows >= LEAST and dimensions % 2 == 0 and available()


def _faiss() -> Any:
    import faiss  # noqa: PLC0415  (optional, and expensive to load)

    return faiss


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    """Let faiss use one thread meanwhile, for a query is too short to share; the program's own number comes back."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


class Codes:
    """The codes of the rows of one table."""

    def __init__(self, index: Any) -> None:
        self._index = index

    def candidates(self, query: Any, selector: "Selector | None", most: int) -> tuple[Any, Any]:
        """Return the *most* rows that seem nearest to *query* among those of *selector*, or of all, and how near."""
        faiss = _faiss()
        chosen = None if selector is None else selector.of(faiss)
        how = None if chosen is None else faiss.SearchParametersIVF(sel=chosen, nprobe=1)
        with _one_thread(faiss):
            (products,), (rows,) = self._index.search(query[None], min(most, self._index.ntotal), params=how)
        found = rows >= 0
        return rows[found], products[found]


class Selector:
    """The rows that may be found, as faiss reads them."""

    def __init__(self, admitted: Any) -> None:
        self._bits = np.packbits(admitted, bitorder="little")

    def of(self, faiss: Any) -> Any:
        """Return the selector of faiss; it reads the bits in place."""
        return faiss.IDSelectorBitmap(self._bits)


def write_codes(vectors: Any, path: Path, book: Path | None = None) -> int:
    """Encode *vectors* and write the codes to *path*, by the code book of those at *book* or by one of their own.

    Return how many rows for each one wanted the codes must bring; zero, and nothing is written, where they miss some.
    """
    faiss = _faiss()
    rows, dimensions = vectors.shape
    levels = _levels_at(book, dimensions)
    if levels is None:
        levels = _learnt(vectors[:: max(1, rows // SAMPLE)][:SAMPLE])
    one = faiss.IndexFlatIP(dimensions)
    one.add(np.zeros((1, dimensions), dtype="f4"))
    plain = faiss.IndexIVFPQ(one, dimensions, 1, dimensions, BITS, faiss.METRIC_INNER_PRODUCT)
    plain.by_residual, plain.is_trained, plain.ntotal = False, True, rows
    faiss.copy_array_to_vector(levels.ravel(), plain.pq.centroids)
    plain.invlists.resize(0, rows)
    for part in portions(rows):
        codes = _encoded(vectors[part], levels)
        ids = np.arange(part.start, part.start + len(codes))
        plain.invlists.update_entries(0, part.start, len(codes), faiss.swig_ptr(ids), faiss.swig_ptr(codes))
    with _one_thread(faiss):
        index = faiss.IndexIVFPQFastScan(plain)
    width = _measured(Codes(index), vectors)
    if width:
        faiss.write_index(index, str(path))
        path.chmod(FILE)
        with path.open("rb") as file:
            os.fsync(file.fileno())
    return width


def _measured(codes: Codes, vectors: Any) -> int:
    """Return how many rows for each one wanted *codes* must bring, so that the nearest are among them; zero for never.

    Of a large table some rows are compared, spread over all of it.
    """
    step = -(-len(vectors) // _COMPARED)
    some = vectors[::step]
    selector = Selector(np.arange(len(vectors)) % step == 0) if step > 1 else None
    asked = _questions(some)
    products = np.concatenate([some[part] @ asked.T for part in portions(len(some))]).T
    found = dict.fromkeys(_WIDTHS, 0)
    for question, near in zip(asked, products, strict=True):
        least = np.partition(near, -_NEAREST)[-_NEAREST] - _EQUAL
        rows, _ = codes.candidates(question, selector, max(_WIDTHS) * _NEAREST)
        reached = near[rows // step] >= least
        for width in _WIDTHS:
            found[width] += min(_NEAREST, int(np.count_nonzero(reached[: width * _NEAREST])))
    enough = (used for width, used in _WIDTHS.items() if found[width] >= _FOUND * _NEAREST * len(asked))
    return next(enough, 0)


def _questions(vectors: Any) -> Any:
    """Return what may be asked of *vectors*, the same each time: rows, what lies between two, and short questions.

    A row is nearer to its neighbours than a question is. A short question, such as one of few words to an embedder that
    counts words, has large numbers in few dimensions: it has the largest ones of a row.
    """
    one, left, right, short = np.random.default_rng(_ASKED).choice(len(vectors), (4, _ASKED), replace=False)
    rows = vectors[short]
    sizes = np.abs(rows)
    most = sizes.shape[1] // _FEW
    large = sizes >= np.partition(sizes, -most, axis=1)[:, [-most]]
    asked = np.concatenate([vectors[one], vectors[left] + vectors[right], np.where(large, rows, 0)])
    lengths = np.linalg.norm(asked, axis=1, keepdims=True)
    return (asked / np.where(lengths > 0, lengths, 1)).astype("f4")


def _levels_at(book: Path | None, dimensions: int) -> Any:
    """Return the levels by which the codes at *book* were made; None where there are none for such vectors.

    What faiss learnt itself is in no order.
    """
    if book is not None:
        faiss = _faiss()
        with suppress(OSError, RuntimeError):
            os.close(open_regular(book))
            index = faiss.read_index(str(book))
            if index.d == dimensions:
                return np.sort(faiss.vector_to_array(index.pq.centroids).reshape(dimensions, LEVELS), axis=1)
    return None


def _learnt(sample: Any) -> Any:
    """Return the levels that are nearest to the numbers of each dimension: those of k-means, which sorts one dimension.

    faiss learns the same and takes ten times as long: it knows nothing of the order of numbers.
    """
    numbers = np.sort(sample.T.astype("f8"), axis=1)
    dimensions, many = numbers.shape
    sums = np.zeros((dimensions, many + 1))
    np.cumsum(numbers, axis=1, out=sums[:, 1:])
    levels = numbers[:, ((np.arange(LEVELS) + 0.5) * many / LEVELS).astype("i8")]
    cuts = np.full((dimensions, LEVELS + 1), many)
    cuts[:, 0] = 0
    for _ in range(STEPS):
        for at, bounds in enumerate(_bounds(levels)):
            cuts[at, 1:-1] = np.searchsorted(numbers[at], bounds)
        counts = np.diff(cuts, axis=1)
        total = np.diff(np.take_along_axis(sums, cuts, axis=1), axis=1)
        levels = np.where(counts > 0, total / np.maximum(counts, 1), levels)
    return levels.astype("f4")


def _bounds(levels: Any) -> Any:
    """Return where each level of a dimension ends and the next one begins."""
    return (levels[:, 1:] + levels[:, :-1]) / 2


def _encoded(vectors: Any, levels: Any) -> Any:
    """Return for each number which level is nearest, two to a byte."""
    codes = np.empty((len(vectors), len(levels) // 2), dtype="u1")
    bounds = np.ascontiguousarray(_bounds(levels).T)
    for start in range(0, len(vectors), CACHED):
        some = vectors[start : start + CACHED]
        nearest = np.zeros(some.shape, dtype="u1")
        for each in bounds:
            nearest += some > each
        codes[start : start + CACHED] = nearest[:, ::2] | nearest[:, 1::2] << BITS
    return codes


def read_codes(path: Path, *, rows: int, dimensions: int) -> Codes | None:
    """Return the codes at *path*; None where they are not those of so many rows, or cannot be read here."""
    if not fits(rows, dimensions) or not path.is_file():
        return None
    try:
        os.close(open_regular(path))
        index = _faiss().read_index(str(path))
    except (OSError, RuntimeError):
        return None
    return Codes(index) if (index.ntotal, index.d) == (rows, dimensions) else None


def portions(rows: int) -> Iterator[slice]:
    """Yield the rows in portions that fit into memory."""
    return (slice(start, start + PORTION) for start in range(0, rows, PORTION))
