"""Lenses: named filters and boosts that a user keeps and looks through."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from recollect.arguments import fit
from recollect.errors import InputError
from recollect.records import FILTER_FIELDS, Fact, Filter, FilterField, Memory, Outline
from recollect.replies import Request
from recollect.stores.contract import Store
from recollect.text.dates import parse_moment

KIND: Final = "lens"
BOOSTS: Final = tuple(each.key for each in FILTER_FIELDS)
Boost = Callable[[Memory | Outline, Sequence[Fact]], float]
MIN_BOOST: Final = 0.5
MAX_BOOST: Final = 2.0
"""How far a lens may move a score."""


class Lens(Struct, frozen=True, kw_only=True):
    """What a lens leaves in view, and what it makes larger or smaller; its filters are those of FILTER_FIELDS."""

    json_members: ClassVar[str] = " ".join(
        [
            "name projects?",
            *(f"{each.name}?" for each in FILTER_FIELDS if each.match != "scope"),
            "since? until? boosts",
        ]
    )

    name: str
    projects: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    fact_types: tuple[str, ...] | None = None
    since: str | None = None
    until: str | None = None
    boosts: Mapping[str, float] = field(default_factory=dict)
    """Multipliers by what they are for, such as `type:decision`."""

    def __post_init__(self) -> None:
        """Refuse what is not of its type."""
        fit(self)


# --- kept -----------------------------------------------------------------------------------


def keep_lens(lens: Lens, store: Store, *, project: str = "") -> None:
    """Keep *lens* under its name in *project*, in place of one that had it there."""
    for key, boost in lens.boosts.items():
        _check(key, boost)
    if not lens.name.strip():
        raise InputError("a lens needs a name", hint="such as: recollect lens create work --type decision")
    values = {name: value for name, value in asdict(lens).items() if name != "name"}
    kept = {name: value for name, value in values.items() if value is not None}
    store.put_note(KIND, lens.name, kept, project=project)


def _check(key: str, boost: float) -> None:
    kind, sign, what = key.partition(":")
    if kind not in BOOSTS or not sign or not what:
        raise InputError(f"{key!r} cannot be boosted", hint=f"KIND:NAME with a kind of {', '.join(BOOSTS)}")
    if not boost > 0:
        raise InputError(f"a boost must be above 0, not {boost}", hint="1 changes nothing, 2 doubles, 0.5 halves")


def lenses(store: Store, *, project: str = "") -> tuple[Lens, ...]:
    """Return the lenses kept in *project*, by name."""
    return tuple(_lens(name, value) for name, value in sorted(store.notes(KIND, project=project).items()))


def find_lens(name: str, store: Store, *, project: str = "") -> Lens:
    """Return the lens *name* of *project*."""
    kept = store.notes(KIND, project=project)
    if name not in kept:
        hint = f"there are {', '.join(sorted(kept))}" if kept else "create one: recollect lens create NAME"
        raise InputError(f"no lens is called {name!r}", hint=hint)
    return _lens(name, kept[name])


def drop_lens(name: str, store: Store, *, project: str = "") -> None:
    """Drop the lens *name* of *project*."""
    find_lens(name, store, project=project)
    store.put_note(KIND, name, None, project=project)


def _lens(name: str, kept: Mapping[str, Any]) -> Lens:
    values: dict[str, Any] = {name: kept[name] for name in Lens.__struct_fields__ if kept.get(name) is not None}
    values |= {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
    return Lens(**{**values, "name": name})


# --- looked through -------------------------------------------------------------------------


def look_through(request: Request, store: Store, *, now: datetime, project: str = "") -> tuple[Request, Boost | None]:
    """Return *request* as the lens of *project* that it names leaves it, and what that lens makes of a memory."""
    if request.lens is None:
        return request, None
    lens = find_lens(request.lens, store, project=project)
    seen = replace(request, where=narrow(request.where, lens, now=now), scope=request.scope.narrowed(lens.projects))
    return seen, lambda memory, facts: boost(lens, memory, facts)


def narrow(where: Filter, lens: Lens, *, now: datetime) -> Filter:
    """Return *where* with what the lens leaves in view; a filter of the question itself goes first."""
    since, until = (parse_moment(text, now=now) if text else None for text in (lens.since, lens.until))
    seen: dict[str, Any] = {each.name: getattr(lens, each.name) for each in FILTER_FIELDS if each.match != "scope"}
    seen |= {"since": since and since.start, "until": until and until.end}
    chosen = {name: value for name, value in seen.items() if value is not None and getattr(where, name) is None}
    return replace(where, **chosen) if chosen else where


def boost(lens: Lens, memory: Memory | Outline, facts: Sequence[Fact]) -> float:
    """Return the product of the boosts that match a memory, bounded by MIN_BOOST and MAX_BOOST."""
    about = {f"{each.key}:{value}" for each in FILTER_FIELDS for value in _values(each, memory, facts)}
    product = 1.0
    for key, multiplier in lens.boosts.items():
        if key in about:
            product *= multiplier
    return max(MIN_BOOST, min(MAX_BOOST, product))


def _values(filtered: FilterField, memory: Memory | Outline, facts: Sequence[Fact]) -> tuple[str | None, ...]:
    """Return what *memory* is called in a field of the filters."""
    if filtered.match == "tag":
        return memory.tags
    return tuple(fact.type for fact in facts) if filtered.match == "fact" else (getattr(memory, filtered.key),)
