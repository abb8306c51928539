"""Which state of the rows a transaction sees: how far their numbers go, and which segments hold them."""

from collections.abc import Iterable
from contextlib import suppress
from operator import attrgetter
from typing import Final

from msgspec import Struct

from recollect.errors import StoreDamaged
from recollect.records import FIELDS
from recollect.stores.sql.engine import RowSnapshot, Session, state_of
from recollect.stores.sql.index.log import Segment
from recollect.stores.token_text import unpacked

LINES: Final = len(FIELDS) - 1
REMOVED: Final = "select r.seq, r.id, t.seq from removed r left join tokens t on t.id = r.id"
"""Reads tombstones: their number, the document, and which number its row has now, if any."""
_COUNTED: Final = ("version", "seq", "lineage", "pruned", "documents", "last_removed")


class Mark(Struct, frozen=True, kw_only=True):
    """A state of the rows; two transactions that see the same *lineage* and *seq* see the same rows."""

    version: int
    seq: int
    lineage: int
    segments: tuple[Segment, ...]
    snapshot: RowSnapshot
    pruned: int = 0
    """Tombstones up to this number are gone."""
    documents: int | None = None
    """How many documents there are, where that is known."""
    last_removed: int | None = None
    """The highest number of a tombstone, where that is known."""

    def may_have_removed_since(self, old: "Mark") -> bool:
        """Tell whether there may be tombstones that the state *old* has not seen."""
        return self.last_removed is None or self.last_removed > old.snapshot.settled


def read_mark(session: Session) -> Mark:
    """Return which state of the rows the open transaction sees."""
    state = state_of(session)
    try:
        counters = {key: int(state.counters[key]) for key in _COUNTED if key in state.counters}
        listed = [
            Segment(name=str(name), after=int(after), upto=int(upto), removed=int(upto), rows=int(rows))
            for upto, after, name, rows in state.segments
        ]
        listed.sort(key=attrgetter("upto", "after", "name"))
        last = counters["seq"]
        snapshot = state.snapshot or RowSnapshot(settled=last, highest=last, is_sparse=False)
        return Mark(**counters, segments=tuple(listed), snapshot=snapshot)
    except (TypeError, ValueError) as error:
        raise StoreDamaged("the counters of the word index are damaged", hint="run: recollect reindex") from error


def texts_of(row: int, stem: object, exact: object) -> tuple[str, str]:
    """Return the tokens of a document as its row holds them: texts with a line for each field, or both packed."""
    with suppress(ValueError):
        if isinstance(stem, bytes):
            stem, exact = unpacked(stem)
        if isinstance(stem, str) and isinstance(exact, str) and stem.count("\n") == exact.count("\n") == LINES:
            return stem, exact
    raise StoreDamaged(f"the tokens of memory {row} are damaged", hint="run: recollect reindex")


def gone_from_span(tombstones: Iterable[tuple[int, int, int | None]], after: int, upto: int) -> list[int]:
    """Return the documents that a segment of the rows numbered above *after* up to *upto* holds no more.

    Transactions are numbered when they begin, so a tombstone may have a higher number than the row that came later. A
    row that is there with a number of the segment is alive in it.
    """
    return [row for seq, row, now in tombstones if seq > upto and not (now is not None and after < now <= upto)]
