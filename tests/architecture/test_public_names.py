"""Public is a list: sorted, short, and all of it there."""

import recollect

NAMES = 25


def test_the_public_names_are_sorted_short_and_real() -> None:
    names = list(getattr(recollect, "__all__", []))

    assert names == sorted(set(names))
    assert len(names) <= NAMES
    assert [name for name in names if not hasattr(recollect, name)] == []
