"""recollect on an empty store: what an `add` costs there."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.speed.engines import recollect

VERSION, NOTE = recollect.VERSION, "an empty store"


def build(material: Path, home: Path) -> None:
    """Need nothing."""


def searches(material: Path, home: Path) -> dict[str, Callable[[int], Any]]:
    """Open a new store."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    return {row: search for row, search in recollect.searches(material, home).items() if row.startswith("add")}
