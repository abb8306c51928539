"""The verb for shards: which there are, which project lives where."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from recollect.errors import InputError, RecollectError
from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.stores.choice import shards_of, shown_address
from recollect.surfaces.table import Answer, Given, Parameter, listed, operation

if TYPE_CHECKING:
    from recollect.stores.postgres.directory import Shard
    from recollect.stores.postgres.shards import ShardedStore

AT_ONCE: Final = 8
"""How many shards are asked at the same time."""
FEW: Final = 5
"""How many projects of a shard are told by name to people; programs get all."""


def _list(db: Recollection, _: Given) -> Answer:
    whole = shards_of(db.store)
    placed = whole.directory.placements()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = [*threads.map(lambda each: _state(whole, each, placed.get(each.number, ())), whole.directory.shards())]
    return listed(found, shard_line, empty="No shards. Add one: recollect shards add NAME ADDRESS", shards=found)


def _state(whole: "ShardedStore", shard: "Shard", projects: Sequence[str]) -> dict[str, Any]:
    """Return what is told of a shard: how large it is, or why it cannot be asked."""
    value = {**_told(shard), "projects": list(projects)}
    try:
        return {**value, "bytes": whole.size_of(shard), "error": None}
    except RecollectError as error:
        return {**value, "bytes": None, "error": str(error)}


def _told(shard: "Shard") -> dict[str, Any]:
    return {"name": shard.name, "address": shown_address(shard.address), "open": shard.open}


def _add(db: Recollection, given: Given) -> Answer:
    name, address = _two(given, "such as: recollect shards add one postgresql://user@host/database?schema=one")
    shard, projects = shards_of(db.store).add(name, address)
    value = {**_told(shard), "projects": list(projects)}
    return Answer(value=value, text=lambda: f"{name} is a shard at {value['address']}, with {len(projects)} projects")


def _place(db: Recollection, given: Given) -> Answer:
    project, name = _two(given, "such as: recollect shards place web one")
    shards = shards_of(db.store)
    shard = shards.directory.place(db.in_project(project).project or project, name)
    return Answer(value={"project": project, "shard": shard.name}, text=lambda: f"{project} lives on {shard.name}")


def _let(db: Recollection, given: Given, *, take: bool) -> Answer:
    if not given.get("name"):
        raise InputError("say which shard", hint="see: recollect shards")
    shard = shards_of(db.store).directory.let(given["name"], take=take)
    told = "takes new projects" if take else "takes no new projects"
    return Answer(value=_told(shard), text=lambda: f"{shard.name} {told}")


def _two(given: Given, hint: str) -> tuple[str, str]:
    """Return the two words behind the action."""
    name, where = given.get("name"), given.get("where")
    if not (name and where):
        raise InputError(f"{given['action']} takes two words", hint=hint)
    return name, where


def shard_line(shard: Mapping[str, Any]) -> str:
    """Return a shard in one line: its name and address, its size or why it cannot be reached, its projects."""
    names = ", ".join(shard["projects"][:FEW]) + (", …" if len(shard["projects"]) > FEW else "")
    held = f"{len(shard['projects'])} projects" + (f" ({names})" if names else "")
    state = shard["error"] or f"{shard['bytes'] / 1_000_000:.1f} MB"
    return f"{shard['name']}  {shard['address']}  {state}  {held}{'' if shard['open'] else '  takes no new ones'}"


ACTIONS: Final[Mapping[str, Callable[[Recollection, Given], Answer]]] = {
    "list": _list,
    "add": _add,
    "place": _place,
    "close": lambda db, given: _let(db, given, take=False),
    "open": lambda db, given: _let(db, given, take=True),
}


@operation(
    Parameter(
        name="action", kind="choice", choices=tuple(ACTIONS), place=True, optional=True, about="what to do (list)"
    ),
    Parameter(name="name", place=True, optional=True, about="the name of a shard; of a project to place"),
    Parameter(name="where", place=True, optional=True, about="the address to add; the shard to place it on"),
    makes=True,
    group="care",
)
def shards(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """List the shards of a store that is spread over several, add one, place a project on one."""
    if db.project is not None:
        raise InputError("shards hold every project", hint="leave out --project")
    action = given.get("action") or "list"
    return ACTIONS[action](db, given)
