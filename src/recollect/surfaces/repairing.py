"""Verbs about damage: finding it, making indexes anew, saving what can be read."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from recollect.recollection import Recollection
from recollect.recollection import open as open_recollection
from recollect.recollection import recover as recover_store
from recollect.records import Progress
from recollect.surfaces import text
from recollect.surfaces.rights import OWNER_CHECKS_ALL, OWNER_WRITES_ALL
from recollect.surfaces.table import Answer, Given, Parameter, operation


@operation(
    Parameter(name="deep", kind="flag", about="compare every row with its checksum and every word index entry"),
    rights=OWNER_CHECKS_ALL,
    group="care",
)
def doctor(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Check the store for damage, and say what to do about it."""
    health = db.doctor(deep=bool(given.get("deep")))
    return Answer(value=health, text=lambda: text.health_text(health), healthy=health.healthy)


@operation(rights=OWNER_WRITES_ALL, slow=True, group="care", stopped="the index in use stays as it was; run it again")
def reindex(db: Recollection, _: Given, progress: Progress | None) -> Answer:
    """Rebuild every index from the memories."""
    count = db.reindex(progress)
    return Answer(value={"memories": count}, text=lambda: f"{count} memories indexed anew")


@operation(
    Parameter(name="old", place=True, about="the damaged store"),
    Parameter(name="new", place=True, about="the store to make; it must not exist"),
    store=False,
    group="care",
)
def recover(_: Recollection, given: Given, __: Progress | None) -> Answer:
    """Save what can be read of a damaged store into a new one; the old one stays as it is."""
    done = recover_store(given["old"], given["new"])
    return Answer(value=done, text=lambda: text.recovery_text(done, given["new"]), healthy=done.is_whole)


def readable(
    db: Recollection, *, everything: bool, vectors: bool, progress: Progress | None
) -> tuple[Iterator[dict[str, Any]], tuple[str, ...]]:
    """Return an archive of what can be read of the store of *db*, and lines on what is left out."""
    folder = TemporaryDirectory(prefix="recollect-")
    done = recover_store(db.address, Path(folder.name, "readable.db"))

    def archived() -> Iterator[dict[str, Any]]:
        with folder, open_recollection(Path(folder.name, "readable.db"), project=db.project, model="none") as copy:
            yield from copy.archive(everything=everything, vectors=vectors, progress=progress)

    return archived(), tuple(text.left_out(done))
