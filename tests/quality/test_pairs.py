"""How well write-time dedup tells a restatement from a near-twin, on labelled pairs."""

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from recollect.records import Memory
from recollect.remember.dedup import DedupResult, DuplicateCandidate, decide
from recollect.text.differences import Kind, differences

PAIRS = Path(__file__).with_name("pairs.jsonl")
MERGING = {"identical", "restates"}


@dataclass(frozen=True, slots=True)
class Pair:
    a: str
    b: str
    label: str
    differs: str | None


@cache
def _results(pair: Pair) -> tuple[DedupResult, DedupResult]:
    """Judge the pair both ways round: either text may be the one that came first."""
    return (
        decide(Memory(content=pair.b), [DuplicateCandidate(memory=Memory(id=1, content=pair.a))]),
        decide(Memory(content=pair.a), [DuplicateCandidate(memory=Memory(id=1, content=pair.b))]),
    )


def _pairs(*labels: str) -> list[Pair]:
    lines = PAIRS.read_text(encoding="utf-8").splitlines()
    return [pair for pair in (Pair(**json.loads(line)) for line in lines) if pair.label in labels]


def _merges(pair: Pair) -> bool:
    return any(result.decision in MERGING for result in _results(pair))


def _links(pair: Pair) -> bool:
    return all(result.of is not None or result.proposes is not None for result in _results(pair))


def test_the_pairs_cover_every_kind_of_difference() -> None:
    labels = Counter(pair.label for pair in _pairs("same", "twin", "other"))
    kinds = Counter(pair.differs for pair in _pairs("twin"))

    assert labels["same"] >= 90
    assert labels["twin"] >= 110
    assert labels["other"] >= 20
    assert all(kinds[kind] >= 18 for kind in ("number", "date", "version", "unit", "negation", "name"))


def test_no_near_twin_and_no_stranger_is_ever_merged() -> None:
    twins, others = _pairs("twin"), _pairs("other")

    merged = [pair for pair in twins + others if _merges(pair)]

    print(f"\nfalse merges: {len(merged)} of {len(twins)} near-twins and {len(others)} strangers")  # noqa: T201
    assert merged == []


def test_most_restatements_are_merged_and_nearly_all_are_linked() -> None:
    pairs = _pairs("same")

    merged = sum(map(_merges, pairs)) / len(pairs)
    linked = sum(map(_links, pairs)) / len(pairs)

    print(f"\nrestatements: {merged:.1%} merged, {linked:.1%} merged or linked, of {len(pairs)}")  # noqa: T201
    assert merged >= 0.60
    assert linked >= 0.90


def test_near_twins_are_linked_so_that_a_person_can_look() -> None:
    twins = _pairs("twin")

    linked = sum(map(_links, twins)) / len(twins)

    print(f"\nnear-twins linked: {linked:.1%} of {len(twins)}")  # noqa: T201
    assert linked >= 0.95


@pytest.mark.parametrize("kind", ["number", "date", "version", "unit", "negation"])
def test_most_near_twins_are_told_apart_by_the_kind_of_word_that_differs(kind: Kind) -> None:
    twins = [pair for pair in _pairs("twin") if pair.differs == kind]
    good = {kind, "number"} if kind == "version" else {kind}  # a version of one digit is a number like any other

    told = sum(not good.isdisjoint(differences(pair.a, pair.b)) for pair in twins) / len(twins)

    print(f"\n{kind}: {told:.1%} of {len(twins)} named")  # noqa: T201
    assert told >= 0.9


def test_the_judgement_does_not_depend_on_which_text_came_first() -> None:
    pairs = _pairs("same", "twin", "other")

    lopsided = [pair for pair in pairs if len({result.decision in MERGING for result in _results(pair)}) > 1]

    assert lopsided == []
