"""recollect with its embedding model: the embedding alone, and hybrid searches that embed their question."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.speed.engines import recollect

VERSION, NOTE = recollect.VERSION, "with MiniLM"


def build(material: Path, home: Path) -> None:
    """Copy the store that has been built without a model, beside which this one lies."""
    home.rmdir()
    recollect.with_model(home.with_name("recollect"), material, home)


def searches(material: Path, home: Path) -> dict[str, Callable[[int], Any]]:
    """Open it with the model."""
    return recollect.searches_with_model(material, home)
