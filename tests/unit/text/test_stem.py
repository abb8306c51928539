from concurrent.futures import ThreadPoolExecutor

import pytest

from recollect.text.tokenizer import stem


@pytest.mark.req("N-10")
@pytest.mark.parametrize(
    ("word", "root"),
    [("kinases", "kinas"), ("running", "run"), ("deployment", "deploy"), ("42", "42"), ("μνημη", "μνημη")],
)
def test_a_word_is_reduced_to_what_its_forms_share(word: str, root: str) -> None:
    assert stem(word) == root


def test_threads_do_not_disturb_each_other() -> None:
    words = ["connections", "running", "deployment", "kinases"] * 500
    alone = [stem(word) for word in words]

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(stem, words))

    assert together == alone
