"""The records of an archive by type. The current version's archives are read; a record of another shape is refused."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct, ValidationError
from msgspec.structs import replace

from recollect.errors import InputError
from recollect.lazy import convert
from recollect.records import NEVER, Event, Fact, Generation, Memory, Passage, Recall
from recollect.vectors import WIDTH

Moment = Annotated[datetime, Meta(tz=True)]
Id = Annotated[int, Meta(ge=0, le=2**63 - 1)]
T = TypeVar("T")


class ArchivedEvent(Event, frozen=True, kw_only=True):
    """An event of the memory that it is archived with."""

    memory_id: int = 0
    at: Moment


class ArchivedFact(Fact, frozen=True, kw_only=True):
    """A fact of the memory that it is archived with; its id is that of the archived store."""

    confidence: Annotated[float, Meta(ge=0, le=1)]
    id: Id = 0
    last_reinforced: Moment = NEVER


class ArchivedVectors(Struct, frozen=True, kw_only=True):
    """The vectors of one memory in one generation: start, stop and vector of each passage."""

    fingerprint: str
    dimensions: int
    model: str
    context_weights: tuple[float, ...] = ()
    passages: tuple[tuple[int, int, bytes], ...] = ()

    def stored(self) -> tuple[Generation, tuple[Passage, ...]]:
        """Return them as a store keeps them."""
        generation = Generation(
            fingerprint=self.fingerprint,
            dimensions=self.dimensions,
            model=self.model,
            context_weights=self.context_weights,
        )
        return generation, tuple(Passage(start=a, stop=b, vector=vector) for a, b, vector in self.passages)

    @property
    def is_whole(self) -> bool:
        """Whether each vector has as many numbers as it should."""
        return all(len(vector) == WIDTH * self.dimensions for _, _, vector in self.passages)


class ArchivedMemory(Struct, frozen=True, kw_only=True):
    """What an archive says of a memory beyond its own fields. None for facts and events: it does not say."""

    id: Id = 0
    superseded_by: Id | None = None
    wordings: tuple[str, ...] = ()
    facts: tuple[ArchivedFact, ...] | None = None
    events: tuple[ArchivedEvent, ...] | None = None
    vectors: tuple[ArchivedVectors, ...] = ()


class ArchivedPiece(Struct, frozen=True, kw_only=True):
    """A piece of a source; its digest is in hexadecimal digits."""

    digest: Annotated[str, Meta(pattern="^(?:[0-9a-f]{2})*$")]
    memory_id: Id
    section: str | None = None
    gone: bool = False


class ArchivedSource(Struct, frozen=True, kw_only=True):
    """An imported source."""

    source: str
    fingerprint: str
    pieces: tuple[ArchivedPiece, ...]
    project: str | None = None
    device: Annotated[int, Meta(ge=1 - 2**63, le=2**63 - 1)] = 0
    root: str = ""


class ArchivedNote(Struct, frozen=True, kw_only=True):
    """A lens, a tuning, or the ledger of a session."""

    kind: str
    name: str
    value: dict[str, Any]
    project: str | None = None


def memory_of(record: Mapping[str, Any]) -> Memory:
    """Return the memory in *record*, without the ids of the store that it comes from."""
    return replace(read_record(record, Memory), id=0, superseded_by=None)


def recall_of(record: Mapping[str, Any]) -> Recall:
    """Return the search in *record*, whose scope is a list of projects."""
    recall = read_record({**record, "scope": {"projects": record.get("scope")}}, Recall)
    if recall.at.tzinfo is None:
        raise InputError("not a Recall: no time zone")
    return recall


def read_record(record: Mapping[str, Any], kind: type[T]) -> T:
    """Return *record* as a value of this *kind*; refuse one of another shape."""
    try:
        return convert(dict(record), kind)
    except ValidationError as error:
        raise InputError(f"not a {kind.__name__.removeprefix('Archived').lower()}: {error}") from error
