"""How much work a search, a fusion and an import do: counted in calls, which are the same on every machine."""

import sys
from collections.abc import Callable
from functools import cache
from random import Random

import numpy as np
import pytest

import recollect
from recollect import Memory
from recollect.profile import ReciprocalRanks
from recollect.records import IndexHit
from recollect.search.fuse import reciprocal_rank_fusion
from recollect.search.state import Ranking

WORDS = [f"{a}{b}{c}" for a in "bdfgklm" for b in "aeiou" for c in ("rta", "lin", "tok", "sek", "vip", "pon")]
SMALL, LARGE = 900, 1500
QUERY = "barta delin fitok"


def calls(work: Callable[[], object]) -> int:
    """Return how many functions *work* calls, those of C included."""
    count = 0

    def noticed(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(noticed)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@cache
def work_at(size: int) -> dict[str, int]:
    """Return the calls that it takes to add *size* memories, and then to search them in each mode."""
    random = Random(3)
    drafts = [
        Memory(content=f"{' '.join(random.choices(WORDS, k=20))} number{n}", external_id=str(n)) for n in range(size)
    ]
    assert np.__version__  # a process that has not loaded NumPy reads a store of this size as texts
    with recollect.open(":memory:", model="hashing", profile="nornicdb") as db:
        done = {"import": calls(lambda: db.add_all(drafts))}
        for mode in ("keyword", "semantic", "hybrid"):
            asked = [calls(lambda mode=mode: db.search(QUERY, mode=mode)) for _ in range(4)]  # type: ignore[misc]
            done[mode] = min(asked)  # the first ones also make what is kept
    return done


@pytest.mark.req("N-14")
@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_a_search_does_not_call_more_functions_in_a_larger_store(mode: str) -> None:
    more = work_at(LARGE)[mode] - work_at(SMALL)[mode]

    assert more / (LARGE - SMALL) < 1.0  # which a call for each memory would exceed


@pytest.mark.req("N-14")
def test_a_memory_takes_no_more_work_to_add_to_a_larger_store() -> None:
    small, large = (work_at(size)["import"] / size for size in (SMALL, LARGE))

    assert large < 1.2 * small
    assert large < 2000


@pytest.mark.req("N-14")
def test_the_work_of_a_fusion_grows_in_step_with_its_lists() -> None:
    def fusion(size: int) -> int:
        lists = [
            Ranking(name=name, hits=tuple(IndexHit(row, 1.0 / row, 1.0, 0) for row in range(first, first + size)))
            for name, first in (("words", 1), ("vector", 1 + size // 2))
        ]
        return calls(lambda: reciprocal_rank_fusion(lists, ReciprocalRanks(), words=3))

    assert fusion(100) < 1000  # each of the 200 hits costs some five calls at most
    assert fusion(1000) < 12 * fusion(100)
