"""Finding by word, the long way: every token of every memory in scope is looked at."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from recollect.records import Keywords, Matches, Scope, Where
from recollect.stores.admit import admits
from recollect.stores.bm25 import rank, thousandths
from recollect.stores.contract import Analyse
from recollect.stores.ram.held import Held
from recollect.stores.tokens import posted, volume_of


def match_words(
    held: Held, keywords: Keywords, scope: Scope, where: Where, *, limit: int, also: Sequence[int], analyse: Analyse
) -> Matches:
    """Return the best memories for *keywords*."""
    terms, weights = held.searched(scope, where.as_of, analyse), thousandths(keywords.weights)
    return rank(
        keywords,
        read=lambda leaf: posted(leaf, terms, weights),
        volume=volume_of(terms),
        admits=lambda rows: _admitted(held, rows, where),
        limit=limit,
        also=also,
    )


def _admitted(held: Held, rows: AbstractSet[int], where: Where) -> AbstractSet[int]:
    return {row for row in rows if admits(where, held.memories[row], held.facts.get(row, ()))}


def match_text(
    held: Held, needles: Sequence[str], scope: Scope, where: Where, *, limit: int
) -> tuple[tuple[int, int], ...]:
    """Return how many needles the text of each memory holds."""
    found = []
    for memory in held.admitted(scope, where):
        text = _lower(f"{memory.title}\n{memory.content}")
        found.append((memory.id, sum(needle in text for needle in needles)))
    ranked = sorted(((row, count) for row, count in found if count), key=lambda each: (-each[1], each[0]))
    return tuple(ranked[:limit])


def _lower(text: str) -> str:
    return "".join(chr(ord(char) + 32) if "A" <= char <= "Z" else char for char in text)
