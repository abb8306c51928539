"""The merge policy of the segment log, as the pure function that it is."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.stores.sql.index.log import Job, Segment, due_job, uncovered


def listed(*rows: int) -> list[Segment]:
    """Segments that follow each other, each with as many numbers as rows."""
    found, at = [], 0
    for number, size in enumerate(rows):
        found.append(Segment(name=f"s{number}", after=at, upto=at + size, removed=0, rows=size))
        at += size
    return found


def due(segments: list[Segment], *gaps: tuple[int, int, int], **changed: Any) -> Job | None:
    return due_job(segments, gaps, **{"least": 10, "most": 10_000, "fan": 3, "tier": 10, **changed})


def test_a_gap_with_enough_rows_comes_first() -> None:
    segments = listed(10, 10, 10)

    assert due(segments, (30, 35, 5), (40, 60, 12)) == Job(after=40, upto=60)


def test_too_few_rows_wait() -> None:
    assert due([], (0, 100, 9)) is None


def test_a_spoiled_segment_is_written_again_unless_it_is_too_large() -> None:
    segments = listed(10, 200)

    assert due(segments, spoiled={"s1"}) == Job(replaced=(segments[1],), after=10, upto=210)
    assert due(segments, spoiled={"s1"}, most=100) is None


def test_neighbors_of_the_smallest_tier_are_merged_first() -> None:
    segments = listed(800, 10, 20, 70)

    assert due(segments) == Job(replaced=tuple(segments[1:]), after=800, upto=900)
    assert due(segments, fan=4) == Job(replaced=tuple(segments), after=0, upto=900)
    assert due(segments, fan=5) is None
    assert due(segments, most=99) is None


def test_segments_with_a_gap_between_them_are_not_merged() -> None:
    first, second, third = listed(10, 10, 10)

    assert due([first, third], fan=2) is None
    assert due([first, second], fan=2) == Job(replaced=(first, second), after=0, upto=20)


@given(st.lists(st.integers(1, 5_000), max_size=60))
def test_merging_ends_with_few_segments_of_each_tier_and_loses_no_number(rows: list[int]) -> None:
    segments, jobs = listed(*rows), 0
    while job := due(segments, most=2**40):
        at = segments.index(job.replaced[0])
        made = Segment(name=f"m{jobs}", after=job.after, upto=job.upto, removed=0, rows=job.upto - job.after)
        segments[at : at + len(job.replaced)] = [made]
        jobs += 1

    assert jobs <= len(rows)
    assert uncovered([(each.after, each.upto) for each in segments], sum(rows)) == []
    assert len(segments) <= 2 * 8
