"""How much of a query is looked up. What is left out is told in `degraded`; a usual query meets none of these.

The other limit is a profile's own: `words.max_terms`, the words and clauses asked of the word index.
"""

from typing import Final

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
