"""What is loaded of the candidates: of hundreds what weighing looks at, and the texts of the few that are compared."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from recollect.profile import Weigh
from recollect.search.dialogue import exchanges_among
from recollect.search.state import Outlined, SearchContext, State
from recollect.search.weigh import reads_texts

AT_ONCE: Final = 20
"""How many texts are loaded where one is looked at: those behind it are looked at next."""


def load(state: State, context: SearchContext, *, rules: Weigh) -> State:
    """Load what weighing looks at of the candidates, and how they were used where a factor looks at it.

    The texts of all are read only where a factor reads them; those of turns always are.
    """
    ids = state.columns.ids
    if not ids:
        return state
    if reads_texts(state, rules):
        state = with_outlines(state, context, ids)
        turns: Mapping[int, Outlined] = state.outlines
    else:
        traits = context.ask.traits(ids, scope=state.scope)
        talking = [row for row, each in traits.items() if each.thread is not None]
        state = with_outlines(replace(state, traits=traits), context, talking)
        turns = {row: state.outlines[row] for row in talking if row in state.outlines}
    used = context.ask.usage(scope=state.scope, ids=ids) if "importance" in rules.factors else {}
    return replace(state, exchanges=exchanges_among(turns), usage=used)


def with_outlines(state: State, context: SearchContext, ids: Sequence[int]) -> State:
    """Return *state* with the texts of *ids* too."""
    missing = [row for row in ids if row not in state.outlines]
    if not missing:
        return state
    found = context.ask.outlines(missing, scope=state.scope)
    return replace(state, outlines={**state.outlines, **found})


class Texts(Mapping[int, Outlined]):
    """The texts of *ids*, loaded as they are looked at, from the first on."""

    def __init__(self, state: State, context: SearchContext, ids: Sequence[int]) -> None:
        self._state, self._context, self._ids = state, context, ids

    def __getitem__(self, row: int) -> Outlined:
        if row not in self._state.outlines:
            at = self._ids.index(row)
            self._state = with_outlines(self._state, self._context, self._ids[at : at + AT_ONCE])
        return self._state.outlines[row]

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def loaded(self, ids: Sequence[int]) -> State:
        """Return the state with all that was loaded, and the texts of *ids*."""
        return with_outlines(self._state, self._context, ids)
