import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.remember.capture import low_signal


@pytest.mark.case(98)
@pytest.mark.parametrize("text", ["Fire the test", "HEARTBEAT_OK", "run test"])
def test_a_heartbeat_or_a_nudge_is_low_signal(text: str) -> None:
    assert low_signal(text)


@pytest.mark.case(98)
def test_a_few_words_with_a_subject_are_worth_keeping() -> None:
    assert not low_signal("cortex sprint retrieval tuning")


@pytest.mark.parametrize(
    "text",
    ["ok", "OK!", "Thanks.", "ok, thank you very much", "sounds good", "got it", "", "  ", "👍", "...", "好的", "谢谢"],
)
def test_an_acknowledgement_is_low_signal(text: str) -> None:
    assert low_signal(text)


@pytest.mark.parametrize(
    "text",
    [
        "no downtime",
        "run the tests before merging",
        "test the rollback",
        "it is done",
        "done: users moved to Oslo",
        "ok to deploy on Fridays",
        "heartbeat interval is 15 s",
        "部署前必须运行测试",
        "8080",
    ],
)
def test_anything_that_says_something_is_kept(text: str) -> None:
    assert not low_signal(text)


@given(st.text(st.sampled_from("ok thanks yes"), max_size=40), st.sampled_from(["kubernetes", "invoice", "Oslo"]))
def test_one_word_of_substance_is_enough(padding: str, word: str) -> None:
    assert not low_signal(f"{padding} {word}")
