"""The shards of a store that is spread over several: which there are, how they are, which project lives where."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from recollect.errors import RecollectError
from recollect.stores.choice import shards_of, shown_address
from recollect.stores.contract import Store

if TYPE_CHECKING:
    from recollect.stores.postgres.directory import Shard

AT_ONCE: Final = 8
"""How many shards are asked at the same time."""


class ShardState(Struct, frozen=True, kw_only=True):
    """A shard: its name and address, whether it takes new projects, those that live there, and how it is."""

    name: str
    address: str
    open: bool
    projects: tuple[str, ...] = ()
    bytes: int | None = None
    """How many bytes it takes on its server; None where it cannot be asked."""
    error: str | None = None
    """Why it cannot be asked."""


class Shards:
    """The shards of one store; projects are *named* as they are kept, without secrets."""

    def __init__(self, store: Store, *, named: Callable[[str], str]) -> None:
        self._whole, self._named = shards_of(store), named

    def list(self) -> tuple[ShardState, ...]:
        """Return every shard, the oldest first; those that cannot be reached say why."""
        placed = self._whole.directory.placements()
        with ThreadPoolExecutor(AT_ONCE) as threads:
            shards = self._whole.directory.shards()
            return tuple(threads.map(lambda each: self._state(each, placed.get(each.number, ())), shards))

    def add(self, name: str, address: str) -> ShardState:
        """Make the schema at *address* a shard with the projects that it holds already; it is made if need be.

        A shard that is added again under its name has moved to *address*.
        """
        shard, projects = self._whole.add(name, address)
        return self._state(shard, projects)

    def place(self, project: str, name: str) -> ShardState:
        """Let a new *project* live on the shard *name*."""
        shard = self._whole.directory.place(self._named(project), name)
        return self._state(shard, self._whole.directory.placements().get(shard.number, ()))

    def let(self, name: str, *, take: bool) -> ShardState:
        """Let the shard *name* *take* new projects, or no more of them."""
        shard = self._whole.directory.let(name, take=take)
        return self._state(shard, self._whole.directory.placements().get(shard.number, ()))

    def _state(self, shard: "Shard", projects: Sequence[str]) -> ShardState:
        size, error = None, None
        try:
            size = self._whole.size_of(shard)
        except RecollectError as trouble:
            error = str(trouble)
        return ShardState(
            name=shard.name,
            address=shown_address(shard.address),
            open=shard.open,
            projects=tuple(projects),
            bytes=size,
            error=error,
        )
