"""What a filter says of the rows of a part, read off its columns."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from recollect.arguments import storable
from recollect.records import Filter
from recollect.stores.segments.part import Mask, Part

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def in_columns(where: Filter) -> bool:
    """Tell whether the columns of a part say all that *where* asks."""
    paths = () if where.sources is None else where.sources
    return where.tags is None and where.fact_types is None and where.as_of is None and all(map(_is_path, paths))


def _is_path(wish: str) -> bool:
    """Tell whether *wish* names something: a blank one would be met by what has no source."""
    return bool(wish.strip("/"))


def by_columns(part: Part, where: Filter) -> Mask | None:
    """Tell which rows *where* admits; None for all."""
    masks = []
    if not where.include_superseded and part.superseded.any():
        masks.append(~part.superseded)
    if where.types is not None:
        masks += _named(part, "type", [name in where.types for name in part.names("type")])
    if where.kinds is not None:
        masks += _named(part, "kind", [name in where.kinds for name in part.names("kind")])
    if where.sources is not None:
        wishes = [storable(wish) for wish in where.sources]
        masks += _named(part, "source", [_lies_in(name, wishes) for name in part.names("source")])
    if where.since is not None:
        masks.append(part.column("happened_at") >= _number(where.since))
    if where.until is not None:
        masks.append(part.column("happened_at") < _number(where.until))
    return np.logical_and.reduce(masks) if masks else None


def _named(part: Part, column: str, admitted: Sequence[bool]) -> list[Mask]:
    """Return a mask of the rows whose name is *admitted*; none where every name is, as that of all notes is."""
    return [] if all(admitted) else [np.array(admitted, dtype=np.bool_)[part.column(column)]]


def _lies_in(source: str, wishes: Sequence[str]) -> bool:
    """Tell whether *source* is one of *wishes*, lies below one, or holds one between its slashes."""
    return bool(source) and any(
        source == wish or source.startswith(wish.rstrip("/") + "/") or f"/{wish.rstrip('/')}/" in f"{source}/"
        for wish in wishes
    )


def _number(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND
