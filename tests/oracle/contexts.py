"""Context vectors the long way: every turn of a conversation is mixed anew."""

from collections.abc import Iterable

from msgspec.structs import replace

from oracle.state import State
from recollect.records import ALL_PROJECTS, Memory
from recollect.vectors import matrix


def remix(state: State, memories: Iterable[Memory]) -> None:
    """Make the context vectors of all conversations anew that *memories* are turns of."""
    for memory in memories:
        if memory.thread is not None:
            for name in state.generations:
                _remix(state, name, memory.project, memory.thread)
    for key, passages in state.vectors.items():
        if passages and state.memories[key[1]].thread is None:
            state.vectors[key] = (replace(passages[0], context_vector=None), *passages[1:])


def _remix(state: State, name: str, project: str, thread: str) -> None:
    generation = state.generations[name]
    live = (memory for memory in state.live(ALL_PROJECTS) if (memory.project, memory.thread) == (project, thread))
    turns = [memory for memory in live if state.vectors.get((name, memory.id))]
    keys = [(name, memory.id) for memory in sorted(turns, key=lambda memory: (memory.turn or 0, memory.id))]
    vectors = [state.vectors[key][0].vector for key in keys]
    mixed = matrix(vectors, dimensions=generation.dimensions).in_context(generation.context_weights or ())
    for key, vector in zip(keys, mixed, strict=True):
        first, *rest = state.vectors[key]
        state.vectors[key] = (replace(first, context_vector=vector if generation.context_weights else None), *rest)
