"""Which state of the rows a transaction sees: how far their numbers go, and which segments hold them."""

from operator import attrgetter
from typing import Final

from msgspec import Struct

from recollect.errors import StoreDamaged
from recollect.records import FIELDS
from recollect.stores.sql.engine import Session, state_of
from recollect.stores.sql.index.log import Segment

LINES: Final = len(FIELDS) - 1
_COUNTED: Final = ("version", "seq", "lineage")


class Mark(Struct, frozen=True, kw_only=True):
    """A state of the rows; two transactions that see the same *lineage* and *seq* see the same rows."""

    version: int
    seq: int
    lineage: int
    segments: tuple[Segment, ...]


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
        return Mark(**counters, segments=tuple(listed))
    except (TypeError, ValueError) as error:
        raise StoreDamaged("the counters of the word index are damaged", hint="run: recollect reindex") from error


def require_texts(row: int, *texts: object) -> None:
    """Refuse what cannot be the tokens of a document: texts with a line for each field."""
    if not all(isinstance(text, str) and text.count("\n") == LINES for text in texts):
        raise StoreDamaged(f"the tokens of memory {row} are damaged", hint="run: recollect reindex")
