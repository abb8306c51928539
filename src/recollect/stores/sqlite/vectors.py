"""The nearest vectors of a SQLite file: mapped segments, what was written since in memory, and everything in step."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from recollect.errors import StoreError
from recollect.records import VectorHits
from recollect.stores.sql.engine import Admitted, Engine, Session, VectorQuestion
from recollect.stores.sql.index.folder import VECTORS, SegmentFolder

if TYPE_CHECKING:
    from recollect.stores.sql.index.sealing import Sealer
    from recollect.stores.sqlite.vector_view import View


class Sizes(Struct, frozen=True, kw_only=True):
    """From how many passages on something is done."""

    quantised: int = 8_192
    """So many of a generation are scanned by their codes; fewer are compared one by one."""
    sealed: int = 2_048
    """So many that were written since become a segment."""
    foreground: int = 65_536
    """So many are written into one segment at most while somebody waits."""


def _named(engine: Engine) -> set[str]:
    with engine.session() as session:
        return {name for (name,) in session.rows("select name from vector_segment")}


class SegmentScan:
    """What is known of each generation, shared by the threads of a process; only reading on is for one at a time."""

    def __init__(self, folder: Path | None, *, is_writable: bool = True, sizes: Sizes | None = None) -> None:
        self._folder = None if folder is None else folder / VECTORS
        self._is_writable = is_writable
        self._sizes = sizes or Sizes()
        self._lock = threading.Lock()
        self._sealing = threading.Lock()
        self._waiting: bool | None = None
        self._sealer: Sealer | None = None
        self._is_swept = False
        self._views: dict[int, View] = {}

    def nearest(self, session: Session, asked: VectorQuestion, admitted: Callable[[], Admitted]) -> VectorHits:
        """Return the nearest memories, as the open transaction sees them."""
        return self._view(session, asked).nearest(session, asked, admitted)

    def _view(self, session: Session, asked: VectorQuestion) -> "View":
        view = self._views.get(asked.generation)
        if view is not None and view.is_of(session, asked):
            return view
        from recollect.stores.sqlite.vector_view import View, look  # noqa: PLC0415  (loads NumPy)

        with self._lock:
            view = self._views.get(asked.generation) or View(stamp=-1, dimensions=-1)
            if view.is_of(session, asked):
                return view
            known = view if view.dimensions == asked.dimensions else View(stamp=-1, dimensions=-1)
            view = look(session, asked, known, self._folder)
            if not session.is_writing:  # what is not committed may never have been
                self._views[asked.generation] = view
        return view

    def settle(self, engine: Engine, *, whole: bool = False, at_rest: bool = False) -> None:
        """Seal what was written last, where there is enough of it, and join segments of like size."""
        if self._folder is None or not self._is_writable:
            return
        if engine.open_transaction() != "none":
            self._waiting = whole or bool(self._waiting)
            return
        if not self._sealing.acquire(blocking=False):
            return
        try:
            self._made_sealer(self._folder).settle(engine, whole=at_rest)
        finally:
            self._sealing.release()

    def _made_sealer(self, folder: Path) -> "Sealer":
        if self._sealer is None:
            from recollect.stores.sql.index.sealing import Sealer  # noqa: PLC0415
            from recollect.stores.sqlite.vector_codec import VectorCodec  # noqa: PLC0415  (loads NumPy)

            codec, sizes = VectorCodec(folder, self._sizes), self._sizes
            self._sealer = Sealer(SegmentFolder(folder), codec, seal=sizes.sealed, fan=2, inline=sizes.foreground)
        return self._sealer

    def resume(self, engine: Engine) -> None:
        """Settle what had to wait for the end of a transaction; once, look for what others left behind."""
        if self._folder is not None and self._is_writable and not self._is_swept:
            self._is_swept = True
            with suppress(OSError, StoreError):
                SegmentFolder(self._folder).tidy(lambda: _named(engine))
        if self._waiting is not None:
            whole, self._waiting = self._waiting, None
            self.settle(engine, whole=whole)

    def finish(self, engine: Engine) -> None:
        """Merge the segments that a lot of writing left, and remove those that were replaced."""
        if self._sealer is not None:
            self._sealer.finish(engine)

    def compact(self, engine: Engine) -> tuple[str, ...]:
        """Remove every segment that holds a vector that is gone, and make it anew."""
        if self._folder is None or not self._folder.exists():
            return ()
        return self._made_sealer(self._folder).compact(engine, self._forget)

    def _forget(self) -> None:
        with self._lock:
            self._views.clear()

    def check(self, session: Session, *, deep: bool) -> Iterator[str]:
        """Yield what is wrong with the segments."""
        if self._folder is not None:
            from recollect.stores.sqlite.vector_view import faults  # noqa: PLC0415  (loads NumPy)

            yield from faults(session, self._folder, deep=deep)
