"""The stages as a value: which there are, with which settings, and what a request changes in them."""

import ast
from pathlib import Path
from typing import Any

import pytest

import recollect.search
from kit import NOON
from recollect.profile import Profile, ReciprocalRanks, ShortCircuit, load_profile, read_profile
from recollect.replies import Request
from recollect.search.parse import parse
from recollect.search.pipeline import Pipeline, as_asked, build_pipeline

CORTEX = load_profile("cortex")
ALWAYS = [
    "languages",
    "build_query",
    "retrieve",
    "fuse",
    "load",
    "weigh",
    "rerank",
    "limit",
    "memories",
    "facts",
    "hits",
    "conflicts",
    "suggest",
    "reason",
]


def built(text: str = "ships", *, profile: str = "default", **options: Any) -> Pipeline:
    request = Request(text=text, **options)
    return build_pipeline(load_profile(profile), request, parse(text, now=NOON))


def names(pipeline: Pipeline) -> list[str]:
    return [stage.name for stage in pipeline.stages]


@pytest.mark.parametrize(
    ("listed", "runs"),
    [
        ("", []),
        ("[expand]\nmax_variants = 1", ["expand"]),
        ("[smooth]\nweight = 0.5\nmax_rise = 1", ["vectors", "smooth"]),
        ("[dialogue]\nreply_weight = 0.5", ["replies"]),
        ("[changes]\nmin_score = 0.5", ["changes"]),
        ("[floor]", ["floor"]),
        ("[mmr]", ["mmr"]),
        ("[diversify]\nmax_overlap = 0.5", ["diversify"]),
        ("[answerability]\nthreshold = 0.5", ["answerability"]),
    ],
)
def test_a_stage_runs_if_the_profile_lists_it(listed: str, runs: list[str]) -> None:
    pipeline = build_pipeline(read_profile(listed, name="mine"), Request(text="x"), parse("x", now=NOON))

    assert [name for name in names(pipeline) if name not in ALWAYS] == runs
    assert [name for name in names(pipeline) if name not in runs] == ALWAYS


def test_who_wants_only_what_answers_gets_a_stage_more() -> None:
    stages = names(built(precise=True))

    assert stages[stages.index("precise") - 1 : stages.index("precise") + 2] == ["answerability", "precise", "hits"]


@pytest.mark.parametrize(
    "module", ["fuse", "smooth", "weigh", "diversify", "build_query", "parse", "intent", "expand", "related"]
)
def test_the_middle_knows_no_store(module: str) -> None:
    source = (Path(recollect.search.__file__).parent / f"{module}.py").read_text(encoding="utf-8")
    imported = {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}

    assert not any(name and name.startswith("recollect.stores") for name in imported)


def test_facts_are_loaded_before_the_weighing_where_something_weighs_by_them() -> None:
    for options in ({"profile": "cortex"}, {"min_confidence": 0.2}, {"lens": "work"}):
        stages = names(built(**options))

        assert stages.index("load") + 1 == stages.index("facts")


@pytest.mark.parametrize("text", ["", " \n", "type:decision"])
def test_a_blank_query_browses_where_the_profile_says_so_and_a_vector_is_no_blank(text: str) -> None:
    assert names(built(text)) == ["browse", "conflicts", "reason"]
    assert names(built(text, facets=True)) == ["browse", "conflicts", "facets", "reason"]
    assert "retrieve" in names(built(text, profile="cortex"))
    assert "retrieve" in names(built(text, embedding=(1.0,)))


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
    if isinstance(fuse, ReciprocalRanks):
        assert not any((fuse.list_weights, fuse.short_weights, fuse.long_weights))
    else:
        assert not fuse.code_weights


@pytest.mark.req("C-16", "C-22")
def test_where_factors_do_not_count_the_least_confidence_still_does() -> None:
    for options in ({"mode": "keyword"}, {"alpha": 0.0}, {"alpha": 1.0}):
        told = asked(**options)

        assert (told.weigh.factors, told.floor.min_confidence) == ((), 0.1)


@pytest.mark.req("E-07")
@pytest.mark.case(106)
def test_for_someone_who_gave_an_intent_no_signal_is_strong() -> None:
    engram = load_profile("engram")

    assert asked(engram).short_circuit == ShortCircuit(score=0.85, lead=0.15)
    assert asked(engram, intent="airships").short_circuit is None


@pytest.mark.req("E-10")
@pytest.mark.parametrize(("limit", "shown"), [(None, 20), (0, 20), (-5, 20), (1, 1), (50, 50), (200, 100)])
def test_a_limit_is_brought_into_the_bounds_of_the_profile(limit: int | None, shown: int) -> None:
    assert asked(load_profile("engram"), limit=limit).limit == shown
