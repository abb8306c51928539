"""Operations and their answers: a request, a function, and what every surface needs to show what came of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, reduce
from operator import or_
from pathlib import Path
from types import ModuleType, SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from recollect.arguments import shown
from recollect.errors import InputError
from recollect.files import replacing
from recollect.operations.request import Call, Parameter, Request, Traits, parameters_of, parse
from recollect.operations.rights import Rights
from recollect.records import Progress
from recollect.render.layout import Page, plain
from recollect.trust import TRUST_LEVELS

if TYPE_CHECKING:  # a client of the server opens no store
    from recollect.workspace import Workspace

T = TypeVar("T")
V = TypeVar("V")
ReplyValue_co = TypeVar("ReplyValue_co", covariant=True)


class Answer(Struct, Generic[ReplyValue_co], frozen=True, kw_only=True):
    """The reply of an operation, which `serialize` turns into JSON, and its text for people.

    The text is made only when somebody reads it, and so is the page, its form with styles and links. The parts of a
    stream are written one by one. *Rows* are the hits or memories of an answer that finds or lists them.
    """

    value: ReplyValue_co
    text: Callable[[], str]
    page: Callable[[], Page] | None = None
    rows: Sequence[Any] = ()
    found: bool = True
    healthy: bool = True
    problems: tuple[str, ...] = ()
    stream: bool = False
    then: "Callable[[Progress | None], Answer[ReplyValue_co]] | None" = None
    """What is still to be done once this is printed, such as vectors; a program gets the last answer only."""
    stopped: bool = False
    """Whether somebody stopped it before its end."""
    notice: str = ""
    """What went wrong with the model meanwhile."""
    question: str = "Go on? It cannot be undone"
    """What a dry run asks before the real run; blank where there is nothing to ask."""


class Results(Struct, Generic[ReplyValue_co], frozen=True, kw_only=True):
    """The replies of an operation that was asked to do the same to several memories."""

    results: tuple[ReplyValue_co, ...]


def listed(
    value: V, found: Sequence[T], line: Callable[[T], str], *, empty: str, empty_is_success: bool = False
) -> Answer[V]:
    """Return an answer that is a list: a line each, or the text *empty*."""
    success = bool(found) or empty_is_success
    return Answer(value=value, text=lambda: "\n".join(map(line, found)) or empty, found=success)


def paged(value: V, page: Callable[[], Page], *, rows: Sequence[Any] = (), found: bool = True) -> Answer[V]:
    """Return an answer that is shown as a page."""
    return Answer(value=value, text=lambda: plain(page()), page=page, rows=rows, found=found)


def one_or_more(found: Sequence[V]) -> V | Results[V]:
    """Return the only reply, or several as `Results`."""
    return found[0] if len(found) == 1 else Results(results=tuple(found))


def for_each(done: Sequence[V], line: Callable[[V], str]) -> Answer[V | Results[V]]:
    """Return the answer of an operation that did the same to several memories."""
    return Answer(value=one_or_more(done), text=lambda: "\n".join(map(line, done)))


# --- operations -----------------------------------------------------------------------------

Run = Callable[["Workspace", Any, Call], Any]
Render = Callable[[Any, Any, Call], Answer[Any]]
"""Makes the answer of a reply, the request and the call."""


class Operation(Struct, frozen=True, kw_only=True, dict=True):
    """A request and the function that answers it."""

    name: str
    about: str
    request: type[Request]
    run: Run
    """Returns an answer, or only its reply if there is a function that renders replies."""
    render: Render | None = None
    """Renders a reply. A command of such an operation is a client of the running server: it gains from a warm store."""

    @property
    def traits(self) -> Traits:
        """What surfaces must know about it beyond its parameters."""
        return self.request.traits

    @property
    def rights(self) -> Rights:
        """Who may do it through a server, and what it touches."""
        return self.traits.rights

    @cached_property
    def reply(self) -> Any:
        """The type of its reply: what the function returns, or what the answer that it returns holds."""
        returned = SimpleNamespace(__annotations__={"return": self.run.__annotations__["return"]})
        hint = get_type_hints(returned, self.run.__globals__)["return"]
        if self.render is not None:
            return hint
        answers = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        return reduce(or_, (get_args(each)[0] for each in answers))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the command line takes; the project that every request has is a global option there."""
        return tuple(
            each
            for each in parameters_of(self.request)
            if each.hints.only not in ("program", "python") and not each.hints.is_scope
        )

    @cached_property
    def served_parameters(self) -> tuple[Parameter, ...]:
        """The parameters that a server takes."""
        return tuple(each for each in parameters_of(self.request) if each.hints.only in ("", "program"))

    @property
    def verb(self) -> str:
        """What it is called on the command line; blank if it is no command."""
        return "" if self.traits.verb == "-" else self.traits.verb or self.name

    @property
    def method(self) -> str:
        """Its name in Python."""
        return self.name.replace("-", "_")

    @property
    def has_method(self) -> bool:
        """Whether it is a method in Python: not if its first argument chooses among several actions."""
        first = next(iter(self.parameters), None)
        return self.traits.in_python and not (first is not None and first.place and first.kind == "choice")

    @property
    def narrows_projects(self) -> bool:
        """Whether its method takes the projects to look in."""
        return "as_of" in self.request.__struct_fields__

    @property
    def call_keywords(self) -> Mapping[str, str]:
        """The fields of `Call` that its method takes, with their types."""
        own = self.request.__struct_fields__
        trust = {"trust": 'Trust = "owner"'} if self.rights.touches in ("own", "named") and "trust" not in own else {}
        return {**trust, **({"progress": "Progress | None = None"} if self.traits.slow else {})}

    def parse(self, values: Mapping[str, Any], *, allowed: Sequence[Parameter] | None = None) -> Any:
        """Return the request that *values* describe; refuse what does not fit, and what is not *allowed*."""
        return parse(self.request, self.name, values, allowed=allowed)

    def answer(self, db: "Workspace", request: Request, call: Call | None = None) -> Answer[Any]:
        """Do what *request* asks, in its project if it names one."""
        view = db.in_project(request.project) if request.project else db
        given = call or Call(now=db.now())
        result = self.run(view, request, given)
        return result if self.render is None else self.render(result, request, given)


def operation(run: Run, *, render: Render | None = None) -> Operation:
    """Make an operation of a function; its request is the type of its second argument, its help its docstring."""
    _, request, *_ = run.__annotations__.values()
    name = run.__name__.strip("_").replace("_", "-")
    about = (run.__doc__ or "").partition("\n\n")[0]
    return Operation(name=name, about=about, request=request, run=run, render=render)


def rendered_by(render: Render) -> Callable[[Run], Operation]:
    """Make an operation of a function that returns only its reply, which *render* turns into an answer."""
    return lambda run: operation(run, render=render)


def operations_of(*modules: ModuleType) -> dict[str, Operation]:
    """Return the operations that *modules* define, by name, in the order in which they stand there."""
    defined = (each for module in modules for each in vars(module).values() if isinstance(each, Operation))
    return {each.name: each for each in defined}


# --- what is written ------------------------------------------------------------------------


def write_file(path: str | Path, pieces: Iterable[str]) -> None:
    """Write *pieces* to the file *path*, all or none, readable by its owner alone; a device or pipe is written to.

    A link stays a link: the file it leads to is replaced.
    """
    target = Path(path).expanduser()
    is_special = target.exists() and not target.is_file()
    try:
        with (
            target.open("w", encoding="utf-8", errors="replace") if is_special else replacing(target.resolve()) as file
        ):
            file.writelines(pieces)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}", hint="name a file in a folder of yours") from error


# --- Python methods -------------------------------------------------------------------------


CONFIRMS: Final = "-"
"""The `method_returns` of a reply that only repeats what was asked: the Python method returns None."""


def call_operation(db: Any, name: str, given: Mapping[str, Any]) -> Any:
    """Do the operation *name* as a Python method does: its reply as a value, errors as exceptions.

    *given* has the fields of its request, and those of `Call` that it takes. A project narrows what is seen; it never
    widens it.
    """
    from recollect.operations import OPERATIONS  # noqa: PLC0415  (it imports this module)

    operation = OPERATIONS[name]
    values = {key: value for key, value in given.items() if value is not None}
    call = {key: values.pop(key) for key in operation.call_keywords if key in values}
    if call.get("trust", "owner") not in TRUST_LEVELS:
        raise InputError(f"trust cannot be {shown(call['trust'])}", hint=f"one of {', '.join(reversed(TRUST_LEVELS))}")
    for each in parameters_of(operation.request):
        if each.hints.inverse in values:
            values[each.name] = _opposite(each.hints.inverse, values.pop(each.hints.inverse))
        elif each.hints.keyword in values:
            values[each.name] = values.pop(each.hints.keyword)
    view = db._narrowed(values.pop("project")) if operation.narrows_projects and "project" in values else db
    request = parse(operation.request, operation.method, values, local=True)
    result = operation.run(view, request, Call(now=db.now(), **call))
    return unwrapped(result.value if operation.render is None else result)


def _opposite(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{name} cannot be {shown(value)}", hint="give True or False")
    return not value


def unwrapped(value: Any) -> Any:
    """Return what a Python method returns for a reply: a list if that is all it holds, nothing if it only confirms."""
    if isinstance(value, Results):
        parts = tuple(map(unwrapped, value.results))
        return None if parts and parts[0] is None else parts
    name = _only_list(type(value))
    return None if name == CONFIRMS else getattr(value, name) if name else value


def unwrapped_type(kind: Any) -> Any:
    """Return the type of what `unwrapped` returns for a reply of this *kind*."""
    if get_origin(kind) in (Union, UnionType):
        arms = [unwrapped_type(each) for each in get_args(kind)]
        return None if arms[0] is None else reduce(or_, arms)
    if get_origin(kind) is Results:
        inner = unwrapped_type(get_args(kind)[0])
        return inner if inner is None else tuple[inner, ...]  # type: ignore[valid-type]
    name = _only_list(kind)
    return None if name == CONFIRMS else get_type_hints(kind)[name] if name else kind


def _only_list(kind: Any) -> str:
    """Return the name of the member that is all that a reply of this *kind* says: its only one, if it is a list."""
    names: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
    own: str = getattr(kind, "method_returns", "")
    is_list = len(names) == 1 and str(getattr(kind, "__annotations__", {}).get(names[0], "")).startswith("tuple")
    return own or (names[0] if is_list else "")
