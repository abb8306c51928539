"""How much a text states: questions tell nothing, and the answer to one stands in what is said next."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Final

from recollect.records import Memory, TokenizedMemory
from recollect.text.minhash import mark, sketch_marks
from recollect.text.normalise import CJK_PLAIN
from recollect.text.tokenizer import ANALYSES, SNOWBALL, TokenAnalysis, joined, segment

SHARE: Final = 0.4
"""So many of the lines look like code in a text that is code."""
LONGEST: Final = 200
"""So much of a line is looked at."""

_LINE: Final = re.compile(
    r"""\s*+(?:
        (?:def|class|import|return|elif|except|raise|fn|func|function|const|let|var|public|private|static)\b
      | from\ [\w.]++\ import\b | \#include\b | <\?php | @\w
      | (?:if|for|while|with|try|else|switch)\b[^:{]*+[:{]\s*+$
      | [\w.\[\]'"]++\s?[-+*/|&]?=\s?[^=\s]
      | [\w.]++\([^)]*+\)[;,:{]?\s*+$
      | [})\];]++[;,]?\s*+$
      | \"\"\"|'''|//|/\*|\*/
    )""",
    re.VERBOSE,
)


def looks_like_code(text: str) -> bool:
    """Return whether most of *text* is a program, not a note about one."""
    lines = [line[:LONGEST] for line in text.splitlines() if line.strip()]
    return bool(lines) and sum(_LINE.match(line) is not None for line in lines) >= SHARE * len(lines)


ANALYSER: Final = f"1 snowball-{SNOWBALL}"
"""What made the tokens of an index; an index made by another analyser must be made anew."""

SENTINEL: Final = "\u241e"
"""Stands in the exact forms between the words in order and their other forms; no question can hold it."""

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_TITLE: Final = "name"
_PATH: Final = "path"
_FIRST: Final = ("description", "requirements", "workerRole", "worker_role", "text")
_LARGEST: Final = 256
_SHORT: Final = 2000
"""How many characters a text may have whose reading is kept for a while."""


def analyse(memory: Memory, wordings: Sequence[str]) -> TokenizedMemory:
    """Return the terms of *memory*, found by its other *wordings* too; a field without words is absent."""
    body = joined([_read(text) for text in (memory.content, *wordings)]) if wordings else _read(memory.content)
    fields = [("body", body), *((field, _read(text)) for field, text in _texts(memory))]
    minhash, code = (_seen_lately if len(memory.content) <= _SHORT else _seen)(memory.content)
    return TokenizedMemory(
        stem={field: reading.stems for field, reading in fields if reading.tokens},
        exact={field: _exact(reading) for field, reading in fields if reading.tokens},
        minhash=minhash,
        code=code,
    )


def _read(text: str) -> TokenAnalysis:
    return (_read_lately if len(text) <= _SHORT else _read_anew)(text)


def _read_anew(text: str) -> TokenAnalysis:
    return joined([ANALYSES[word] for word in segment(text)])


def _seen(content: str) -> tuple[tuple[int, ...], bool]:
    """Return the near-duplicate keys of *content* and whether it is code."""
    reading = _read(content)
    return sketch_marks(reading.marks or map(mark, reading.stems)), looks_like_code(content)


# A memory is read to be compared and again to be stored, a turn as its neighbours' context too,
# and the file, section and day of a memory are those of many.
_read_lately = lru_cache(maxsize=2048)(_read_anew)
_seen_lately = lru_cache(maxsize=1024)(_seen)


def _exact(reading: TokenAnalysis) -> tuple[str, ...]:
    """Return the tokens in order, then the other forms of their words."""
    if not reading.parts:
        return reading.tokens
    there = frozenset(reading.tokens)
    parts = [part for part in reading.parts if part not in there]
    return (*reading.tokens, SENTINEL, *parts) if parts else reading.tokens


def _texts(memory: Memory) -> Iterator[tuple[str, str]]:
    """Return the text of each field but the body, where there is any."""
    context, metadata, observed = memory.context, memory.metadata, memory.observed_at
    texts = (
        ("title", _lines(memory.title, metadata.get(_TITLE))),
        ("before", context.before),
        ("after", context.after),
        ("around", context.around),
        ("section", memory.section),
        ("tags", "\n".join(memory.tags)),
        ("path", _lines(memory.source or "", metadata.get(_PATH))),
        ("date", observed and _day(observed.date())),
        ("extra", metadata and "\n".join(filter(None, _extra(metadata)))),
    )
    return ((field, text) for field, text in texts if text)


@lru_cache(maxsize=4096)
def _day(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year} {day.isoformat()}"


def _lines(text: str, more: object) -> str:
    return text if more is None else "\n".join(filter(None, (text, *_values(more))))


def _extra(metadata: Mapping[str, object]) -> Iterator[str]:
    """Yield the values that have no field of their own, in an order that does not depend on the mapping's."""
    rest = sorted(set(metadata) - {_TITLE, _PATH, *_FIRST}, key=str)
    for key in (*_FIRST, *rest):
        yield from _values(metadata.get(key))


def _values(value: object) -> Iterator[str]:
    """Yield the words and numbers in *value*, however deep, each list and mapping once."""
    waiting, met = [value], set[int]()
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case bool() | None:
                pass
            case int(number) if number.bit_length() > _LARGEST:
                pass  # too long to be looked for, and beyond what Python writes out
            case int() | float() | date() as plain:
                yield str(plain)
            case Mapping() | list() | tuple() as nested if id(nested) not in met:
                met.add(id(nested))
                inner = [nested[key] for key in sorted(nested, key=str)] if isinstance(nested, Mapping) else nested
                waiting.extend(reversed(inner))


ENOUGH: Final = 2000
"""A text of so many characters states enough; it is not counted."""

_ENDS: Final = ".!?\u3002\uff01\uff1f"
_SENTENCE: Final = re.compile(f"([^{_ENDS}\\n]+)([{_ENDS}]*)")
_ASKING: Final = re.compile("[?\uff1f]")
# Two characters of a script without spaces are about a word.
_WORD: Final = re.compile(f"[{CJK_PLAIN}]{{1,2}}|[^\\W{CJK_PLAIN}]+")


@lru_cache(maxsize=4096)
def informative_words(text: str) -> int:
    """Return how many words stand in the sentences of *text* that are no questions."""
    if len(text) > ENOUGH:
        return ENOUGH
    return sum(len(_WORD.findall(said)) for said, end in _SENTENCE.findall(text) if not _ASKING.search(end))
