"""Four bits for each number: quantisation by faiss, scanned in place of the vectors, which then decide.

The scan of faiss takes a bitmap of the rows that may be found, so that a filter costs nothing and loses nothing.
"""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from recollect.files import FILE

SAMPLE: Final = 8_192
"""From so many rows the code book is learnt."""
PORTION: Final = 16_384
"""How many rows are encoded or copied at a time."""
LEAST: Final = 1_024
"""Fewer rows than this get no codes: a code book is learnt from more, and they are compared as they are."""


@cache
def available() -> bool:
    """Return whether faiss is installed; it is loaded when the first vectors are encoded or scanned."""
    return importlib.util.find_spec("faiss") is not None


def fits(rows: int, dimensions: int) -> bool:
    """Return whether a table of this shape can have codes."""
    return rows >= LEAST and dimensions % 2 == 0 and available()


def _faiss() -> Any:
    """Return faiss, with one thread for whoever calls: a query is too short to share."""
    import faiss  # noqa: PLC0415  (optional, and expensive to load)

    faiss.omp_set_num_threads(1)
    return faiss


class Codes:
    """The codes of the rows of one table."""

    def __init__(self, index: Any) -> None:
        self._index = index

    def candidates(self, query: Any, selector: "Selector | None", most: int) -> tuple[Any, Any]:
        """Return the *most* rows that seem nearest to *query* among those of *selector*, or of all, and how near."""
        faiss = _faiss()
        chosen = None if selector is None else selector.of(faiss)
        how = None if chosen is None else faiss.SearchParametersIVF(sel=chosen, nprobe=1)
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


def write_codes(vectors: Any, path: Path, book: Path | None = None) -> None:
    """Encode *vectors* and write the codes to *path*, by the code book of those at *book* or by one of their own."""
    index = _book(vectors, book)
    for part in portions(len(vectors)):
        index.add(np.ascontiguousarray(vectors[part], dtype="f4"))
    _faiss().write_index(index, str(path))
    path.chmod(FILE)
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _book(vectors: Any, path: Path | None) -> Any:
    """Return an index that holds nothing but a code book: that at *path*, or one learnt from a sample of *vectors*."""
    faiss = _faiss()
    rows, dimensions = vectors.shape
    if path is not None:
        with suppress(RuntimeError):
            index = faiss.read_index(str(path))
            if index.d == dimensions:
                index.reset()
                return index
    one = faiss.IndexFlatIP(dimensions)
    one.add(np.zeros((1, dimensions), dtype="f4"))
    index = faiss.IndexIVFPQFastScan(one, dimensions, 1, dimensions, 4, faiss.METRIC_INNER_PRODUCT)
    index.by_residual = False
    index.train(vectors[:: max(1, rows // SAMPLE)][:SAMPLE].astype("f4"))
    return index


def read_codes(path: Path, *, rows: int, dimensions: int) -> Codes | None:
    """Return the codes at *path*; None where they are not those of so many rows, or cannot be read here."""
    if not fits(rows, dimensions) or not path.is_file():
        return None
    try:
        index = _faiss().read_index(str(path))
    except RuntimeError:
        return None
    return Codes(index) if (index.ntotal, index.d) == (rows, dimensions) else None


def portions(rows: int) -> Iterator[slice]:
    """Yield the rows in portions that fit into memory."""
    return (slice(start, start + PORTION) for start in range(0, rows, PORTION))
