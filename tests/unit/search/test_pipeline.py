"""The stages as a value: which there are, with which settings, and what a request changes in them."""

import ast
from pathlib import Path
from typing import Any

import pytest

import recollect.search
from kit import NOON
from recollect.profile import BUILT_IN, Profile, load_profile
from recollect.replies import Request
from recollect.search.parse import parse
from recollect.search.pipeline import AskingStage, Pipeline, as_asked, build_pipeline

CORTEX = load_profile("cortex")
STAGES = [
    "languages",
    "build_query",
    "expand",
    "retrieve",
    "fuse",
    "vectors",
    "smooth",
    "load",
    "replies",
    "weigh",
    "changes",
    "floor",
    "rerank",
    "diversify",
    "memories",
    "facts",
    "answerability",
    "hits",
    "conflicts",
    "suggest",
    "reason",
]


def built(text: str = "ships", *, profile: str = "default", **options: Any) -> Pipeline:
    request = Request(text=text, **options)
    return build_pipeline(load_profile(profile), request, parse(text, now=NOON))


def test_the_stages_have_their_usual_names_and_order() -> None:
    assert list(built().describe()) == STAGES


def test_who_wants_only_what_answers_gets_a_stage_more() -> None:
    stages = list(built(precise=True).describe())

    assert stages[stages.index("precise") - 1 : stages.index("precise") + 2] == ["answerability", "precise", "hits"]


def test_only_some_stages_ask_the_store_or_a_model() -> None:
    asking = [stage.name for stage in built(facets=True).stages if isinstance(stage, AskingStage)]

    loading = ["vectors", "load", "changes", "rerank", "diversify", "memories", "facts", "conflicts"]
    assert asking == ["languages", "retrieve", *loading, "facets", "suggest", "reason"]


@pytest.mark.parametrize(
    "module", ["fuse", "smooth", "weigh", "diversify", "build_query", "parse", "intent", "expand", "related"]
)
def test_the_middle_knows_no_store(module: str) -> None:
    source = (Path(recollect.search.__file__).parent / f"{module}.py").read_text(encoding="utf-8")
    imported = {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}

    assert not any(name and name.startswith("recollect.stores") for name in imported)


def test_facts_are_loaded_before_the_weighing_where_something_weighs_by_them() -> None:
    for options in ({"profile": "cortex"}, {"min_confidence": 0.2}, {"lens": "work"}):
        names = list(built(**options).describe())

        assert names.index("load") + 1 == names.index("facts")


@pytest.mark.parametrize("text", ["", " \n", "type:decision"])
def test_a_blank_query_browses_where_the_profile_says_so_and_a_vector_is_no_blank(text: str) -> None:
    assert list(built(text).describe()) == ["browse", "conflicts", "reason"]
    assert list(built(text, facets=True).describe()) == ["browse", "conflicts", "facets", "reason"]
    assert "retrieve" in built(text, profile="cortex").describe()
    assert "retrieve" in built(text, embedding=(1.0,)).describe()


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_settings_of_a_stage_are_those_of_the_profile(name: str) -> None:
    profile, told = load_profile(name), built(profile=name).describe()

    assert told["fuse"]["rules"]["k"] == profile.fuse.k
    assert told["weigh"]["rules"]["factors"] == profile.weigh.factors
    assert told["diversify"]["limit"] == profile.limit
    assert told["floor"]["rules"]["hybrid"] == profile.floor.hybrid


# --- what a request changes -----------------------------------------------------------------


def asked(profile: Profile = CORTEX, **options: Any) -> Profile:
    return as_asked(profile, Request(text="x", **options))


@pytest.mark.req("N-05", "C-14", "C-15", "C-33")
def test_what_a_request_sets_takes_the_place_of_what_the_profile_says() -> None:
    told = asked(min_similarity=0.7, rrf_k=9.0, min_score=0.4, min_confidence=0.6, recency_weight=0.3, limit=3)

    assert (told.retrieve.min_similarity, told.fuse.k, told.limit) == (0.7, 9.0, 3)
    assert (told.floor.keyword, told.floor.semantic, told.floor.hybrid) == (0.4, 0.4, 0.4)
    assert (told.floor.min_confidence, told.weigh.recency_weight) == (0.6, 0.3)
    assert asked() == CORTEX


@pytest.mark.req("C-33")
def test_who_asks_for_recency_gets_it_in_every_profile_and_mode() -> None:
    assert asked(load_profile("oro"), recency_weight=0.2).weigh.factors[-1] == "recency"
    assert asked(mode="keyword", recency_weight=0.2).weigh.factors == ("recency",)
    assert asked(recency_weight=0.2).weigh.factors == CORTEX.weigh.factors


@pytest.mark.req("C-16")
def test_alpha_moves_the_weight_from_words_to_vectors() -> None:
    assert asked(alpha=0.25).fuse.weights == {"words": 0.75, "vector": 0.25}


@pytest.mark.req("N-05")
@pytest.mark.parametrize("name", ["nornicdb", "engram", "default"])
def test_weights_of_a_request_count_as_they_are(name: str) -> None:
    fuse = asked(load_profile(name), weights={"vector": 3.0}).fuse

    assert fuse.weights["vector"] == 3.0
    assert not any((fuse.list_weights, fuse.short_weights, fuse.long_weights, fuse.code_weights))


@pytest.mark.req("C-16", "C-22")
def test_where_factors_do_not_count_the_least_confidence_still_does() -> None:
    for options in ({"mode": "keyword"}, {"alpha": 0.0}, {"alpha": 1.0}):
        told = asked(**options)

        assert (told.weigh.factors, told.floor.min_confidence) == ((), 0.1)


@pytest.mark.req("E-07")
@pytest.mark.case(106)
def test_for_someone_who_gave_an_intent_no_signal_is_strong() -> None:
    engram = load_profile("engram")

    assert asked(engram).retrieve.short_circuit == (0.85, 0.15)
    assert asked(engram, intent="airships").retrieve.short_circuit == (0.0, 0.0)


@pytest.mark.req("E-10")
@pytest.mark.parametrize(("limit", "shown"), [(None, 20), (0, 20), (-5, 20), (1, 1), (50, 50), (200, 100)])
def test_a_limit_is_brought_into_the_bounds_of_the_profile(limit: int | None, shown: int) -> None:
    assert asked(load_profile("engram"), limit=limit).limit == shown
