"""When the best hit is an answer."""

from recollect.profile import Judge
from recollect.replies import Share
from recollect.search.judge import evidence, judge
from recollect.search.ranking import Candidate, Found, Ranking

BARS = Judge(keyword=0.3, hybrid=0.4, semantic=0.3)
WORDS = Ranking(name="words", found=(Found(id=1, score=2.0, coverage=0.6),))
BY_WORDS = Share(ranking="words", rank=1, points=0.3, native=2.0)


def test_words_and_meaning_are_weighed_alike() -> None:
    near = Share(ranking="vector", rank=1, points=0.1, native=0.5)
    best = Candidate(id=1, shares=(BY_WORDS, near))

    assert evidence(best, [WORDS], mode="hybrid") == 0.55
    assert judge(best, [WORDS], mode="hybrid", bars=BARS) == "answered"


def test_a_far_vector_speaks_against_a_hit() -> None:
    far = Share(ranking="vector", rank=None, points=0.0, native=0.05)

    assert judge(Candidate(id=1, shares=(BY_WORDS, far)), [WORDS], mode="hybrid", bars=BARS) == "weak"


def test_a_vector_that_is_not_there_yet_does_not() -> None:
    assert judge(Candidate(id=1, shares=(BY_WORDS,)), [WORDS], mode="hybrid", bars=BARS) == "answered"
