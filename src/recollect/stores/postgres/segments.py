"""Segments that many machines share: made by one of them, kept in the database, copied to where they are searched."""

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Final

from recollect.files import FILE, FOLDER
from recollect.stores.postgres.engine import PostgresEngine
from recollect.stores.sql.engine import Session
from recollect.stores.sql.index.folder import SegmentUnavailable

CHUNK: Final = 1 << 20
"""How many bytes one row of a segment has."""
FILES: Final = 1 << 20
"""By how much the numbers of the rows of one file are apart from those of the next."""


class SharedSegments:
    """The segments of a store in its database."""

    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine

    def alone(self) -> AbstractContextManager[bool]:
        """Hold the lock of all machines, if it is free."""
        return self._engine.alone("segments")

    def publish(self, session: Session, folder: Path) -> None:
        """Write the files of a segment into the database."""
        rows = [
            (folder.name, place * FILES + number, chunk if number else file.name.encode() + b"\0" + chunk)
            for place, file in enumerate(sorted(folder.iterdir()))
            for number, chunk in enumerate(_chunks(file))
        ]
        session.many("insert into segment_data (name, ordinal, data) values (?, ?, ?)", rows)

    def bring(self, folder: Path) -> None:
        """Copy the files of a segment from the database, unless they are here."""
        if folder.exists():
            return
        part = folder.with_name(f"{folder.name}.{os.urandom(4).hex()}.part")
        try:
            part.mkdir(mode=FOLDER, parents=True)
            with self._engine.session() as session:
                sql = "select ordinal, data from segment_data where name = ? order by ordinal"
                _write(part, session.each(sql, (folder.name,)))
            part.rename(folder)
        except OSError as error:
            shutil.rmtree(part, ignore_errors=True)
            if not folder.exists():  # else another thread or process brought it
                raise SegmentUnavailable(
                    f"a segment of the word index could not be copied to {folder.parent}: {error.strerror}",
                    hint="make room there; searching is slower meanwhile",
                ) from error


def _chunks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        yield opened.read(CHUNK)
        while chunk := opened.read(CHUNK):
            yield chunk


def _write(folder: Path, rows: Iterator[tuple[int, bytes]]) -> None:
    """Put the files together that `publish` took apart: the first row of each begins with its name."""
    with ExitStack() as files:
        for ordinal, data in rows:
            held = data
            if ordinal % FILES == 0:
                files.close()
                name, _, held = data.partition(b"\0")
                handle = os.open(folder / Path(name.decode()).name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
                file = files.enter_context(os.fdopen(handle, "wb"))
            file.write(held)
