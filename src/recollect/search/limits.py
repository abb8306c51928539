"""How much of a query is looked up. What is left out is told in `degraded`; a usual query meets none of these.

The other limit is a profile's own: `words.max_terms`, the words and clauses asked of the word index.
"""

from typing import Final

from recollect.errors import QueryError
from recollect.profile import Profile

MAX_TOKENS: Final = 4096
"""How many tokens of a query are read; what comes after them in a longer one is not asked."""
MAX_NESTING: Final = 40
"""How deep parentheses may nest; deeper ones are read as plain text."""
MAX_PREFIXES: Final = 16
"""How many prefixes are looked up: each reads every word that begins with it."""
MAX_PHRASE: Final = 64
"""By how many of its words a phrase is looked up."""
MAX_NEEDLES: Final = 32
"""How many words are looked for in the text itself, where the word index cannot be used."""
MAX_DOUBTFUL: Final = 256
"""How many words of a query may be found to be unknown."""
MAX_UNKNOWN: Final = 32
"""How many unknown words are corrected: each is compared with all words of like length."""


def limit_of(profile: Profile, asked: int | None, *, usual: int) -> int:
    """Return how many hits to show: what was *asked*, at most what *profile* allows, or the *usual* number.

    A limit below 1 is an error, unless the profile clamps limits: then it means the usual number.
    """
    if asked is None or (asked < 1 and profile.clamp_limit):
        return usual
    if asked < 1:
        raise QueryError(f"limit cannot be {asked}", hint="give a whole number of at least 1")
    return min(asked, profile.max_limit)
