"""Segments that many machines share: made by one of them, kept in the database, copied to where they are searched."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from recollect.files import FILE
from recollect.stores.postgres.engine import PostgresEngine
from recollect.stores.sql.engine import Session
from recollect.stores.sqlite.folder import SegmentFolder

CHUNK: Final = 1 << 20
"""How many bytes one row of a segment has."""


class SharedFolder(SegmentFolder):
    """The copies that one machine has of the segments in the database; what is missing is brought when it is needed."""

    def __init__(self, path: Path, engine: PostgresEngine) -> None:
        super().__init__(path)
        self._engine = engine

    @contextmanager
    def locked(self, patience: float = 0.0) -> Iterator[bool]:
        """Hold the lock of this machine and that of all, if both are free."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with super().locked(patience) as ours:
            if not ours:
                yield False
                return
            with self._engine.alone("segments") as alone:
                yield alone

    def publish(self, session: Session, name: str) -> None:
        """Write the files of a segment into the database."""
        rows = [
            (name, place * (1 << 20) + number, chunk if number else file.name.encode() + b"\0" + chunk)
            for place, file in enumerate(sorted((self.path / name).iterdir()))
            for number, chunk in enumerate(_chunks(file))
        ]
        session.many("insert into segment_data (name, ordinal, data) values (?, ?, ?)", rows)

    def bring(self, name: str) -> None:
        """Copy the files of a segment from the database, unless they are here."""
        if (self.path / name).exists():
            return
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self.path / f"{name}.{os.urandom(4).hex()}.part"
        part.mkdir(mode=0o700)
        try:
            with self._engine.session() as session:
                sql = "select ordinal, data from segment_data where name = ? order by ordinal"
                _write(part, session.each(sql, (name,)))
            part.rename(self.path / name)
        except OSError:  # another thread or process brought it, or the disk is full: the rows answer
            shutil.rmtree(part, ignore_errors=True)


def _chunks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        yield opened.read(CHUNK)
        while chunk := opened.read(CHUNK):
            yield chunk


def _write(folder: Path, rows: Iterator[tuple[int, bytes]]) -> None:
    """Put the files together that `publish` took apart: the first row of each begins with its name."""
    handle = -1
    try:
        for ordinal, data in rows:
            held = data
            if ordinal % (1 << 20) == 0:
                if handle >= 0:
                    os.close(handle)
                name, _, held = data.partition(b"\0")
                handle = os.open(folder / Path(name.decode()).name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
            os.write(handle, held)
    finally:
        if handle >= 0:
            os.close(handle)
