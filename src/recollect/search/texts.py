"""Load the candidates: the traits of hundreds for weighing, and the texts of the few that are compared."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from recollect.profile import Profile
from recollect.search.dialogue import exchanges_among
from recollect.search.state import Outlined, SearchContext, State
from recollect.search.weigh import reads_texts

AT_ONCE: Final = 20
"""Texts loaded at once: the ones after the requested text are read next."""


def load(state: State, context: SearchContext, *, profile: Profile) -> State:
    """Load the traits of the candidates, and their usage if a factor reads it.

    The texts of all are loaded only if a factor reads them; those of turns always are.
    """
    ids = state.candidates.ids
    if not ids:
        return state
    if reads_texts(state, profile):
        state = with_outlines(state, context, ids)
        turns: Mapping[int, Outlined] = state.outlines
    else:
        traits = context.ask.traits(ids, scope=state.scope)
        talking = [row for row, each in traits.items() if each.thread is not None]
        state = with_outlines(replace(state, traits=traits), context, talking)
        turns = {row: state.outlines[row] for row in talking if row in state.outlines}
    used = context.ask.usage(scope=state.scope, ids=ids) if "importance" in profile.weigh.factors else {}
    return replace(state, exchanges=exchanges_among(turns), usage=used)


def with_outlines(state: State, context: SearchContext, ids: Sequence[int]) -> State:
    """Return *state* with the texts of *ids* as well."""
    missing = [row for row in ids if row not in state.outlines]
    if not missing:
        return state
    found = context.ask.outlines(missing, scope=state.scope)
    return replace(state, outlines={**state.outlines, **found})


class Texts(Mapping[int, Outlined]):
    """The texts of *ids*, loaded on access, in batches."""

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
        """Return the state with every loaded text, and those of *ids*."""
        return with_outlines(self._state, self._context, ids)
