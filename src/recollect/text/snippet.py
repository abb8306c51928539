"""Show where a text speaks of what was asked: its best stretch, with the words found in brackets."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import compress, pairwise
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from recollect.lazy import cache_short, regex
from recollect.text.languages import language_of, stems_in
from recollect.text.normalise import is_cjk
from recollect.text.tokenizer import SEVERAL, SOLE_STEMS, WORDS, TokenAnalysis, is_plain_run, run_tokens, segment

WIDTH: Final = 160
"""How many characters are shown unless told otherwise."""


class QueryTerms(Struct, frozen=True, kw_only=True):
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
    return _match(text, text.split(), wanted)


def held(text: str, wanted: QueryTerms) -> frozenset[str]:
    """Return the wanted tokens that *text* holds."""
    found = _found_among(text.split(), wanted, language_of(text))
    return frozenset[str]().union(*[span.found for _, spans in found for span in spans])


held_in_line: Final = cache_short(256)(held)
"""What `held` returns, remembered: where memories come from stands in the same lines."""


def most_held(text: str, wanted: QueryTerms, *, width: int = WIDTH) -> int:
    """Return how many different wanted tokens a stretch of *width* characters of *text* holds at most."""
    spans = match_spans(text, wanted)
    first, last = densest(spans, width)
    inside = (span.found for span in spans if first <= span.start and span.end <= last)
    return len(frozenset[str]().union(*inside))


def _match(text: str, chunks: Sequence[str], wanted: QueryTerms) -> list[MatchSpan]:
    """Return where *text* holds what is wanted, whose *chunks* are what stands between its spaces."""
    found = _found_among(chunks, wanted, language_of(text))
    single = found and len(text) == sum(map(len, chunks)) + len(chunks) - 1
    spans: list[MatchSpan] = []
    start, after = 0, 0
    for at, inside in found:
        if single:  # one space between each two, so that nothing need be looked for
            start += sum(map(len, chunks[after:at])) + at - after
        else:
            for chunk in chunks[after:at]:
                start = text.index(chunk, start) + len(chunk)
            start = text.index(chunks[at], start)
        after = at
        spans += [MatchSpan(start + first, start + last, tokens, cjk) for first, last, tokens, cjk in inside]
    return spans


def _found_among(chunks: Sequence[str], wanted: QueryTerms, language: str) -> list[tuple[int, list[MatchSpan]]]:
    """Return which of *chunks* hold what is wanted, by their numbers, and where in them."""
    return next(filter(None, (finds.among(chunks) for finds in _finds(wanted, language))), [])


@lru_cache(maxsize=64)
def _finds(wanted: QueryTerms, language: str) -> "tuple[_Finds, ...]":
    """Return what looks for *wanted*, first of all without the CJK characters that a wanted pair holds."""
    pairs = "".join(stem for stem in wanted.stems if len(stem) == 2 and is_cjk(stem))
    whole = replace(wanted, stems=wanted.stems.difference(pairs), tokens=wanted.tokens.difference(pairs))
    return tuple(_Finds(each, language) for each in ((whole, wanted) if pairs else (wanted,)))


CHUNKS_KEPT: Final = 8_192
"""How many chunks one question remembers."""


class _Finds(dict[str, list[MatchSpan]]):
    """Where each chunk holds what is wanted, remembered: the texts that answer a question share most words.

    No word holds a space, so that the words of the chunks are those of the text.
    """

    def __init__(self, wanted: QueryTerms, language: str) -> None:
        super().__init__()
        self._wanted, self._language = wanted, language
        every = (*wanted.stems, *wanted.tokens, *wanted.prefixes)
        self._cjk = {token: frozenset({token}) for token in every if is_cjk(token)}
        self._stems = None if self._cjk or wanted.tokens or wanted.prefixes or language else wanted.stems | {SEVERAL}

    def __missing__(self, chunk: str) -> list[MatchSpan]:
        spans: list[MatchSpan] = []
        present, end = [token for token in self._cjk if token in chunk], 0
        for word in segment(chunk):
            start = chunk.index(word, end)
            end = start + len(word)
            if not is_cjk(word):
                found = _found(WORDS[word], self._wanted) or _found_in(word, self._language, self._wanted)
                spans += [MatchSpan(start, end, found, cjk=False)] if found else []
            elif any(map(word.__contains__, present)) or not is_plain_run(word):
                spans += _match_run(word, start, self._cjk)
        if len(chunk) <= _REPEATED:
            if len(self) >= CHUNKS_KEPT:
                self.clear()
            self[chunk] = spans
        return spans

    def among(self, chunks: Sequence[str]) -> list[tuple[int, list[MatchSpan]]]:
        """Return which of *chunks* hold what is wanted, by their numbers, and where in them."""
        places: Iterable[int] = range(len(chunks))
        if self._stems is not None:
            # Hardly any chunk holds a wanted stem: all that is done for each of them is to see that.
            places = compress(places, map(self._stems.__contains__, map(SOLE_STEMS.__getitem__, chunks)))
        return [(at, spans) for at in places if (spans := self[chunks[at]])]


_REPEATED: Final = 48
"""Longer chunks hardly ever stand in two texts."""


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


def marked_snippet(text: str, wanted: QueryTerms, *, width: int = WIDTH) -> Snippet:
    """Return at most *width* characters of *text* on one line, found words as [word], cuts as "…".

    The stretch holds the most distinct wanted tokens, the earliest of the best; the beginning when
    there are none. Marks and cut signs are not counted. A word is cut only when it alone is too long.
    """
    chunks = (text if text.isprintable() else _CONTROL.sub(" ", _HALF.sub("\ufffd", text))).split()
    line, width = " ".join(chunks), max(width, 1)
    spans = _match(line, chunks, wanted)
    start, end = (0, len(line)) if len(line) <= width else stretch(line, densest(spans, width), width)
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


def densest(spans: Sequence[MatchSpan], width: int) -> tuple[int, int]:
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


def stretch(line: str, core: tuple[int, int], width: int) -> tuple[int, int]:
    """Return what to show around *core*: as much as *width* allows, cut between words."""
    first, last = core
    start = max(0, min(first - max(0, width - (last - first)) // 2, len(line) - width))
    end = limit = min(len(line), start + width)
    if line.isascii() and start:  # a word ends at a space, which is sooner found than met
        space = line.find(" ", start - 1, first)
        start = first if space < 0 else max(start, space)
    while start < first and not _between_words(line, start):
        start += 1
    core_end = max(last, start)
    if line.isascii() and core_end < end < len(line):
        space = line.rfind(" ", core_end, end + 1)
        end = core_end if space < 0 else min(end, space + 1)
    while end > core_end and not _between_words(line, end):
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
