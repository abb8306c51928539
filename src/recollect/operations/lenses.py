"""The operation on lenses: filters and boosts kept under a name."""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Struct

from recollect.errors import InputError
from recollect.operations.answer import Answer, listed, operation
from recollect.operations.fields import Narrowed, Texts, numbers
from recollect.operations.request import Call
from recollect.operations.rights import OWNER_WRITES, READS
from recollect.parameters import about
from recollect.recall.lens import Lens
from recollect.render import text
from recollect.serialize import serialize

if TYPE_CHECKING:  # a client of the server opens no store
    from recollect.workspace import Workspace


class LensRequest(
    Narrowed,
    rights=READS.but(action={"create": OWNER_WRITES, "drop": OWNER_WRITES}),
    group="agents",
    example={"action": "create", "name": "work", "type": ["decision"]},
):
    """What to do with which lens."""

    action: Annotated[Literal["create", "list", "drop"], about("what to do (list)", place=1)] = "list"
    name: Annotated[str, about("the name of the lens", place=2)] | None = None
    only_project: Annotated[Texts, about("only this project", metavar="NAME")] = ()
    tag: Annotated[Texts, about("only memories with this tag")] = ()
    boost: Annotated[Texts, about("KIND:NAME=FACTOR, such as type:decision=1.5", metavar="KEY=VALUE")] = ()


class LensList(Struct, frozen=True, kw_only=True):
    """The lenses that are kept."""

    lenses: tuple[Lens, ...]


class DroppedLens(Struct, frozen=True, kw_only=True):
    """A lens that is gone."""

    name: str
    dropped: bool = True


@operation
def lens(db: "Workspace", request: LensRequest, _: Call) -> Answer[LensList] | Answer[DroppedLens] | Answer[Lens]:
    """Create, list or drop lenses: filters and boosts kept under a name, for `search --lens NAME`."""
    if request.action == "list":
        kept = db.lenses.list()
        return listed(LensList(lenses=kept), kept, lambda each: text.lens_line(serialize(each)), empty="No lenses.")
    if not request.name:
        raise InputError("say which lens", hint="see: recollect lens list")
    if request.action == "drop":
        db.lenses.drop(request.name)
        return Answer(value=DroppedLens(name=request.name), text=lambda: f"lens {request.name} is gone")
    return _created(db, request, request.name)


def _created(db: "Workspace", request: LensRequest, name: str) -> Answer[Lens]:
    made = Lens(
        name=name,
        projects=request.only_project or None,
        tags=request.tag or None,
        since=request.since,
        until=request.until,
        boosts=numbers(request.boost, "boost", form="KIND:NAME=FACTOR", example="type:decision=1.5"),
        **request.filters(),
    )
    db.lenses.keep(made)
    return Answer(
        value=made, text=lambda: f"lens {made.name} is kept; use it with: recollect search --lens {made.name}"
    )
