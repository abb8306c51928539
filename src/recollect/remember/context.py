"""What every way in shares: the store, the profile's rules, the project, the writer's trust, the model, the time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from recollect.embedders.contract import Embedder, generation_for
from recollect.errors import InputError
from recollect.profile import Profile
from recollect.records import ALL_PROJECTS, Fact, Generation, Memory, Passage, Scope, Trust
from recollect.remember.capture import capture
from recollect.remember.clean import clean
from recollect.remember.facts import DECAY_RATES, extract
from recollect.remember.redact import FoundSecret, Redacted, digests_of, redact_name, redact_record
from recollect.stores.contract import Analyse, Store
from recollect.text.firewall import strip_rendered
from recollect.vectors import Vector, pack, unit

CONFIDENCE_FLOORS: Final[Mapping[str, float]] = MappingProxyType({"decision": 0.9, "preference": 0.9})
"""The least confidence of what is captured, by type: Oro stores decisions and preferences with 0.9 to 1.0."""
TRUST_LEVELS: Final[Sequence[Trust]] = ("untrusted", "agent", "owner")
"""How far a writer is trusted, least first."""
STABLE_FIELDS: Final = ("id", "created_at", "updated_at", "deleted_at", "superseded_by", "superseded_at")
"""What a stored memory keeps when its source says it anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """The vectors of a draft and the generation they belong to; *given* ones were brought by the caller."""

    generation: Generation
    passages: tuple[Passage, ...]
    given: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A memory ready to be stored: clean, without its *secrets*, with its vectors if any."""

    memory: Memory
    secrets: tuple[FoundSecret, ...] = ()
    embedding: Embedding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestContext:
    """Where memories go and by which rules; the same value for `add`, `import`, `capture` and restoring an export."""

    store: Store
    analyse: Analyse
    profile: Profile
    now: datetime
    project: str | None = None
    trust: Trust = "owner"
    redact: bool = True
    embedder: Embedder | None = None
    """The model in use; None compares drafts by their words alone."""
    model: str = ""
    """The name of that model."""

    @property
    def scope(self) -> Scope:
        """Return the projects this context reads: its own, or all."""
        return ALL_PROJECTS if self.project is None else Scope(projects=frozenset({self.project}))

    def prepare(self, memory: Memory, vector: Sequence[float] | None = None) -> Draft:
        """Return *memory* clean and without secrets, with the caller's own *vector* if there is one."""
        cleaned = Redacted(record=clean(memory))
        if self.redact:
            cleaned = redact_record(cleaned.record, digests_of(self.store))
        embedding = None if vector is None else self._given(vector, cleaned.record)
        return Draft(memory=cleaned.record, secrets=cleaned.own, embedding=embedding)

    def source_name(self, source: str) -> str:
        """Return what a source is called in the store: without the secrets in its path, as its memories say it."""
        return redact_name(source, digests_of(self.store), path=True).text if self.redact else source

    def _given(self, vector: Sequence[float], memory: Memory) -> Embedding:
        """Return the caller's *vector* in the generation of the model in use where it fits, else in one of its own."""
        numbers = given_vector(vector)
        fingerprint = generation_for(len(numbers), self.embedder)
        ours = self.embedder is not None and fingerprint == self.embedder.fingerprint
        generation = Generation(
            fingerprint=fingerprint, dimensions=len(numbers), model=self.model if ours else "external"
        )
        passage = Passage(start=0, stop=len(memory.content), vector=pack(numbers))
        return Embedding(generation=generation, passages=(passage,), given=True)

    def assign(self, memory: Memory, *, trust: Trust | None = None) -> Memory:
        """Return *memory* as one of the context's project, unless it names another, and of its writer's *trust*."""
        project = memory.project if memory.project != "default" else self.project or "default"
        trusted = min(trust or self.trust, self.trust, key=TRUST_LEVELS.index)
        if (project, trusted) == (memory.project, memory.trust):
            return memory
        return replace(memory, project=project, trust=trusted)

    def facts(self, memory: Memory) -> tuple[Fact, ...]:
        """Return the facts of *memory*, with the decay rates of the profile."""
        return extract(memory, self.profile.weigh.decay_rates or DECAY_RATES)

    def captured(self, text: str) -> list[Memory]:
        """Return what a worker's output asks to remember, without what `inject` rendered into it."""
        found = (self.assign(memory) for memory in capture(strip_rendered(text).text))
        return [replace(each, confidence=max(each.confidence, CONFIDENCE_FLOORS.get(each.type, 0.0))) for each in found]


def given_vector(numbers: Sequence[float]) -> Vector:
    """Return *numbers* as a unit vector; refuse what has no direction."""
    try:
        vector = unit(float(number) for number in numbers)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError("a vector must be numbers", hint="give a list of floats, as your model returns it") from error
    if not any(vector) or not all(map(math.isfinite, vector)):
        raise InputError("a vector must have a direction", hint="give finite numbers that are not all zero")
    return vector


def revised(old: Memory, new: Memory, *keep: str) -> Memory:
    """Return *new* in the place of *old*: with its stable fields, and those named in *keep*."""
    return replace(new, **{name: getattr(old, name) for name in (*STABLE_FIELDS, *keep)})
