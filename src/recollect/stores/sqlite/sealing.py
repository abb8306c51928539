"""Sealing: what was written last becomes a segment, and segments of like size one."""

from collections.abc import Callable
from pathlib import Path

from recollect.stores.sql.engine import Engine


class Sealer:
    """Makes segments in a folder, one process at a time."""

    def __init__(self, folder: Path, *, analyser: int) -> None:
        self._folder, self._analyser = folder, analyser

    def settle(self, engine: Engine, *, whole: bool = False) -> None:
        """Seal what was written last, where there is enough of it."""

    def compact(self, engine: Engine, let_go: Callable[[], None]) -> tuple[str, ...]:
        """Write the segments anew that hold removed documents."""
        return ()
