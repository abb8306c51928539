import pytest

from recollect.text.analyser import ENOUGH, informative_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("What now?", 0),
        ("Really?! Where was that?", 0),
        ("I moved to Leeds. And you?", 4),
        ("Did you? I moved to Leeds", 4),
        ("We use PostgreSQL 16 at work!", 6),
        ("one line\nanother line?\nthe third", 4),
        ("\u4f60\u597d\u3002\u4f60\u53eb\u4ec0\u4e48\uff1f", 1),
        ("?!?", 0),
    ],
)
def test_the_words_of_sentences_that_are_no_questions_are_counted(text: str, words: int) -> None:
    assert informative_words(text) == words


def test_a_long_text_states_enough_without_being_counted() -> None:
    assert informative_words("Why? " * ENOUGH) == ENOUGH
