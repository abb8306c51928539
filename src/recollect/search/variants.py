"""Other ways to ask, as a model wrote them down: read the answer it gave to a request for them."""

import json
import re
from typing import Final

from recollect.errors import InputError

KEYS: Final = ("queries", "expansions")
_FENCE: Final = re.compile(r"```[a-zA-Z]{0,16}\s(.*?)```", re.DOTALL)
_HINT: Final = 'answer with a JSON array of strings, or {"queries": […]}; the original query is searched alone'


def read_expansions(answer: str) -> tuple[str, ...]:
    """Return the queries in *answer*: a JSON array, bare, in a code fence, or under "queries" or "expansions".

    Blank ones and repeats are left out. Anything else is refused with InputError.
    """
    fenced = _FENCE.search(answer)
    try:
        found = json.loads(fenced[1] if fenced else answer)
    except (ValueError, RecursionError) as error:
        raise InputError("the expansion answer is not JSON", hint=_HINT) from error
    if isinstance(found, dict):
        found = next((found[key] for key in KEYS if key in found), None)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise InputError("the expansion answer holds no list of queries", hint=_HINT)
    return tuple(dict.fromkeys(" ".join(one.split()) for one in found if one.strip()))
