"""Read Markdown: one memory for each section, longer ones in chunks, with front matter and heading path."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.chunk import chunk
from recollect.remember.formats.chat import is_dialogue, with_context
from recollect.remember.formats.plain import of_chunks, turns
from recollect.remember.formats.record import FIELDS, Origin, Parsed, Record, fields_of, names_of
from recollect.remember.formats.vault import is_outline, note_name, outline_items, page_properties, unmarked
from recollect.text.code import is_inside, whole_blocks

FRONT_MATTER: Final = regex(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADING: Final = regex(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_UNDERLINE: Final = regex(r" {0,3}(=+|-{3,})[ \t]*")
_NO_TITLE: Final = regex(r"[ \t]*(?:[-*+>|#=]|\d{1,9}[.)]|```|~~~)|[ ]{4}|\t")
_VERSION: Final = regex(r"(?<![\w.])v?\d{1,4}(?:\.\d{1,5}){1,3}(?![\w.])", re.IGNORECASE)

_FRONT_NAMES: Final = names_of("title", "type", "tags", "project", "observed_at", "confidence", "pinned")


class _Heading(Struct, frozen=True, kw_only=True):
    """A heading: its rank, its words, and where its lines begin and end."""

    rank: int
    words: str
    start: int
    end: int


class _Section(Struct, frozen=True, kw_only=True):
    """The text below a heading, up to the next one."""

    title: str
    path: str | None
    text: str
    line: int


def read_markdown(text: str, origin: Origin) -> Parsed:
    """Return a memory for each section with text, its title the nearest heading, its section the path `A > B`.

    Front matter fills the fields it names and is the metadata of every memory. A written conversation gives its
    turns, each section being a thread of its own.
    """
    front, begin, problems = front_matter(text)
    properties, begin = page_properties(text, begin)
    template = _template({**properties, **front}, origin)
    if is_outline(origin.source, text[begin:]):
        line = text.count("\n", 0, begin) + 1
        return Parsed(memories=unmarked(tuple(of_chunks(outline_items(text[begin:]), template, line=line))))
    sections = tuple(_sections(text, begin))
    if is_dialogue([line for section in sections for line in section.text.split("\n")]):
        memories = with_context(tuple(_turns(sections, template, origin)))
    else:
        within = note_name(origin.source)
        memories = tuple(memory for section in sections for memory in _of_section(section, template, within))
    return Parsed(memories=unmarked(memories), problems=problems)


# --- front matter ---------------------------------------------------------------------------


def front_matter(text: str) -> tuple[Record, int, tuple[str, ...]]:
    """Return the front matter, where the text after it begins, and its problems; if it is broken, it is text."""
    found = FRONT_MATTER.match(text)
    if found is None:
        return {}, 0, ()
    from recollect.remember.formats.yaml_text import load_mapping  # noqa: PLC0415 - the YAML library loads slowly

    try:
        front = load_mapping(found[1])
    except ValueError as error:
        return {}, 0, (f"front matter: not YAML ({error})",)
    return ({}, 0, ()) if front is None else (front, found.end(), ())


def _template(front: Record, origin: Origin) -> Memory:
    """Return the memory that all memories of the file are like."""
    fields, used = fields_of(front, _FRONT_NAMES)
    # A section's title is its heading, so the title of the whole would be lost if it did not stay here.
    metadata = {key: value for key, value in front.items() if key not in used or key.lower() in FIELDS["title"][0]}
    fields = {"observed_at": origin.date, "title": note_name(origin.source), **fields}
    fields["tags"] = tuple(tag.lstrip("#") for tag in fields.get("tags", ()) if tag.strip("#"))
    return Memory(content="", source=origin.source, metadata=metadata, **fields)


# --- sections -------------------------------------------------------------------------------


def _sections(text: str, begin: int) -> Iterator[_Section]:
    """Yield the text before the first heading and that below each, with the path of headings to it."""
    above: list[_Heading] = []
    headings = tuple(_headings(text, begin))
    ends = [*(heading.start for heading in headings), len(text)]
    yield _Section(title="", path=None, text=text[begin : ends[0]], line=text.count("\n", 0, begin) + 1)
    line, counted = 1, 0
    for heading, end in zip(headings, ends[1:], strict=True):
        above = [each for each in above if each.rank < heading.rank] + [heading]
        line, counted = line + text.count("\n", counted, heading.end), heading.end
        path = " > ".join(each.words for each in above if each.words)
        yield _Section(title=_title(above), path=path or None, text=text[heading.end : end], line=line)


def _title(above: Sequence[_Heading]) -> str:
    """Return the words of the last heading, after the version that a heading above it names.

    `Added` means nothing without its release.
    """
    *higher, last = (each.words for each in above)
    versions = [words for words in higher if _VERSION.search(words)]
    if not last or not versions or _VERSION.search(last):
        return last
    return f"{versions[-1]}: {last}"


def _headings(text: str, begin: int) -> Iterator[_Heading]:
    """Yield the headings of *text* from *begin* on, marked by # or underlined, outside code."""
    spans = whole_blocks(text)
    start, blank, last = begin, True, ""
    for line in text[begin:].split("\n"):
        end = start + len(line) + 1
        marked = _HEADING.fullmatch(line)
        under = _UNDERLINE.fullmatch(line) if last else None
        if (marked or under) and is_inside(start, spans):
            marked = under = None
        if marked:
            yield _Heading(rank=len(marked[1]), words=_words(marked[2] or ""), start=start, end=min(end, len(text)))
        elif under:
            rank = 1 if "=" in under[1] else 2
            yield _Heading(rank=rank, words=_words(last), start=start - len(last) - 1, end=min(end, len(text)))
        # Only a single line above the underline is a heading; below a paragraph it is a rule.
        last = line if blank and not marked and _is_title(line) else ""
        blank = not line.strip() or bool(marked or under)
        start = end


def _is_title(line: str) -> bool:
    """Tell whether *line* may be a heading if it is underlined: short, no sentence, no list, table or quote."""
    words = line.strip()
    return bool(words) and len(words) <= 100 and words[-1] not in ".,;:" and not _NO_TITLE.match(line)


def _words(text: str) -> str:
    """Return the words of a heading without closing marks."""
    words = " ".join(text.split())
    bare = words.rstrip("#")
    return bare.rstrip() if not bare or bare.endswith(" ") else words


def _of_section(section: _Section, template: Memory, within: str) -> Iterator[Memory]:
    """Yield the memories of *section*; the name of a note comes above its headings unless the first repeats it."""
    headed = _headed(section, template)
    path = headed.section
    if within and path and not path.casefold().startswith(within.casefold()):
        headed = replace(headed, section=f"{within} > {path}")
    return of_chunks(chunk(section.text), headed, line=section.line)


def _headed(section: _Section, template: Memory) -> Memory:
    return replace(template, title=section.title or template.title, section=section.path)


def _turns(sections: Sequence[_Section], template: Memory, origin: Origin) -> Iterator[Memory]:
    """Yield the turns of every section; the thread is the file, and its section if several speak."""
    several = sum(bool(section.text.strip()) for section in sections) > 1
    for number, section in enumerate(sections):
        part = (section.path or str(number)) if several else None
        thread = "#".join(filter(None, (origin.source, part)))
        yield from turns(section.text, _headed(section, template), thread=thread, line=section.line)
