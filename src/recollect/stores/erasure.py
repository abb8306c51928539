"""What an erasure leaves of what speaks of the erased: the same in every store."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from recollect.lazy import regex
from recollect.records import MEMORY_REFERENCES, Context, Event, Filter, Memory, digest
from recollect.stores.contract import LEDGERS

RUN = 4
"""How many words in a row are a quotation."""
RARE = 4
"""How many characters a word has, at least, that gives away whose it was."""
_WORD = regex(r"\w+")
_OWN = ("content", "decision")
"""What an event keeps of its detail when the other memory is gone; all else may quote that one."""


def names_a_source(ids: Sequence[int] | None, where: Filter) -> bool:
    """Return whether whole sources are to be erased, and not some memories from them."""
    return ids is None and where.sources is not None and where == Filter(sources=where.sources)


def words_of(text: str) -> list[str]:
    """Return the words of *text* as quotations are compared by."""
    return _WORD.findall(text.casefold())


def rare_words(texts: Iterable[str], held: Callable[[list[str]], Mapping[str, int]]) -> frozenset[str]:
    """Return the words of *texts* that no memory *held* still has; one of them alone quotes."""
    words = sorted({word for text in texts for word in words_of(text) if len(word) >= RARE})
    return frozenset(word for word, count in held(words).items() if count == 0)


class Quotations:
    """What shows that a text quotes one of *texts*: words in a row, or one word that nobody else has."""

    def __init__(self, texts: Iterable[str], rare: Collection[str]) -> None:
        self._texts = sorted({text.strip() for text in texts if text.strip()}, key=len, reverse=True)
        self._rare = frozenset(rare)
        self._runs = {run for text in self._texts for run in _runs(words_of(text))}
        self._lengths = sorted({len(run) for run in self._runs})
        self.digests = frozenset(map(digest, self._texts))

    def quoted_in(self, text: str) -> bool:
        """Return whether *text* quotes."""
        words = words_of(text)
        if not self._rare.isdisjoint(words):
            return True
        windows = (tuple(words[at : at + size]) for size in self._lengths for at in range(len(words) - size + 1))
        return any(window in self._runs for window in windows)

    def taken_out(self, context: Context) -> Context:
        """Return *context* without the texts; a part that still quotes one is left out whole."""
        return Context(**{name: self._without(getattr(context, name)) for name in ("before", "after", "around")})

    def _without(self, text: str) -> str:
        left = text
        for each in self._texts:
            if each in left:
                left = left.replace(each, "").strip("\n")
        return "" if self.quoted_in(left) else left


def _runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the quotations that words in a row are; a single word is none."""
    size = min(RUN, len(words))
    if size > 1:
        yield from (tuple(words[at : at + size]) for at in range(len(words) - size + 1))


def earlier_words(events: Iterable[Event]) -> list[str]:
    """Return the words that memories had before they were changed."""
    return [str(event.detail["content"]) for event in events if event.detail.get("content")]


def names_one_of(event: Event, gone: Collection[int]) -> bool:
    """Return whether *event* names one of the memories *gone*."""
    named = (event.detail.get(key) for key in MEMORY_REFERENCES)
    return any(isinstance(each, int) and each in gone for each in named)


def mended_detail(
    event: Event, gone: Collection[int], names: Collection[str], quotations: Quotations
) -> Mapping[str, object]:
    """Return the detail of another memory's *event* without what it says of those *gone* or quotes of them."""
    kept = {key: event.detail[key] for key in _OWN if key in event.detail}
    detail = kept if names_one_of(event, gone) else event.detail
    return {key: value for key, value in detail.items() if key in _OWN or not _tells(value, names, quotations)}


def _tells(value: object, names: Collection[str], quotations: Quotations) -> bool:
    return isinstance(value, str) and (value in names or quotations.quoted_in(value))


def mended_note(
    kind: str, value: Mapping[str, Any], gone: Collection[int], names: Collection[str]
) -> Mapping[str, Any] | None:
    """Return a note without the ids *gone* and the *names*; None when that leaves it without a meaning."""
    if kind in LEDGERS:
        return {key: each for key, each in value.items() if key not in set(map(str, gone))} or None
    mended = {}
    for key, each in value.items():
        mended[key] = _unnamed(each, names)
        if isinstance(each, list) and each and not mended[key]:
            return None
    return mended


def _unnamed(value: Any, names: Collection[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _unnamed(each, names) for key, each in value.items() if key.partition(":")[2] not in names}
    if isinstance(value, list):
        return [_unnamed(each, names) for each in value if not (isinstance(each, str) and each in names)]
    return value


def successor(memory: Memory, gone: Mapping[int, Memory]) -> int | None:
    """Return what supersedes *memory* once those *gone* are: the next in line, else the id that nobody has."""
    by, seen = memory.superseded_by, {memory.id}
    while by is not None and by in gone and by not in seen:
        seen.add(by)
        by = gone[by].superseded_by
    return memory.superseded_by if by is None or by in seen else by
