"""The details of a question: does a hit hold what the question names, and a value of the kind that it asks for?

A hit may speak of what was asked and still not answer it: of the right supplier, but without a phone number; of an
error code, but of another one.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from recollect.records import Memory
from recollect.search.spelling import near_among
from recollect.text.analyser import field_texts
from recollect.text.dates import MONTH_NAMES
from recollect.text.questions import LOOKS_BACK, PAST, ValueKind, holds_value, names_given, same_month, values_asked
from recollect.text.tokenizer import WORDS, TokenAnalysis, analyse_text, segment

_NOT_HELD: Final = ("path",)
"""Where a memory lies says nothing of what it holds."""
_TELLING: Final = ("title", "extra", "before", "after")
"""Where a value may stand beside the words: a turn is answered in the next one, or says more of the one before."""


class Details(Struct, frozen=True, kw_only=True):
    """What of a question a hit does not hold."""

    named: int = 0
    """How many names and numbers the question gives."""
    absent: tuple[str, ...] = ()
    """Those of them that the hit does not hold."""
    lacks: str | None = None
    """The kind of value asked for, where the hit holds none."""

    @property
    def absent_share(self) -> float:
        """The share of the names and numbers that the hit does not hold."""
        return len(self.absent) / self.named if self.named else 0.0


NO_DETAILS: Final = Details()


def details_of(question: str, memory: Memory, *, frequencies: Mapping[str, int]) -> Details:
    """Return what of *question* is not in *memory*; *frequencies* says which of its words the store knows at all."""
    names, kinds = names_given(question), values_asked(question)
    absent = _absent(names, memory, frequencies) if names else ()
    lacking = bool(kinds) and not any(_answers(kind, question, memory) for kind in kinds)
    return Details(named=len(names), absent=absent, lacks=kinds[0].name if lacking else None)


def _absent(names: tuple[str, ...], memory: Memory, frequencies: Mapping[str, int]) -> tuple[str, ...]:
    """Return those of *names* that *memory* does not hold."""
    fields = (text for field, text in field_texts(memory) if field not in _NOT_HELD)
    words = [WORDS[word] for word in set(segment("\n".join((memory.content, *fields, *_dates_told(memory)))))]
    tokens = frozenset([token for word in words for token in word.tokens])
    stems = tokens.union([stem for word in words for stem in word.stems])
    missing = [name for name in names if not _holds(stems, analyse_text(name))]
    return tuple(name for name in missing if not _meant(name, tokens, frequencies))


def _dates_told(memory: Memory) -> Iterator[str]:
    """Yield the month and the year before those of *memory*, where it looks back: "last month", "two weeks ago"."""
    when = memory.stated_at
    if when is not None and LOOKS_BACK.search(memory.content):
        yield MONTH_NAMES[when.month - 2]
        yield str(when.year - 1)


def _holds(stems: frozenset[str], name: TokenAnalysis) -> bool:
    """Return whether the name stands among *stems*: every part of one with a digit, some part of another."""
    if any(character.isdigit() for token in name.tokens for character in token):
        return all(token in stems for token in name.tokens)
    return not name.stems or any(stem in stems for stem in name.stems)


def _meant(name: str, held: Iterable[str], frequencies: Mapping[str, int]) -> bool:
    """Return whether one of the words *held* is *name* in other letters: a month cut short, or a slip of the fingers.

    A name that the store knows is no slip.
    """
    if any(same_month(name, token) for token in held):
        return True
    known = any(frequencies.get(stem, 0) for stem in analyse_text(name).stems)
    return not known and bool(near_among(name, dict.fromkeys(held, 1)))


def _answers(kind: ValueKind, question: str, memory: Memory) -> bool:
    """Return whether *memory* holds a value of *kind*: in its words, its fields, the turns beside it, or its date."""
    if kind.dated and memory.stated_at is not None and PAST.search(question):
        return True
    fields = dict(field_texts(memory))
    told = (memory.content, *(fields[name] for name in _TELLING if name in fields))
    return holds_value(kind, "\n".join(told), question=question)
