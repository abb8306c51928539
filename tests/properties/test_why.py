"""`why` tells of every memory what the answer shows of it, whatever is asked of whatever store."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kit import NOON, STORES
from recollect import Filter, Memory, Recollection
from recollect.embedders.models import Models
from recollect.profile import BUILT_IN, Diversify, MarginalRelevance, Profile, load_profile
from recollect.recall.lens import Lens
from recollect.text.analyser import analyse

WORDS = ("garden", "lunch", "server", "deploy", "night", "apple", "broken", "reviews")
TEXTS = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join),
    st.sampled_from(
        ["Server status: broken since the outage", "The garden is broken", "Deploy day: Friday", "花园 garden"]
    ),
    st.just("deploy the server every night and check the garden before lunch is over for all of us"),
)
MEMORIES = st.lists(
    st.builds(
        Memory,
        content=TEXTS,
        type=st.sampled_from(["note", "decision", "bugfix"]),
        tags=st.sampled_from([(), ("security",), ("house",)]),
        project=st.sampled_from(["mine", "theirs"]),
        confidence=st.sampled_from([0.1, 0.8, 1.0]),
        pinned=st.booleans(),
        source=st.sampled_from([None, "notes/a.md", "memory/2026-03-01.md"]),
    ),
    min_size=1,
    max_size=14,
)
PIECES = st.sampled_from(
    [
        *WORDS,
        "gardne",
        "servre",
        "-lunch",
        "OR",
        "AND",
        "NOT",
        '"every night"',
        "dep*",
        "type:note",
        "project:mine",
        "?",
        "花园",
    ]
)
QUERIES = st.lists(PIECES, max_size=5).map(" ".join)
LENSES = st.none() | st.builds(
    Lens,
    name=st.just("work"),
    types=st.sampled_from([None, ("decision",), ("note", "bugfix")]),
    projects=st.sampled_from([None, ("mine",)]),
    boosts=st.sampled_from([{}, {"type:decision": 2.0, "tag:house": 0.1}]),
)
REQUESTS = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["keyword", "semantic", "hybrid"]),
        "limit": st.none() | st.integers(1, 6),
    },
    optional={
        "alpha": st.sampled_from([0.0, 0.3, 1.0]),
        "weights": st.sampled_from([{"words": 0.0}, {"vector": 0.0}, {"words": 2.0}]),
        "min_similarity": st.sampled_from([-1.0, 0.2, 0.6]),
        "min_score": st.sampled_from([0.0, 0.02, 0.5]),
        "min_confidence": st.sampled_from([0.0, 0.5, 0.75]),
        "recency_weight": st.sampled_from([0.0, 2.0]),
        "rrf_k": st.sampled_from([1.0, 60.0]),
        "intent": st.just("airships"),
        "where": st.sampled_from([Filter(types=("note",)), Filter(include_superseded=True), Filter(tags=())]),
    },
)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """A built-in profile, sometimes with a wish for diversity or a small depth."""
    profile = load_profile(draw(st.sampled_from(BUILT_IN)))
    if draw(st.booleans()):
        return profile
    diversify = Diversify(max_overlap=draw(st.sampled_from([0.5, 1.0])), page=draw(st.sampled_from([0, 2, 10])))
    retrieve = replace(profile.retrieve, depth=draw(st.sampled_from([2, 5])))
    mmr = draw(st.sampled_from([None, MarginalRelevance()]))
    return replace(profile, diversify=diversify, retrieve=retrieve, mmr=mmr)


@settings(max_examples=50)
@given(
    memories=MEMORIES,
    profile=profiles(),
    lens=LENSES,
    query=QUERIES,
    request=REQUESTS,
    forgotten=st.booleans(),
    superseded=st.booleans(),
)
def test_why_finds_a_memory_at_a_rank_exactly_when_the_reply_does(
    *,
    memories: list[Memory],
    profile: Profile,
    lens: Lens | None,
    query: str,
    request: dict[str, Any],
    forgotten: bool,
    superseded: bool,
) -> None:
    store = STORES["memory"](None, analyse)  # type: ignore[arg-type]
    with Recollection(store=store, profile=profile, models=Models(name="hashing"), clock=lambda: NOON) as db:
        drafts = [replace(each, external_id=str(at)) for at, each in enumerate(memories)]
        kept = [each.id for each in db.add_all(drafts)]
        if lens is not None:
            db.lenses.keep(lens)
            request["lens"] = lens.name
        if forgotten:
            db.forget(kept[0])
        if superseded and len(kept) > 2 and memories[1].project == memories[2].project:
            db.supersede(kept[1], kept[2])

        shown = {hit.id: (hit.rank, hit.score) for hit in db.search(query, **request).hits}
        told = {row: db.why(row, query, **request) for row in kept}

    assert {row: (each.rank, each.score) for row, each in told.items() if each.found and each.score is not None} == {
        row: place for row, place in shown.items() if told[row].score is not None
    }
    assert {row for row, each in told.items() if each.found} == set(shown)
    assert all((each.blocked_by is None) == each.found == (each.surfaces_if is None) for each in told.values())
