"""Every example of docs/query.md is true."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from kit import NOON
from recollect import Recollection
from recollect.profile import load_profile
from recollect.stores.choice import open_store
from recollect.text.analyser import analyse

PAGE = (Path(__file__).parents[2] / "docs" / "query.md").read_text(encoding="utf-8")


def rows(block: str) -> list[list[str]]:
    """Return the rows of every fenced block of this name, cut at the bars."""
    found = re.findall(rf"^```{block}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [
        [cell.strip() for cell in line.rsplit("|", 1 if block == "queries" else -1)]
        for text in found
        for line in text.splitlines()
    ]


EXAMPLES = {query: {int(row) for row in answer.split()} for query, answer in rows("queries")}


@pytest.fixture(scope="module")
def db() -> Iterator[Recollection]:
    with Recollection(
        store=open_store(":memory:", analyse), profile=load_profile("default"), clock=lambda: NOON
    ) as opened:
        for row, kind, day, text in rows("memories"):
            observed = datetime.fromisoformat(day).replace(tzinfo=NOON.tzinfo) + timedelta(hours=9)
            assert opened.add(text, type=kind, observed_at=observed).id == int(row)
        yield opened


def test_the_page_has_examples_of_every_part_of_the_grammar() -> None:
    parts = ("AND", "OR", "NOT", '"', "*", " -", "(", "type:", "tag:", "since:", "until:", "on:")

    assert [part for part in parts if not any(part in query for query in EXAMPLES)] == []


@pytest.mark.parametrize(("query", "answer"), EXAMPLES.items(), ids=EXAMPLES)
def test_an_example_finds_what_the_page_says(db: Recollection, query: str, answer: set[int]) -> None:
    assert {hit.id for hit in db.search(query, mode="keyword").hits} == answer
