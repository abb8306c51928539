"""Which state of the rows a transaction sees: how far their numbers go, and which segments hold them."""

import json
from dataclasses import dataclass
from typing import Final

import apsw

from recollect.stores.sql.codec import damaged
from recollect.stores.sql.engine import Session

_MARK: Final = (
    "select (select value from meta where key = 'version'), (select value from meta where key = 'seq'), "
    "(select value from meta where key = 'lineage'), "
    "(select json_group_array(json_array(name, upto, documents)) from segment)"
)


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A folder of arrays: what had been written by the number *upto*, and after that of the segment before it."""

    upto: int
    name: str
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A state of the rows; two transactions that see the same *lineage* and *seq* see the same rows."""

    version: int
    seq: int
    lineage: int
    segments: tuple[Segment, ...]

    @property
    def sealed(self) -> int:
        """Return up to which number rows are in a segment."""
        return self.segments[-1].upto if self.segments else 0

    def spans(self) -> list[tuple[Segment, int]]:
        """Return each segment with the number behind which it begins."""
        starts = [0, *(each.upto for each in self.segments)]
        return list(zip(self.segments, starts, strict=False))


def read_mark(session: Session) -> Mark:
    """Return which state of the rows the open transaction sees, with one question."""
    ((version, seq, lineage, segments),) = session.rows(_MARK)
    try:
        listed = [Segment(int(upto), str(name), int(documents)) for name, upto, documents in json.loads(segments)]
        return Mark(version=int(version), seq=int(seq), lineage=int(lineage), segments=tuple(sorted(listed)))
    except (TypeError, ValueError) as error:
        raise damaged("the table of", "counters") from error


def is_writing(session: Session) -> bool:
    """Tell whether the open transaction writes: what it sees may never be."""
    db = getattr(session, "db", None)
    return isinstance(db, apsw.Connection) and db.txn_state("main") == apsw.SQLITE_TXN_WRITE
