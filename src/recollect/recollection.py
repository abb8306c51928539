"""Recollection: an open store as Python programs use it, with a method for each operation."""

from pathlib import Path

from recollect.arguments import checked
from recollect.embedders.contract import OwnModel
from recollect.methods import Methods
from recollect.workspace import Clock, Workspace, move, open_as, recover, utc_now

__all__ = ["Recollection", "move", "open", "recover"]


class Recollection(Methods, Workspace):
    """Memories you can search. Close it, or use it in a `with` block."""


@checked
def open(  # noqa: A001  (recollect.open reads as it should)
    address: str | Path | None = None,
    *,
    profile: str | None = None,
    project: str | None = None,
    model: str | OwnModel | None = None,
    reranker: str | None = None,
    clock: Clock = utc_now,
    background: bool = False,
) -> "Recollection":
    """Open the store at *address* (a path or ":memory:"; the user's own store when not given).

    *model* is an installed model's name or folder, "hashing", or "none" to search by words alone; or a model of your
    own: a function that returns a vector for each text of a list, or an `EmbeddingModel`.
    *reranker* the folder of a cross-encoder that reads the best hits again, or "none".
    In the *background* means that new memories get their vectors from a thread: for processes that live long.

    Example:
        >>> with recollect.open(":memory:", model="none") as notes:
        ...     notes.add("We deploy on Fridays").id
        1
    """
    return open_as(
        Recollection,
        address,
        profile=profile,
        project=project,
        model=model,
        reranker=reranker,
        clock=clock,
        background=background,
    )
