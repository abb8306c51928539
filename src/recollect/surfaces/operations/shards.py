"""The operation on shards: which there are, which project lives where."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal

from recollect.errors import InputError
from recollect.recollection import Recollection
from recollect.surfaces.operations.answer import Answer, listed, operation
from recollect.surfaces.operations.request import Call, Request, about

if TYPE_CHECKING:
    from recollect.upkeep.shards import ShardState

FEW: Final = 5
"""How many projects of a shard are named to people; programs get all of them."""


def _list(db: Recollection, _: "ShardsRequest") -> Answer:
    found = db.shards().list()
    return listed(found, shard_line, empty="No shards. Add one: recollect shards add NAME ADDRESS", shards=found)


def _add(db: Recollection, request: "ShardsRequest") -> Answer:
    name, address = _two(request, "such as: recollect shards add one postgresql://user@host/database?schema=one")
    return _changed(db.shards().add(name, address))


def _place(db: Recollection, request: "ShardsRequest") -> Answer:
    project, name = _two(request, "such as: recollect shards place web one")
    return _changed(db.shards().place(project, name))


def _let(db: Recollection, request: "ShardsRequest", *, take: bool) -> Answer:
    if not request.name:
        raise InputError("say which shard", hint="see: recollect shards")
    return _changed(db.shards().let(request.name, take=take))


def _changed(shard: "ShardState") -> Answer:
    return Answer(value=shard, text=lambda: shard_line(shard))


def _two(request: "ShardsRequest", hint: str) -> tuple[str, str]:
    """Return the two words behind the action."""
    name, where = request.name, request.where
    if not (name and where):
        raise InputError(f"{request.action} takes two words", hint=hint)
    return name, where


def shard_line(shard: "ShardState") -> str:
    """Return a shard in one line: its name and address, its size or why it cannot be reached, its projects."""
    names = ", ".join(shard.projects[:FEW]) + (", …" if len(shard.projects) > FEW else "")
    count = len(shard.projects)
    held = f"{count} project{'' if count == 1 else 's'}" + (f" ({names})" if names else "")
    state = shard.error or f"{(shard.bytes or 0) / 1_000_000:.1f} MB"
    return f"{shard.name}  {shard.address}  {state}  {held}{'' if shard.open else '  takes no new ones'}"


ACTIONS: Final[Mapping[str, "Callable[[Recollection, ShardsRequest], Answer]"]] = {
    "list": _list,
    "add": _add,
    "place": _place,
    "close": lambda db, request: _let(db, request, take=False),
    "open": lambda db, request: _let(db, request, take=True),
}


class ShardsRequest(Request, creates_store=True, group="care"):
    """What to do with which shard."""

    action: Annotated[Literal["list", "add", "place", "close", "open"], about("what to do (list)", place=1)] = "list"
    name: Annotated[str, about("the name of a shard; of a project to place", place=2)] | None = None
    where: Annotated[str, about("the address to add; the shard to place it on", place=3)] | None = None


@operation
def shards(db: Recollection, request: ShardsRequest, _: Call) -> Answer:
    """List the shards of a store that is spread over several, add one, place a project on one."""
    return ACTIONS[request.action](db, request)
