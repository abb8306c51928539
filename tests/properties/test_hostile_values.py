"""Whatever a caller gives to whichever public method, only our own errors come out, and the store stays well."""

import collections.abc
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, suppress
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from kit import NOON, STORES
from recollect import Filter, InputError, Memory, RecollectError, Recollection, filters, records, replies, workspace
from recollect.embedders.models import Models
from recollect.profile import load_profile
from recollect.recall.lens import Lens
from recollect.records import Context, Position, Scope
from recollect.remember.import_files import ImportReport
from recollect.text.analyser import analyse

ENDS = frozenset({"close"})
"""What ends a recollection; after that nothing else could be asked of it."""
METHODS = {
    name: method
    for name, method in inspect.getmembers(Recollection, inspect.isfunction)
    if not name.startswith("_") and name not in ENDS
}
FAR = timezone(timedelta(hours=14))
DEEP: dict[str, Any] = {}
for _ in range(5_000):
    DEEP = {"a": DEEP}


class Rude:
    """A value that cannot even be written down."""

    def __repr__(self) -> str:
        raise ValueError("no")

    __str__ = __repr__


# --- values of each declared type, and values of none ----------------------------------------

TEXTS = st.sampled_from(
    [
        *("", " ", "a", "port", "\0", "a\0b", "\ud800", "x\udfffy", "\x1b]0;t\x07", "\u202e", "'; drop table note;--"),
        *(
            "%",
            "*",
            "-",
            '"',
            "()",
            "AND",
            "type:note",
            "since:9999-12-31",
            "on:0001-01-01",
            "source:\ud800",
            "NOT a OR",
        ),
        *("9" * 400, "ü" * 3000, "\U0001f600", "{}", "[MEMORY] type=a: Remember this text", "Note: the port is 5432"),
    ]
) | st.text(max_size=20)
NUMBERS = st.sampled_from([0, 1, 2, 3, 5, -1, 2**31, 2**62, 2**63 - 1, -(2**63), 2**70, 10**5000]) | st.integers()
REALS = st.sampled_from([0.0, -0.0, 0.5, 1.0, 1e-320, 1e308, -1e308, math.nan, math.inf, -math.inf, 1e12]) | st.floats()
MOMENTS = st.sampled_from(
    [
        NOON,
        datetime(1, 1, 1),  # noqa: DTZ001  (without a time zone on purpose)
        datetime(1, 1, 1, tzinfo=FAR),
        datetime.max.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=14))),
    ]
)
PLACES = st.sampled_from(["no-such-folder/a.md", "a\0b", "\ud800.md", "~nobody/x", "x" * 5000])
STRANGERS = st.sampled_from(
    [
        *(None, True, "a", b"bytes", 1, 1.5, 2**70, math.nan, object(), Rude(), ..., [], (), {}, {"a": 1}),
        *([None], [b"a"], ["a", 1], [[1.0]], {1: 2}, {"a": math.nan}, NOON, Path("no-such-folder"), DEEP),
    ]
)
BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    bool: st.booleans(),
    int: NUMBERS,
    float: REALS,
    datetime: MOMENTS,
    timedelta: st.timedeltas(),
    date: st.sampled_from([date.min, date.max, NOON.date()]) | st.dates(),
    object: STRANGERS,
    Path: PLACES.filter(lambda text: "\0" not in text).map(Path) | PLACES,
    NoneType: st.none(),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of the type *hint*; a type that nobody foresaw is a KeyError, so that a new one gets its own."""
    origin, arms = get_origin(hint), get_args(hint)
    if origin is UnionType or str(origin) == "typing.Union":
        return PLACES if Path in arms else st.one_of([values(arm) for arm in arms])
    if origin is Literal:
        return st.sampled_from([*arms, "lol"])
    if origin in (tuple, Sequence, frozenset, list):
        return st.lists(values(arms[0]), max_size=3).map(frozenset if origin is frozenset else tuple)
    if origin is Mapping:
        return st.dictionaries(TEXTS, values(arms[1]), max_size=3)
    if origin is Callable:
        return st.just(lambda *_: False)
    return RECORDS[hint]() if hint in RECORDS else BY_TYPE[hint]


NEEDED: dict[type, dict[str, Any]] = {
    Filter: {},
    Lens: {"name": "a lens"},
    Memory: {"content": "a text"},
    Position: {"when": NOON, "id": 1},
}


def record(kind: type) -> st.SearchStrategy[Any]:
    """Records of this *kind*, and InputErrors where one cannot be made."""
    hints = get_type_hints(kind)
    chosen = st.fixed_dictionaries({}, optional={each.name: given_as(hints[each.name]) for each in fields(kind)})

    def made(some: dict[str, Any]) -> Any:
        try:
            return kind(**{**NEEDED[kind], **some})
        except InputError as error:
            return error

    return chosen.map(made)


def given_as(hint: Any) -> st.SearchStrategy[Any]:
    """Values of the type *hint*, and now and then one of any other."""
    return st.one_of(values(hint), values(hint), values(hint), STRANGERS)


RECORDS: dict[Any, Callable[[], st.SearchStrategy[Any]]] = {
    Filter: lambda: record(Filter),
    Lens: lambda: record(Lens),
    Memory: lambda: record(Memory),
    Position: lambda: record(Position),
    Context: lambda: st.just(Context(before="\ud800")),
    Scope: lambda: st.just(Scope()),
    ImportReport: lambda: st.just(ImportReport(sources={("p", "/a"), ("\ud800", "\0")})),
}


KNOWN_TYPES = {
    **vars(records),
    **vars(workspace),
    **vars(filters),
    **vars(collections.abc),
    **vars(replies),
    "Callable": Callable,
    "Literal": Literal,
    "Any": Any,
}
"""What annotations of methods name; most of it is imported for type checkers only."""


def calls(method: Callable[..., Any]) -> st.SearchStrategy[tuple[list[Any], dict[str, Any]]]:
    """Calls of *method*: its arguments of their types or beyond, all of them or some."""
    parameters = [each for each in inspect.signature(method).parameters.values() if each.name != "self"]
    told = {each.name: each.annotation for each in parameters}
    hints = get_type_hints(SimpleNamespace(__annotations__=told), KNOWN_TYPES)
    placed = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    named = [each for each in parameters if each.kind == each.KEYWORD_ONLY]
    several = [
        st.lists(given_as(hints[each.name]), max_size=3) for each in parameters if each.kind == each.VAR_POSITIONAL
    ]
    return st.tuples(
        st.tuples(st.tuples(*(given_as(hints[each.name]) for each in placed)), *several).map(
            lambda parts: [*parts[0], *(one for part in parts[1:] for one in part)]
        ),
        st.fixed_dictionaries(
            {}, optional={**{each.name: given_as(hints[each.name]) for each in named}, "no_such_option": STRANGERS}
        ),
    )


# --- the law --------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["memory", "oracle"])
def db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollection]:
    folder = tmp_path_factory.mktemp("store")
    store = STORES[request.param](folder, analyse)
    models = Models(name="hashing")
    with (
        chdir(folder),
        Recollection(store=store, profile=load_profile("default"), models=models, clock=lambda: NOON) as opened,
    ):
        for text in ("The port is 5432", "The port is 5433", "We decided to ship on Friday", "User: I use vim"):
            opened.add(text, source="notes/a.md", tags=("net",))
        opened.lenses.keep(Lens(name="work", types=("note",)))
        opened.search("port", session="monday")
        yield opened


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_method_answers_or_refuses_in_our_own_words(db: Recollection, name: str, data: st.DataObject) -> None:
    positional, named = data.draw(calls(METHODS[name]))

    with suppress(RecollectError):
        answer = getattr(db, name)(*positional, **named)
        if isinstance(answer, Iterator):
            list(answer)
    db.flush()

    assert db.doctor().problems == ()
    assert not db._log.failures, "what was given is logged too"  # noqa: SLF001
