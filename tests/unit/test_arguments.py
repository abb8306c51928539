"""What a caller gives is checked at the door: by its declared type, in one line, whatever it is."""

import asyncio
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import recollect
from kit import NOON
from recollect import Filter, InputError, Memory, RecollectError, Recollection, aio
from recollect.arguments import checked, storable
from recollect.recall.lens import Lens
from recollect.records import Recall
from recollect.remember.formats.values import clean
from recollect.stores.change import logged

HALF = "half \ud800 a character"
EARLY = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


async def _awaited(opening: aio.Opening) -> None:
    await opening


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Recollection]:
    with recollect.open(tmp_path / "notes.db", model="none") as opened:
        opened.add("The port is 5432")
        yield opened


@pytest.mark.parametrize(
    ("method", "args", "named", "said"),
    [
        ("search", (None,), {}, "search needs 'query'"),
        ("search", (b"port",), {}, "query cannot be b'port'"),
        ("search", ("port",), {"limit": "a"}, "limit cannot be 'a'"),
        ("search", ("port",), {"limit": 2**70}, "limit cannot be 1180591620717411303424"),
        ("search", ("port",), {"limit": 1.5}, "limit cannot be 1.5"),
        ("search", ("port",), {"since": 5}, "since cannot be 5"),
        ("search", ("port",), {"since": "nonsense"}, "since: 'nonsense' is not a date"),
        ("search", ("port",), {"on": date.max}, "on: 9999-12-31 is not a date"),
        ("search", ("port",), {"as_of": EARLY}, "as_of cannot be datetime"),
        ("search", ("port",), {"type": 7}, "type cannot be 7"),
        ("search", ("port",), {"colour": "red"}, "search got an unexpected keyword argument 'colour'"),
        ("search", ("port",), {"alpha": math.nan}, "alpha cannot be nan"),
        ("search", ("port",), {"alpha": "half"}, "alpha cannot be 'half'"),
        ("search", ("port",), {"mode": "magic"}, "mode cannot be 'magic'"),
        ("search", ("port",), {"where": {"types": ["note"]}}, "where cannot be {'types': ['note']}"),
        ("search", ("port",), {"session": 7}, "session cannot be 7"),
        ("search", ("port",), {"embedding": ["a"]}, "embedding cannot be ['a']"),
        ("search", (), {}, "search missing 1 required positional argument: 'query'"),
        ("add", ("text",), {"date": "nonsense"}, "date: 'nonsense' is not a date"),
        ("add", ("text",), {"date": 7}, "date cannot be 7"),
        ("add", ("text",), {"colour": "red"}, "add got an unexpected keyword argument 'colour'"),
        ("add", ("text",), {"line": 2**70}, "line cannot be 1180591620717411303424"),
        ("add", ("text",), {"confidence": math.nan}, "confidence cannot be nan"),
        ("add", ("text",), {"tags": 7}, "tags cannot be 7"),
        ("add", ("text",), {"tags": ["a", 7]}, "tags cannot be ['a', 7]"),
        ("add", ("text",), {"trust": "king"}, "trust cannot be 'king'"),
        ("add", ("text",), {"pinned": "yes"}, "pinned cannot be 'yes'"),
        ("add", ("text",), {"observed_at": EARLY}, "observed_at cannot be datetime"),
        ("add", ("text",), {"metadata": nested(5_000)}, "the metadata nests deeper than 100"),
        ("add", ("text",), {"metadata": {"n": 10**5_000}}, "metadata cannot hold a int"),
        ("add", ("text",), {"metadata": ["a"]}, "'a' is not KEY=VALUE"),
        ("add_all", (["text"],), {}, "drafts cannot be 'text'"),
        ("show", ("1",), {}, "memory_id cannot be '1'"),
        ("show", (True,), {}, "memory_id cannot be True"),
        ("feedback", (1, "lol"), {}, "verdict cannot be 'lol'"),
        ("facts", (), {"type": 7}, "type cannot be 7"),
        ("facts", (), {"types": ("note",)}, "facts got an unexpected keyword argument 'types'"),
        ("stale", (), {"days": math.inf}, "days cannot be inf"),
        ("import_", (b"a.md",), {}, "paths cannot be b'a.md'"),
        ("import_", ("\ud800.md",), {}, "no file can be called"),
        ("tune", ("a\0b",), {}, "cannot read a\0b"),
    ],
)
def test_a_wrong_argument_is_refused_by_its_name(
    db: Recollection, method: str, args: tuple[Any, ...], named: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        getattr(db, method)(*args, **named)

    assert said in str(refused.value)
    assert refused.value.hint


def test_an_unknown_option_is_answered_with_the_known_ones(db: Recollection) -> None:
    with pytest.raises(InputError) as search:
        db.decisions("port", colour="red")
    with pytest.raises(InputError) as add:
        db.add("text", colour="red")

    assert "query" in search.value.hint
    assert {"limit", "where", "alpha", "session"} <= set(search.value.hint.replace(",", "").split())
    assert {"title", "tags", "observed_at", "path"} <= set(add.value.hint.replace(",", "").split())


def test_half_a_character_is_kept_as_one_that_nobody_knows(db: Recollection) -> None:
    db.lenses.keep(Lens(name=HALF, types=(HALF,)))
    db.search("port", session=HALF, lens=HALF)
    db.feedback(1, "used", session=HALF, query=HALF)
    db.add("a turn", thread=HALF, external_id=HALF, metadata={HALF: HALF})
    db.forget(1, reason=HALF)
    db.flush()

    assert [lens.name for lens in db.lenses.list()] == ["half \N{REPLACEMENT CHARACTER} a character"]
    assert len(db.log.recent(session=HALF)) == 1
    assert db.facts(subject=HALF) == ()
    assert db.show(1).events[-1].detail["reason"] == "half \N{REPLACEMENT CHARACTER} a character"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Filter(since="2026-05-04"),
        lambda: Filter(types="note"),
        lambda: Filter(as_of=EARLY),
        lambda: Lens(name=3),
        lambda: Lens(name="a", boosts={"type:a": "much"}),
        lambda: recollect.open(5),
        lambda: recollect.open(":memory:", profile=5),
        lambda: recollect.open(":memory:", colour="red"),
        lambda: asyncio.run(_awaited(aio.open(":memory:", project=b"a"))),
    ],
)
def test_what_is_made_for_a_call_is_checked_when_it_is_made(make: Any) -> None:
    with pytest.raises(RecollectError):
        make()


def test_lists_and_numbers_of_other_kinds_are_taken_as_declared() -> None:
    class Five:
        def __index__(self) -> int:
            return 5

    @checked
    def take(number: int, share: float, names: tuple[str, ...]) -> tuple[Any, ...]:
        return number, share, names

    assert take(Five(), 1, ["a", "b"]) == (5, 1.0, ("a", "b"))  # type: ignore[arg-type]
    assert Filter(since=datetime(2026, 5, 4)).since == datetime(2026, 5, 4, tzinfo=UTC)  # noqa: DTZ001
    assert Memory(content="a").content == "a"


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b", "plain", "caf\u00e9"])
def test_every_way_in_keeps_the_same_of_a_text_that_no_file_can_carry(text: str) -> None:
    kept = storable(text)

    with recollect.open(":memory:", model="none") as db:
        row = db.add(f"x {text} y").id
        stored = db.show(row).memory.content

    assert stored == f"x {kept} y"
    assert clean(text) == kept
    assert logged(Recall(query=text, mode="keyword", outcome="none", at=NOON)).query == kept
