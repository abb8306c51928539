"""Read plain text: one memory for each paragraph, or for each turn of a conversation."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from recollect.records import Memory
from recollect.remember.chunk import Chunk, chunk
from recollect.remember.formats.chat import Turn, dialogue, is_dialogue, with_context
from recollect.remember.formats.record import Origin, Parsed
from recollect.text.code import is_inside, whole_blocks
from recollect.text.dates import as_moment

_BLANK_LINES: Final = re.compile(r"\n[ \t\f\v]*\n\s*")
_RULE: Final = re.compile(r"[-=*_~#+.\s]*")


def read_plain(text: str, origin: Origin) -> Parsed:
    """Return one memory for each paragraph, longer ones in chunks; a written conversation gives its turns."""
    template = Memory(content="", source=origin.source, observed_at=origin.date)
    if is_dialogue(text.split("\n")):
        return Parsed(memories=with_context(tuple(turns(text, template, thread=origin.source))))
    return Parsed(memories=tuple(of_chunks(paragraphs(text), template)))


def paragraphs(text: str) -> Iterator[Chunk]:
    """Yield the paragraphs of *text*; blank lines inside a code block or a key part nothing."""
    spans = whole_blocks(text)
    begin = lines = counted = 0
    ends = [(gap.start(), gap.end()) for gap in _BLANK_LINES.finditer(text) if not is_inside(gap.end(), spans)]
    for end, following in [*ends, (len(text), len(text))]:
        lines += text.count("\n", counted, begin)
        counted = begin
        for piece in chunk(text[begin:end]):
            yield replace(piece, start=begin + piece.start, line_offset=lines + piece.line_offset)
        begin = following


def of_chunks(chunks: Iterator[Chunk] | tuple[Chunk, ...], template: Memory, *, line: int = 1) -> Iterator[Memory]:
    """Yield a memory like *template* for each chunk that is more than a rule; *line* is that of the text's begin."""
    for piece in chunks:
        if not is_rule(piece.text):
            yield replace(template, content=piece.text, line=line + piece.line_offset)


def is_rule(text: str) -> bool:
    """Tell whether *text* is nothing but a line drawn with characters."""
    return _RULE.fullmatch(text) is not None


def turns(text: str, template: Memory, *, thread: str, line: int = 1) -> Iterator[Memory]:
    """Yield a memory like *template* for each turn in *text*, after those of the text before the first turn."""
    found, before = dialogue(text.split("\n"))
    yield from of_chunks(paragraphs(before), template, line=line)
    for number, each in enumerate(found, start=1):
        yield _of_turn(each, replace(template, thread=thread, turn=number, line=line + each.line))


def _of_turn(turn: Turn, template: Memory) -> Memory:
    """Return the memory of one turn; a stamp that is no date stays in its metadata."""
    moment = as_moment(turn.stamp)
    content = f"{turn.name}: {turn.words}"
    if moment is not None or not turn.stamp:
        return replace(template, content=content, observed_at=moment or template.observed_at)
    return replace(template, content=content, metadata={**template.metadata, "time": turn.stamp})
