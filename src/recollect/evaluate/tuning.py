"""Tunings of a profile: stored in the store they were fitted on, applied by profile name, undone step by step."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from recollect.errors import InputError
from recollect.profile import Fuse, Profile, ReciprocalRanks, Typos, WeightedSum
from recollect.stores.contract import Store

Raw = tuple[float, ...]
"""The numbers of a profile that a knob sets; empty if the profile does not use it."""
Patch = Mapping[str, float]
"""Knob -> value, for those that differ from the profile."""
CONTEXT: Final = ("before", "after", "around")


class Knob(Struct, frozen=True, kw_only=True):
    """One weight, or several that are turned together."""

    name: str
    about: str
    read: Callable[[Profile], Raw]
    start: Callable[[Raw], float]
    """The knob's value in the profile as it is."""
    turn: Callable[[Profile, float], Profile]
    grid: tuple[float, ...]
    """The values tried, lowest first; they also bound what is ever set."""

    def turned(self, profile: Profile, value: float) -> Profile:
        """Return *profile* with this knob at *value*, within its bounds."""
        return self.turn(profile, max(self.grid[0], min(self.grid[-1], value)))


# --- how the numbers are found and set ------------------------------------------------------


def _shares(weights: Mapping[str, float]) -> Raw:
    """Return the weights of words and vectors, if both are above 0."""
    pair = (weights.get("words", 0.0), weights.get("vector", 0.0))
    return pair if min(pair) > 0 else ()


def _read_vector(profile: Profile) -> Raw:
    return () if _is_fixed(profile.fuse) else _shares(profile.fuse.weights)


def _read_code(profile: Profile) -> Raw:
    return _shares(profile.fuse.code_weights) if isinstance(profile.fuse, WeightedSum) else ()


def _is_fixed(rules: Fuse) -> bool:
    """Return whether the weights of the rankings depend on more than their kind."""
    return isinstance(rules, ReciprocalRanks) and bool(rules.list_weights or rules.short_weights or rules.long_weights)


def _read_k(profile: Profile) -> Raw:
    return (profile.fuse.k,) if isinstance(profile.fuse, ReciprocalRanks) else ()


def _share(raw: Raw) -> float:
    return round(raw[1] / (raw[0] + raw[1]), 6)


def _shared(weights: Mapping[str, float], share: float) -> Mapping[str, float]:
    """Return *weights* with this share of the sum of words and vectors given to the vectors."""
    total = weights["words"] + weights["vector"]
    return MappingProxyType({**weights, "words": round(total * (1 - share), 6), "vector": round(total * share, 6)})


def _turn_vector(profile: Profile, share: float) -> Profile:
    return replace(profile, fuse=replace(profile.fuse, weights=_shared(profile.fuse.weights, share)))


def _turn_code(profile: Profile, share: float) -> Profile:
    weights = profile.fuse.code_weights if isinstance(profile.fuse, WeightedSum) else {}
    return replace(profile, fuse=replace(profile.fuse, code_weights=_shared(weights, share)))


def _turn_k(profile: Profile, k: float) -> Profile:
    return replace(profile, fuse=replace(profile.fuse, k=k))


def _turn_typo(profile: Profile, weight: float) -> Profile:
    return replace(profile, typos=Typos(weight=weight))


def _turn_context_vectors(profile: Profile, on: float) -> Profile:
    return replace(profile, retrieve=replace(profile.retrieve, context_vectors=on >= 0.5))


def _read_fields(profile: Profile, *, names: Sequence[str]) -> Raw:
    weights = tuple(profile.words.fields.get(name, 0.0) for name in names)
    return weights if any(weights) else ()


def _turn_fields(profile: Profile, scale: float, *, names: Sequence[str]) -> Profile:
    fields = profile.words.fields
    scaled = {name: round(fields[name] * scale, 6) for name in names if name in fields}
    return replace(profile, words=replace(profile.words, fields=MappingProxyType({**fields, **scaled})))


def _itself(raw: Raw) -> float:
    return raw[0]


def _once(_: Raw) -> float:
    return 1.0


# --- the table ------------------------------------------------------------------------------

_TENTHS: Final = tuple(tenth / 10 for tenth in range(1, 10))
KNOBS: Final[Mapping[str, Knob]] = MappingProxyType(
    {
        knob.name: knob
        for knob in (
            Knob(
                name="vector",
                about="the share of meaning; the rest is the words'",
                read=_read_vector,
                start=_share,
                turn=_turn_vector,
                grid=(0.05, *_TENTHS, 0.95),
            ),
            Knob(
                name="code",
                about="the share of meaning where everything searched is program text",
                read=_read_code,
                start=_share,
                turn=_turn_code,
                grid=(*_TENTHS, 0.95),
            ),
            Knob(
                name="k",
                about="how flat reciprocal ranks are",
                read=_read_k,
                start=_itself,
                turn=_turn_k,
                grid=(5.0, 10.0, 20.0, 40.0, 60.0, 90.0),
            ),
            Knob(
                name="title",
                about="times what a word in the title weighs",
                read=partial(_read_fields, names=("title",)),
                start=_once,
                turn=partial(_turn_fields, names=("title",)),
                grid=(0.25, 0.5, 1.0, 1.5, 2.0, 3.0),
            ),
            Knob(
                name="context",
                about="times what a word of the turns around weighs",
                read=partial(_read_fields, names=CONTEXT),
                start=_once,
                turn=partial(_turn_fields, names=CONTEXT),
                grid=(0.0, 0.5, 1.0, 1.5, 2.0),
            ),
            Knob(
                name="context_vectors",
                about="whether a turn is compared with what the turns around it carry",
                read=lambda profile: (1.0,) if profile.retrieve.context_vectors else (),
                start=_itself,
                turn=_turn_context_vectors,
                grid=(0.0, 1.0),
            ),
            Knob(
                name="typo",
                about="what a word near to a mistyped one counts",
                read=lambda profile: () if profile.typos is None else (profile.typos.weight,),
                start=_itself,
                turn=_turn_typo,
                grid=(0.3, 0.5, 0.7, 0.85, 1.0),
            ),
        )
    }
)


def knobs_of(profile: Profile) -> tuple[Knob, ...]:
    """Return the knobs that *profile* uses, in the order they are fitted."""
    return tuple(knob for knob in KNOBS.values() if knob.read(profile))


def starts(profile: Profile) -> Patch:
    """Return the value of each knob in *profile* as it is."""
    return {knob.name: knob.start(knob.read(profile)) for knob in knobs_of(profile)}


def patched(profile: Profile, patch: Patch) -> Profile:
    """Return *profile* with the knobs of *patch*; its name stays."""
    turned = profile
    for name in KNOBS.keys() & patch.keys():  # they set different numbers, so the order does not matter
        if KNOBS[name].read(profile):
            turned = KNOBS[name].turned(turned, patch[name])
    return turned


if TYPE_CHECKING:  # a search needs the stored tunings, not the fitting
    from recollect.evaluate.tune import Fitted

KIND: Final = "tuning"
"""The kind of note that holds the tunings of a profile, oldest first."""
MAX_TUNINGS: Final = 20
"""How many steps can be undone."""


class Tuning(Struct, frozen=True, kw_only=True):
    """The knobs that were set, since when, and the figures of the fit."""

    profile: str
    at: str
    values: Patch
    base: Mapping[str, list[float]]
    """The numbers of the profile that these knobs replace."""
    source: str
    questions: int
    before: float
    after: float
    low: float
    high: float

    def fits(self, profile: Profile) -> bool:
        """Return whether *profile* still has the numbers this was fitted from."""
        return profile.name == self.profile and all(
            name in KNOBS and list(KNOBS[name].read(profile)) == raw for name, raw in self.base.items()
        )

    @property
    def day(self) -> str:
        """The day since when it is in force."""
        return self.at[:10]


def tunings(name: str, store: Store, *, project: str = "") -> tuple[Tuning, ...]:
    """Return the tunings of the profile *name* in *project*, oldest first; entries of another format are skipped."""
    return _read(store.notes(KIND, project=project).get(name, {}))


def _read(note: Mapping[str, Any]) -> tuple[Tuning, ...]:
    names = Tuning.__struct_fields__
    whole = (each for each in note.get("kept", ()) if each.keys() >= {*names})
    return tuple(Tuning(**{key: each[key] for key in names}) for each in whole)


def in_force(profile: Profile, store: Store, *, project: str = "") -> Tuning | None:
    """Return the active tuning of *profile* in *project*; None if it was fitted from other numbers."""
    return _fitting(profile, tunings(profile.name, store, project=project))


def _fitting(profile: Profile, kept: Sequence[Tuning]) -> Tuning | None:
    return kept[-1] if kept and kept[-1].fits(profile) else None


class TunedProfiles:
    """Tuned profiles by project of one store, read again when the store has changed.

    A reply carries the store version, and only a new version can have another tuning. So a search needs no query of its
    own unless something was written since the last one.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[int, Mapping[str, Mapping[str, Any]]]] = {}

    def tuned(self, profile: Profile, *, project: str = "") -> Profile:
        """Return *profile* as tuned in *project*, by the last reading."""
        _, notes = self._known.get(project, (0, {}))
        tuning = _fitting(profile, _read(notes.get(profile.name, {})))
        return profile if tuning is None else patched(profile, tuning.values)

    def moved(self, version: int | None, *, project: str = "") -> bool:
        """Return whether *version* differs from that of the last reading; if so, read the tunings again."""
        if version is None or (project in self._known and version == self._known[project][0]):
            return False
        self._known[project] = (version, self._store.notes(KIND, project=project))
        return True


def adopt(profile: Profile, fitted: "Fitted", *, store: Store, now: datetime, source: str, project: str = "") -> Tuning:
    """Store the fitted tuning of *profile* in *project*."""
    interval = fitted.interval
    tuning = Tuning(
        profile=profile.name,
        at=now.isoformat(),
        values=dict(fitted.values),
        base={name: list(KNOBS[name].read(profile)) for name in fitted.values},
        source=source,
        questions=fitted.questions,
        before=fitted.before,
        after=fitted.after,
        low=interval.low if interval else 0.0,
        high=interval.high if interval else 0.0,
    )
    with store.transaction({project}):
        kept = (*tunings(profile.name, store, project=project), tuning)[-MAX_TUNINGS:]
        _write(profile.name, kept, store, project=project)
    return tuning


def untune(profile: Profile, store: Store, *, project: str = "") -> Tuning:
    """Remove the last tuning of *profile* in *project*, so that the one before it applies; return it."""
    with store.transaction({project}):
        kept = tunings(profile.name, store, project=project)
        if not kept:
            raise InputError(f"the profile {profile.name} is not tuned here", hint="tune it with: recollect tune")
        _write(profile.name, kept[:-1], store, project=project)
    return kept[-1]


def _write(name: str, kept: Sequence[Tuning], store: Store, *, project: str) -> None:
    value = {"kept": to_builtins(kept)} if kept else None
    store.put_note(KIND, name, value, project=project)
