"""Everything the oracle holds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from datetime import datetime

from oracle.admit import in_scope, was_held
from recollect.records import Event, Fact, Generation, Memory, Passage, Recall, Scope, Source, TokenizedMemory


@dataclass(slots=True)
class State:
    """Everything held; copied before a transaction so that a failure leaves nothing behind."""

    memories: dict[int, Memory] = field(default_factory=dict)
    wordings: dict[int, tuple[str, ...]] = field(default_factory=dict)
    terms: dict[int, TokenizedMemory] = field(default_factory=dict)
    named: dict[tuple[str, str, str], int] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    facts: dict[int, tuple[Fact, ...]] = field(default_factory=dict)
    stated: dict[int, int] = field(default_factory=dict)
    sources: dict[tuple[str, str], Source] = field(default_factory=dict)
    places: dict[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    generations: dict[str, Generation] = field(default_factory=dict)
    vectors: dict[tuple[str, int], tuple[Passage, ...]] = field(default_factory=dict)
    notes: dict[tuple[str, str, str], str] = field(default_factory=dict)
    recalls: list[Recall] = field(default_factory=list)
    newest: int = 0
    newest_fact: int = 0
    version: int = 0

    def aside(self) -> "State":
        """Return a copy that later changes of this one do not reach."""
        return State(**{each.name: copy(getattr(self, each.name)) for each in fields(self)})

    def live(self, scope: Scope) -> Iterator[Memory]:
        """Yield the memories of *scope* that are not forgotten."""
        return (memory for row in self.terms if in_scope(memory := self.memories[row], scope))

    def searched(
        self, scope: Scope, as_of: datetime | None, analyse: Callable[[Memory, Sequence[str]], TokenizedMemory]
    ) -> Mapping[int, TokenizedMemory]:
        """Return the tokens of the live memories of *scope*, and of those forgotten only after *as_of*."""
        terms = {memory.id: self.terms[memory.id] for memory in self.live(scope)}
        if as_of is not None:
            for memory in self.memories.values():
                if memory.deleted_at is not None and in_scope(memory, scope) and was_held(memory, as_of):
                    terms[memory.id] = analyse(memory, self.wordings.get(memory.id, ()))
        return terms
