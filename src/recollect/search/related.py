"""Memories that belong to one: near in meaning or in words, or stating something about the same subject."""

from collections.abc import Mapping
from dataclasses import dataclass

from recollect.embedders.contract import Embedder
from recollect.errors import ModelError
from recollect.profile import Profile
from recollect.records import NO_FILTER, AnyOf, FactQuery, Memory, Scope, Word, WordQuery
from recollect.replies import Related
from recollect.search.diversify import overlap, runs_of
from recollect.stores.contract import Store
from recollect.text.tokenizer import read_words, significant
from recollect.vectors import pack

FACTS = 1000
"""How many facts about one subject are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nearness:
    """By what two memories are near, and how much."""

    by: str
    scores: Mapping[int, float]


def related(
    memory: Memory,
    *,
    store: Store,
    scope: Scope,
    profile: Profile,
    embedder: Embedder | None = None,
    limit: int | None = None,
) -> tuple[Related, ...]:
    """Return the memories nearest to *memory* with the reasons, best first; itself and near-repeats left out."""
    most = profile.related.limit if limit is None or limit < 1 else min(limit, profile.most)
    near = _nearness(memory, store, scope, profile, embedder, depth=max(profile.retrieve.depth, 2 * most))
    shared = _shared_subjects(memory, store, scope)
    scores = {
        row: near.scores.get(row, 0.0) + profile.related.fact * len(shared.get(row, ()))
        for row in {*near.scores, *shared} - {memory.id}
    }
    memories = store.load(sorted(scores), scope=scope)
    mine = runs_of(memory.content)
    kept = [
        row
        for row in sorted(memories, key=lambda row: (-scores[row], row))
        if overlap(mine, runs_of(memories[row].content)) <= _repeats(profile)
    ]
    return tuple(
        Related(memory=memories[row], score=scores[row], reasons=_reasons(row, near, shared)) for row in kept[:most]
    )


def _repeats(profile: Profile) -> float:
    """Return how much alike two texts may be; where a profile allows all, two equal texts still are one."""
    return min(profile.fit.repeats, 0.99)


def _nearness(
    memory: Memory, store: Store, scope: Scope, profile: Profile, embedder: Embedder | None, *, depth: int
) -> _Nearness:
    if embedder is not None:
        try:
            (vector,) = embedder.embed_passages([f"{memory.title}\n{memory.content}".strip()])
        except ModelError:
            return _by_words(memory, store, scope, profile, depth=depth)
        nears = store.nearest(embedder.fingerprint, pack(vector), scope=scope, where=NO_FILTER, limit=depth)
        if nears.top:
            least = max(0.0, profile.retrieve.min_similarity)
            return _Nearness(by="meaning", scores={near.id: near.score for near in nears.top if near.score > least})
    return _by_words(memory, store, scope, profile, depth=depth)


def _by_words(memory: Memory, store: Store, scope: Scope, profile: Profile, *, depth: int) -> _Nearness:
    """Ask for the memory's rarest words, as a question would; the score is how much of them another holds."""
    stems = dict.fromkeys(
        stem for word in significant(read_words(f"{memory.title} {memory.content}")) for stem in word.stems
    )
    spread = store.document_frequencies(scope=scope, form="stem", words=list(stems))
    rarest = sorted((stem for stem in stems if spread[stem] > 1), key=lambda stem: (spread[stem], stem))
    if not rarest:
        return _Nearness(by="words", scores={})
    asked = WordQuery(
        expression=AnyOf(parts=tuple(Word(text=stem) for stem in rarest[: profile.related.words])),
        weights=profile.words.fields,
        k1=profile.words.k1,
        b=profile.words.b,
    )
    matches = store.match_words(asked, scope=scope, where=NO_FILTER, limit=depth)
    return _Nearness(by="words", scores={match.id: match.coverage for match in matches.top})


def _shared_subjects(memory: Memory, store: Store, scope: Scope) -> dict[int, tuple[str, ...]]:
    """Return, for each other memory, the subjects that both state something about."""
    shared: dict[int, tuple[str, ...]] = {}
    mine = store.facts(FactQuery(memory_ids=(memory.id,), include_superseded=True), scope=scope)
    subjects = {fact.subject.casefold(): fact.subject for fact in reversed(mine)}
    for _, subject in sorted(subjects.items()):
        holders = {fact.memory_id for fact in store.facts(FactQuery(subject=subject, limit=FACTS), scope=scope)}
        for row in holders - {memory.id}:
            shared[row] = (*shared.get(row, ()), subject)
    return shared


def _reasons(row: int, near: _Nearness, shared: Mapping[int, tuple[str, ...]]) -> tuple[str, ...]:
    by_nearness = (f"{near.by} {near.scores[row]:.2f}",) if row in near.scores else ()
    return (*by_nearness, *(f"fact: {subject}" for subject in shared.get(row, ())))
