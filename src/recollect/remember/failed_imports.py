"""Files that could not be imported, kept as notes until they can be; `review` asks about them."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from recollect.stores.contract import Store

FAILED: Final = "failed-import"
"""The kind of note that says which file could not be imported."""
MAX_FAILED: Final = 1_000
"""How many files are kept; those of earlier imports make room for those of the last one."""


def note_failures(store: Store, failures: Mapping[str, str], read: Iterable[str], *, project: str) -> None:
    """Note which files could not be imported and why; those that were *read* are forgotten."""
    known = store.notes(FAILED, project=project)
    kept = dict(islice(failures.items(), MAX_FAILED))
    earlier = known.keys() - failures.keys() - set(read)
    kept_earlier = set(islice(sorted(earlier), MAX_FAILED - len(kept)))
    for path in known.keys() - kept.keys() - kept_earlier:
        store.put_note(FAILED, path, None, project=project)
    for path, reason in kept.items():
        if known.get(path, {}).get("reason") != reason:
            store.put_note(FAILED, path, {"reason": reason}, project=project)
