"""Load the candidates: the traits of hundreds for weighing, and the texts of the few that are compared."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from recollect.profile import Profile
from recollect.search.dialogue import exchanges_among
from recollect.search.state import Outlined, SearchContext, State
from recollect.search.weigh import reads_texts


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
