"""Show where a text speaks of what was asked: its best stretch, with the words found in brackets."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import compress, pairwise
from operator import attrgetter, not_
from typing import Final, NamedTuple

from recollect.lazy import regex
from recollect.text.languages import language_of, stems_in
from recollect.text.normalise import is_cjk
from recollect.text.tokenizer import WORDS, TokenAnalysis, run_tokens, segment
from recollect.values import dataclass, replace

WIDTH: Final = 160
"""How many characters are shown unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """What to look for: stems, exact forms, and beginnings of exact forms."""

    stems: frozenset[str] = frozenset()
    tokens: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()


class MatchSpan(NamedTuple):
    """A place in a text, and which wanted tokens stand there."""

    start: int
    end: int
    found: frozenset[str]
    cjk: bool


def match_spans(text: str, wanted: QueryTerms) -> list[MatchSpan]:
    """Return where *text* holds what is wanted, in order.

    CJK characters of a wanted pair count only together, unless nothing else is found: alone they are anywhere.
    """
    whole = _without_halves(wanted)
    return _match(text, wanted) if whole is None else _match(text, whole) or _match(text, wanted)


def held(text: str, wanted: QueryTerms) -> frozenset[str]:
    """Return the wanted tokens that *text* holds."""
    finds = _finds(wanted, language_of(text))
    if finds.cjk:  # which of these count depends on where they stand
        return frozenset[str]().union(*{span.found for span in match_spans(text, wanted)})
    return frozenset[str]().union(*finds.places(segment(text)).values())


def most_held(text: str, wanted: QueryTerms, *, width: int = WIDTH) -> int:
    """Return how many different wanted tokens a stretch of *width* characters of *text* holds at most."""
    spans = match_spans(text, wanted)
    first, last = _densest(spans, width)
    inside = (span.found for span in spans if first <= span.start and span.end <= last)
    return len(frozenset[str]().union(*inside))


@lru_cache(maxsize=64)
def _without_halves(wanted: QueryTerms) -> QueryTerms | None:
    """Return *wanted* without the CJK characters that a wanted pair holds, if there is such a pair."""
    pairs = "".join(stem for stem in wanted.stems if len(stem) == 2 and is_cjk(stem))
    if not pairs:
        return None
    return replace(wanted, stems=wanted.stems.difference(pairs), tokens=wanted.tokens.difference(pairs))


class _Finds(dict[str, frozenset[str]]):
    """Which of the wanted tokens each word holds, remembered: the texts that answer a question share most words."""

    def __init__(self, wanted: QueryTerms, language: str) -> None:
        super().__init__()
        self._wanted, self._language = wanted, language
        every = (*wanted.stems, *wanted.tokens, *wanted.prefixes)
        self.cjk = {token: frozenset({token}) for token in every if is_cjk(token)}
        self._stems_alone = not (self.cjk or wanted.tokens or wanted.prefixes or language)

    def __missing__(self, word: str) -> frozenset[str]:
        if is_cjk(word):  # a run holds its tokens at places of their own, and hardly ever repeats
            return _RUN if self.cjk else frozenset()
        found = _found(WORDS[word], self._wanted) or _found_in(word, self._language, self._wanted)
        self[word] = found
        return found

    def places(self, words: Sequence[str]) -> dict[int, frozenset[str]]:
        """Return which of *words* hold wanted tokens, by their numbers, and which ones."""
        if not self._stems_alone:
            return {at: found for at, found in enumerate(map(self.__getitem__, words)) if found}
        stems = self._wanted.stems
        held = list(map(_STEMS, map(WORDS.__getitem__, words)))
        # Hardly any word holds one: all that is done for each of them is to see that.
        found = compress(range(len(held)), map(not_, map(stems.isdisjoint, held)))
        return {at: stems.intersection(held[at]) for at in found}


_STEMS: Final = attrgetter("stems")
_RUN: Final = frozenset({""})
"""What stands for a CJK run in which wanted tokens may be."""
_finds: Final = lru_cache(maxsize=64)(_Finds)


def _match(text: str, wanted: QueryTerms) -> list[MatchSpan]:
    words, finds = segment(text), _finds(wanted, language_of(text))
    places = finds.places(words)
    spans: list[MatchSpan] = []
    end, after = 0, 0
    for at, tokens in places.items():
        # No word stands before its place again: its first character would have begun a word there.
        for word in words[after:at]:
            end = text.index(word, end) + len(word)
        word, after = words[at], at + 1
        start = text.index(word, end)
        end = start + len(word)
        if tokens is _RUN:
            spans += _match_run(word, start, finds.cjk)
        else:
            spans.append(MatchSpan(start, end, tokens, cjk=False))
    return spans


def _match_run(run: str, at: int, cjk: Mapping[str, frozenset[str]]) -> Iterator[MatchSpan]:
    """Yield the spans of a CJK run that begins *at*; a pair that is wanted holds both its characters."""
    for (start, end, token), (_, pair_end, after) in pairwise((*run_tokens(run), (0, 0, ""))):
        if token in cjk:
            yield MatchSpan(at + start, at + end, cjk[token], cjk=True)
        if after and token + after in cjk:
            yield MatchSpan(at + start, at + pair_end, cjk[token + after], cjk=True)


def _found(analysis: TokenAnalysis, wanted: QueryTerms) -> frozenset[str]:
    """Return the wanted tokens that a word holds."""
    stems, tokens, prefixes = wanted.stems, wanted.tokens, wanted.prefixes
    # Most words hold none, which is quickly seen.
    if not prefixes and stems.isdisjoint(analysis.stems) and tokens.isdisjoint(analysis.tokens + analysis.alternatives):
        return frozenset()
    exact = (*analysis.tokens, *analysis.alternatives)
    begun = (prefix for prefix in prefixes if prefix and any(form.startswith(prefix) for form in exact))
    return stems.intersection(analysis.stems) | tokens.intersection(exact) | frozenset(begun)


def _found_in(word: str, language: str, wanted: QueryTerms) -> frozenset[str]:
    """Return the wanted stems that a word has in the language of its text."""
    return wanted.stems.intersection(stems_in(word, language)) if language else frozenset()


class Snippet(NamedTuple):
    """A stretch of a text with the words found in brackets, and where in it each of these stands, brackets included."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


_CONTROL: Final = regex("[\x00-\x1f\x7f-\x9f]")
_HALF: Final = regex("[\ud800-\udfff]")
# Marks, invisible joiners, and the later letters of a Hangul syllable.
_CONTINUING: Final = frozenset({"Mn", "Mc", "Me", "Cf"})
_LATER_JAMO: Final = regex("[\u1160-\u11ff\uff9e\uff9f]")


def snippet(text: str, wanted: QueryTerms, *, width: int = WIDTH) -> str:
    """Return at most *width* characters of *text* on one line, found words as [word], cuts as "…".

    The stretch holds the most distinct wanted tokens, the earliest of the best; the beginning when
    there are none. Marks and cut signs are not counted. A word is cut only when it alone is too long.
    """
    return marked_snippet(text, wanted, width=width).text


def marked_snippet(text: str, wanted: QueryTerms, *, width: int = 160) -> Snippet:
    """Return what `snippet` returns, and where its marks are: brackets of the text itself are none."""
    line = " ".join((text if text.isprintable() else _CONTROL.sub(" ", _HALF.sub("\ufffd", text))).split())
    width = max(width, 1)
    spans = match_spans(line, wanted)
    start, end = _stretch(line, _densest(spans, width), width)
    shown, marks = "…" if start else "", []
    at = start
    for first, last in _merged(spans, start, end):
        shown += line[at:first]
        marks.append((len(shown), len(shown) + last - first + 2))
        shown += f"[{line[first:last]}]"
        at = last
    return Snippet(f"{shown}{line[at:end]}{'…' if end < len(line) else ''}", tuple(marks))


def joined(snippets: Iterable[Snippet], separator: str) -> Snippet:
    """Return *snippets* as one, with *separator* between them."""
    text, marks = "", []
    for number, each in enumerate(snippets):
        text += separator if number else ""
        marks += [(len(text) + first, len(text) + last) for first, last in each.marks]
        text += each.text
    return Snippet(text, tuple(marks))


def _densest(spans: Sequence[MatchSpan], width: int) -> tuple[int, int]:
    """Return the place of the *spans* with the most distinct finds that *width* can show, the earliest of equals."""
    there = len(frozenset[str]().union(*{span.found for span in spans}))
    best, most, left = (0, 0), 0, 0
    counts: dict[str, int] = {}
    for span in spans:
        for token in span.found:
            counts[token] = counts.get(token, 0) + 1
        while spans[left].start < span.start and span.end - spans[left].start > width:
            for token in spans[left].found:
                counts[token] -= 1
                if not counts[token]:
                    del counts[token]
            left += 1
        if len(counts) > most:
            best, most = (spans[left].start, span.end), len(counts)
            if most == there:
                break
    return best


def _stretch(line: str, core: tuple[int, int], width: int) -> tuple[int, int]:
    """Return what to show around *core*: as much as *width* allows, cut between words."""
    first, last = core
    start = max(0, min(first - max(0, width - (last - first)) // 2, len(line) - width))
    end = limit = min(len(line), start + width)
    while start < first and not _between_words(line, start):
        start += 1
    while end > max(last, start) and not _between_words(line, end):
        end -= 1
    if end <= start or end < last:
        end = _cut_word(line, start, limit)
    if line[start : start + 1] == " ":
        start += 1
    return start, end - (line[start:end][-1:] == " ")


def _between_words(line: str, at: int) -> bool:
    """Tell whether a cut at *at* leaves every word whole; CJK runs may be cut at any character."""
    if at in {0, len(line)} or " " in line[at - 1 : at + 1]:
        return True
    return (is_cjk(line[at - 1]) or is_cjk(line[at])) and not _continues(line[at])


def _cut_word(line: str, start: int, limit: int) -> int:
    """Return where to cut a word longer than the line: at *limit*, or before the letter whose marks stand there."""
    end = limit
    while start + 1 < end < len(line) and _continues(line[end]):
        end -= 1
    return end


def _continues(char: str) -> bool:
    return unicodedata.category(char) in _CONTINUING or _LATER_JAMO.match(char) is not None


def _merged(spans: Sequence[MatchSpan], start: int, end: int) -> list[tuple[int, int]]:
    """Return the parts of *spans* between *start* and *end*; CJK spans that touch are one."""
    merged: list[tuple[int, int]] = []
    joining = False
    for span in spans:
        first, last = max(span.start, start), min(span.end, end)
        if first >= last:
            continue
        if joining and span.cjk and first <= merged[-1][1]:
            before = merged.pop()
            first, last = before[0], max(before[1], last)
        merged.append((first, last))
        joining = span.cjk
    return merged
