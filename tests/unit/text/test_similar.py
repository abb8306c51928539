import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.tokenizer import jaccard


@pytest.mark.case(84)
@pytest.mark.parametrize(
    ("a", "b", "share"),
    [
        ("always run ruff before pyright for linting", "always run ruff before pyright for linting checks", 7 / 8),
        ("ruff linting python", "ruff pyright go", 1 / 5),
        ("", "", 1.0),
        ("", "ruff", 0.0),
        ("ruff", "", 0.0),
        ("Ruff, RUFF!", "ruff", 1.0),
        ("...", "!", 1.0),
    ],
)
def test_similarity_is_the_share_of_common_words(a: str, b: str, share: float) -> None:
    assert jaccard(a, b) == pytest.approx(share)


@given(st.text(st.characters()), st.text(st.characters()))
def test_similarity_is_symmetric_and_a_text_is_like_itself(a: str, b: str) -> None:
    assert jaccard(a, b) == jaccard(b, a)
    assert jaccard(a, a) == 1.0
    assert 0.0 <= jaccard(a, b) <= 1.0
