"""Limits on the size of a query. If one cuts a query, the reply says so in `degraded`; normal queries meet none."""

from typing import Final

from recollect.errors import QueryError
from recollect.profile import Profile

MAX_TOKENS: Final = 4096
"""Tokens read of a query; the rest of a longer one is ignored."""
MAX_TERMS: Final = 256
"""Distinct words and clauses sent to the word index; the rest of a very long query is ignored."""
MAX_NESTING: Final = 40
"""Nesting depth of parentheses; deeper ones are read as plain text."""
MAX_PREFIXES: Final = 16
"""Prefixes looked up: each reads every word that starts with it."""
MAX_PHRASE: Final = 64
"""Words of a phrase that are looked up."""
MAX_NEEDLES: Final = 32
"""Words searched in the text itself if the word index is unavailable."""
MAX_DOUBTFUL: Final = 256
"""Query words that are checked for being unknown."""
MAX_UNKNOWN: Final = 32
"""Unknown words that are corrected: each is compared with all words of similar length."""


def limit_of(profile: Profile, asked: int | None, *, usual: int) -> int:
    """Return how many hits to show: *asked*, at most the profile's maximum, or the *usual* number.

    A limit below 1 is an error, unless the profile clamps limits: then it means the usual number.
    """
    if asked is None or (asked < 1 and profile.clamp_limit):
        return usual
    if asked < 1:
        raise QueryError(f"limit cannot be {asked}", hint="give a whole number of at least 1")
    return min(asked, profile.max_limit)
