"""What an operation is to every surface: its parameters, what a request gives, and its answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, TypeVar

from msgspec import Struct

from recollect.errors import InputError, QueryError
from recollect.files import replacing
from recollect.options import filter_from, span_of
from recollect.recollection import Recollection
from recollect.records import FILTER_FIELDS, Filter, Progress, Trust
from recollect.replies import Mode
from recollect.surfaces.layout import Page, plain
from recollect.surfaces.rights import LOCAL, Rights
from recollect.text.dates import TimeSpan

T = TypeVar("T")
MODES: Final[Mapping[str, Mode]] = {
    "hybrid": "hybrid",
    "keyword": "keyword",
    "semantic": "semantic",
    "bm25": "keyword",
    "rrf": "hybrid",
}
"""How to look, by every name it goes by."""


Kind = Literal["text", "texts", "words", "number", "numbers", "share", "flag", "choice", "paths", "id", "ids"]


class Parameter(Struct, frozen=True, kw_only=True):
    """One parameter of an operation: an argument when it has a place, else an option."""

    name: str
    about: str
    kind: Kind = "text"
    """What it takes; *words* are joined to one text, an id may be written #26, *ids* are one id or several."""
    default: Any = None
    choices: Sequence[str] = ()
    place: bool = False
    optional: bool = False
    off: str = ""
    """What a flag that is on by default is called when it is turned off."""
    short: str = ""
    """A letter that stands for its name."""
    least: float | None = None
    most: float | None = None
    """What a number lies between, if anything."""
    only: Literal["", "machine", "terminal"] = ""
    """Where alone it can be given: on the machine of the store, or in a terminal; blank for everywhere."""

    def otherwise(self) -> Any:
        """Return the value of a parameter that is not given: its default, or the empty value of its kind."""
        return _EMPTY.get(self.kind) if self.default is None else self.default

    def refuse(self, value: Any) -> None:
        """Refuse a number out of bounds."""
        least, most = self.least, self.most
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        if (least is not None and not value >= least) or (most is not None and not value <= most):
            bounds = f"of at least {least:g}" if most is None else f"from {least or 0:g} to {most:g}"
            what = "a whole number" if self.kind == "number" else "a number"
            raise InputError(f"{self.name} cannot be {value}", hint=f"give {what} {bounds}")


_EMPTY: Final[Mapping[str, Any]] = {"flag": False, "texts": (), "paths": ()}


class Later(Sequence[str]):
    """Choices that are asked for when somebody wants to know them: a start that does not costs nothing."""

    def __init__(self, module: str, table: str) -> None:
        self._module, self._table = module, table

    def _names(self) -> tuple[str, ...]:
        return tuple(getattr(import_module(self._module), self._table))

    def __getitem__(self, at: Any) -> Any:
        return self._names()[at]

    def __len__(self) -> int:
        return len(self._names())


class Answer(Struct, frozen=True, kw_only=True):
    """What an operation returns: a value that `serialise` makes JSON of, and how it is told to people.

    The text is made only when somebody asks for it, and so is the page, its form with styles and links. A stream is a
    value whose parts are written one by one. *Rows* are the hits or memories of an answer that finds or lists them.
    """

    value: Any
    text: Callable[[], str]
    page: Callable[[], Page] | None = None
    rows: Sequence[Any] = ()
    found: bool = True
    healthy: bool = True
    problems: tuple[str, ...] = ()
    stream: bool = False
    then: "Callable[[Progress | None], Answer] | None" = None
    """What is still to be done once this is told, such as vectors; a program gets the last answer alone."""
    stopped: bool = False
    """Whether somebody stopped it before its end."""
    question: str = "Go on? It cannot be undone"
    """What a rehearsal asks before it is done in earnest; blank where there is nothing to ask."""


def listed(found: Sequence[T], line: Callable[[T], str], *, empty: str, **value: Any) -> Answer:
    """Return an answer that is a list: told line by line, or by one word when it is *empty*."""
    return Answer(value=value, text=lambda: "\n".join(map(line, found)) or empty, found=bool(found))


def paged(value: Any, page: Callable[[], Page], *, rows: Sequence[Any] = (), found: bool = True) -> Answer:
    """Return an answer that is told as a page."""
    return Answer(value=value, text=lambda: plain(page()), page=page, rows=rows, found=found)


def for_each(ids: Sequence[int], done: Callable[[int], tuple[Mapping[str, Any], str]]) -> Answer:
    """Return the answer of a verb that did the same to each of *ids*: one value, or several as `results`."""
    told = [done(row) for row in ids]
    value = told[0][0] if len(told) == 1 else {"results": [each for each, _ in told]}
    return Answer(value=value, text=lambda: "\n".join(text for _, text in told))


# --- what is given --------------------------------------------------------------------------


class Given(Struct, frozen=True, kw_only=True):
    """What a request gives: its parameters by name, and when it came."""

    values: Mapping[str, Any]
    now: datetime

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str) -> Any:
        """Return what was given as *name*, or nothing."""
        return self.values.get(name)

    @property
    def caller_trust(self) -> Trust:
        """How far the caller of an operation without a `trust` of its own is trusted: a server adds it."""
        trust: Trust = self.values.get("trust", "owner")
        return trust

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids that were given, each once; they are numbers or texts such as #26."""
        told = self.values["id"]
        several = (told,) if isinstance(told, int | str) else told
        return tuple(dict.fromkeys(each if isinstance(each, int) else read_id(each) for each in several))

    def chosen(self, names: Iterable[str]) -> dict[str, Any]:
        """Return what was given of *names*."""
        return {name: self.values[name] for name in names if self.get(name) is not None}

    def filters(self, **called: str) -> dict[str, tuple[str, ...]]:
        """Return the values of the filters, by their fields in `Filter` and in a lens; some are *called* otherwise."""
        keys = {each.name: each.key for each in FILTER_FIELDS if each.match != "scope"}
        values = {name: self.get(called.get(key, key)) for name, key in keys.items()}
        return {name: tuple(value) for name, value in values.items() if value}

    def where(self, **called: str) -> Filter:
        """Return the filter that the parameters of FILTERS describe."""
        dates = self.chosen(("since", "until", "on", "as_of", "include_superseded"))
        named: dict[str, Any] = self.filters(**called)
        return filter_from({"where": Filter(**named), **dates}, now=self.now)

    def moment(self, name: str) -> TimeSpan | None:
        """Return the span of time that was given as *name*, or nothing."""
        return span_of(self.get(name), name, now=self.now)

    def pairs(self, name: str, *, form: str, example: str) -> dict[str, str]:
        """Return the texts that were given as *name*, which all have the *form* KEY=VALUE, as a mapping."""
        pairs = {}
        for text in self[name]:
            key, sign, value = (part.strip() for part in text.partition("="))
            if not (sign and key):
                raise _not_of_form(name, text, form=form, example=example)
            pairs[key] = value
        return pairs

    def numbers(self, name: str, *, form: str, example: str) -> dict[str, float]:
        """Return the texts that were given as *name*, which all have the *form* KEY=NUMBER, as a mapping."""
        numbers = {}
        for text in self[name]:
            key, _, number = (part.strip() for part in text.rpartition("="))
            try:
                numbers[key] = float(number)
            except ValueError as error:
                raise _not_of_form(name, text, form=form, example=example) from error
        return numbers


def _not_of_form(name: str, text: str, *, form: str, example: str) -> InputError:
    option = f"--{name.replace('_', '-')}"
    return InputError(f"{option} {text!r} is not {form}", hint=f"such as {option} {example}")


def read_id(text: str, *, see: str = "recollect list") -> int:
    """Return the id that *text* is, with or without a # before it; *see* says what lists ids."""
    try:
        number = int(text.strip().removeprefix("#"))
    except ValueError as error:
        raise InputError(f"{text!r} is not an id", hint=f"ids are numbers, such as 26 or #26; see: {see}") from error
    if abs(number) >= 2**63:
        raise InputError(f"{text} is too large", hint=f"see: {see}")
    return number


def mode_from(text: str) -> Mode:
    """Return the mode that *text* names, in any case."""
    mode = MODES.get(text.lower())
    if mode is None:
        raise QueryError(f"no mode is called {text!r}", hint=f"one of {', '.join(MODES)}")
    return mode


# --- operations -----------------------------------------------------------------------------

Run = Callable[[Recollection, Given, Progress | None], Answer]
Group = Literal["daily", "agents", "care", "measure"]


class Operation(Struct, frozen=True, kw_only=True):
    """A verb: what it does, what it takes, how it is done."""

    name: str
    about: str
    run: Run
    parameters: tuple[Parameter, ...] = ()
    rights: Rights = LOCAL
    """Who may do it through a server, and what it touches; without a declaration no server offers it."""
    slow: bool = False
    """Whether it reports progress."""
    store: bool = True
    """Whether it works on the user's store; else it is given an empty one in memory."""
    makes: bool = False
    """Whether it may make a store that is not there yet."""
    group: Group = "daily"
    stopped: str = ""
    """What is told when it is stopped half way: what was kept, and how to go on; {done} and {total} are known."""

    @property
    def served_parameters(self) -> tuple[Parameter, ...]:
        """The parameters that a server takes."""
        return tuple(each for each in self.parameters if not each.only)

    def answer(self, db: Recollection, values: Mapping[str, Any], progress: Progress | None = None) -> Answer:
        """Do it, in the project that comes with the request if one does; numbers out of bounds are refused.

        This is the one place that fills in defaults: a verb reads `given[name]`, and 0 is a value like any other.
        """
        for each in self.parameters:
            each.refuse(values.get(each.name))
        absent = {each.name: each.otherwise() for each in self.parameters if values.get(each.name) is None}
        values = {**values, **absent}
        project = values.get("project")
        return self.run(db.in_project(project) if project else db, Given(values=values, now=db.now()), progress)


def operation(
    *parameters: Parameter,
    rights: Rights = LOCAL,
    slow: bool = False,
    store: bool = True,
    makes: bool = False,
    group: Group = "daily",
    stopped: str = "",
) -> Callable[[Run], Operation]:
    """Make an operation of a function: it is called by the function's name and told by its docstring."""

    def made(run: Run) -> Operation:
        name, about = run.__name__.strip("_").replace("_", "-"), run.__doc__ or ""
        return Operation(
            name=name,
            about=about,
            run=run,
            parameters=parameters,
            rights=rights,
            slow=slow,
            store=store,
            makes=makes,
            group=group,
            stopped=stopped,
        )

    return made


def operations_of(*modules: ModuleType) -> dict[str, Operation]:
    """Return the operations that *modules* define, by name, in the order in which they stand there."""
    defined = (each for module in modules for each in vars(module).values() if isinstance(each, Operation))
    return {each.name: each for each in defined}


# --- parameters that several operations share -----------------------------------------------

ID: Final = Parameter(name="id", kind="id", place=True, about="the id of a memory: 26 or #26")
IDS: Final = Parameter(name="id", kind="ids", place=True, about="the id of a memory, or several: 26 27")
LIMIT: Final = Parameter(name="limit", kind="number", short="n", least=1, about="how many")
FORMATS: Final = ("text", "json", "jsonl", "ids", "paths", "csv", "md")
FORMAT: Final = Parameter(
    name="format",
    kind="choice",
    choices=FORMATS,
    default="text",
    only="terminal",
    about="how to write what is found (text); --json is short for json",
)


def action_of(actions: Iterable[str]) -> Parameter:
    """Return the parameter that says which of *actions* to do: to list, unless told."""
    return Parameter(
        name="action",
        kind="choice",
        choices=tuple(actions),
        place=True,
        optional=True,
        default="list",
        about="what to do (list)",
    )


SESSION: Final = Parameter(name="session", about="the session it belongs to")
DRY_RUN: Final = Parameter(name="dry_run", kind="flag", about="only say what would be done")
FILTERS: Final = (
    *(
        Parameter(name=each.key, kind="texts", about=f"{each.about} (may be repeated)")
        for each in FILTER_FIELDS
        if each.match != "scope"
    ),
    Parameter(name="since", about="only from this date on: 2026-05-01, 3d, last week, …"),
    Parameter(name="until", about="only up to this date, its last day included"),
    Parameter(name="on", about="only of this date: 2026-05-01, yesterday, last week, May 2023, …"),
    Parameter(name="as_of", about="what was believed on this date"),
    Parameter(name="include_superseded", kind="flag", about="show superseded memories too"),
)


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
