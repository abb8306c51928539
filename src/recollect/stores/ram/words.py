"""Finding by word, the long way: every token of every memory in scope is looked at."""

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from recollect.records import Filter, Form, IndexHit, Scope, SubstringQuery, WordHits, WordQuery
from recollect.stores.admit import admits
from recollect.stores.bm25 import matching, rank, thousandths
from recollect.stores.contract import Analyse
from recollect.stores.ram.held import Held
from recollect.stores.tokens import by_field, posted, volume_of


def match_words(
    held: Held,
    keywords: WordQuery,
    scope: Scope,
    where: Filter,
    *,
    limit: int,
    score_ids: Sequence[int],
    analyse: Analyse,
) -> WordHits:
    """Return the best memories for *keywords*."""
    terms, weights = held.searched(scope, where.as_of, analyse), thousandths(keywords.weights)
    return rank(
        keywords,
        read=lambda leaf: posted(leaf, terms, weights),
        volume=volume_of(terms),
        admits=lambda rows: _admitted(held, rows, where),
        limit=limit,
        score_ids=score_ids,
        version=held.version,
    )


def _admitted(held: Held, rows: AbstractSet[int], where: Filter) -> AbstractSet[int]:
    return {row for row in rows if admits(where, held.memories[row], held.facts.get(row, ()))}


def matched(held: Held, keywords: WordQuery, scope: Scope, where: Filter, *, analyse: Analyse) -> AbstractSet[int]:
    """Return every memory that *keywords* match and *where* admits."""
    terms, weights = held.searched(scope, where.as_of, analyse), thousandths(keywords.weights)
    return _admitted(held, matching(keywords, read=lambda leaf: posted(leaf, terms, weights)), where)


def vocabulary(held: Held, scope: Scope, form: Form) -> Counter[str]:
    """Return in how many live memories each token stands, in title or body."""
    live = (by_field(held.terms[memory.id], form) for memory in held.live(scope))
    return Counter(token for tokens in live for token in {*tokens.get("title", ()), *tokens.get("body", ())})


def match_text(
    held: Held, query: SubstringQuery, scope: Scope, where: Filter, *, limit: int, score_ids: Sequence[int]
) -> WordHits:
    """Return how many needles the text of each memory holds."""
    found = []
    for memory in held.admitted(scope, where):
        text = _lower(f"{memory.title}\n{memory.content}")
        count = sum(needle in text for needle in query.needles)
        if count:
            found.append(IndexHit(id=memory.id, score=count, coverage=count / len(query.needles)))
    ranked = sorted(found, key=lambda hit: (-hit.score, hit.id))
    asked = {hit.id: hit for hit in ranked if hit.id in score_ids}
    return WordHits(top=tuple(ranked[:limit]), by_id=asked, total=len(ranked), version=held.version)


def _lower(text: str) -> str:
    return "".join(chr(ord(char) + 32) if "A" <= char <= "Z" else char for char in text)
