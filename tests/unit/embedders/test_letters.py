import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.embedders.passages import clean, knows


@given(st.text(st.characters()))
def test_clean_text_can_be_encoded_and_keeps_every_position(text: str) -> None:
    found = clean(text)

    assert found.encode().decode() == found
    assert all(a == b or "\ud800" <= b <= "\udfff" for a, b in zip(found, text, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain English words", True),
        ("", True),
        ("12345 !?", True),
        ("the word for sea is 海", True),
        ("今日は天気がいいから散歩しましょう", False),
        ("검색 품질", False),
        ("数据库 timeout", False),
        ("why does the 数据库 pool time out", True),
        ("Power Producer and Supplierを略した通称は", False),
        ("ｶﾀｶﾅ", False),
        ("𠀀𠀁", False),
    ],
)
def test_a_text_mostly_in_a_strange_script_is_not_known(text: str, expected: bool) -> None:  # noqa: FBT001
    assert knows(text, weak_on=["cjk"]) is expected


def test_a_model_that_is_weak_on_nothing_knows_everything() -> None:
    assert knows("今日は", weak_on=[])


def test_exactly_three_words_in_ten_are_still_known_and_two_characters_are_a_word() -> None:
    assert knows("a b c d e f g 海海海海海海", weak_on=["cjk"])
    assert not knows("a b c d e f 海海海海海海", weak_on=["cjk"])
