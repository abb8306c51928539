"""The notes that a note links to, and those that link to it: their memories, by what the importer kept of links.

A link is kept in the metadata of the memory it stands in, as `Note`, `folder/Note` or `Note#Heading`; it leads to the
file of that name, as the path of a source does in a filter.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from recollect.records import AllOf, Filter, Memory, Scope, Word, WordQuery
from recollect.stores.contract import Store
from recollect.text.tokenizer import read_words

MOST_LINKS: Final = 32
"""How many links of a memory are followed."""
PER_NOTE: Final = 3
"""How many memories of one linked note are told; a link to a heading leads to those below it."""
MOST_BACK: Final = 100
"""How many memories that name the note are looked at."""
_SUFFIXES: Final = (".md", ".markdown", ".mdx")


def linked(memory: Memory, store: Store, *, scope: Scope) -> dict[int, tuple[str, ...]]:
    """Return the memories that *memory* links to and those that link to its note, each with the reasons."""
    reasons: dict[int, tuple[str, ...]] = {}
    for link in _links(memory)[:MOST_LINKS]:
        for row in _leads_to(link, store, scope):
            reasons[row] = (*reasons.get(row, ()), f"links to {link}")
    for row in _leads_here(memory, store, scope):
        reasons[row] = (*reasons.get(row, ()), "links here")
    reasons.pop(memory.id, None)
    return reasons


def _links(memory: Memory) -> list[str]:
    found = memory.metadata.get("links")
    return [each for each in found if isinstance(each, str)] if isinstance(found, list | tuple) else []


def _paths(link: str) -> tuple[str, ...]:
    """Return how the path of the note may end that *link* leads to; `a/b` is one file where folders are no part."""
    name = link.partition("#")[0].strip("/")
    if not name:
        return ()
    if PurePosixPath(name).suffix.lower() in {*_SUFFIXES, ".pdf", ".docx", ".html", ".txt", ".csv"}:
        return (name,)
    flat = name.replace("/", "___")
    return tuple(dict.fromkeys(each + suffix for each in (name, flat) for suffix in _SUFFIXES))


def _leads_to(link: str, store: Store, scope: Scope) -> tuple[int, ...]:
    paths = _paths(link)
    if not paths:
        return ()
    found = store.browse(scope=scope, where=Filter(sources=paths), limit=MOST_BACK).ids
    heading = " ".join(link.partition("#")[2].casefold().split())
    if heading:
        memories = store.load(found, scope=scope)
        below = [row for row in found if _is_below(memories[row], heading)]
        found = tuple(below) or found
    return tuple(sorted(found)[:PER_NOTE])


def _is_below(memory: Memory, heading: str) -> bool:
    """Tell whether *memory* stands below *heading*, however its words are joined in an address."""
    plain = heading.replace("-", " ")
    return any(part.casefold().replace("-", " ") == plain for part in (memory.section or "").split(" > "))


def _leads_here(memory: Memory, store: Store, scope: Scope) -> Iterator[int]:
    """Yield the memories of other notes that link to the note of *memory*."""
    source = memory.source or ""
    stems = dict.fromkeys(word.stems[0] for word in read_words(PurePosixPath(source).stem) if word.stems)
    if not stems or PurePosixPath(source).suffix.lower() not in _SUFFIXES:
        return
    query = WordQuery(expression=AllOf(parts=tuple(Word(text=stem) for stem in stems)), weights={"extra": 1.0})
    found = store.match_words(query, scope=scope, where=Filter(), limit=MOST_BACK).top
    memories = store.load([hit.id for hit in found], scope=scope)
    for row, other in memories.items():
        if other.source != source and any(_is_to(link, source) for link in _links(other)):
            yield row


def _is_to(link: str, source: str) -> bool:
    lower = source.casefold()
    return any(lower == path.casefold() or lower.endswith(f"/{path.casefold()}") for path in _paths(link))
