"""Exchanges: a turn of a conversation that asks, and the turns that answer it, are judged, counted and shown together.

Neither says all of it: the question holds the words that are asked for now, the reply holds what is wanted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from recollect.lazy import regex
from recollect.records import Memory
from recollect.replies import Turn
from recollect.search.dialogue import exchanges_among, turn_of
from recollect.search.state import Outlined, State
from recollect.text.analyser import asks

SHOWN: Final = 160
"""How many characters of another turn of the exchange are shown."""
PAGE: Final = 10
"""Among so many of the first hits an exchange takes one place."""
_SPEAKER: Final = regex(r"([^\W\d][^:\n]{0,39}):\s+(?=\S)")

Exchanges = Mapping[int, tuple[int, ...]]
"""The rows of the exchange that each turn belongs to, in their order."""


def group(rows: Sequence[int], exchanges: Exchanges, *, most: int) -> list[tuple[int, ...]]:
    """Return the first *most* of *rows*, each with the others of its exchange, which take no place."""
    if not exchanges:
        return [(row,) for row in rows[:most]]
    groups: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        key = exchanges.get(row, (row,))
        if key in groups or len(groups) < most:
            groups.setdefault(key, []).append(row)
    return [tuple(members) for members in groups.values()]


def collapse(state: State) -> State:
    """Let each exchange take one place on the first page; its other turns stand behind the page.

    Who wants only the order gets it as it is.
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
    """Return what was asked before each hit that is a turn, or answered after it."""
    if not state.request.snippets:
        return {}
    return {row: tuple(_others(state.memories[row], state.exchanges, state.outlines)) for row in state.kept.ids}


def _others(memory: Memory, exchanges: Exchanges, outlines: Mapping[int, Outlined]) -> Iterator[Turn]:
    """Yield the other turns of the exchange of *memory* that are trusted as it is.

    Of one that was not found only its words are known.
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
    speaker = _SPEAKER.match(content)
    text = " ".join(content[speaker.end() if speaker else 0 :].split())
    short = text if len(text) <= SHOWN else f"{text[: SHOWN - 1].rstrip()}…"
    return Turn(id=row, speaker=speaker.group(1) if speaker else None, text=short, before=before)
