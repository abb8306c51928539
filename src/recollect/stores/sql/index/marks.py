"""Which state of the rows a transaction sees: how far their numbers go, and which segments hold them."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from msgspec import Struct

from recollect.errors import StoreDamaged
from recollect.records import FIELDS
from recollect.stores.sql.engine import Session, state_of

LINES: Final = len(FIELDS) - 1
_COUNTED: Final = ("version", "seq", "lineage")


class Segment(Struct, frozen=True):
    """A folder of arrays: the rows numbered behind *after* up to *upto*."""

    upto: int
    after: int
    name: str
    documents: int

    @property
    def is_named_well(self) -> bool:
        """Tell whether the name is that of a folder of ours and leads nowhere else."""
        return self.name.isalnum()


class Mark(Struct, frozen=True, kw_only=True):
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
    """Return which state of the rows the open transaction sees."""
    state = state_of(session)
    try:
        counters = {key: int(state.counters[key]) for key in _COUNTED if key in state.counters}
        listed = [Segment(int(upto), int(after), str(name), int(n)) for upto, after, name, n in state.segments]
        listed.sort(key=attrgetter("upto", "after", "name"))
        return Mark(**counters, segments=tuple(listed))
    except (TypeError, ValueError) as error:
        raise StoreDamaged("the counters of the word index are damaged", hint="run: recollect reindex") from error


def require_texts(row: int, *texts: object) -> None:
    """Refuse what cannot be the tokens of a document: texts with a line for each field."""
    if not all(isinstance(text, str) and text.count("\n") == LINES for text in texts):
        raise StoreDamaged(f"the tokens of memory {row} are damaged", hint="run: recollect reindex")
