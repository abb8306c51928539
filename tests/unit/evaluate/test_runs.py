"""Rankings travel to other tools and back without changing their order."""

import json
from pathlib import Path

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, nDCG

from recollect.errors import FileError, InputError
from recollect.evaluate.measures import measure, score
from recollect.evaluate.runs import Rankings, Scored, as_json, as_trec, parse_json, parse_trec, read_run

names = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FFF, exclude_categories=("Z", "C")), min_size=1)
numbers = st.floats(-1e6, 1e6)
runs = st.dictionaries(
    names, st.lists(st.tuples(names, numbers), min_size=1, max_size=8, unique_by=lambda pair: pair[0]), max_size=4
)


def run_of(rankings: dict[str, list[tuple[str, float]]], *, name: str = "ours") -> Rankings:
    scored = {
        query: tuple(Scored(id=document, score=value) for document, value in found) for query, found in rankings.items()
    }
    return Rankings(name=name, by_query=scored)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# --- reading --------------------------------------------------------------------------------


def test_a_trec_run_is_ordered_by_score_then_rank_then_id(tmp_path: Path) -> None:
    text = "q Q0 d 9 0.5 t\nq Q0 c 3 0.5 t\nq\tQ0\tb 3 0.5 t\n\nq Q0 a 7 0.9 t\nother Q0 z 1 -2.5e0 t\n"

    found = read_run(written(tmp_path / "tool.trec", text))

    assert found.name == "tool"
    assert found.ids == {"q": ("a", "b", "c", "d"), "other": ("z",)}
    assert found.by_query["other"] == (Scored(id="z", score=-2.5),)


def test_a_json_run_of_ids_keeps_their_order(tmp_path: Path) -> None:
    found = read_run(written(tmp_path / "tool.json", '{"q": ["b", "a", 3], "none": []}'))

    assert found.ids == {"q": ("b", "a", "3"), "none": ()}


def test_a_json_run_of_scores_is_ordered_by_score_then_id(tmp_path: Path) -> None:
    found = read_run(written(tmp_path / "tool.json", '\ufeff {"q": {"c": 1, "b": 0.5, "a": 1.0}}'))

    assert found.ids == {"q": ("a", "c", "b")}


def test_a_document_named_twice_counts_where_it_stands_best() -> None:
    trec = parse_trec("q Q0 a 1 0.1 t\nq Q0 b 2 0.5 t\nq Q0 a 3 0.9 t\n", name="t")
    listed = parse_json('{"q": ["a", "b", "a"]}', name="t")

    assert trec.by_query["q"] == (Scored(id="a", score=0.9), Scored(id="b", score=0.5))
    assert listed.ids["q"] == ("a", "b")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("q Q0 a 1 0.5 t\nq Q0 a 1\n", "line 2 is not of a run"),
        ("q Q0 a first 0.5 t\n", "line 1 is not of a run"),
        ("q Q0 a 1 high t\n", "line 1 is not of a run"),
        ("q Q0 a 1 nan t\n", "line 1 is not of a run"),
        ("q Q0 a 1 1e999 t\n", "line 1 is not of a run"),
        ("q Q0 a 1 0.5 t more\n", "line 1 is not of a run"),
        ("", "is empty"),
        (" \n", "is empty"),
        ("{", "is not JSON"),
        ("[1]", "is not an object"),
        ('{"q": "a"}', "query 'q' is neither ids nor scores"),
        ('{"q": [["a"]]}', "query 'q' is neither ids nor scores"),
        ('{"q": {"a": "high"}}', "query 'q' is neither ids nor scores"),
        ('{"q": {"a": NaN}}', "query 'q' is neither ids nor scores"),
        ('{"q": {"a": 1' + "0" * 400 + "}}", "query 'q' is neither ids nor scores"),
    ],
)
def test_a_broken_run_is_refused_with_its_place_and_a_hint(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(FileError, match=told) as refused:
        read_run(written(tmp_path / "tool.run", text))

    assert "Q0" in refused.value.hint


def test_a_file_that_is_missing_or_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(FileError, match="cannot read"):
        read_run(tmp_path / "missing")
    with pytest.raises(FileError, match="cannot read"):
        read_run(tmp_path / "binary")


# --- writing --------------------------------------------------------------------------------


def test_a_trec_line_names_query_document_rank_score_and_tag() -> None:
    text = as_trec(run_of({"q2": [("x", 1.0)], "q1": [("a", 0.75), ("b", 0.5)]}, name="my run"))

    assert text == "q1 Q0 a 1 0.75 my_run\nq1 Q0 b 2 0.5 my_run\nq2 Q0 x 1 1.0 my_run\n"


@given(runs)
def test_a_ranking_comes_back_in_its_order_whatever_its_scores(rankings: dict[str, list[tuple[str, float]]]) -> None:
    run = run_of(rankings)

    assert parse_trec(as_trec(run), name="ours").ids == run.ids
    assert parse_json(as_json(run), name="ours").ids == run.ids


@given(runs)
def test_written_scores_fall_even_for_tools_that_keep_only_24_bits(
    rankings: dict[str, list[tuple[str, float]]],
) -> None:
    import numpy as np  # noqa: PLC0415 - only this test needs it

    read = parse_trec(as_trec(run_of(rankings)), name="ours")

    for found in read.by_query.values():
        kept = [np.float32(one.score) for one in found]
        assert all(kept[place] > kept[place + 1] for place in range(len(kept) - 1))


def test_another_tool_reads_equal_scores_in_our_order() -> None:
    run = run_of({"q": [("a", 0.5), ("c", 0.5), ("b", 0.5)]})
    judged = {"q": {"c": 1}}

    theirs = ir_measures.calc_aggregate([nDCG @ 10, RR @ 10], judged, ir_measures.read_trec_run(as_trec(run)))

    ours = score(run.ids, judged, measures={"ndcg@10": measure("ndcg@10"), "mrr@10": measure("mrr@10")})
    assert theirs[RR @ 10] == ours["mrr@10"]["q"] == 0.5
    assert theirs[nDCG @ 10] == pytest.approx(ours["ndcg@10"]["q"])


@pytest.mark.parametrize("name", ["two words", "", "tab\there", " padded"])
def test_an_id_that_would_break_the_columns_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot stand in a TREC run") as refused:
        as_trec(run_of({"q": [(name, 1.0)]}))

    assert "JSON" in refused.value.hint


def test_json_is_readable_text() -> None:
    text = as_json(run_of({"質問": [("b", 2.0), ("a", 1.0)]}))

    assert json.loads(text) == {"質問": ["b", "a"]}
    assert "質問" in text
