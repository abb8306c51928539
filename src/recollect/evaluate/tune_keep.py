"""What was tuned, kept in the store it was tuned on: in force for the profile of that name, undone step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from recollect.errors import InputError
from recollect.evaluate.tune_knobs import KNOBS, Patch, patched
from recollect.profile import Profile
from recollect.stores.contract import Store

if TYPE_CHECKING:  # a search needs what was kept, and none of the arithmetic of fitting
    from recollect.evaluate.tune import Fitted

KIND: Final = "tuning"
"""The kind of note that holds the tunings of a profile, oldest first."""
MOST: Final = 20
"""How many steps can be undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Which knobs are turned, since when, and the figures that spoke for it."""

    profile: str
    at: str
    values: Patch
    base: Mapping[str, list[float]]
    """What the profile had where these knobs turn it."""
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


def tunings(name: str, store: Store) -> tuple[Tuning, ...]:
    """Return what was tuned for the profile *name*, oldest first; what another release wrote otherwise is no tuning."""
    note: Mapping[str, Any] = store.notes(KIND).get(name, {})
    names = [each.name for each in fields(Tuning)]
    whole = (each for each in note.get("kept", ()) if each.keys() >= {*names})
    return tuple(Tuning(**{key: each[key] for key in names}) for each in whole)


def in_force(profile: Profile, store: Store) -> Tuning | None:
    """Return the tuning that *profile* is used with; none when it was fitted from other numbers."""
    kept = tunings(profile.name, store)
    return kept[-1] if kept and kept[-1].fits(profile) else None


def as_tuned(profile: Profile, store: Store) -> Profile:
    """Return *profile* as it was tuned for this store, or as it is."""
    tuning = in_force(profile, store)
    return profile if tuning is None else patched(profile, tuning.values)


def adopt(profile: Profile, fitted: "Fitted", *, store: Store, now: datetime, source: str) -> Tuning:
    """Keep what was fitted for *profile* from now on."""
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
    with store.transaction():
        _write(profile.name, (*tunings(profile.name, store), tuning)[-MOST:], store)
    return tuning


def untune(profile: Profile, store: Store) -> Tuning:
    """Take the last tuning of *profile* back, so that what was before it is in force; return what was undone."""
    with store.transaction():
        kept = tunings(profile.name, store)
        if not kept:
            raise InputError(f"the profile {profile.name} is not tuned here", hint="tune it with: recollect tune")
        _write(profile.name, kept[:-1], store)
    return kept[-1]


def _write(name: str, kept: Sequence[Tuning], store: Store) -> None:
    if kept:
        store.put_note(KIND, name, {"kept": [asdict(each) for each in kept]})
    else:
        store.drop_note(KIND, name)
