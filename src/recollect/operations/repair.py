"""Operations on damage: finding it, rebuilding indexes, saving what can be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct

from recollect import upkeep
from recollect.errors import StoreClosed, StoreError
from recollect.operations.answer import Answer, operation
from recollect.operations.request import Call, Request
from recollect.operations.rights import OWNER_CHECKS_ALL, OWNER_WRITES_ALL
from recollect.parameters import about
from recollect.records import Progress, Recovery
from recollect.render import text
from recollect.replies import Health
from recollect.stores.choice import shown_address
from recollect.workspace import Workspace, open_as
from recollect.workspace import recover as recover_store


class Doctor(Request, rights=OWNER_CHECKS_ALL, group="care"):
    """How deep to look."""

    deep: Annotated[bool, about("compare every row with its checksum and every word index entry")] = False


@operation
def doctor(db: Workspace, request: Doctor, _: Call) -> Answer[Health]:
    """Check the store for damage, and say what to do about it.

    Example:
        >>> db.doctor(deep=True).healthy
        True
    """
    health = _health(db, deep=request.deep)
    return Answer(value=health, text=lambda: text.health_text(health), healthy=health.healthy)


def _health(db: Workspace, *, deep: bool) -> Health:
    problems = db.store.check(deep=deep)
    try:
        old, memories = [each.model for each in db._outdated()], db.stats().memories
    except StoreClosed:
        raise
    except StoreError as error:
        problems = problems or (f"{error}; {error.hint}",)
        return Health(problems=problems, memories=0, address=shown_address(db.address))
    advice = [f"vectors of {name} are here and not in use; drop them: recollect model prune" for name in old]
    privacy = upkeep.privacy.leaving(db.models, db.address)  # it looks at the model, which may leave a notice
    advice += [*upkeep.privacy.exposed(db.address), *filter(None, [db.models.notice])]
    advice += [*db._log.failures, *db._writer.failures]
    return Health(
        problems=problems,
        memories=memories,
        address=shown_address(db.address),
        advice=tuple(advice),
        privacy=privacy,
        last_backup=db.backups.last(),
    )


class Reindex(
    Request,
    rights=OWNER_WRITES_ALL,
    slow=True,
    group="care",
    stopped="the index in use stays as it was; run it again",
):
    """Every index."""


class Reindexed(Struct, frozen=True, kw_only=True):
    """How many memories were indexed."""

    memories: int


@operation
def reindex(db: Workspace, _: Reindex, call: Call) -> Answer[Reindexed]:
    """Rebuild every index from the memories."""
    count = db.reindex(call.progress)
    return Answer(value=Reindexed(memories=count), text=lambda: f"{count} memories indexed again")


class Recover(Request, in_python=False, needs_store=False, group="care"):
    """Which store to save, and where to."""

    old: Annotated[str, about("the damaged store", place=1)]
    new: Annotated[str, about("the store to make; it must not exist", place=2)]


@operation
def recover(_: Workspace, request: Recover, __: Call) -> Answer[Recovery]:
    """Save what can be read of a damaged store into a new one; the old one stays as it is."""
    done = recover_store(request.old, request.new)
    return Answer(value=done, text=lambda: text.recovery_text(done, request.new), healthy=done.is_whole)


def readable(
    db: Workspace, *, everything: bool, vectors: bool, progress: Progress | None
) -> tuple[Iterator[dict[str, Any]], tuple[str, ...]]:
    """Return an archive of what can be read of the store of *db*, and lines on what is left out."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415  (few leave out what is damaged)

    folder = TemporaryDirectory(prefix="recollect-")
    done = recover_store(db.address, Path(folder.name, "readable.db"))

    def archived() -> Iterator[dict[str, Any]]:
        with folder, open_as(Workspace, Path(folder.name, "readable.db"), project=db.project, model="none") as copy:
            yield from copy.archive(everything=everything, vectors=vectors, progress=progress)

    return archived(), tuple(text.left_out(done))
