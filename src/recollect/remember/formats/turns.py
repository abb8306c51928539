"""Make memories of a conversation that a program recorded: who said what, and when; each turn with its neighbours."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct, field

from recollect.records import Memory
from recollect.remember.formats.chat import with_context
from recollect.remember.formats.record import Origin


class Said(Struct, frozen=True, kw_only=True):
    """One turn as it was recorded: who, what, when, its id there, its line (from 1), what else is told."""

    speaker: str
    words: str
    at: datetime | None = None
    id: str | None = None
    line: int | None = None
    about: Mapping[str, object] = field(default_factory=dict)


def conversation(
    said: Iterable[Said], origin: Origin, *, thread: str, title: str = "", tags: tuple[str, ...] = ()
) -> tuple[Memory, ...]:
    """Return the memories of one conversation, in the order in which it was held; a turn without words is left out."""
    return with_context(tuple(_turns(said, origin, thread=thread, title=title, tags=tags)))


def _turns(said: Iterable[Said], origin: Origin, *, thread: str, title: str, tags: tuple[str, ...]) -> Iterator[Memory]:
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
