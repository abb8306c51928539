"""Words in the segment log: rows of tokens, parts of arrays."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.stores.sql.engine import Session
from recollect.stores.sql.index import sealing
from recollect.stores.sql.index.log import Job, LogState, Segment
from recollect.stores.sql.index.marks import REMOVED, gone_from_span, read_mark

if TYPE_CHECKING:
    from recollect.stores.segments.part import Part


class WordCodec:
    """Reads, counts and writes the tokens of documents; NumPy is loaded by whatever needs it."""

    subject = "the word index"

    def read(self, session: Session) -> Sequence[LogState]:
        """Return the state of the log of words."""
        mark = read_mark(session)
        last = mark.snapshot.settled  # newer numbers may still be given to rows
        return [
            LogState(
                segments=mark.segments,
                last=last,
                removed=last,
                epoch=mark.lineage,
                is_sparse=mark.snapshot.is_sparse,
            )
        ]

    def count(self, session: Session, log: LogState, after: int, upto: int) -> int:
        """Return how many rows there are; nothing is read where the numbers are too few."""
        if not log.is_sparse and upto - after < sealing.SEAL:
            return 0
        return int(session.value("select count(*) from tokens where seq > ? and seq <= ?", (after, upto)))

    def cut(self, session: Session, log: LogState, after: int, upto: int, most: int) -> int:  # noqa: ARG002
        """Return up to which number at most *most* rows follow, or the rows of one number."""
        sql = "select seq from tokens where seq > ? and seq <= ? order by seq limit 1 offset ?"
        beyond: int | None = session.value(sql, (after, upto, most))
        if beyond is None:
            return upto
        first: int = session.value(sql, (after, upto, 0))
        return max(first, beyond - 1)

    def tombstones(self, session: Session, log: LogState) -> dict[str, list[int]]:
        """Return for each segment the documents that were removed since."""
        since = min((each.upto for each in log.segments), default=log.last)
        noted = session.rows(f"{REMOVED} where r.seq > ?", (since,))
        return {each.name: gone_from_span(noted, each.after, each.upto) for each in log.segments}

    def rows(self, session: Session, log: LogState, after: int, upto: int) -> list["Part"]:  # noqa: ARG002
        """Read a run of documents."""
        from recollect.stores.segments.build import build  # noqa: PLC0415
        from recollect.stores.sql.index.parts import read_rows  # noqa: PLC0415

        return [build(read_rows(session, after, upto))]

    def load(self, folder: Path, segment: Segment, log: LogState) -> "Part":  # noqa: ARG002
        """Map a segment; a small one is compared with its checksums."""
        from recollect.stores.sql.index.parts import load_segment  # noqa: PLC0415

        return load_segment(folder, segment)

    def verify(self, folder: Path, part: "Part") -> bool:  # noqa: ARG002
        """Tell whether all bytes are as they were written."""
        from recollect.stores.segments.files import verify  # noqa: PLC0415

        return not verify(part)

    def living(self, part: "Part", gone: Collection[int]) -> Any:
        """Return a mask of the rows that are not *gone*; None for all."""
        from recollect.stores.sql.index.parts import living  # noqa: PLC0415

        return living(part, gone)

    def is_newer(self, folder: Path) -> bool:
        """Tell whether a newer version of this program wrote the segment."""
        from recollect.stores.segments.files import is_of_newer  # noqa: PLC0415

        return is_of_newer(folder)

    def is_outdated(self, folder: Path, segment: Segment, log: LogState, total: int) -> bool:  # noqa: ARG002
        """Tell that words are written alike however many there are."""
        return False

    def write(
        self,
        session: Session,  # noqa: ARG002
        folder: Path,
        parts: Sequence[tuple["Part", Any]],
        job: Job,  # noqa: ARG002
        log: LogState,  # noqa: ARG002
    ) -> None:
        """Write the living rows of *parts*."""
        from recollect.stores.segments.files import save  # noqa: PLC0415
        from recollect.stores.segments.merge import merge  # noqa: PLC0415

        (first, mask), *others = parts
        save(merge(parts) if others or mask is not None else first, folder)

    def name(self, session: Session, log: LogState, replaced: Sequence[Segment], made: Segment | None) -> None:
        """Put *made* in the place of the *replaced*, and drop tombstones that no segment needs."""
        session.many("delete from segment where name = ?", [(each.name,) for each in replaced])
        if made is not None:
            row = (made.name, made.after, made.upto, made.rows)
            session.rows("insert into segment (name, after, upto, documents) values (?, ?, ?, ?)", row)
        usual = log.last if made is None and not replaced else 0
        upto = session.value("select coalesce(min(upto), ?) from segment", (usual,))
        session.rows("delete from removed where seq <= ?", (upto,))
        session.rows("update meta set value = ? where key = 'pruned'", (upto,))
