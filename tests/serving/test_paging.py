"""Long lists page by page: nothing twice, nothing left out, also while others write."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import Served, opened, serving


@pytest.fixture
def long(tmp_path: Path) -> Iterator[Served]:
    """A server of a store with 25 memories."""
    with opened(tmp_path / "s.db") as db:
        for number in range(25):
            db.add(f"Memory number {number}", date=f"2026-01-{number % 7 + 1:02}", external_id=str(number))
        with serving(db) as served:
            yield served


def pages(served: Served, **values: Any) -> Iterator[list[int]]:
    """Yield the ids of each page."""
    cursor: str | None = None
    while True:
        said = served.post("list", **values, **({"cursor": cursor} if cursor else {}))
        assert said.status == 200, said.body
        yield [each["id"] for each in said.value["memories"]]
        cursor = said.value.get("next_cursor")
        if cursor is None:
            return


def test_pages_hold_every_memory_once_in_the_order_of_the_list(long: Served) -> None:
    told = list(pages(long, limit=4))

    whole = [each.id for each in long.db.list(limit=100).memories]
    assert [len(each) for each in told] == [4] * 6 + [1]
    assert [each for page in told for each in page] == whole


def test_what_is_written_in_between_moves_no_page(long: Served) -> None:
    whole = [each.id for each in long.db.list(limit=100).memories]
    told = []

    for page in pages(long, limit=4):
        told += page
        long.db.add(f"A newer one beside {page[0]}", date="2026-02-01")
        long.db.forget(page[-1])
        long.db.forget(page[0])

    assert told == whole


def test_a_list_that_ends_gives_no_cursor(long: Served) -> None:
    assert "next_cursor" not in long.post("list", limit=25).value
    assert "next_cursor" not in long.post("list", limit=5, offset=20).value
    assert long.ask("GET", "/api/v1/list?limit=24").value["next_cursor"]


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "é",
        "W10",
        "bnVsbA",
        base64.urlsafe_b64encode(b'["2026-01-01T00:00:00",1,""]').decode(),
        base64.urlsafe_b64encode(b'["0001-01-01T00:00:00+14:00",1,""]').decode(),
    ],
)
def test_what_is_no_cursor_is_refused(long: Served, cursor: str) -> None:
    said = long.post("list", cursor=cursor)

    assert (said.status, said.code) == (400, "bad_input")


def test_a_cursor_is_for_the_list_that_gave_it(long: Served) -> None:
    cursor = long.post("list", limit=3).value["next_cursor"]

    other, both, number = (
        long.post("list", limit=3, cursor=cursor, type=["decision"]),
        long.post("list", cursor=cursor, offset=3),
        long.post("list", cursor=7),
    )

    assert [each.code for each in (other, both, number)] == ["bad_input"] * 3
    assert long.post("list", limit=9, cursor=cursor).status == 200


def test_a_cursor_tells_nothing_that_is_remembered(long: Served) -> None:
    cursor = long.post("list", limit=3).value["next_cursor"]

    told = json.loads(base64.urlsafe_b64decode(cursor + "==="))

    assert [type(each) for each in told] == [str, int, str]
    assert "Memory" not in str(told)
