import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.inject import count_tokens, count_tokens_mixed


@pytest.mark.req("O-12")
@pytest.mark.case(88)
@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("x", 1), ("abc", 1), ("abcd", 1), ("abcdefgh", 2)])
def test_a_token_is_four_characters_and_any_text_costs_one(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("x", 1), ("abcdefgh", 2), ("部署", 2), ("部署deploy", 3), ("ビルド", 3), ("캐시", 2), ("𠀀", 1)],
)
def test_a_cjk_character_is_a_token_of_its_own(text: str, tokens: int) -> None:
    assert count_tokens_mixed(text) == tokens


@given(st.text(max_size=50), st.text(max_size=50))
def test_more_text_never_costs_less(a: str, b: str) -> None:
    assert count_tokens(a + b) >= count_tokens(a)
    assert count_tokens_mixed(a + b) >= count_tokens_mixed(a)
    assert count_tokens_mixed(a) >= count_tokens(a)
