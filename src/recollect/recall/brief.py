"""What a new session should know before anything is asked: what is pinned, the rules that hold, recent decisions."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from recollect.lazy import regex
from recollect.recall import hook_log
from recollect.recall.inject import Rendered, count_tokens_mixed, render
from recollect.recall.ledger import note_told
from recollect.recall.prompts import is_expired
from recollect.records import GLOBAL, Filter, Memory, Scope
from recollect.stores.contract import Store

TYPES: Final = ("preference", "procedure", "decision", "gotcha", "identity", "rule", "fact")
"""The types that are worth knowing whatever the task is."""
MAX_CHOSEN: Final = 500
"""How many memories that are pinned, and how many of these types, are looked at."""
WORTH: Final = {
    "rule": 2.0,
    "identity": 2.0,
    "preference": 2.0,
    "procedure": 2.0,
    "decision": 1.6,
    "gotcha": 1.2,
    "fact": 0.4,
}
"""What a type is worth to a session whose task is not known yet."""
MAX_USUAL_CHARACTERS: Final = 160
"""Longer statements take the place of two others."""
_GOVERNS: Final = regex(
    r"(?<!\w)(?:always|never|only|must|no|not|every|each|all|before|from now on|do ?n[o']?t|everything"
    r"|instead of|use|tests?)(?!\w)",
    re.IGNORECASE,
)


def brief(
    store: Store,
    *,
    scope: Scope,
    now: datetime,
    session: str | None = None,
    project: str = "",
    limit: int = 14,
    budget: int = 500,
) -> Rendered:
    """Return the block for a new session, and note in its ledger what was told, so that it is not told again."""
    chosen = _chosen(store, scope, now)
    rendered = render(
        chosen, now=now, counter=count_tokens_mixed, limit=limit, budget=budget, labelled=scope.projects is None
    )
    if session is not None and rendered.ids:
        told = [each for each in chosen if each.id in rendered.ids]
        note_told(store, session, told, project=project, at=now)
        reasons = {each.id: "pinned" if each.pinned else "at the start of the session" for each in told}
        hook_log.note(store, reasons, session=session, project=project, at=now)
    return rendered


def _chosen(store: Store, scope: Scope, now: datetime) -> Sequence[Memory]:
    """Return what is pinned, then what is of a telling type, the best first; turns of conversations are neither."""
    pinned = store.browse(scope=scope, where=Filter(pinned=True), limit=MAX_CHOSEN).ids
    typed = store.browse(scope=scope, where=Filter(types=TYPES), limit=MAX_CHOSEN).ids
    memories = store.load(list(dict.fromkeys((*pinned, *typed))), scope=scope).values()
    current = [each for each in memories if (each.pinned or each.thread is None) and not is_expired(each, now)]
    newest = sorted(current, key=lambda each: (each.when, each.id), reverse=True)
    places = {each.id: place / max(1, len(newest)) for place, each in enumerate(newest)}
    return sorted(newest, key=lambda each: (not each.pinned, -_worth(each, places[each.id])))


def _worth(memory: Memory, age: float) -> float:
    """Return what a memory is worth at the start of a session; *age* goes from 0, the newest, to 1."""
    worth = WORTH.get(memory.type, 1.0) - 0.5 * age
    worth += 1.5 if memory.project == GLOBAL else 0.0
    worth += 0.6 if _GOVERNS.search(memory.content) else 0.0
    worth += 0.2 if memory.trust == "owner" else 0.0
    return worth - (0.5 if len(memory.content) > MAX_USUAL_CHARACTERS else 0.0)
