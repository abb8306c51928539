"""The operations as a server offers them: for a caller with rights of its own, with values as JSON brings them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from msgspec import Struct

from recollect.arguments import shown
from recollect.errors import AccessError, InputError
from recollect.profile import BUILT_IN
from recollect.recollection import Recollection
from recollect.records import Progress, Trust
from recollect.stores.turns import working_for
from recollect.surfaces.operations import OPERATIONS
from recollect.surfaces.rights import Rights
from recollect.surfaces.serve.tracing import span
from recollect.surfaces.table import Answer, Operation, Parameter, read_id
from recollect.trust import TRUST_LEVELS, level, may_change

T = TypeVar("T")
PROJECT: Final = Parameter(name="project", about="the project to write to and to search")
PROFILE: Final = Parameter(
    name="profile", kind="choice", choices=BUILT_IN, about="how to rank, instead of as the server does"
)
EMBEDDING: Final = Parameter(
    name="embedding", kind="numbers", about="the vector to search with, instead of the model's own of the query"
)
VECTOR: Final = Parameter(
    name="vector", kind="numbers", about="the vector to store, instead of the model's own of the text"
)
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
    read_only: bool = False
    trust: Trust = "owner"
    has_token: bool = False

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
    ) -> Answer:
        """Do the operation *name* with what is *given*, if *caller* may; raise a RecollectError otherwise.

        A search asks *cancelled* now and then, and is given up once that says yes.
        """
        operation = self.operation(name)
        values = checked_values(operation, given)
        rights = operation.rights.of(values)
        if rights.touches in ("session", "own") and values.get("session") is not None:
            values["session"] = caller.session(values["session"])
        if rights.touches != "nothing":
            values["trust"] = _trusted(values.get("trust"), caller)
        if cancelled is not None:
            values["cancelled"] = cancelled
        return self.run(name, operation.rights, values, caller, lambda db: operation.answer(db, values, progress))

    def run(
        self, name: str, rights: Rights, values: Mapping[str, Any], caller: Caller, work: Callable[[Recollection], T]
    ) -> T:
        """Do *work* if *rights* grant it to *caller*; it is given what the caller may see of the store."""
        self.permit(name, rights, values, caller)
        db = self.db if caller.project is None else self.db.in_project(caller.project)
        project = caller.project or values.get("project")
        with span(name, caller, asked=values.get("query") or values.get("task")), working_for(project):
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


# --- what is given --------------------------------------------------------------------------


def remote_parameters(operation: Operation) -> tuple[Parameter, ...]:
    """Return what *operation* takes from programs alone: vectors, and where it ranks the name of a built-in profile."""
    if operation.name == "add":
        return (VECTOR,)
    return (PROFILE, EMBEDDING) if any(each.name == "rrf_k" for each in operation.parameters) else ()


def checked_values(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is *given* as the operation takes it, with what it takes unless told; refuse all else."""
    known = {each.name: each for each in (*operation.served_parameters, *remote_parameters(operation), PROJECT)}
    for name in given:
        if name not in known:
            raise InputError(f"{operation.name} takes no {name!r}", hint=f"one of {', '.join(sorted(known))}")
    values = {name: each.default for name, each in known.items() if each.default is not None}
    values |= {name: _checked(known[name], value) for name, value in given.items() if value is not None}
    missing = [each.name for each in known.values() if each.place and not each.optional and each.name not in values]
    if missing:
        raise InputError(f"{operation.name} needs {missing[0]!r}", hint=known[missing[0]].about)
    return {each.name: None for each in operation.parameters} | values


def _checked(parameter: Parameter, value: Any) -> Any:
    match parameter.kind:
        case "flag":
            fits = isinstance(value, bool)
        case "number":
            fits = _is_number(value) and abs(value) < 2**63
        case "share":
            fits = _is_real(value)
        case "id" | "ids":
            return _checked_ids(parameter, value)
        case "texts" | "paths":
            fits = _are_texts(parameter, value)
        case "numbers":
            fits = isinstance(value, list | tuple) and 0 < len(value) <= MAX_DIMENSIONS and all(map(_is_real, value))
        case "choice":
            fits = value in parameter.choices
        case _:
            fits = _is_text(parameter, value)
    if not fits:
        raise InputError(f"{parameter.name} cannot be {shown(value)}", hint=_wanted(parameter))
    parameter.refuse(value)
    return tuple(value) if parameter.kind in ("texts", "paths", "numbers") else value


def _is_real(value: Any) -> bool:
    return _is_number(value) or isinstance(value, float)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _checked_ids(parameter: Parameter, value: Any) -> Any:
    """Return an id, or several where the operation takes them; each is a number, or a text that is one."""
    several = list(value) if parameter.kind == "ids" and isinstance(value, list | tuple) else [value]
    if not several or not all(_is_number(each) or isinstance(each, str) for each in several):
        raise InputError(f"{parameter.name} cannot be {shown(value)}", hint=_wanted(parameter))
    rows = tuple(read_id(str(each)) for each in several)
    return rows if parameter.kind == "ids" else rows[0]


def _are_texts(parameter: Parameter, value: Any) -> bool:
    listed = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return listed and all(_is_text(parameter, each) for each in value)


def _is_text(parameter: Parameter, value: Any) -> bool:
    return isinstance(value, str) and (parameter.name in LONG or len(value) <= LONGEST)


def _wanted(parameter: Parameter) -> str:
    wanted = {
        "flag": "true or false",
        "number": "a whole number",
        "share": "a number",
        "texts": "a list of texts",
        "paths": "a list of texts",
        "numbers": "a list of numbers, in the body of a POST",
        "id": "a whole number",
        "ids": "a whole number, or a list of them",
        "choice": f"one of {', '.join(parameter.choices)}",
        "words": f"a text of at most {LONGEST:,} characters",
        "text": f"a text of at most {LONGEST:,} characters",
    }
    return wanted[parameter.kind]
