"""Words that lean a question towards one kind of memory: decisions, changes, how things work."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

from recollect.errors import QueryError

Booster = Literal["decisions", "changes", "how_it_works"]

BOOSTERS: Final[Mapping[Booster, str]] = {
    "decisions": "decision chose architecture",
    "changes": "changed modified refactored",
    "how_it_works": "architecture design pattern implements",
}


def boost(query: str, booster: Booster) -> str:
    """Return *query* with the words of *booster* behind it; a blank query stays blank."""
    if booster not in BOOSTERS:
        raise QueryError(f"unknown booster {booster!r}", hint=f"one of {', '.join(get_args(Booster))}")
    plain = query.strip()
    return f"{plain} {BOOSTERS[booster]}" if plain else ""
