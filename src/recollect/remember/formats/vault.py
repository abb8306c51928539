"""What the notes of a vault (Obsidian, Logseq, Notion) have beyond Markdown: links, tags, properties, outlines.

Any Markdown may have them, so they are read wherever they stand outside code. A link is shown as its words and kept
in the metadata, where `related` follows it; a tag in the text becomes a tag of the memory it stands in.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.chunk import Chunk, chunk
from recollect.remember.formats.plain import is_rule
from recollect.remember.formats.record import Record
from recollect.text.code import Span, fenced_blocks

MAX_LINKS_AND_TAGS: Final = 64
"""How many links and how many tags one memory keeps."""

_INLINE_CODE: Final = regex(r"(`{1,3})[^`\n]+\1|<!--[^<]{0,2000}-->|\$\$[^$]{1,2000}\$\$")
_WIKILINK: Final = regex(
    r"(?P<tag>#)?(?P<embed>!)?\[\[(?P<name>[^\s\[\]|#^\\][^\[\]\n|#^\\]{0,200})?(?:[#^](?P<part>[^\[\]\n|]{1,200}))?"
    r"(?:\\?\|(?P<alias>[^\[\]\n]{0,200}))?\]\](?!\()"
)
_FILE_LINK: Final = regex(r"\]\(<?(?P<to>[^()<>\n:]{1,400}?\.(?:md|markdown|mdx))(?P<part>#[^()<>\s]{0,200})?>?\)")
_TAG: Final = regex(r"(?<![^\s(,;])#(?P<tag>(?=[\d_-]*[^\W\d_])\w[\w/-]{0,100})(?![\w#])")
_COLOUR: Final = regex(r"(?=[a-f]*\d)[0-9a-f]{3,40}", re.IGNORECASE)
_TAG_LINE: Final = regex(r"[ \t]*(?:#[\w/-]+[ \t,]*)+")
_BLOCK_ID: Final = regex(r"(?:(?<=\S)[ \t]+|^)\^(?=[\d-]*[A-Za-z])[A-Za-z0-9-]{2,80}[ \t]*$", re.MULTILINE)
_BLOCK_REF: Final = regex(r"[ \t]?(?:\{\{embed [^{}\n]{1,200}\}\}|\(\([0-9a-f]{8}-[0-9a-f-]{27}\)\))")
_PROPERTY: Final = regex(
    r"^(?P<lead>[ \t]*(?:[-*][ \t]+)?)(?P<key>[A-Za-z][\w.-]{0,40}):: +(?P<value>\S.*)$", re.MULTILINE
)
_INTERNAL: Final = frozenset(
    {"id", "collapsed", "heading", "background-color", "logseq.order-list-type", "query-table"}
)
_NO_NOTES: Final = regex(r".*\.(?:png|jpe?g|gif|svg|webp|bmp|mp3|mp4|wav|m4a|mov|webm|excalidraw)", re.IGNORECASE)
_NOTION_ID: Final = regex(r"[ _-]?[0-9a-f]{32}(?:_all)?\Z")
_SIGNS: Final = (".obsidian", "logseq")
_CALLOUT: Final = regex(r"^>[ \t]?\[![\w-]{1,40}\][+-]?[ \t]*(?P<title>.*)(?P<body>(?:\n>.*)*)", re.MULTILINE)
_QUOTED: Final = regex(r"^>[ \t]?", re.MULTILINE)
_BULLET: Final = regex(r"^-(?: |$)", re.MULTILINE)


class _Marks(Struct, frozen=True, kw_only=True):
    """A text as a reader sees it, and what its marks say."""

    text: str
    links: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    """Tags on a line of their own: they are about the whole note."""


def unmarked(memories: Sequence[Memory]) -> tuple[Memory, ...]:
    """Return the memories of one note with their links and tags read; a line of tags alone is about all of them."""
    marks = [_marks(memory.content) for memory in memories]
    shared = tuple(dict.fromkeys(tag for each in marks for tag in each.shared))
    read = [_with(memory, each, shared) for memory, each in zip(memories, marks, strict=True) if not is_rule(each.text)]
    # A note of nothing but tags is kept as it is.
    return tuple(read) if read else tuple(memories)


def _with(memory: Memory, marks: _Marks, shared: tuple[str, ...]) -> Memory:
    if marks.text == memory.content and not (marks.links or marks.tags or shared):
        return memory
    tags = tuple(dict.fromkeys((*memory.tags, *shared, *marks.tags[:MAX_LINKS_AND_TAGS])))
    links = {"links": [*marks.links[:MAX_LINKS_AND_TAGS]]} if marks.links else {}
    return replace(memory, content=marks.text, tags=tags, metadata={**memory.metadata, **links})


# --- marks in a text ------------------------------------------------------------------------


def _marks(text: str) -> _Marks:
    if not any(mark in text for mark in ("[[", "#", "](", " ^", "((", ":: ", "\n^", "[!")):
        return _Marks(text=text)
    links: dict[str, None] = {}
    tags: dict[str, None] = {}
    shared: dict[str, None] = {}
    said = []
    for part, is_code in _parts(text):
        said.append(part if is_code else _read(part, links, tags, shared))
    return _Marks(text="".join(said).strip(), links=tuple(links), tags=tuple(tags), shared=tuple(shared))


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of *text* in order, and whether each is code."""
    begin = 0
    for first, last in _code(text):
        if first >= begin:
            yield text[begin:first], False
            yield text[first:last], True
            begin = last
    yield text[begin:], False


def _code(text: str) -> list[Span]:
    return sorted([*fenced_blocks(text), *(found.span() for found in _INLINE_CODE.finditer(text))])


def _read(text: str, links: dict[str, None], tags: dict[str, None], shared: dict[str, None]) -> str:
    """Return a piece of text without its marks, and keep what they say."""
    for found in _FILE_LINK.finditer(text):
        links.setdefault(posixpath.normpath(unquote(found["to"])).lstrip("./") + unquote(found["part"] or ""))
    if "[!" in text:
        text = _CALLOUT.sub(lambda found: _QUOTED.sub("", f"{found['title']}{found['body']}").lstrip("\n"), text)
    text = _WIKILINK.sub(lambda found: _shown(found, links, tags), text)
    text = _PROPERTY.sub(_property, _BLOCK_ID.sub("", _BLOCK_REF.sub("", text)))
    if "#" not in text:
        return text
    kept = []
    for line in text.split("\n"):
        found_tags = [tag for each in _TAG.finditer(line) if not _COLOUR.fullmatch(tag := each["tag"].rstrip("/-"))]
        alone = bool(found_tags) and _TAG_LINE.fullmatch(line) is not None
        (shared if alone else tags).update(dict.fromkeys(found_tags))
        if not alone:
            kept.append(line)
    return "\n".join(kept)


def _shown(found: re.Match[str], links: dict[str, None], tags: dict[str, None]) -> str:
    """Return the words of a link, and keep where it leads; a link within the note leads nowhere else."""
    name, part, alias = (" ".join((found[each] or "").split()) for each in ("name", "part", "alias"))
    if not any(map(str.isalpha, name + part)):
        return found[0]
    heading = part.rpartition("#")[2]
    if found["tag"]:
        tags.setdefault(name)
        return name
    if name and not _NO_NOTES.fullmatch(name):
        links.setdefault(f"{name}#{heading}" if heading and not part.startswith("^") else name)
    words = PurePosixPath(name).name.removesuffix(".md")
    if alias and not alias.replace("x", "").isdecimal():
        return alias
    return " > ".join(filter(None, (words, "" if part.startswith("^") or "^" in found[0] else heading)))


def _property(found: re.Match[str]) -> str:
    """Return a property as words; what only the program needs is left out."""
    return "" if found["key"].lower() in _INTERNAL else f"{found['lead']}{found['key']}: {found['value']}"


# --- notes and their names ------------------------------------------------------------------


def note_name(source: str) -> str:
    """Return what a note is called in its vault; nothing for a file that is in none."""
    stem = PurePosixPath(source).stem
    named = _NOTION_ID.sub("", stem)
    if named != stem:
        return named.strip()
    if not _is_in_vault(str(PurePosixPath(source).parent)):
        return ""
    return unquote(stem.replace("___", "/"))


@lru_cache(maxsize=512)
def _is_in_vault(folder: str) -> bool:
    here = Path(folder)
    return any((each / sign).is_dir() for each in (here, *here.parents) for sign in _SIGNS)


def page_properties(text: str, begin: int) -> tuple[Record, int]:
    """Return the properties `key:: value` that a page of Logseq begins with, and where the text after them begins."""
    found: Record = {}
    at = begin
    while (line := _PROPERTY.match(text, at)) and not line["lead"]:
        names = [name.strip(" #[]") for name in line["value"].split(",")]
        listed = line["key"].lower() in {"tags", "alias", "aliases"}
        found[line["key"]] = [name for name in names if name] if listed else line["value"].strip()
        at = min(line.end() + 1, len(text))
    return found, at


def is_outline(source: str, text: str) -> bool:
    """Tell whether a note is an outline as Logseq writes it: everything is an item, or belongs to one."""
    if PurePosixPath(source).parent.name not in {"journals", "pages"}:
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    return (
        bool(lines)
        and lines[0].startswith("-")
        and all(line.startswith(("- ", "  ", "\t")) or line.rstrip() == "-" for line in lines)
    )


def outline_items(text: str) -> Iterator[Chunk]:
    """Yield each item of the first level with its children, long ones in chunks."""
    starts = [found.start() for found in _BULLET.finditer(text)]
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        lines = text.count("\n", 0, begin)
        for piece in chunk(text[begin:end].removeprefix("-").removeprefix(" ")):
            yield replace(piece, start=begin + piece.start, line_offset=lines + piece.line_offset)
