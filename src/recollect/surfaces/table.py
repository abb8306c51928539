"""What an operation is to every surface: its parameters, its answer, and the filters that many of them share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from recollect.errors import InputError, QueryError
from recollect.recollection import Recollection
from recollect.records import FILTER_FIELDS, Filter, Progress
from recollect.replies import Mode
from recollect.text.dates import parse_moment

Kind = Literal["text", "texts", "number", "share", "flag", "choice", "paths"]
Given = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of an operation: an argument when it has a place, else an option."""

    name: str
    about: str
    kind: Kind = "text"
    default: Any = None
    choices: tuple[str, ...] = ()
    place: bool = False
    optional: bool = False
    off: str = ""
    """What a flag that is on by default is called when it is turned off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an operation returns: a value that `serialise` makes JSON of, and how it is told to people.

    The text is made only when somebody asks for it. A stream is a value whose parts are written one by one.
    """

    value: Any
    text: Callable[[], str]
    found: bool = True
    healthy: bool = True
    problems: tuple[str, ...] = ()
    stream: bool = False


Run = Callable[[Recollection, Given, Progress | None], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A verb: what it does, what it takes, how it is done."""

    name: str
    about: str
    run: Run
    parameters: tuple[Parameter, ...] = ()
    slow: bool = False
    """Whether it reports progress."""
    store: bool = True
    """Whether it works on the user's store; else it is given an empty one in memory."""

    def answer(self, db: Recollection, given: Given, progress: Progress | None = None) -> Answer:
        """Do it, in the project that comes with the request if one does."""
        project = given.get("project")
        return self.run(db.in_project(project) if project else db, given, progress)


def listed(found: Sequence[T], line: Callable[[T], str], *, empty: str, **value: Any) -> Answer:
    """Return an answer that is a list: told line by line, or by one word when it is *empty*."""
    return Answer(value=value, text=lambda: "\n".join(map(line, found)) or empty, found=bool(found))


# --- parameters that several operations share -----------------------------------------------

ID: Final = Parameter(name="id", kind="number", place=True, about="the id of a memory")
LIMIT: Final = Parameter(name="limit", kind="number", about="how many")
SESSION: Final = Parameter(name="session", about="the session it belongs to")
LENS: Final = Parameter(name="lens", about="look through this lens")
KEEP_SECRETS: Final = Parameter(name="keep_secrets", kind="flag", about="do not redact keys and tokens")
NO_EMBED: Final = Parameter(name="no_embed", kind="flag", about="leave the vectors for later")
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
MODES: Final[Mapping[str, Mode]] = {
    "hybrid": "hybrid",
    "keyword": "keyword",
    "semantic": "semantic",
    "bm25": "keyword",
    "rrf": "hybrid",
}
"""How to look, by every name it goes by."""


# --- what was given -------------------------------------------------------------------------


def filters_from(given: Given) -> dict[str, tuple[str, ...]]:
    """Return the values of the filters by name, for the fields of `Filter` or of a lens."""
    values = {each.name: given.get(each.key) for each in FILTER_FIELDS if each.match != "scope"}
    return {name: tuple(value) for name, value in values.items() if value}


def where_from(db: Recollection, given: Given) -> Filter:
    """Return the filter that the parameters of FILTERS describe."""
    since, until, on, as_of = (moment_from(db, given, name) for name in ("since", "until", "on", "as_of"))
    return Filter(
        **filters_from(given),
        as_of=as_of and as_of.end,
        since=max((span.start for span in (since, on) if span), default=None),
        until=min((span.end for span in (until, on) if span), default=None),
        include_superseded=bool(given.get("include_superseded")),
    )


def moment_from(db: Recollection, given: Given, name: str) -> Any:
    """Return the span of time that the parameter *name* gives, or nothing."""
    text = given.get(name)
    if not text:
        return None
    span = parse_moment(text, now=db.now())
    if span is None:
        raise QueryError(f"{name}: {text!r} is not a date", hint="such as 2026-05-01, 3d, yesterday, last week")
    return span


def mode_from(text: str | None) -> Mode:
    """Return the mode that *text* names, in any case."""
    mode = "hybrid" if text is None else MODES.get(text.lower())
    if mode is None:
        raise QueryError(f"no mode is called {text!r}", hint=f"one of {', '.join(MODES)}")
    return mode


def pairs_from(given: Given, name: str, *, form: str, example: str) -> dict[str, str]:
    """Return the texts of the option *name*, which all have the *form* KEY=VALUE, as a mapping."""
    pairs = {}
    for text in given.get(name) or ():
        key, sign, value = (part.strip() for part in text.partition("="))
        if not (sign and key):
            raise _not_of_form(name, text, form=form, example=example)
        pairs[key] = value
    return pairs


def numbers_from(given: Given, name: str, *, form: str, example: str) -> dict[str, float]:
    """Return the texts of the option *name*, which all have the *form* KEY=NUMBER, as a mapping."""
    numbers = {}
    for text in given.get(name) or ():
        key, _, number = (part.strip() for part in text.rpartition("="))
        try:
            numbers[key] = float(number)
        except ValueError as error:
            raise _not_of_form(name, text, form=form, example=example) from error
    return numbers


def _not_of_form(name: str, text: str, *, form: str, example: str) -> InputError:
    option = f"--{name.replace('_', '-')}"
    return InputError(f"{option} {text!r} is not {form}", hint=f"such as {option} {example}")


# --- what is written ------------------------------------------------------------------------


def write_file(path: str | Path, pieces: Iterable[str]) -> int:
    """Write *pieces* to the file *path*, all or none; return how many there were."""
    target, count = Path(path).expanduser(), 0
    part = target.with_name(f".{target.name}.part")
    try:
        with part.open("w", encoding="utf-8", errors="replace") as file:
            for piece in pieces:
                file.write(piece)
                count += 1
        part.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}", hint="name a file in a folder of yours") from error
    finally:
        with suppress(OSError):
            part.unlink()
    return count
