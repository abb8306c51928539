from collections.abc import Iterable
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from recollect.text.minhash import minhash, token_hash

TRIALS = 500
VOCABULARY = [f"word{number}" for number in range(5000)]


def keys_of(tokens: Iterable[str]) -> tuple[int, ...]:
    return minhash(map(token_hash, tokens))


def _alike(random: Random) -> tuple[set[str], set[str]]:
    """Return two sets of about 30 tokens with a Jaccard similarity of at least 0.75, near 0.75."""
    shared = random.sample(VOCABULARY, 36)
    return set(shared[:32]), {*shared[4:32], *shared[32:36]} | {shared[0]}


def test_sets_that_share_three_quarters_share_a_key() -> None:
    random = Random(20240101)
    pairs = [_alike(random) for _ in range(TRIALS)]
    closeness = [len(a & b) / len(a | b) for a, b in pairs]

    met = sum(not set(keys_of(a)).isdisjoint(keys_of(b)) for a, b in pairs)

    assert 0.75 <= min(closeness) <= max(closeness) < 0.85
    assert met >= 0.85 * TRIALS


def test_unrelated_sets_do_not() -> None:
    random = Random(20240102)
    pairs = [(random.sample(VOCABULARY, 30), random.sample(VOCABULARY, 30)) for _ in range(TRIALS)]

    met = sum(not set(keys_of(a)).isdisjoint(keys_of(b)) for a, b in pairs)

    assert met == 0


@given(st.sets(st.text(min_size=1), min_size=4, max_size=11))
def test_a_text_of_few_words_is_found_when_one_of_them_is_another(tokens: set[str]) -> None:
    ordered = sorted(tokens)
    ours, theirs = ordered[:-1], ordered[1:]
    distinct = len({token_hash(token) for token in tokens}) == len(tokens)

    assert not distinct or not set(keys_of(ours)).isdisjoint(keys_of(theirs))


def test_nothing_has_no_key_and_one_or_two_tokens_have_one() -> None:
    assert keys_of([]) == ()
    assert len(keys_of(["a"])) == 1
    assert len(keys_of(["a", "b"])) == 1
    assert len({keys_of(["a"]), keys_of(["b"]), keys_of(["a", "b"])}) == 3


@given(st.lists(st.text(st.characters())))
def test_keys_are_few_sorted_distinct_and_fit_a_signed_column(tokens: list[str]) -> None:
    keys = keys_of(tokens)

    assert list(keys) == sorted(set(keys))
    assert len(keys) <= 14
    assert all(0 <= key < 1 << 63 for key in keys)


@given(st.lists(st.text()), st.randoms())
def test_order_and_repetition_of_tokens_do_not_matter(tokens: list[str], random: Random) -> None:
    shuffled = [*tokens, *tokens]
    random.shuffle(shuffled)

    assert keys_of(shuffled) == keys_of(tokens)
