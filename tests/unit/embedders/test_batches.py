from hypothesis import given
from hypothesis import strategies as st

from recollect.embedders.passages import batches


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 1000), st.integers(1, 40))
def test_every_text_is_in_one_group_and_every_group_fits(lengths: list[int], room: int, most: int) -> None:
    found = batches(lengths, room=room, most=most)

    assert sorted(at for group in found for at in group) == list(range(len(lengths)))
    assert all(len(group) <= most for group in found)
    assert all(len(group) == 1 or len(group) * max(lengths[at] for at in group) <= room for group in found)


def test_texts_of_like_length_go_together() -> None:
    found = batches([9, 2, 8, 2, 2], room=18, most=8)

    assert found == [[1, 3, 4], [2, 0]]


def test_no_text_is_no_group() -> None:
    assert batches([], room=10, most=10) == []
