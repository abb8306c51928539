"""Read ignore files as git does; `pathspec` compiles and matches the patterns."""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from recollect.lazy import regex

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_PATTERN_WILDCARDS: Final = 4
"""A regular expression with more of them can take minutes on one long name."""
_WILDCARD: Final = regex(r"\*\*/?|\*")
_ODD_CLASS: Final = regex(r"\[[^\]]*?(?:\[|--|&&|\|\||~~)")
"""A character class that `re` warns of, or that means something else to it than to git."""
_EVERYTHING_BELOW: Final = regex(r"/\*\*/?$")


def is_too_complex(line: str) -> bool:
    """Tell whether a pattern is too complex to apply safely."""
    if line.startswith("#"):
        return False
    return len(_WILDCARD.findall(line)) > MAX_PATTERN_WILDCARDS or _ODD_CLASS.search(line) is not None


def read_patterns(lines: Sequence[str]) -> "GitIgnoreSpec":
    """Return the patterns in *lines*; those that are too complex or that git does not understand are skipped."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - only folders with an ignore file need it
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415

    patterns: list[GitIgnoreSpecPattern] = []
    for line in lines:
        if not is_too_complex(line):
            with suppress(ValueError, re.error):
                # `a/**` hides what is below `a` but not `a` itself, so that `!a/b` can show a file again.
                patterns.append(GitIgnoreSpecPattern(_EVERYTHING_BELOW.sub("/**/*", line)))
    return GitIgnoreSpec(patterns)
