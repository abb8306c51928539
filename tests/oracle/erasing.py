"""Erasing from dictionaries, the long way: everything is looked at."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from oracle.admit import comes_from, describes, in_scope
from oracle.contexts import remix
from oracle.state import State
from oracle.writes import index
from recollect.records import ALL_PROJECTS, NO_FILTER, Erased, Event, Filter, Memory, Scope, digest
from recollect.stores.bm25 import by_field
from recollect.stores.contract import LEDGERS, Analyse, unknown
from recollect.stores.erasure import (
    Quotations,
    earlier_words,
    mended_detail,
    mended_note,
    names_a_source,
    names_one_of,
    rare_words,
    successor,
)


def erase(state: State, *, scope: Scope, ids: Sequence[int] | None, where: Filter, analyse: Analyse) -> Erased:
    """Take memories away, and all that speaks of them."""
    gone = _selected(state, scope, ids, where)
    texts, counts = _texts(state, gone), _counts(state, gone)
    named = {memory.source for memory in gone.values() if memory.source}
    named |= _drop_pieces(state, gone, scope, (where.sources or ()) if names_a_source(ids, where) else ())
    _drop(state, gone)
    used = {memory.source for memory in state.memories.values()}
    sources = named - used - {name for _, name in state.sources}
    whole = scope.projects if ids is None and where == NO_FILTER and scope.projects else ()
    left = {memory.project for memory in state.memories.values()}
    projects = {*whole, *(memory.project for memory in gone.values())} - left
    state.sources = {key: source for key, source in state.sources.items() if key[0] not in projects}
    own = [text for memory in gone.values() for text in (memory.content, memory.title) if text]
    quotations = Quotations([*own, *texts], rare_words([*own, *texts], lambda words: _held(state, words)))
    state.notes = {key: text for key, text in state.notes.items() if key[0] not in projects}
    _mend(state, gone, {*sources, *projects}, quotations, analyse)
    before = len(state.recalls)
    state.recalls = [
        recall
        for recall in state.recalls
        if not (
            any(hit.memory_id in gone for hit in recall.hits)
            or not projects.isdisjoint(recall.scope.projects or ())
            or quotations.quoted_in(" ".join(filter(None, (recall.query, recall.session, recall.lens))))
        )
    ]
    remix(state, gone.values())
    return Erased(
        memories=tuple(gone.values()),
        texts=tuple(dict.fromkeys(texts)),
        recalls=before - len(state.recalls),
        sources=tuple(sorted(sources)),
        projects=tuple(sorted(projects)),
        **counts,  # type: ignore[arg-type]
    )


def _selected(state: State, scope: Scope, ids: Sequence[int] | None, where: Filter) -> dict[int, Memory]:
    mine = {row: memory for row, memory in sorted(state.memories.items()) if in_scope(memory, scope)}
    for row in ids or ():
        if row not in mine:
            raise unknown(row)
    return {
        row: memory
        for row, memory in mine.items()
        if (ids is None or row in ids) and describes(where, memory, state.facts.get(row, ()))
    }


def _texts(state: State, gone: Mapping[int, Memory]) -> list[str]:
    events = [event for event in state.events if event.memory_id in gone]
    facts = sorted((fact for row in gone for fact in state.facts.get(row, ())), key=lambda fact: fact.id)
    return [
        *(text for row in gone for text in state.wordings.get(row, ())),
        *earlier_words(events),
        *(text for fact in facts for text in (fact.subject, fact.object, fact.quote) if text),
    ]


def _counts(state: State, gone: Mapping[int, Memory]) -> dict[str, object]:
    held = [passages for (_, row), passages in state.vectors.items() if row in gone]
    passages = [passage for each in held for passage in each]
    vectors = [vector for each in passages for vector in (each.vector, each.context_vector) if vector is not None]
    return {
        "wordings": sum(len(state.wordings.get(row, ())) for row in gone),
        "events": sum(event.memory_id in gone for event in state.events),
        "facts": sum(len(state.facts.get(row, ())) for row in gone),
        "vectors": tuple(vectors),
    }


def _drop_pieces(state: State, gone: Mapping[int, Memory], scope: Scope, sources: Collection[str]) -> set[str]:
    """Drop the pieces of the memories, and the sources asked for in *scope*; return whose."""
    touched = set()
    for (project, name), source in list(state.sources.items()):
        mine = scope.projects is None or project in scope.projects
        asked = mine and any(comes_from(name, wish) for wish in sources)
        kept = tuple(each for each in source.pieces if not asked and each.memory_id not in gone)
        if kept != source.pieces:
            touched.add(name)
            numbered = zip(state.places[project, name], source.pieces, strict=True)
            state.places[project, name] = tuple(at for at, piece in numbered if piece in kept)
            state.sources[project, name] = replace(source, pieces=kept)
        if not kept:
            del state.sources[project, name]
    return touched


def _drop(state: State, gone: Mapping[int, Memory]) -> None:
    for row, memory in gone.items():
        for held in (state.memories, state.wordings, state.terms):
            held.pop(row, None)
        for fact in state.facts.pop(row, ()):
            del state.stated[fact.id]
        if memory.external_id is not None:
            del state.named[memory.project, memory.kind, memory.external_id]
        for key in [key for key in state.vectors if key[1] == row]:
            del state.vectors[key]
    state.events = [event for event in state.events if event.memory_id not in gone]


def _held(state: State, words: list[str]) -> dict[str, int]:
    live = [by_field(state.terms[memory.id], "exact") for memory in state.live(ALL_PROJECTS)]
    counts = Counter(token for each in live for name in ("title", "body") for token in each.get(name, ()))
    return {word: counts[word] for word in words}


def _mend(state: State, gone: Mapping[int, Memory], names: set[str], quotations: Quotations, analyse: Analyse) -> None:
    for at, event in enumerate(state.events):
        detail = mended_detail(event, gone, names, quotations)
        if detail != event.detail:
            state.events[at] = replace(event, detail=detail)
            _unmerge(state, event, gone, names, quotations)
    threads = {(memory.project, memory.thread) for memory in gone.values() if memory.thread is not None}
    for row, memory in state.memories.items():
        turn = (memory.project, memory.thread) in threads
        context = quotations.taken_out(memory.context) if turn else memory.context
        state.memories[row] = replace(memory, superseded_by=successor(memory, gone), context=context)
        if row in state.terms:
            index(state, state.memories[row], analyse)
    for (project, kind, name), text in list(state.notes.items()):
        mended = mended_note(kind, json.loads(text), gone, names)
        if mended is None or (kind in LEDGERS and quotations.quoted_in(name)):
            del state.notes[project, kind, name]
        else:
            state.notes[project, kind, name] = json.dumps(mended)


def _unmerge(state: State, event: Event, gone: Mapping[int, Memory], names: set[str], quotations: Quotations) -> None:
    foreign = event.verb == "reinforce" and event.detail.get("source") in names
    named = names_one_of(event, gone)
    held = state.wordings.get(event.memory_id, ())
    kept = tuple(text for text in held if not (foreign or (named and digest(text) in quotations.digests)))
    state.wordings[event.memory_id] = kept
    if not kept:
        del state.wordings[event.memory_id]


def traces(state: State, probes: Collection[bytes]) -> list[tuple[str, bytes]]:
    """Return which of *probes* stand in what is derived or logged, and in no memory's own words."""
    own = repr([replace(memory, context=NO_CONTEXT) for memory in state.memories.values()])
    own += repr((state.wordings, state.events, state.facts, state.sources, state.notes)).lower()
    derived = repr((state.recalls, state.terms, [memory.context for memory in state.memories.values()]))
    texts = [(probe, probe.decode("utf-8", "replace")) for probe in probes]
    return [("state", probe) for probe, text in texts if text in derived and text.lower() not in own.lower()]


NO_CONTEXT = Memory(content="").context
