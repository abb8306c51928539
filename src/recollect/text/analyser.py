"""Analyse a memory for the index: the tokens of each of its fields, its minhash, and whether it is code."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache, partial
from typing import Final, NamedTuple

from recollect.lazy import SHORT, cache_short, regex
from recollect.records import OBSERVED_FROM, Memory, TokenizedMemory
from recollect.text.code import looks_like_code
from recollect.text.dates import MONTH_NAMES
from recollect.text.languages import find_language, further_stems
from recollect.text.minhash import minhash, token_hash
from recollect.text.normalise import CJK_PLAIN
from recollect.text.tokenizer import analyse_text

ANALYSER: Final = 3
"""The version of our own rules: patterns, folding, stop words, languages, fields, minhash. Raise it with each change.

A store opened with a newer version rebuilds its index; an older version reads it and leaves it as it is. Python's
copy of Unicode and the release of Snowball are not part of it: processes that share a store may differ in both.
"""

SENTINEL: Final = "\u241e"
"""Stands in the exact forms between the words in order and their other forms; no question can hold it."""

_TITLE: Final = "name"
_PATH: Final = "path"
_FIRST: Final = ("description", "requirements", "workerRole", "worker_role", "text")
_ELSEWHERE: Final = frozenset({_TITLE, _PATH, OBSERVED_FROM})
_DISK: Final = regex(r"(?:[A-Za-z]:)?/")
_HOME: Final = regex(r"(?:[A-Za-z]:)?/(?:(?:home|Users)/[^/]+|root)(?=/)")
_PARTS: Final = 3
_LARGEST: Final = 256


class _Terms(NamedTuple):
    """What the two indexes hold of a text, and what its near-duplicates are found by."""

    stems: tuple[str, ...]
    exact: tuple[str, ...]
    hashes: tuple[int, ...]


def analyse(memory: Memory, wordings: Sequence[str]) -> TokenizedMemory:
    """Return the terms of *memory*, found by its other *wordings* too; a field without words is absent."""
    own = _terms(memory.content)
    body = _terms("\n".join((memory.content, *wordings))) if wordings else own
    read = (("body", body), *((field, _terms(text)) for field, text in field_texts(memory)))
    fields = [(field, terms) for field, terms in read if terms.exact]
    stem = {field: terms.stems for field, terms in fields}
    # A long text is read once: neither its terms nor its keys are kept.
    keys, code, language = (_content_keys if len(memory.content) <= SHORT else partial(_keys, terms=own))(
        memory.content
    )
    if language:
        stem = {**stem, "body": (*body.stems, *further_stems("\n".join((memory.content, *wordings)), language))}
        if memory.title:
            stem["title"] = (*stem.get("title", ()), *further_stems(memory.title, language)[1:])
    return TokenizedMemory(
        stem=stem,
        exact={field: terms.exact for field, terms in fields},
        minhash=keys,
        code=code,
    )


@cache_short(512)
def _terms(text: str) -> _Terms:
    """Return the terms of *text*; its exact forms are the tokens in order, then the other forms of its words."""
    read = analyse_text(text)
    known = frozenset(read.tokens) if read.alternatives else frozenset()
    others = [other for other in read.alternatives if other not in known]
    return _Terms(read.stems, (*read.tokens, SENTINEL, *others) if others else read.tokens, read.hashes)


@cache_short(512)
def _content_keys(content: str) -> tuple[tuple[int, ...], bool, str]:
    """Return the near-duplicate keys of *content*, whether it is code, and its language where it is not."""
    return _keys(content, terms=_terms(content))


def _keys(content: str, *, terms: _Terms) -> tuple[tuple[int, ...], bool, str]:
    code = looks_like_code(content)
    language = "" if code else find_language(content, terms.exact)
    return minhash(terms.hashes or map(token_hash, terms.stems)), code, language


def field_texts(memory: Memory) -> Iterator[tuple[str, str]]:
    """Return the text of each field but the body, where there is any."""
    context, metadata, observed = memory.context, memory.metadata, memory.stated_at
    texts = (
        ("title", _lines(memory.title, metadata.get(_TITLE))),
        ("before", context.before),
        ("after", context.after),
        ("around", context.around),
        ("section", memory.section),
        ("tags", "\n".join(memory.tags)),
        ("path", _lines(telling_path(memory.source or ""), metadata.get(_PATH))),
        ("date", observed and _day(observed.date())),
        ("extra", metadata.keys() - _ELSEWHERE and "\n".join(filter(None, _extra(metadata)))),
    )
    return ((field, text) for field, text in texts if text)


@cache_short(4096)
def telling_path(source: str) -> str:
    """Return what of a path says something of the file: its name and the two folders it is in.

    Further up stand the folders of the machine and its user, which every memory shares; a path from nowhere is kept.
    """
    if not _DISK.match(source):
        return source
    return "/".join(_HOME.sub("", source, count=1).split("/")[-_PARTS:]).lstrip("/")


@lru_cache(maxsize=4096)
def _day(day: date) -> str:
    return f"{day.day} {MONTH_NAMES[day.month - 1]} {day.year} {day.isoformat()}"


def _lines(text: str, more: object) -> str:
    return text if more is None else "\n".join(filter(None, (text, *plain_values(more))))


def _extra(metadata: Mapping[str, object]) -> Iterator[str]:
    """Yield the values that have no field of their own, in an order that does not depend on the mapping's."""
    rest = sorted(set(metadata) - _ELSEWHERE - set(_FIRST), key=str)
    for key in (*_FIRST, *rest):
        yield from plain_values(metadata.get(key))


def plain_values(value: object) -> Iterator[str]:
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


# --- informativeness ------------------------------------------------------------------------

ENOUGH: Final = 2000
"""A text of so many characters tells enough; it is not counted."""

_ENDS: Final = ".!?\u3002\uff01\uff1f"
_SENTENCE: Final = regex(f"([^{_ENDS}\\n]+)([{_ENDS}]*)")
_ASKED: Final = ("?", "\uff1f")
_ASKING: Final = regex("[?\uff1f]")
_CLOSING: Final = " \t\r\n\"')]\u2019\u201d\u300d"
# Two characters of a script without spaces are about a word.
_WORD: Final = regex(f"[{CJK_PLAIN}]{{1,2}}|[^\\W{CJK_PLAIN}]+")


@cache_short(4096)
def informative_words(text: str) -> int:
    """Return how many words stand in the sentences of *text* that are no questions: a question tells nothing."""
    if len(text) > ENOUGH:
        return ENOUGH
    return sum(len(_WORD.findall(told)) for told, end in _SENTENCE.findall(text) if not _ASKING.search(end))


def asks(text: str) -> bool:
    """Return whether *text* ends in a question, so that what is said next may be the answer."""
    return text.rstrip(_CLOSING).endswith(_ASKED)
