import pytest

from recollect.text.normalise import fold
from recollect.text.tokenizer import STOPWORDS


def test_stop_words_are_folded_and_about_as_many_as_english_has() -> None:
    assert {fold(word) for word in STOPWORDS} == STOPWORDS
    assert 150 <= len(STOPWORDS) <= 200


@pytest.mark.parametrize("word", ["what", "when", "where", "who", "why", "how", "which", "did", "the", "of"])
def test_question_words_are_stop_words(word: str) -> None:
    assert word in STOPWORDS


@pytest.mark.parametrize("word", ["may", "march", "error", "don", "c", "go", "new", "work"])
def test_words_that_also_name_something_are_not(word: str) -> None:
    assert word not in STOPWORDS
