"""Follow the roots: import what changes below them as it changes, until somebody says stop."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from recollect.errors import InputError, RecollectError
from recollect.recollection import Recollection

if TYPE_CHECKING:
    from recollect.remember.import_files import ImportReport
    from recollect.remember.roots import Root

Told = Callable[["ImportReport"], None]
DEBOUNCE: Final = 400
"""For how many milliseconds changes are gathered, so that what is saved in several steps is imported once."""
LOOK: Final = 2_000
"""After how many milliseconds without a change somebody looks whether roots came or went."""


class Stopped(Exception):
    """Say that it was asked to end."""


def follow(db: Recollection, *, stop: threading.Event, told: Told, trouble: Callable[[RecollectError], None]) -> None:
    """Import the roots of *db* now and whenever something changes below them, until *stop* is set.

    What was imported is *told*, and so is *trouble*, which does not end it. Vectors are made in between.
    """
    _need_watchfiles()
    if not db.roots.list():
        raise InputError("there is nothing to watch", hint="keep a root first: recollect import PATH")
    try:
        _import(db, stop, told, trouble)
        while not stop.is_set():
            here, caught_up = _places(db.roots.list()), False
            for changed in _changes(here, _ignored(db), stop):
                moved = _places(db.roots.list()) != here
                if changed or moved or not caught_up:  # what changed before the watch began is not told
                    _import(db, stop, told, trouble)
                    caught_up = True
                if moved:
                    break
    except Stopped:
        return


def _import(db: Recollection, stop: threading.Event, told: Told, trouble: Callable[[RecollectError], None]) -> None:
    """Import every root, then make the vectors; both end early when somebody says *stop*."""

    def progress(_done: int, _total: int, _what: str) -> None:
        if stop.is_set():
            raise Stopped

    try:
        report = db.roots.import_(defer=True, progress=progress)
        told(report)
        db.embed_imported(report, progress=progress)
    except RecollectError as error:  # a store that is locked now is free later
        trouble(error)


def _places(kept: Iterable["Root"]) -> frozenset[str]:
    """Return the folders in which changes of the roots show; that of a file is the one above it."""
    found = (Path(place) for root in kept for place in root.places)
    return frozenset(str(path if path.is_dir() else path.parent) for path in found if path.exists())


def _ignored(db: Recollection) -> str:
    """Return what the names of the store's own files begin with: writing to them is no change."""
    return str(Path(db.address).absolute())


def _changes(here: frozenset[str], own: str, stop: threading.Event) -> Iterator[set[Any]]:
    """Yield what changes in the folders *here*, nothing after a while without a change; end when told to *stop*."""
    if not here:
        stop.wait(LOOK / 1000)
        yield set()
        return
    from watchfiles import watch  # noqa: PLC0415  (an extra)

    yield from watch(
        *sorted(here),
        watch_filter=lambda _, path: not path.startswith(own),
        debounce=DEBOUNCE,
        stop_event=stop,
        rust_timeout=LOOK,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )


def _need_watchfiles() -> None:
    try:
        import watchfiles  # noqa: F401, PLC0415
    except ImportError as error:
        raise InputError("watching needs the extra 'watch'", hint="pip install 'recollect[watch]'") from error


@contextmanager
def until_signalled() -> Iterator[threading.Event]:
    """Give an event that SIGINT and SIGTERM set, so that what is under way ends cleanly."""
    stop = threading.Event()
    before = {each: signal.signal(each, lambda *_: stop.set()) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
