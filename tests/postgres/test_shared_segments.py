"""Segments made by one machine answer on another, as SQLite does; a machine without them answers alike."""

import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kit import EVEN, NOON, plain
from postgres_server import fresh_database
from recollect.records import ALL_PROJECTS, NO_FILTER, AnyOf, Forget, Insert, Memory, Word, WordQuery
from recollect.stores.postgres import open_postgres
from recollect.stores.sql import SqlStore
from recollect.stores.sqlite import open_sqlite

DOCUMENTS = 2_600
WORDS = [f"word{number}" for number in range(300)]


def texts(chance: random.Random) -> list[str]:
    return [" ".join(chance.choices(WORDS, k=12)) for _ in range(DOCUMENTS)]


def questions(chance: random.Random) -> list[WordQuery]:
    asked = [chance.choices(WORDS, k=4) for _ in range(20)]
    return [
        WordQuery(expression=AnyOf(parts=tuple(Word(text=each) for each in words)), weights=EVEN) for words in asked
    ]


def answers(store: SqlStore, asked: list[WordQuery]) -> list[object]:
    return [store.match_words(each, scope=ALL_PROJECTS, where=NO_FILTER, limit=10).top for each in asked]


@pytest.mark.req("E-01")
def test_what_one_machine_sealed_another_searches_with_the_same_answers_as_sqlite(tmp_path: Path) -> None:
    chance, address = random.Random(5), fresh_database()
    maker = open_postgres(address, plain, cache=tmp_path / "one")
    file = open_sqlite(tmp_path / "notes.db", plain)
    written = [Insert(memory=Memory(content=text)) for text in texts(chance)]
    for store in (maker, file):
        store.apply(written, at=NOON)
        store.settle()
        store.apply([Forget(id=7), *written[:3]], at=NOON)

    other = open_postgres(address, plain, cache=tmp_path / "two")
    bare = open_postgres(address, plain)
    asked = questions(chance)

    expected = answers(file, asked)
    assert [answers(each, asked) for each in (maker, other, bare)] == [expected] * 3
    with maker.engine.session() as session:
        named = {name for (name,) in session.rows("select name from segment")}
    assert named
    assert named == {each.name for each in next((tmp_path / "two").iterdir()).iterdir()}
    for each in (maker, other, bare, file):
        each.close()


def test_a_damaged_copy_is_passed_over_and_the_rows_answer(tmp_path: Path) -> None:
    chance, address = random.Random(6), fresh_database()
    maker = open_postgres(address, plain, cache=tmp_path / "one")
    maker.apply([Insert(memory=Memory(content=text)) for text in texts(chance)], at=NOON)
    asked = questions(chance)
    expected = answers(maker, asked)
    maker.settle()
    for each in (tmp_path / "one").rglob("arrays"):
        each.write_bytes(b"nothing")

    other = open_postgres(address, plain, cache=tmp_path / "one")

    assert answers(other, asked) == expected
    maker.close()
    other.close()


def names(store: SqlStore) -> set[str]:
    """Return the segments that all machines share."""
    with store.engine.session() as session:
        return {name for (name,) in session.rows("select name from segment")}


def test_a_damaged_copy_is_copied_again_and_all_other_machines_keep_the_segment(tmp_path: Path) -> None:
    chance, address = random.Random(6), fresh_database()
    maker = open_postgres(address, plain, cache=tmp_path / "one")
    maker.apply([Insert(memory=Memory(content=text)) for text in texts(chance)], at=NOON)
    maker.settle()
    before = names(maker)
    other = open_postgres(address, plain, cache=tmp_path / "two")
    answers(other, questions(chance))
    other.close()
    for each in (tmp_path / "two").rglob("arrays"):
        each.write_bytes(b"nothing")

    other = open_postgres(address, plain, cache=tmp_path / "two")
    answers(other, questions(chance))
    other.apply([Insert(memory=Memory(content="one more"))], at=NOON)

    assert before
    assert before <= names(other)
    assert other.check(deep=True) == ()
    maker.close()
    other.close()


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file of this process grow beyond a few bytes, as on a disk that is nearly full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_machine_whose_disk_is_full_answers_from_the_rows_and_drops_nothing_that_others_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chance, address = random.Random(7), fresh_database()
    maker = open_postgres(address, plain, cache=tmp_path / "one")
    maker.apply([Insert(memory=Memory(content=text)) for text in texts(chance)], at=NOON)
    maker.settle()
    asked, before = questions(chance), names(maker)
    expected = answers(maker, asked)
    other = open_postgres(address, plain, cache=tmp_path / "two")

    with full_disk():
        found = answers(other, asked)
        other.apply([Insert(memory=Memory(content="one more"))], at=NOON)
        other.settle()
        told = other.check(deep=False)

    assert found == expected
    assert before
    assert names(maker) == before
    assert "could not be copied" in caplog.text
    assert any("sealing the word index failed" in line for line in told)
    other.settle()
    assert other.check(deep=False) == ()
    maker.close()
    other.close()
