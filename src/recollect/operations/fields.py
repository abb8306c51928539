"""Parameters that several requests share: ids, limits, dates, filters, and how people write them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from recollect.arguments import shown
from recollect.errors import InputError, QueryError
from recollect.filters import filter_from
from recollect.operations.request import Request
from recollect.parameters import about
from recollect.records import FILTER_FIELDS, Filter
from recollect.replies import Mode

MODES: Final[Mapping[str, Mode]] = {
    "hybrid": "hybrid",
    "keyword": "keyword",
    "semantic": "semantic",
    "bm25": "keyword",
    "rrf": "hybrid",
}
"""Search modes, by every name they go by."""
Format = Literal["text", "json", "jsonl", "ids", "paths", "csv", "md"]
Texts = tuple[str, ...]

MemoryId = Annotated[int, about("the id of a memory: 26 or #26", place=1, is_id=True)]
MemoryIds = Annotated[tuple[int, ...], about("the id of a memory, or several: 26 27", place=1)]
Session = Annotated[str, about("the session it belongs to")]
DryRun = Annotated[bool, about("only say what would be done")]
OutputFormat = Annotated[Format, about("how to write what is found (text); --json is short for json", only="terminal")]


ABOUT: Final = {each.key: each.about for each in FILTER_FIELDS}
"""What each filter by name does."""


class Dated(Request, is_shared=True):
    """A request that may be narrowed to memories of some time."""

    since: Annotated[Any, about("only from this date on: 2026-05-01, 3d, last week, …", metavar="DATE")] | None = None
    until: Annotated[Any, about("only up to this date, its last day included", metavar="DATE")] | None = None


class Narrowed(Dated, is_shared=True):
    """A request that may be narrowed to some memories, by everything but their tags."""

    type: Annotated[Texts, about(ABOUT["type"])] | None = None
    source: Annotated[Texts, about(ABOUT["source"])] | None = None
    kind: Annotated[Texts, about(ABOUT["kind"])] | None = None
    fact_type: Annotated[Texts, about(ABOUT["fact_type"], metavar="NAME")] | None = None

    def filters(self) -> dict[str, Texts]:
        """Return the names to filter by, under the names of the fields in `Filter` and `Lens`."""
        keys = {each.name: each.key for each in FILTER_FIELDS if each.match not in ("scope", "tag")}
        values = {name: getattr(self, key) for name, key in keys.items()}
        return {name: value for name, value in values.items() if value is not None}


class Selected(Narrowed, is_shared=True):
    """A request that may also be narrowed by a day, and by what was believed when."""

    on: (
        Annotated[Any, about("only of this date: 2026-05-01, yesterday, last week, May 2023, …", metavar="DATE")] | None
    ) = None
    as_of: Annotated[Any, about("what was believed on this date", metavar="DATE")] | None = None
    include_superseded: Annotated[bool, about("show superseded memories too")] = False

    where: (
        Annotated[
            Any,
            about("a Filter; keywords given with it replace its fields", only="python", python="Filter"),
        ]
        | None
    ) = None

    def filter_for(self, now: datetime, **named: Any) -> Filter:
        """Return the filter that it describes; *named* replaces fields that mean something else to it."""
        if self.where is not None and not isinstance(self.where, Filter):
            raise InputError(f"where cannot be {shown(self.where)}", hint="give a Filter")
        return filter_from({**{name: getattr(self, name) for name in self.__struct_fields__}, **named}, now=now)


class Filtered(Selected, is_shared=True):
    """A request that may be narrowed to some memories."""

    tag: Annotated[Texts, about(ABOUT["tag"])] | None = None


# --- how people write values ----------------------------------------------------------------


def pairs(texts: Iterable[str], name: str, *, form: str, example: str) -> dict[str, str]:
    """Return *texts*, the values of the option *name*, which all have the *form* KEY=VALUE, as a mapping."""
    found = {}
    for text in texts:
        key, sign, value = (part.strip() for part in text.partition("="))
        if not (sign and key):
            raise _not_of_form(name, text, form=form, example=example)
        found[key] = value
    return found


def numbers(texts: Iterable[str], name: str, *, form: str, example: str) -> dict[str, float]:
    """Return *texts*, the values of the option *name*, which all have the *form* KEY=NUMBER, as a mapping."""
    found = {}
    for text in texts:
        key, _, number = (part.strip() for part in text.rpartition("="))
        try:
            found[key] = float(number)
        except ValueError as error:
            raise _not_of_form(name, text, form=form, example=example) from error
    return found


def _not_of_form(name: str, text: str, *, form: str, example: str) -> InputError:
    option = f"--{name.replace('_', '-')}"
    return InputError(f"{option} {text!r} is not {form}", hint=f"such as {option} {example}")


def mode_from(text: str) -> Mode:
    """Return the mode that *text* names, in any case."""
    mode = MODES.get(text.lower())
    if mode is None:
        raise QueryError(f"no mode is called {text!r}", hint=f"one of {', '.join(MODES)}")
    return mode
