"""The operations as a server offers them: for a caller with rights of its own, with values as JSON brings them."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from recollect.arguments import shown
from recollect.errors import AccessError, InputError
from recollect.operations import OPERATIONS
from recollect.operations.answer import Answer, Operation
from recollect.operations.request import Call, Parameter, read_id
from recollect.operations.rights import Rights
from recollect.recollection import Recollection
from recollect.records import Progress, Trust
from recollect.surfaces.serve.tracing import span
from recollect.trust import TRUST_LEVELS, level, may_change
from recollect.workspace import in_foreground

T = TypeVar("T")
MAX_DIMENSIONS: Final = 65_536
"""How many numbers a vector may have."""
LONGEST: Final = 10_000
"""How many characters a query or the name of something may have."""
LONG: Final = frozenset({"text", "content", "description", "requirements"})
"""What may be as long as a body."""


class Caller(Struct, frozen=True, kw_only=True):
    """Who sends a request: how far it is trusted, what it may do, and the project it is bound to."""

    name: str = "owner"
    """The name of its token; "owner" for whoever needs none."""
    project: str | None = None
    folder: str = ""
    """The folder that it works in: through MCP it uses the project of that folder unless it names another one."""
    reads_all: bool = False
    """Whether it reads every project unless it names one."""
    reads: tuple[str, ...] = ()
    """The projects that this request reads; blank is all that the caller may see."""
    read_only: bool = False
    trust: Trust = "owner"
    has_token: bool = False
    is_local: bool = False
    """Whether it is a command of the owner on this machine, which has no limits, and waits until all is written."""
    mcp_session: str | None = None
    """The session of the recall log that its searches through MCP belong to."""

    def session(self, name: str) -> str | None:
        """Return what the session *name* of this caller is called in the store; None if it may not write there.

        A token's sessions carry its name, so that no token can write into the session of somebody else.
        """
        if self.read_only:
            return None
        return f"{self.name}/{name}" if self.has_token else name


OWNER: Final = Caller()


class Dispatcher:
    """The operations of one store, for callers near and far."""

    def __init__(self, db: Recollection) -> None:
        self.db = db
        self.operations: Mapping[str, Operation] = {
            name: each for name, each in OPERATIONS.items() if each.rights.is_offered
        }

    def answer(
        self,
        name: str,
        given: Mapping[str, Any],
        caller: Caller = OWNER,
        progress: Progress | None = None,
        *,
        cancelled: Callable[[], bool] | None = None,
    ) -> Answer[Any]:
        """Do the operation *name* with the values *given*, if *caller* may; raise a RecollectError otherwise.

        A search calls *cancelled* now and then, and stops once it returns True.
        """
        operation = self.operation(name)
        request = operation.parse(given) if caller.is_local else served_request(operation, given)
        rights = operation.rights.of(asdict(request))
        if rights.touches in ("session", "own") and getattr(request, "session", None) is not None:
            request = replace(request, session=caller.session(request.session))
        trust = caller.trust
        if rights.touches != "nothing" and "trust" in request.__struct_fields__:
            request = replace(request, trust=_trusted(request.trust, caller))

        def work(db: Recollection) -> Answer[Any]:
            call = Call(now=db.now(), trust=trust, progress=progress, cancelled=cancelled)
            if not caller.is_local:
                return operation.answer(db, request, call)
            with in_foreground(db) as view:
                answer = operation.answer(view, request, call)
                return replace(answer, notice=view.models.notice)

        return self.run(name, operation.rights, asdict(request), caller, work)

    def run(
        self, name: str, rights: Rights, values: Mapping[str, Any], caller: Caller, work: Callable[[Recollection], T]
    ) -> T:
        """Do *work* if *rights* grant it to *caller*; it is given what the caller may see of the store."""
        self.permit(name, rights, values, caller)
        db = self.db if caller.project is None else self.db.in_project(caller.project)
        db = db._narrowed(caller.reads) if caller.reads else db  # noqa: SLF001  (a view, as methods of Python have it)
        with span(name, caller, asked=values.get("query") or values.get("task")):
            return work(db)

    def operation(self, name: str) -> Operation:
        """Return the operation called *name*."""
        found = self.operations.get(name)
        if found is None:
            raise InputError(f"no operation is called {name!r}", hint=f"one of {', '.join(self.operations)}")
        return found

    def permit(self, name: str, rights: Rights, values: Mapping[str, Any], caller: Caller) -> None:
        """Refuse *caller* what *rights* do not grant it; this is the one check for every path into a server."""
        needed, asked = rights.of(values), values.get("project")
        if caller.project is not None and asked is not None and asked != caller.project:
            raise AccessError(f"this token is for the project {caller.project!r}", hint="use a token for that project")
        if needed.trust is None or level(caller.trust) < level(needed.trust):
            raise AccessError(f"{name} needs {_needed(needed)}", hint="ask the owner to do it")
        if caller.read_only and rights.writes(values):
            raise AccessError(f"{name} writes, and this token may only read", hint="use another token")
        if needed.spans_projects and caller.project is not None:
            raise AccessError(
                f"{name} concerns every project, and this token is for {caller.project!r}",
                hint="use a token for all projects",
            )
        if needed.touches == "named" and caller.trust != "owner":
            self._permit_change(_ids(values), caller, caller.project or asked)

    def _permit_change(self, ids: list[int], caller: Caller, project: str | None) -> None:
        db = self.db if project is None else self.db.in_project(project)
        for memory in db.store.load(ids, scope=db.scope).values():
            if not may_change(caller.trust, memory):
                raise AccessError(
                    f"#{memory.id} was written by somebody who is trusted further, or is pinned",
                    hint="say what is wrong with it instead: feedback",
                )


def _needed(rights: Rights) -> str:
    """Return who may do what needs *rights*, for an error message."""
    if rights.trust is None:
        return "the machine of the store"
    return "the owner" if rights.trust == "owner" else f"a caller trusted as {rights.trust}"


def _trusted(asked: Trust | None, caller: Caller) -> Trust:
    """Return how far the words of this request are trusted: as asked, and no further than the caller."""
    return TRUST_LEVELS[min(level(asked or caller.trust), level(caller.trust))]


def _ids(values: Mapping[str, Any]) -> list[int]:
    """Return the ids of memories that an operation names."""
    named = [values.get(name) for name in ("id", "ids", "by")]
    several = [each if isinstance(each, tuple) else (each,) for each in named if each is not None]
    return [read_id(str(each)) for group in several for each in group]


# --- requests -------------------------------------------------------------------------------


def served_request(operation: Operation, values: Mapping[str, Any]) -> Any:
    """Return the request that a client sends; refuse what only the machine of the store may ask, and long names."""
    request = operation.parse(values, allowed=operation.served_parameters)
    for each in operation.served_parameters:
        _refuse_long(each, getattr(request, each.name))
    return request


def _refuse_long(parameter: Parameter, value: Any) -> None:
    several = value if isinstance(value, tuple) else (value,)
    if parameter.kind == "numbers" and value is not None:
        if not 0 < len(several) <= MAX_DIMENSIONS:
            raise InputError(f"{parameter.name} cannot be {shown(value)}", hint=parameter.wanted())
    elif parameter.name not in LONG and any(isinstance(each, str) and len(each) > LONGEST for each in several):
        hint = f"a text of at most {LONGEST:,} characters"
        raise InputError(f"{parameter.name} cannot be {shown(value)}", hint=hint)
