"""Make memories of a conversation that a program recorded: speakers, words and times; each turn with its neighbors."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct, field

from recollect.records import Memory
from recollect.remember.formats.chat import with_context
from recollect.remember.formats.record import Origin


class Said(Struct, frozen=True, kw_only=True):
    """One turn as it was recorded: who, what, when, its id there, its line (from 1), and its metadata."""

    speaker: str
    words: str
    at: datetime | None = None
    id: str | None = None
    line: int | None = None
    about: Mapping[str, object] = field(default_factory=dict)


def conversation(
    said: Iterable[Said], origin: Origin, *, thread: str, title: str = "", tags: tuple[str, ...] = ()
) -> tuple[Memory, ...]:
    """Return the memories of one conversation, in order; a turn without words is skipped."""
    return with_context(tuple(turns_of(said, origin, thread=thread, title=title, tags=tags)))


def turns_of(
    said: Iterable[Said], origin: Origin, *, thread: str, title: str = "", tags: tuple[str, ...] = ()
) -> Iterator[Memory]:
    """Yield the memories of one conversation without their context."""
    spoken = (each for each in said if each.words.strip())
    for number, each in enumerate(spoken, start=1):
        words = each.words.strip()
        yield Memory(
            content=f"{each.speaker}: {words}" if each.speaker else words,
            title=title,
            tags=tags,
            source=origin.source,
            line=each.line,
            thread=thread,
            turn=number,
            observed_at=each.at or origin.date,
            external_id=each.id,
            metadata=dict(each.about),
        )
