"""A part: documents as arrays, in memory or mapped from a file, and how its terms and rows are looked up."""

import mmap
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recollect.lazy import Bounded
from recollect.records import Form
from recollect.stores.bm25 import FORMS
from recollect.stores.segments.rows import COLUMNS
from recollect.stores.segments.sorting import runs_of

Arrays = Mapping[str, NDArray[Any]]
Whole = NDArray[np.int64]
"""Counts, ids, places."""
Rows = NDArray[np.int32]
"""Rows of a part, ascending."""
Mask = NDArray[np.bool_]

KEPT_TERMS: Final = 65_536
"""How many looked-up terms a part remembers."""
KEY: Final = 8
"""How many leading bytes of a term are compared as one number."""


def utf8(text: str) -> bytes:
    """Return *text* as the bytes that terms are stored and sorted by."""
    return text.encode("utf-8", "surrogatepass")


def key_of(term: bytes) -> int:
    """Return the first bytes of *term* as a number that sorts alike."""
    return int.from_bytes(term[:KEY].ljust(KEY, b"\0"), "big")


def keys_of(blob: NDArray[np.uint8], offsets: Whole) -> NDArray[np.uint64]:
    """Return the key of each term."""
    keys = np.zeros(len(offsets) - 1, dtype=np.uint64)
    for step in range(KEY if len(blob) else 0):
        places = offsets[:-1] + step
        letter = np.where(places < offsets[1:], blob.take(places, mode="clip"), np.uint8(0))
        keys = (keys << np.uint64(8)) | letter
    return keys


class Names:
    """Texts in one block of UTF-8, with where each begins; sorted where they are terms."""

    __slots__ = ("blob", "offsets")

    def __init__(self, blob: NDArray[np.uint8], offsets: Whole) -> None:
        self.blob = blob
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def raw(self, at: int) -> bytes:
        """Return the bytes of one text."""
        return self.blob[self.offsets[at] : self.offsets[at + 1]].tobytes()

    def text(self, at: int) -> str:
        """Return one text."""
        return self.raw(at).decode("utf-8", "surrogatepass")

    def texts(self) -> list[str]:
        """Return all of them."""
        block, ends = self.blob.tobytes(), self.offsets.tolist()
        return [block[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(ends)]

    def some(self, places: Whole) -> list[str]:
        """Return the texts at *places*, ascending."""
        block, starts, stops = self.blob.data, self.offsets[places].tolist(), self.offsets[places + 1].tolist()
        return [str(block[start:stop], "utf-8", "surrogatepass") for start, stop in zip(starts, stops, strict=True)]

    def __getitem__(self, at: int) -> bytes:
        return self.raw(at)


MAX_CACHED_WEIGHTS: Final = 8
"""For how many settings of field weights an index caches the weighted counts."""
MAX_MEASURED_BYTES: Final = 1 << 26
"""How many bytes of postings an index caches: of frequent terms, and for other BM25 parameters than the default's."""


class FormIndex:
    """The terms of one form, their postings, and the lengths of the rows in it."""

    __slots__ = (
        "_known",
        "average",
        "chars",
        "codes",
        "combos",
        "digraphs",
        "holding",
        "impacts",
        "keys",
        "lengths",
        "letters",
        "measured",
        "named",
        "names",
        "pointers",
        "rows",
        "weighted",
    )

    def __init__(self, arrays: Arrays, form: Form) -> None:
        def take(name: str) -> Any:
            return arrays[f"{form}.{name}"]

        self.names = Names(take("blob"), take("offsets"))
        if form == "exact":
            self.chars: NDArray[np.uint8] = take("chars")
            self.letters: NDArray[np.uint32] = take("letters")
            self.digraphs: NDArray[np.uint64] = take("digraphs")
        self.keys: NDArray[np.uint64] = take("keys")
        self.pointers: Whole = take("pointers")
        self.rows: NDArray[Any] = take("rows")
        self.codes: NDArray[Any] = take("codes")
        self.combos: Rows = take("combos")
        self.named: Rows = take("named")
        self.lengths: Rows = take("lengths")
        self.impacts: NDArray[np.uint8] = take("impacts")
        self.average = float(take("average")[0])
        self.weighted: Bounded[tuple[float, ...], NDArray[np.float64]] = Bounded(MAX_CACHED_WEIGHTS)
        self.measured: Bounded[Any, Any] = Bounded(MAX_MEASURED_BYTES, weigh=lambda found: int(found.owned_bytes) + 512)
        self._known: dict[str, int] = {}
        self.holding: dict[str, list[tuple[int, str]]] = {}
        """The longer terms of letters that hold a part, as far as somebody asked for them."""

    def term(self, text: str) -> int:
        """Return the number of a term, or -1."""
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= KEPT_TERMS:
                self._known.clear()
            found = self._known[text] = self._find(utf8(text))
        return found

    def rows_of(self, start: int, stop: int) -> Rows:
        """Return the rows of the postings from one place up to another."""
        found: Rows = self.rows[start:stop].astype(np.int32, copy=False)
        return found

    def _find(self, term: bytes) -> int:
        at = int(self.keys.searchsorted(np.uint64(key_of(term))))
        if at < len(self.names) and self.names.raw(at) == term:  # as it is, unless a lesser one begins alike
            return at
        at = self._first_from(term)
        return at if at < len(self.names) and self.names.raw(at) == term else -1

    def _first_from(self, term: bytes) -> int:
        """Return the first term that is not below *term*."""
        key = np.uint64(key_of(term))
        low, high = int(self.keys.searchsorted(key, "left")), int(self.keys.searchsorted(key, "right"))
        return bisect_left(self.names, term, low, high)

    def beginning(self, prefix: str) -> tuple[int, int]:
        """Return from which term on, and up to which, all begin with *prefix*."""
        start = utf8(prefix)
        after = start.rstrip(b"\xff")
        stop = self._first_from(after[:-1] + bytes([after[-1] + 1])) if after else len(self.names)
        return self._first_from(start), stop

    def counts(self, weights: tuple[float, ...]) -> NDArray[np.float64]:
        """Return the weighted count of each combination of counts by field, and a 0 after them for none."""
        found = self.weighted.get(weights)
        if found is None:
            found = self.weighted[weights] = np.append(self.combos @ np.array(weights), 0.0)
        return found


Excerpt = Callable[[str, int, int], NDArray[Any]]
"""Returns a few values of an array: from one place up to another."""


class Pairs:
    """Which two stems follow each other in a title or a body: each time by the first, the second and the row."""

    __slots__ = ("_excerpt", "firsts", "rows", "seconds")

    def __init__(self, arrays: Arrays, excerpt: Excerpt) -> None:
        self._excerpt = excerpt
        self.firsts: NDArray[Any] = arrays["pair.firsts"]
        self.seconds: NDArray[Any] = arrays["pair.seconds"]
        self.rows: NDArray[Any] = arrays["pair.rows"]

    def find(self, first: int, second: int) -> tuple[int, int]:
        """Return where the occurrences of a pair of terms begin and end; a pair with -1 has none."""
        if min(first, second) < 0:
            return 0, 0
        low, high = self.firsts[first : first + 2].tolist()
        seconds = self.seconds.data
        start = bisect_left(seconds, second, low, high)
        return start, bisect_right(seconds, second, start, high)

    def between(self, start: int, stop: int) -> tuple[Rows, NDArray[Any]]:
        """Return the rows of the occurrences from one place up to another, and how many each has."""
        rows = self._excerpt("pair.rows", start, stop).astype(np.int32)
        starts, counts = runs_of(rows)
        return rows[starts], counts


class Running:
    """The exact forms in their order, row by row: the number of no term behind each field that has any."""

    __slots__ = ("fields", "gaps", "starts", "tokens")

    def __init__(self, arrays: Arrays) -> None:
        self.tokens: NDArray[Any] = arrays["running.tokens"]
        self.starts: Whole = arrays["running.starts"]
        self.gaps: Whole = arrays["running.gaps"]
        self.fields: NDArray[np.uint8] = arrays["running.fields"]


class Part:
    """Documents that never change, sorted by project and id."""

    __slots__ = (
        "_block",
        "_forms",
        "arrays",
        "checksums",
        "ids",
        "is_ascending",
        "pairs",
        "projects",
        "running",
    )

    def __init__(
        self,
        arrays: dict[str, NDArray[Any]],
        block: mmap.mmap | None = None,
        checksums: Mapping[str, int] | None = None,
        excerpt: Excerpt | None = None,
    ) -> None:
        self.arrays = arrays
        self.checksums = checksums or {}
        self._block = block
        self.ids: Whole = arrays["ids"]
        self.is_ascending = bool(arrays["ascending"][0])
        self.projects = Names(arrays["project.blob"], arrays["project.offsets"]).texts()
        self._forms = {form: FormIndex(arrays, form) for form in FORMS}
        self.pairs = Pairs(arrays, excerpt or (lambda name, start, stop: arrays[name][start:stop]))
        self.running = Running(arrays)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_intact(self) -> bool:
        """Tell whether the file is as long as when it was mapped: reading behind its end would end the process."""
        return self._block is None or self._block.size() == len(self._block)

    def form(self, form: Form) -> FormIndex:
        """Return the index of one form."""
        return self._forms[form]

    @property
    def superseded(self) -> Mask:
        """Tell which rows are superseded."""
        found: Mask = self.arrays["superseded"]
        return found

    @property
    def code(self) -> Mask:
        """Tell which rows are code."""
        found: Mask = self.arrays["code"]
        return found

    def rows_of(self, ids: Iterable[int] | Whole) -> Whole:
        """Return the row of each id, -1 where it has none."""
        wanted = ids if isinstance(ids, np.ndarray) else np.fromiter(ids, dtype=np.int64)
        if not len(self) or not len(wanted):
            return np.full(len(wanted), -1, dtype=np.int64)
        rows: Whole = self.ids.searchsorted(wanted, sorter=None if self.is_ascending else self.arrays["by_id"])
        if not self.is_ascending:
            rows = self.arrays["by_id"].take(rows, mode="clip").astype(np.int64)
        rows[self.ids.take(rows, mode="clip") != wanted] = -1
        return rows

    def ranges(self, projects: Iterable[str] | None) -> list[tuple[int, int]]:
        """Return the rows of *projects*, as few ranges as they are; of all for None."""
        if projects is None:
            return [(0, len(self))] if len(self) else []
        wanted = frozenset(projects)
        starts: list[int] = self.arrays["project.starts"].tolist()
        found: list[tuple[int, int]] = []
        for at, name in enumerate(self.projects):
            if name in wanted:
                start = found.pop()[0] if found and found[-1][1] == starts[at] else starts[at]
                found.append((start, starts[at + 1]))
        return found

    def column(self, name: str) -> NDArray[Any]:
        """Return one of `COLUMNS`: numbers, or of names the number of each row's name."""
        return self.arrays[f"column.{name}"]

    def names(self, column: str) -> Sequence[str]:
        """Return the names that a column of names numbers."""
        if COLUMNS[column] != "text":
            return ()
        return Names(self.arrays[f"column.{column}.blob"], self.arrays[f"column.{column}.offsets"]).texts()

    def labels(self, column: str, rows: Whole) -> list[str]:
        """Return the names of *rows* in a column of names."""
        held = Names(self.arrays[f"column.{column}.blob"], self.arrays[f"column.{column}.offsets"])
        numbers: list[int] = self.column(column)[rows].tolist()
        told = {number: held.text(number) for number in set(numbers)}
        return [told[number] for number in numbers]

    def projects_of(self, rows: Whole) -> list[str]:
        """Return the projects of *rows*."""
        numbers = self.arrays["project.starts"].searchsorted(rows, "right") - 1
        return [self.projects[number] for number in numbers.tolist()]

    def close(self) -> None:
        """Let go of the file; the part must not be asked any more."""
        for name in ("ids", "pairs", "running", "_forms"):
            with suppress(AttributeError):
                delattr(self, name)
        self.arrays.clear()
        if self._block is not None:
            with suppress(BufferError):  # somebody still reads; it is closed with the last of them
                self._block.close()
            self._block = None
