"""One row of the certificate: what was done to a store, how often, what was lost, and what that does not prove."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
"""Where small stores are made by the thousand: in memory where that can be, so that no disk is waited for."""

Progress = Callable[[int, int], None]
"""Told how many cases are done, of how many."""


def silent(_done: int, _total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One kind of attack and what came of it."""

    title: str
    done: str
    """What was done, and how often."""
    lost: str
    """What was lost, as figures; those that are known not to be zero yet stand here too."""
    unproven: str
    """What the row does not prove."""
    failures: tuple[str, ...] = ()
    """What must not happen and did, a line each."""
    known: tuple[str, ...] = ()
    """What should not happen and is known to: see `demands`."""
