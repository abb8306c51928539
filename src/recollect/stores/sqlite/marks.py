"""Which state of the rows a transaction sees: how far their numbers go, and which segments hold them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import apsw

from recollect.stores.sql.codec import damaged
from recollect.stores.sql.engine import Session

_MARK: Final = (
    "select (select value from meta where key = 'version'), (select value from meta where key = 'seq'), "
    "(select value from meta where key = 'lineage'), "
    "(select json_group_array(json_array(upto, after, name, documents)) from segment)"
)


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A folder of arrays: the rows numbered behind *after* up to *upto*."""

    upto: int
    after: int
    name: str
    documents: int

    @property
    def is_named_well(self) -> bool:
        """Tell whether the name is that of a folder of ours and leads nowhere else."""
        return self.name.isalnum()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A state of the rows; two transactions that see the same *lineage* and *seq* see the same rows."""

    version: int
    seq: int
    lineage: int
    segments: tuple[Segment, ...]


def uncovered(spans: Sequence[tuple[int, int]], last: int) -> list[tuple[int, int]]:
    """Return the runs of numbers up to *last* that no span (after, upto) holds."""
    found, start = [], 0
    for after, upto in sorted(spans):
        if after > start:
            found.append((start, after))
        start = max(start, upto)
    return [*found, (start, last)] if last > start else found


def read_mark(session: Session) -> Mark:
    """Return which state of the rows the open transaction sees, with one question."""
    ((version, seq, lineage, segments),) = session.rows(_MARK)
    try:
        listed = [Segment(int(u), int(after), str(name), int(n)) for u, after, name, n in json.loads(segments)]
        return Mark(version=int(version), seq=int(seq), lineage=int(lineage), segments=tuple(sorted(listed)))
    except (TypeError, ValueError) as error:
        raise damaged("the table of", "counters") from error


def is_writing(session: Session) -> bool:
    """Tell whether the open transaction writes: what it sees may never be."""
    db = getattr(session, "db", None)
    return isinstance(db, apsw.Connection) and db.txn_state("main") == apsw.SQLITE_TXN_WRITE
