"""Which texts go through a model together."""

from collections.abc import Sequence


def batches(lengths: Sequence[int], *, room: int, most: int) -> list[list[int]]:
    """Return the positions of *lengths* in groups of like length, shortest first.

    A group holds at most *most* texts and, each filled up to the longest, at most *room* pieces;
    a text longer than the room goes alone. Grouping by length is what makes batches worth it:
    a short text beside a long one costs as much as the long one.
    """
    groups: list[list[int]] = []
    for at in sorted(range(len(lengths)), key=lambda at: (lengths[at], at)):
        group = groups[-1] if groups else []
        if not group or len(group) == most or (len(group) + 1) * lengths[at] > room:
            group = []
            groups.append(group)
        group.append(at)
    return groups
