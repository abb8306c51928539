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
MOST_ALIASES: Final = 8
"""How many other names of a note are looked for."""
MOST_BACK: Final = 100
"""How many memories that name the note are looked at."""
_SUFFIXES: Final = (".md", ".markdown", ".mdx")


def linked(memory: Memory, store: Store, *, scope: Scope) -> dict[int, tuple[str, ...]]:
    """Return the memories that *memory* links to and those that link to its note, each with the reasons."""
    reasons: dict[int, tuple[str, ...]] = {}
    for link in _links(memory)[:MOST_LINKS]:
        for row in _leads_to(link, store, scope):
            reasons[row] = (*reasons.get(row, ()), f"links to {link}")
    for row in dict.fromkeys(_leads_here(memory, store, scope)):
        reasons[row] = (*reasons.get(row, ()), "links here")
    reasons.pop(memory.id, None)
    return reasons


def _links(memory: Memory) -> list[str]:
    return _texts(memory.metadata.get("links"))


def _aliases(memory: Memory) -> list[str]:
    """Return the other names of the note of *memory*."""
    return [each for key in ("aliases", "alias") for each in _texts(memory.metadata.get(key))][:MOST_ALIASES]


def _texts(value: object) -> list[str]:
    listed = value if isinstance(value, list | tuple) else [value]
    return [each for each in listed if isinstance(each, str)]


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
    found = store.browse(scope=scope, where=Filter(sources=paths), limit=MOST_BACK).ids or _called(link, store, scope)
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


def _called(link: str, store: Store, scope: Scope) -> tuple[int, ...]:
    """Return the memories of a note that has the name in *link* as an alias."""
    name = _name(link)
    found = _naming(name, store, scope)
    return tuple(row for row, other in found.items() if name in {each.casefold() for each in _aliases(other)})


def _leads_here(memory: Memory, store: Store, scope: Scope) -> Iterator[int]:
    """Yield the memories of other notes that link to the note of *memory*, by its name or an alias."""
    source = memory.source or ""
    if PurePosixPath(source).suffix.lower() not in _SUFFIXES:
        return
    aliases = {each.casefold() for each in _aliases(memory)}
    for name in (PurePosixPath(source).stem, *sorted(aliases)):
        for row, other in _naming(name, store, scope).items():
            links = _links(other) if other.source != source else []
            if any(_is_to(link, source) or _name(link) in aliases for link in links):
                yield row


def _naming(name: str, store: Store, scope: Scope) -> dict[int, Memory]:
    """Return the memories that have the words of *name* in their metadata."""
    stems = dict.fromkeys(word.stems[0] for word in read_words(name) if word.stems)
    if not stems:
        return {}
    query = WordQuery(expression=AllOf(parts=tuple(Word(text=stem) for stem in stems)), weights={"extra": 1.0})
    found = store.match_words(query, scope=scope, where=Filter(), limit=MOST_BACK).top
    return store.load([hit.id for hit in found], scope=scope)


def _name(link: str) -> str:
    return link.partition("#")[0].strip("/").casefold()


def _is_to(link: str, source: str) -> bool:
    lower = source.casefold()
    return any(lower == path.casefold() or lower.endswith(f"/{path.casefold()}") for path in _paths(link))
