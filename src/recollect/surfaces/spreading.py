"""The verb for shards: which there are, which project lives where."""

from collections.abc import Callable, Mapping
from typing import Final

from recollect.errors import InputError
from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.surfaces.table import Answer, Given, Parameter, listed, operation
from recollect.upkeep.shards import ShardState

FEW: Final = 5
"""How many projects of a shard are told by name to people; programs get all."""


def _list(db: Recollection, _: Given) -> Answer:
    found = db.shards().list()
    return listed(found, shard_line, empty="No shards. Add one: recollect shards add NAME ADDRESS", shards=found)


def _add(db: Recollection, given: Given) -> Answer:
    name, address = _two(given, "such as: recollect shards add one postgresql://user@host/database?schema=one")
    return _told(db.shards().add(name, address))


def _place(db: Recollection, given: Given) -> Answer:
    project, name = _two(given, "such as: recollect shards place web one")
    return _told(db.shards().place(project, name))


def _let(db: Recollection, given: Given, *, take: bool) -> Answer:
    if not given.get("name"):
        raise InputError("say which shard", hint="see: recollect shards")
    return _told(db.shards().let(given["name"], take=take))


def _told(shard: ShardState) -> Answer:
    return Answer(value=shard, text=lambda: shard_line(shard))


def _two(given: Given, hint: str) -> tuple[str, str]:
    """Return the two words behind the action."""
    name, where = given.get("name"), given.get("where")
    if not (name and where):
        raise InputError(f"{given['action']} takes two words", hint=hint)
    return name, where


def shard_line(shard: ShardState) -> str:
    """Return a shard in one line: its name and address, its size or why it cannot be reached, its projects."""
    names = ", ".join(shard.projects[:FEW]) + (", …" if len(shard.projects) > FEW else "")
    count = len(shard.projects)
    held = f"{count} project{'' if count == 1 else 's'}" + (f" ({names})" if names else "")
    state = shard.error or f"{(shard.bytes or 0) / 1_000_000:.1f} MB"
    return f"{shard.name}  {shard.address}  {state}  {held}{'' if shard.open else '  takes no new ones'}"


ACTIONS: Final[Mapping[str, Callable[[Recollection, Given], Answer]]] = {
    "list": _list,
    "add": _add,
    "place": _place,
    "close": lambda db, given: _let(db, given, take=False),
    "open": lambda db, given: _let(db, given, take=True),
}


@operation(
    Parameter(
        name="action",
        kind="choice",
        choices=tuple(ACTIONS),
        place=True,
        optional=True,
        default="list",
        about="what to do (list)",
    ),
    Parameter(name="name", place=True, optional=True, about="the name of a shard; of a project to place"),
    Parameter(name="where", place=True, optional=True, about="the address to add; the shard to place it on"),
    makes=True,
    group="care",
)
def shards(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """List the shards of a store that is spread over several, add one, place a project on one."""
    return ACTIONS[given["action"]](db, given)
