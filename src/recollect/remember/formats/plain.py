"""Read plain text: one memory for each paragraph, or for each turn of a conversation."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

from msgspec.structs import replace

from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.chunk import Chunk, chunk
from recollect.remember.find_files import MAX_DOCUMENT_BYTES, open_text
from recollect.remember.formats.chat import Threads, Turn, dialogue, is_dialogue, with_context
from recollect.remember.formats.record import Origin, Parsed
from recollect.text.code import is_inside, whole_blocks
from recollect.text.dates import as_moment

WINDOW_CHARS: Final = 1_000_000
"""How many characters of a long text are looked at together."""
UNSURE_PIECES: Final = 4
"""So many pieces at the end of a text may be cut otherwise when more follows."""
_BLANK_LINES: Final = regex(r"\n[ \t\f\v]*\n\s*")
_RULE: Final = regex(r"[-=*_~#+.\s]*")


def read_plain(text: str, origin: Origin) -> Parsed:
    """Return one memory for each paragraph, longer ones in chunks; a written conversation gives its turns."""
    template = Memory(content="", source=origin.source, observed_at=origin.date)
    if is_dialogue(text.split("\n")):
        return Parsed(memories=with_context(tuple(turns(text, template, thread=origin.source))))
    return Parsed(memories=tuple(of_chunks(paragraphs(text), template)))


def plain_parts(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield what `read_plain` returns, for a file of any size, in parts.

    The first window decides whether the file is a conversation. Where a part ends depends only on the text before it,
    so that a file that grows keeps its memories.
    """
    with open_text(path) as file:
        text, more = _window(file), _window(file)
        if not more:
            yield read_plain(text, origin)
            return
        template = Memory(content="", source=origin.source, observed_at=origin.date)
        cut = _Turns(template) if is_dialogue(text.split("\n")) else _Paragraphs(template)
        while more:
            memories, text = cut.part(text, more)
            yield Parsed(memories=memories)
            more = _window(file)
        yield Parsed(memories=cut.last(text))


def _window(file: TextIO) -> str:
    return file.read(WINDOW_CHARS).replace("\0", "\ufffd")


class _Paragraphs:
    """A long text being read as paragraphs; what may still change stays with what follows."""

    def __init__(self, template: Memory) -> None:
        self._template, self._line = template, 1

    def part(self, text: str, more: str) -> tuple[tuple[Memory, ...], str]:
        """Return the memories of *text* but the last, and the rest of it followed by *more*."""
        pieces = list(paragraphs(text))
        if len(pieces) <= UNSURE_PIECES and len(text) < MAX_DOCUMENT_BYTES:
            return (), text + more
        sure, line = pieces[:-UNSURE_PIECES] or pieces, self._line
        cut = pieces[len(sure)].start if len(sure) < len(pieces) else len(text)
        self._line += text.count("\n", 0, cut)
        memories = tuple(of_chunks(tuple(sure), self._template, line=line))
        return memories, text[cut:] + more

    def last(self, text: str) -> tuple[Memory, ...]:
        """Return the memories of the end."""
        return tuple(of_chunks(paragraphs(text), self._template, line=self._line))


class _Turns:
    """A long conversation being read: its last turn may go on in what follows."""

    def __init__(self, template: Memory) -> None:
        self._template, self._line, self._turn = template, 1, 0
        self._threads = Threads()

    def part(self, text: str, more: str) -> tuple[tuple[Memory, ...], str]:
        """Return the turns of *text* but the last, and the rest of it followed by *more*."""
        found, _ = dialogue(text.split("\n")[:-1])
        if len(found) <= 1 and len(text) < MAX_DOCUMENT_BYTES:
            return (), text + more
        cut = _line_start(text, found[-1].line) if len(found) > 1 else len(text)
        ready = self._ready(text[:cut])
        return ready, text[cut:] + more

    def last(self, text: str) -> tuple[Memory, ...]:
        """Return the turns of the end."""
        return (*self._ready(text), *self._threads.end())

    def _ready(self, text: str) -> tuple[Memory, ...]:
        found = list(turns(text, self._template, thread=self._template.source or "", line=self._line, after=self._turn))
        self._line += text.count("\n")
        self._turn = max((memory.turn or 0 for memory in found), default=self._turn)
        spoken = [memory for memory in found if memory.thread is not None]
        return (*(memory for memory in found if memory.thread is None), *self._threads.add(spoken))


def _line_start(text: str, line: int) -> int:
    """Return where the line with this number, from 0, begins."""
    at = 0
    for _ in range(line):
        at = text.index("\n", at) + 1
    return at


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


def turns(text: str, template: Memory, *, thread: str, line: int = 1, after: int = 0) -> Iterator[Memory]:
    """Yield a memory like *template* for each turn in *text*, after those of the text before the first turn.

    *line* is that of the text's begin, *after* the number of the last turn before it.
    """
    found, before = dialogue(text.split("\n"))
    yield from of_chunks(paragraphs(before), template, line=line)
    for number, each in enumerate(found, start=after + 1):
        yield _of_turn(each, replace(template, thread=thread, turn=number, line=line + each.line))


def _of_turn(turn: Turn, template: Memory) -> Memory:
    """Return the memory of one turn; a stamp that is not a date stays in its metadata."""
    moment = as_moment(turn.stamp)
    content = f"{turn.name}: {turn.words}"
    if moment is not None or not turn.stamp:
        return replace(template, content=content, observed_at=moment or template.observed_at)
    return replace(template, content=content, metadata={**template.metadata, "time": turn.stamp})
