"""recollect with the profiles of its five seeds; a tool of its own, as theirs stay when the default ranking changes."""

from pathlib import Path

from engines.recollect import VERSION, build_rows, embedding_seconds
from material import Material, Searches

from recollect.profile import BUILT_IN

__all__ = ["VERSION", "build", "embedding_seconds"]


def build(material: Material, _home: Path) -> Searches:
    """Import the set and search it with each profile."""
    seeds = (name for name in BUILT_IN if name != "default")
    return build_rows(material, {f"profile {name}, hybrid": (name, "hybrid") for name in seeds})
