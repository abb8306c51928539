"""What every way in shares: the store, the profile's rules, the project, the writer's trust, the model, the time."""

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.embedders.contract import Embedder, generation_for
from recollect.errors import InputError
from recollect.profile import Profile
from recollect.records import (
    ALL_PROJECTS,
    GLOBAL,
    NEVER,
    Fact,
    Generation,
    Memory,
    Passage,
    Scope,
    TokenizedMemory,
    Trust,
    Verdict,
)
from recollect.remember.capture import capture
from recollect.remember.clean import clean
from recollect.remember.facts import DECAY_RATES, extract
from recollect.remember.redact import FoundSecret, digests_of, redact_name, redact_record
from recollect.stores.contract import Analyse, Store
from recollect.text.firewall import strip_rendered
from recollect.trust import TRUST_LEVELS, capped, level
from recollect.vectors import RAW, Scale, Vector, pack, unit

DEFAULT: Final = Memory(content="").project
"""The project of what names none."""
STABLE_FIELDS: Final = ("id", "created_at", "updated_at", "deleted_at", "superseded_by", "superseded_at")
"""What a stored memory keeps when its source says it anew."""


class Embedding(Struct, frozen=True, kw_only=True):
    """The vectors of a draft and the generation they belong to; *given* ones were brought by the caller."""

    generation: Generation
    passages: tuple[Passage, ...]
    given: bool = False


class Draft(Struct, frozen=True, kw_only=True):
    """A memory ready to be stored: clean, without its *secrets*, with its vectors if any."""

    memory: Memory
    secrets: tuple[FoundSecret, ...] = ()
    embedding: Embedding | None = None
    tokens: TokenizedMemory | None = None
    """What the analyser makes of it, and below what it states: known before the transaction that stores it."""
    facts: tuple[Fact, ...] | None = None
    verdict: Verdict | None = None
    """What its user thought of it in the store that it comes from."""


class IngestContext(Struct, frozen=True, kw_only=True):
    """Where memories go and by which rules; the same value for `add`, `import`, `capture` and restoring an export."""

    store: Store
    analyse: Analyse
    profile: Profile
    now: datetime
    project: str | None = None
    trust: Trust = "owner"
    redact: bool = True
    embedder: Embedder | None = None
    """The model in use, if there is one."""
    by_vector: bool = True
    """Whether drafts get vectors before they are stored, to be compared by them; else words alone decide."""
    model: str = ""
    """The name of that model."""
    scales: Callable[[str], Scale] = lambda _: RAW
    """The scales of models, by the fingerprints of their vectors."""

    def __post_init__(self) -> None:
        """Refuse a trust that is none."""
        level(self.trust)

    @property
    def scope(self) -> Scope:
        """Return the projects this context reads: its own, or all."""
        return ALL_PROJECTS if self.project is None else Scope(projects=frozenset({self.project, *self._shared}))

    @property
    def _shared(self) -> tuple[str, ...]:
        """Return the project of what holds everywhere, which a session of the owner adds to."""
        return (GLOBAL,) if self.trust == "owner" else ()

    def prepare(
        self, memory: Memory, vector: Sequence[float] | None = None, *, modified: datetime | None = None
    ) -> Draft:
        """Return *memory* clean, without secrets, and the caller's *vector* if any.

        *modified* is the date of its file, for what tells no other.
        """
        cleaned = clean(memory, modified)
        secrets: tuple[FoundSecret, ...] = ()
        if self.redact:
            redacted = redact_record(cleaned, digests_of(self.store))
            cleaned, secrets = redacted.record, redacted.own
        embedding = None if vector is None else self._given(vector, cleaned)
        return Draft(memory=cleaned, secrets=secrets, embedding=embedding)

    def source_name(self, source: str) -> str:
        """Return what a source is called in the store: without the secrets in its path, as its memories say it."""
        return redact_name(source, digests_of(self.store), path=True).text if self.redact else source

    def analysed(self, draft: Draft) -> Draft:
        """Return *draft* with its tokens and facts: nobody waits for them while it is stored."""
        if draft.tokens is not None:
            return draft
        facts = self.facts(draft.memory) if draft.facts is None else draft.facts
        return replace(draft, tokens=self.analyse(draft.memory, ()), facts=facts)

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

    def scale(self, generation: Generation) -> Scale:
        """Return the scale on which rules read the cosines of a *generation*."""
        return RAW if self.profile.cosines == "raw" else self.scales(generation.fingerprint)

    def own(self, memory: Memory) -> Memory:
        """Return *memory* as one of the context's project, where one is chosen; refuse what names another."""
        if self.project is None or memory.project == self.project:
            return memory
        if memory.project != DEFAULT:
            raise InputError(
                f"a memory for the project {memory.project} cannot be written here",
                hint=f"this view writes to {self.project}; name no project, or open the store without one",
            )
        return replace(memory, project=self.project)

    def assign(self, memory: Memory, *, trust: Trust | None = None) -> Memory:
        """Return *memory* as one of the context's project, or its own where none is chosen, of its writer's *trust*.

        Only the owner pins.
        """
        project = self.project or memory.project
        trusted = min(trust or self.trust, self.trust, key=TRUST_LEVELS.index)
        pinned = memory.pinned and self.trust == "owner"
        if (project, trusted, pinned) == (memory.project, memory.trust, memory.pinned):
            return memory
        return replace(memory, project=project, trust=trusted, pinned=pinned)

    def facts(self, memory: Memory) -> tuple[Fact, ...]:
        """Return the facts of *memory*, no surer than its writer can be; they fade from its own date on."""
        most = capped(1.0, memory.trust)
        return tuple(
            replace(fact, confidence=min(fact.confidence, most), last_reinforced=memory.created_at)
            for fact in extract(memory, self.profile.weigh.decay_rates or DECAY_RATES)
        )

    def dated(self, draft: Draft) -> Draft:
        """Return *draft* of an import as old as its source says; a date to come is no age."""
        memory = draft.memory
        told = memory.observed_at if memory.created_at == NEVER else memory.created_at
        born = told if told is not None and told <= self.now else NEVER
        return draft if born == memory.created_at else replace(draft, memory=replace(memory, created_at=born))

    def captured(self, text: str) -> list[Memory]:
        """Return what a worker's output asks to remember, without what `inject` rendered into it."""
        return [self.assign(memory) for memory in capture(strip_rendered(text).text)]


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
