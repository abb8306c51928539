"""The boosters, as the seed's worked example has them."""

import pytest

from recollect.errors import QueryError
from recollect.search.intent import BOOSTERS, Booster, boost


@pytest.mark.req("E-14")
@pytest.mark.case(103)
@pytest.mark.parametrize(
    ("query", "booster", "boosted"),
    [
        ("authentication", "decisions", "authentication decision chose architecture"),
        ("handler", "changes", "handler changed modified refactored"),
        ("database", "how_it_works", "database architecture design pattern implements"),
    ],
)
def test_a_booster_adds_its_words_behind_the_query(query: str, booster: Booster, boosted: str) -> None:
    assert boost(query, booster) == boosted


@pytest.mark.req("E-14")
@pytest.mark.case(103)
@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_a_blank_query_stays_blank(blank: str, booster: Booster) -> None:
    assert boost(blank, booster) == ""


def test_an_unknown_booster_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(QueryError) as refused:
        boost("auth", "dreams")  # type: ignore[arg-type]

    assert "decisions, changes, how_it_works" in refused.value.hint
