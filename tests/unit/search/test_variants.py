"""What is read out of a model's answer to a request for other ways to ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InputError
from recollect.search.variants import read_expansions


@pytest.mark.case(105)
@pytest.mark.parametrize(
    ("answer", "queries"),
    [
        ('["deploy steps", "how to ship", "release"]', ("deploy steps", "how to ship", "release")),
        ('Here you are:\n```json\n["deploy steps"]\n```\n', ("deploy steps",)),
        ('{"queries": ["deploy steps", "release"]}', ("deploy steps", "release")),
        ('{"expansions": ["release"]}', ("release",)),
    ],
)
def test_an_answer_is_read_in_each_of_its_shapes(answer: str, queries: tuple[str, ...]) -> None:
    assert read_expansions(answer) == queries


@pytest.mark.case(105)
@pytest.mark.parametrize(
    "answer", ["", "deploy steps", '{"answers": ["a"]}', "[1, 2]", '"release"', "null", "[" * 100_000]
)
def test_an_answer_that_holds_no_queries_is_refused_with_a_hint(answer: str) -> None:
    with pytest.raises(InputError) as refused:
        read_expansions(answer)

    assert "original query" in refused.value.hint


def test_blank_and_repeated_queries_are_left_out() -> None:
    assert read_expansions('["release", " ", "release", "how  to\\nship"]') == ("release", "how to ship")


@given(answer=st.one_of(st.text(), st.text(alphabet='[]{}",`:a \n')))
def test_no_answer_raises_anything_but_a_refusal(answer: str) -> None:
    try:
        queries = read_expansions(answer)
    except InputError:
        return

    assert all(query.strip() for query in queries)
