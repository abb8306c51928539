"""Memories related to one: linked with it, similar in meaning or words, or with facts about the same subjects."""

from collections.abc import Mapping

from msgspec import Struct

from recollect.errors import ModelError
from recollect.records import NO_FILTER, AnyOf, FactQuery, Memory, Scope, Word
from recollect.replies import Related
from recollect.search.build_query import word_query
from recollect.search.diversify import overlap, shingles
from recollect.search.limits import limit_of
from recollect.search.links import linked
from recollect.search.retrieve import scaled
from recollect.search.state import SearchContext
from recollect.text.tokenizer import read_words, significant
from recollect.vectors import pack

RELATED_LIMIT = 10
"""Number of related memories if the request does not say."""
LINK_WEIGHT = 1.0
"""Score of a link between two notes: as much as the same words."""
FACT_WEIGHT = 0.2
"""Score of each subject that both memories have facts about."""
MAX_RELATED_TERMS = 32
"""Words of a memory that are searched for if there is no model."""
MAX_SUBJECTS = 32
"""Subjects of a memory that are searched for in others."""
MAX_FACTS = 1000
"""Facts about them that are read."""
MAX_OVERLAP = 0.99
"""Of two equal texts one is shown, even in a profile that shows near-duplicates."""


class _Nearness(Struct, frozen=True, kw_only=True):
    """How two memories are similar, and how much."""

    by: str
    scores: Mapping[int, float]


def related(memory: Memory, context: SearchContext, *, scope: Scope, limit: int | None = None) -> tuple[Related, ...]:
    """Return the memories related to *memory* with the reasons, best first, without itself and near-duplicates."""
    most = limit_of(context.profile, limit, usual=RELATED_LIMIT)
    near = _nearness(memory, context, scope, depth=max(context.profile.retrieve.depth, 2 * most))
    shared = _shared_subjects(memory, context, scope)
    links = linked(memory, context.store, scope=scope)
    scores = {
        row: near.scores.get(row, 0.0) + FACT_WEIGHT * len(shared.get(row, ())) + LINK_WEIGHT * (row in links)
        for row in {*near.scores, *shared, *links} - {memory.id}
    }
    memories = context.store.load(sorted(scores), scope=scope)
    mine = shingles(memory.content)
    diversify = context.profile.diversify
    alike = MAX_OVERLAP if diversify is None else min(diversify.max_overlap, MAX_OVERLAP)
    kept = [
        row
        for row in sorted(memories, key=lambda row: (-scores[row], row))
        if overlap(mine, shingles(memories[row].content)) <= alike
    ]
    return tuple(
        Related(memory=memories[row], score=scores[row], reasons=(*links.get(row, ()), *_reasons(row, near, shared)))
        for row in kept[:most]
    )


def _nearness(memory: Memory, context: SearchContext, scope: Scope, *, depth: int) -> _Nearness:
    embedder = context.embedder
    if embedder is not None:
        try:
            (vector,) = embedder.embed_passages([f"{memory.title}\n{memory.content}".strip()])
            scale = context.profile.scale(embedder)
        except ModelError:
            return _by_words(memory, context, scope, depth=depth)
        held = context.store.nearest(embedder.fingerprint, pack(vector), scope=scope, where=NO_FILTER, limit=depth)
        found = scaled(held, scale)
        if found.top:
            least = max(0.0, context.profile.retrieve.min_similarity)
            return _Nearness(by="meaning", scores={hit.id: hit.score for hit in found.top if hit.score > least})
    return _by_words(memory, context, scope, depth=depth)


def _by_words(memory: Memory, context: SearchContext, scope: Scope, *, depth: int) -> _Nearness:
    """Search for the memory's rarest words; the score is the share of them that another memory contains."""
    text = f"{memory.title} {memory.content}"
    stems = dict.fromkeys(stem for word in significant(read_words(text)) for stem in word.stems)
    held = context.store.document_frequencies(words=list(stems), scope=scope, form="stem")
    rarest = sorted((stem for stem in stems if held[stem] > 1), key=lambda stem: (held[stem], stem))
    if not rarest:
        return _Nearness(by="words", scores={})
    leaves = tuple(Word(text=stem) for stem in rarest[:MAX_RELATED_TERMS])
    asked = word_query(AnyOf(parts=leaves), context.profile.words)
    found = context.store.match_words(asked, scope=scope, where=NO_FILTER, limit=depth)
    return _Nearness(by="words", scores={hit.id: hit.coverage for hit in found.top})


def _shared_subjects(memory: Memory, context: SearchContext, scope: Scope) -> dict[int, tuple[str, ...]]:
    """Return, for each other memory, the subjects that both have facts about."""
    shared: dict[int, tuple[str, ...]] = {}
    stated = context.store.facts(FactQuery(memory_ids=(memory.id,)), scope=scope)
    subjects = {fact.subject.casefold(): fact.subject for fact in reversed(stated)}
    asked = dict(sorted(subjects.items())[:MAX_SUBJECTS])
    query = FactQuery(subjects=tuple(asked.values()), limit=MAX_FACTS + len(stated))
    facts = context.store.facts(query, scope=scope) if asked else ()
    about = {(fact.subject.casefold(), fact.memory_id) for fact in facts if fact.memory_id != memory.id}
    for subject, row in sorted(about):
        shared[row] = (*shared.get(row, ()), asked[subject])
    return shared


def _reasons(row: int, near: _Nearness, shared: Mapping[int, tuple[str, ...]]) -> tuple[str, ...]:
    by_nearness = (f"{near.by} {near.scores[row]:.2f}",) if row in near.scores else ()
    return (*by_nearness, *(f"fact: {subject}" for subject in shared.get(row, ())))
