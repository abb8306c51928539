"""What intake makes of a changed, a denied and a repeated fact, on labelled pairs of everyday statements.

Each pair is added to a project of its own, first and second, with the real model and with words alone.
"""

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from kit import NOON, installed_models
from recollect.embedders.models import Models
from recollect.profile import load_profile
from recollect.recollection import Recollection
from recollect.stores.choice import open_store
from recollect.text.analyser import analyse

Table = Mapping[tuple[int, str], Counter[str]]
"""By the half of the pairs and what they are: how often intake decided what."""


def _decided(pairs: list[dict[str, str]], models: Models) -> Table:
    db = Recollection(
        store=open_store(":memory:", analyse), profile=load_profile("default"), models=models, clock=lambda: NOON
    )
    table: dict[tuple[int, str], Counter[str]] = {}
    for number, pair in enumerate(pairs):
        db.add(pair["first"], project=str(number))
        result = db.add(pair["second"], project=str(number))
        linked = result.decision == "distinct" and "proposes" in result.evidence
        half = zlib.crc32((pair["first"] + pair["second"]).encode()) % 2
        table.setdefault((half, pair["relation"]), Counter())["linked" if linked else result.decision] += 1
    return table


@pytest.fixture(scope="module", params=["model", "words"])
def table(request: pytest.FixtureRequest, shared_data: Path) -> tuple[str, Table]:
    lines = (shared_data / "everyday" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    models = Models(name="minilm", folder=installed_models()) if request.param == "model" else Models(name="none")
    found = _decided([json.loads(line) for line in lines], models)
    for (half, label), counts in sorted(found.items()):
        print(f"\n{request.param} half {half} {label}: {dict(counts)}")  # noqa: T201
    return request.param, found


def _share(table: Table, label: str, *decisions: str, half: int | None = None) -> float:
    counts = [found for (part, name), found in table.items() if name == label and half in (None, part)]
    return sum(found[each] for found in counts for each in decisions) / sum(map(Counter.total, counts))


@pytest.mark.parametrize("half", [0, 1])
def test_updates_are_decided_or_linked_on_both_halves(table: tuple[str, Table], half: int) -> None:
    _, found = table

    assert _share(found, "updates", "updates", half=half) >= 0.55
    assert _share(found, "updates", "updates", "linked", "conflicts", half=half) >= 0.85


def test_conflicts_are_decided_or_linked(table: tuple[str, Table]) -> None:
    _, found = table

    assert _share(found, "conflicts", "conflicts", "linked") >= 0.7


def test_restatements_are_merged_or_linked(table: tuple[str, Table]) -> None:
    how, found = table
    bar = {"model": 0.7, "words": 0.6}[how]  # half of what shares few words shares a meaning

    assert _share(found, "restates", "restates", "identical", "linked") >= bar


def test_nothing_is_merged_but_what_says_the_same(table: tuple[str, Table]) -> None:
    _, found = table

    assert all(_share(found, label, "identical", "restates") == 0 for label in ("updates", "conflicts", "distinct"))


def test_nothing_distinct_and_nothing_repeated_is_superseded(table: tuple[str, Table]) -> None:
    _, found = table

    assert _share(found, "distinct", "updates") <= 0.01
    assert _share(found, "restates", "updates") == 0
    assert _share(found, "conflicts", "updates") == 0


def test_most_of_what_is_distinct_is_not_even_linked(table: tuple[str, Table]) -> None:
    _, found = table

    assert _share(found, "distinct", "distinct") >= 0.55
