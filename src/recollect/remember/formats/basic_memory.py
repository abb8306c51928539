"""Read a note of basic-memory: Markdown whose list items may be observations and relations.

An observation is `- [category] text #tag (context)`, a relation `- relation_type [[Target]] (context)`; each is a
memory of its own. The rest of the note is read as Markdown.
"""

import re
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.markdown import FRONT_MATTER, front_matter, read_markdown
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.values import as_line, as_tags
from recollect.text.code import is_inside, whole_blocks
from recollect.text.dates import as_moment

_KEYS: Final = (
    regex(r"^title:", re.MULTILINE),
    regex(r"^type:", re.MULTILINE),
    # A permalink that begins with a slash is an address on a web site.
    regex(r"^permalink: *['\"]?[^/'\"\s]", re.MULTILINE),
)
_WEB: Final = regex(r"^(?:layout|slug|draft|publishdate):", re.MULTILINE | re.IGNORECASE)
_HEADING: Final = regex(r" {0,3}#{1,6}[ \t]+(.*\S)")
_ITEM: Final = regex(r"[ \t]*[-*+] +(?P<item>\S.*)")
_OBSERVATION: Final = regex(r"\[(?P<category>[^\[\]()]{1,80})\] +(?P<text>.*\S)")
_RELATION: Final = regex(
    r"(?P<type>[^\s\[\]\"']+|\"[^\"\[\]]+\"|'[^'\[\]]+') *\[\[(?P<target>[^\[\]]+)\]\](?: *\((?P<context>[^()]*)\))?"
)
_CONTEXT: Final = regex(r"(?P<text>.*\S) *\((?P<context>[^()]*)\)")
_TAG: Final = regex(r"(?<!\S)#([^\s#]+)")
_LINK: Final = regex(r"\[\[([^\[\]|#]+)[^\[\]]*\]\]")
_CLOCK: Final = regex(r"[\d:.,\s-]+")


def is_basic_memory(glimpse: Glimpse) -> bool:
    """Tell whether a file is a note of basic-memory: its front matter has a title, a type and a permalink."""
    front = FRONT_MATTER.match(glimpse.text.replace("\r\n", "\n"))
    return front is not None and all(key.search(front[1]) for key in _KEYS) and not _WEB.search(front[1])


def read_basic_memory(text: str, origin: Origin) -> Parsed:
    """Return the observations and relations of a note, and its other sections, in the order of the note."""
    front, _, _ = front_matter(text)
    found: list[Memory] = []
    lines = text.split("\n")
    spans, start, section = whole_blocks(text), 0, as_line(front.get("title"))
    for number, line in enumerate(lines):
        heading, item = _HEADING.match(line), _ITEM.fullmatch(line.rstrip())
        outside = not is_inside(start, spans)
        memory = _of_item(item["item"], front) if item and outside else None
        section = heading[1] if heading and outside else section
        start += len(line) + 1
        if memory is not None:
            found.append(replace(memory, source=origin.source, line=number + 1, section=section))
            lines[number] = ""
    parsed = read_markdown("\n".join(lines), origin)
    others = [_linked(each, front) for each in parsed.memories]
    dated = [each if each.observed_at else replace(each, observed_at=origin.date) for each in (*found, *others)]
    return replace(parsed, memories=tuple(sorted(dated, key=lambda each: each.line or 0)))


def _of_item(item: str, front: Record) -> Memory | None:
    """Return the memory of a list item that is an observation or a relation; None for any other."""
    relation = _RELATION.fullmatch(item)
    if relation is not None:
        return _relation(relation, front)
    observation = _OBSERVATION.fullmatch(item)
    if observation is None or _is_mark(observation["category"].strip()):
        return None
    return _observation(observation["category"].strip(), observation["text"], front)


def _is_mark(category: str) -> bool:
    """Tell whether the text in brackets is a checkbox or a time instead of a category."""
    return (
        category in {"", "x", "X"}
        or bool(_CLOCK.fullmatch(category))
        or (len(category) == 1 and not category.isalnum())
    )


def _observation(category: str, text: str, front: Record) -> Memory | None:
    behind = _CONTEXT.fullmatch(text)
    words = behind["text"] if behind else text
    tags = tuple(dict.fromkeys((*(as_tags(front.get("tags")) or ()), *_TAG.findall(words))))
    about = {"context": behind["context"]} if behind and behind["context"].strip() else {}
    content = _without_last_tags(words)
    return _noted(content, front, type_=category, tags=tags, about=about) if content.strip("# ") else None


def _without_last_tags(text: str) -> str:
    words = text.split(" ")
    while words and (not words[-1] or _TAG.fullmatch(words[-1])):
        words.pop()
    return " ".join(words).strip()


def _relation(match: re.Match[str], front: Record) -> Memory:
    kind, target = match["type"].strip("\"'"), match["target"].partition("|")[0].strip()
    title = as_line(front.get("title")) or ""
    content = " ".join(filter(None, (title, kind.replace("_", " "), target)))
    behind = (match["context"] or "").strip()
    about = {"relation": kind, "links": [target], **({"context": behind} if behind else {})}
    return _noted(f"{content} ({behind})" if behind else content, front, type_="relation", about=about)


def _noted(content: str, front: Record, *, type_: str, tags: tuple[str, ...] | None = None, about: Record) -> Memory:
    """Return a memory of the note with this front matter."""
    links, permalink = _LINK.findall(content), as_line(front.get("permalink"))
    own = {"permalink": permalink} if permalink else {}
    return Memory(
        content=content,
        title=as_line(front.get("title")) or "",
        type=type_,
        tags=as_tags(front.get("tags")) or () if tags is None else tags,
        observed_at=_moment(front),
        metadata={**({"links": links} if links else {}), **own, **about},
    )


def _linked(memory: Memory, front: Record) -> Memory:
    """Return a section of the note with its links and the date of the note."""
    links = _LINK.findall(memory.content)
    metadata = {**memory.metadata, "links": links} if links else memory.metadata
    return replace(memory, metadata=metadata, observed_at=memory.observed_at or _moment(front))


def _moment(front: Record) -> datetime | None:
    """Return when the note was last changed, as far as it says."""
    return next(filter(None, (as_moment(front.get(key)) for key in ("modified", "updated", "date", "created"))), None)
