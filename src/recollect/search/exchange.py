"""Exchanges: a question in a conversation and its replies are judged, counted and shown together.

The question has the words of the query, the reply has the answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from recollect.records import Memory
from recollect.replies import Turn
from recollect.search.dialogue import exchanges_among, turn_of
from recollect.search.speakers import SPEAKER
from recollect.search.state import Outlined, State
from recollect.text.analyser import asks

SHOWN: Final = 160
"""Characters shown of another turn of the exchange."""
PAGE: Final = 10
"""An exchange takes one place among this many of the first hits."""

Exchanges = Mapping[int, tuple[int, ...]]
"""Turn -> the turns of its exchange, in order."""


def group(rows: Sequence[int], exchanges: Exchanges, *, most: int) -> list[tuple[int, ...]]:
    """Return the first *most* of *rows*, each grouped with the other turns of its exchange."""
    if not exchanges:
        return [(row,) for row in rows[:most]]
    groups: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        key = exchanges.get(row, (row,))
        if key in groups or len(groups) < most:
            groups.setdefault(key, []).append(row)
    return [tuple(members) for members in groups.values()]


def collapse(state: State) -> State:
    """Let each exchange take one place on the first page; its other turns follow the page.

    A request for the order alone gets it unchanged.
    """
    if not state.request.snippets or state.query.tree is not None:
        return state
    rows = state.kept.ids
    exchanges = exchanges_among({row: state.outlines[row] for row in rows}) if state.exchanges else {}
    if not exchanges:
        return state
    first = [members[0] for members in group(rows, exchanges, most=PAGE)]
    return replace(state, candidates=state.candidates.led_by(first))


def exchanges_told(state: State) -> dict[int, tuple[Turn, ...]]:
    """Return the other turns of the exchange of each hit."""
    if not state.request.snippets:
        return {}
    return {row: tuple(_others(state.memories[row], state.exchanges, state.outlines)) for row in state.kept.ids}


def _others(memory: Memory, exchanges: Exchanges, outlines: Mapping[int, Outlined]) -> Iterator[Turn]:
    """Yield the other turns of the exchange of *memory* with the same trust.

    Of a turn that is not a candidate, only the stored context is known.
    """
    rows = exchanges.get(memory.id, ())
    if rows:
        others = (outlines[row] for row in rows if row != memory.id)
        trusted = (each for each in others if each.trust == memory.trust)
        yield from (_told(each.content, each.id, before=_place(each) < _place(memory)) for each in trusted)
    elif turn_of(memory) is not None:
        before, after = memory.context.before, memory.context.after
        if asks(memory.content) and after and not asks(after):
            yield _told(after, before=False)
        elif not asks(memory.content) and before and asks(before):
            yield _told(before, before=True)


def _place(memory: Outlined) -> int:
    return memory.turn or 0


def _told(content: str, row: int | None = None, *, before: bool) -> Turn:
    speaker = SPEAKER.match(content)
    text = " ".join(content[speaker.end() if speaker else 0 :].split())
    short = text if len(text) <= SHOWN else f"{text[: SHOWN - 1].rstrip()}…"
    return Turn(id=row, speaker=speaker.group(1) if speaker else None, text=short, before=before)
