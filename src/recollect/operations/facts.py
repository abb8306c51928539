"""Operations on facts: what memories state, what has faded, what contradicts."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from recollect import upkeep
from recollect.operations.answer import Answer, listed, operation
from recollect.operations.fields import Texts
from recollect.operations.request import Call, Request, read_id
from recollect.operations.rights import OWNER_WRITES, READS
from recollect.parameters import about
from recollect.records import Fact, FactQuery
from recollect.render import text

if TYPE_CHECKING:  # a client of the server opens no store
    from recollect.workspace import Workspace


class FactList(Struct, frozen=True, kw_only=True):
    """Facts, each with the memory that states it."""

    facts: tuple[Fact, ...]


class Facts(Request, rights=READS, group="agents", example={"subject": "Owner"}):
    """Which facts to list."""

    subject: Annotated[str, about("only about this subject")] | None = None
    type: Annotated[Texts, about("only of this type")] | None = None
    limit: Annotated[int, about("how many (100)", ge=1, short="n")] = 100


@operation
def facts(db: "Workspace", request: Facts, _: Call) -> Answer[FactList]:
    """List the facts that memories state: subject, predicate, object.

    Example:
        >>> [(fact.subject, fact.object) for fact in db.facts(subject="Owner")]
        [('Owner', 'Mara of the billing team')]
    """
    asked = FactQuery(subject=request.subject, types=request.type, limit=request.limit)
    return _listed(db.store.facts(asked, scope=db.scope))


class Stale(Request, verb="facts stale", rights=READS, group="agents", example={"days": 30}):
    """Which facts count as stale."""

    below: Annotated[float, about("those with less confidence than this (0.5)", ge=0, le=1)] = 0.5
    days: Annotated[int, about("those not confirmed for this many days (30)", ge=0)] = 30


@operation
def stale(db: "Workspace", request: Stale, _: Call) -> Answer[FactList]:
    """List facts whose confidence has faded, or that nobody confirmed for long.

    Example:
        >>> [fact.subject for fact in db.stale(below=0.1, days=30)]
        []
    """
    return _listed(tuple(upkeep.facts.stale(db._all_facts(), now=db.now(), below=request.below, days=request.days)))


def _listed(found: tuple[Fact, ...]) -> Answer[FactList]:
    return listed(FactList(facts=found), found, text.fact_line, empty="No facts.")


class Conflicts(Request, verb="conflicts", rights=READS, group="care"):
    """All conflicts."""


class ConflictList(Struct, frozen=True, kw_only=True):
    """Pairs that contradict each other."""

    conflicts: "tuple[upkeep.facts.Conflict, ...]"


@operation
def conflicts(db: "Workspace", _: Conflicts, __: Call) -> Answer[ConflictList]:
    """List facts and memories that contradict each other.

    Example:
        >>> db.conflicts()
        ()
    """
    stated = upkeep.facts.all_conflicts(db.store, scope=db.scope)
    missed = upkeep.consolidate.missed_conflicts(db._ingest_context(embed=False))
    found = tuple(upkeep.facts.without_repeats([*stated, *missed]))
    return listed(
        ConflictList(conflicts=found), found, text.conflict_line, empty="No conflicts.", empty_is_success=True
    )


class Reinforce(Request, verb="facts reinforce", rights=OWNER_WRITES, group="agents", example={"ids": ["1"]}):
    """Which facts are confirmed."""

    ids: Annotated[Texts, about("ids of facts (see: recollect facts)", place=1)]


class Reinforced(Struct, frozen=True, kw_only=True):
    """The facts that were confirmed."""

    reinforced: tuple[int, ...]


@operation
def reinforce(db: "Workspace", request: Reinforce, _: Call) -> Answer[Reinforced]:
    """Confirm facts: their confidence rises and counts from today."""
    rows = tuple(read_id(each, see="recollect facts") for each in request.ids)
    count = db.reinforce(*rows)
    return Answer(value=Reinforced(reinforced=rows), text=lambda: f"{count} facts reinforced")
