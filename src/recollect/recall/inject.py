"""What a task should be told: few memories, within a budget, each unchanged one once a session."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from recollect.recall.budget import Counter, count_tokens_mixed
from recollect.recall.render import Rendered, Style, render
from recollect.records import Memory
from recollect.replies import Reply
from recollect.stores.contract import Store

LEDGER: Final = "injected"
"""The kind of note that holds, for each session, which memory was injected in which words."""


def choose(reply: Reply, *, told: Mapping[str, object]) -> tuple[Memory, ...]:
    """Return the memories of *reply* worth telling: only of a real answer, trusted, and not told in these words."""
    if reply.outcome != "answered":
        return ()
    memories = (hit.memory for hit in reply.hits)
    return tuple(each for each in memories if each.trust != "untrusted" and told.get(str(each.id)) != _mark(each))


def inject(
    reply: Reply,
    *,
    store: Store,
    now: datetime,
    session: str | None = None,
    style: Style = "markdown",
    counter: Counter = count_tokens_mixed,
    most: int = 5,
    budget: int = 500,
) -> Rendered:
    """Return the block that tells what *reply* found, and note in the session's ledger what was told."""
    told = store.notes(LEDGER).get(session, {}) if session is not None else {}
    chosen = choose(reply, told=told)
    rendered = render(chosen, now=now, style=style, counter=counter, most=most, budget=budget)
    if session is not None and rendered.ids:
        store.put_note(LEDGER, session, {**told, **_marks(chosen, rendered.ids)})
    return rendered


def _marks(memories: Sequence[Memory], ids: Sequence[int]) -> Mapping[str, str]:
    return {str(each.id): _mark(each) for each in memories if each.id in ids}


def _mark(memory: Memory) -> str:
    return memory.meaning.hex()
