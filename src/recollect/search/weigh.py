"""Named factors that weigh a candidate: each a pure function of the memory, the profile and now."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from recollect.errors import ProfileError
from recollect.profile import Profile
from recollect.records import Memory
from recollect.search.ranking import Candidate

Weigher = Callable[[Memory, Profile, datetime], float]
WEIGHERS: Final[Mapping[str, Weigher]] = {}


def weigh(
    candidates: Sequence[Candidate], memories: Mapping[int, Memory], *, profile: Profile, now: datetime
) -> tuple[Candidate, ...]:
    """Return *candidates* with their factors, best first, ties by id."""
    weighers = {name: _weigher(name, profile) for name in profile.weigh.factors}
    weighed = (
        replace(each, factors={name: of(memories[each.id], profile, now) for name, of in weighers.items()})
        for each in candidates
    )
    return tuple(sorted(weighed, key=lambda each: (-each.score, each.id)))


def _weigher(name: str, profile: Profile) -> Weigher:
    if name not in WEIGHERS:
        raise ProfileError(f"{profile.name}: no factor is called {name!r}", hint=f"one of {', '.join(WEIGHERS)}")
    return WEIGHERS[name]
