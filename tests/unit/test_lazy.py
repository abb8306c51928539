"""Types that threads first use at once, and bounded caches: none holds ten million characters or grows without end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.files import open_regular, read_at
from recollect.lazy import SHORT, Bounded, cache_short
from recollect.text import changes, questions
from recollect.text.analyser import informative_words
from recollect.text.snippet import CHUNKS_KEPT, QueryTerms, _finds


def test_a_bounded_mapping_drops_its_oldest_entries() -> None:
    held: Bounded[str, str] = Bounded(10, weigh=len)

    for name in "abcd":
        held[name] = "xxx"

    assert dict(held) == {"c": "xxx", "d": "xxx"}
    assert held.weight == 8


def test_what_weighs_more_than_the_limit_is_not_kept_and_drops_nothing() -> None:
    held: Bounded[str, str] = Bounded(10, weigh=len)
    held["a"] = "xxx"

    held["b"] = "x" * 11

    assert dict(held) == {"a": "xxx"}


def test_a_long_text_is_answered_and_not_kept() -> None:
    asked = []

    @cache_short(8)
    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    for text in ("a", "a", "b" * (SHORT + 1), "b" * (SHORT + 1)):
        assert count(text) == len(text)

    assert [len(text) for text in asked] == [1, SHORT + 1, SHORT + 1]


@pytest.mark.parametrize(
    "function",
    [
        changes.announces_change,
        changes.is_report,
        changes.is_uncertain,
        questions.question_words,
        questions.declines,
        informative_words,
    ],
)
def test_no_cache_of_texts_keeps_a_long_memory(function: object) -> None:
    kept = function.__closure__  # type: ignore[attr-defined]
    (cached,) = [cell.cell_contents for cell in kept if hasattr(cell.cell_contents, "cache_info")]
    before = cached.cache_info().currsize

    function("word " * SHORT)  # type: ignore[operator]

    assert cached.cache_info().currsize == before


def test_what_a_question_remembers_of_chunks_is_bounded() -> None:
    (finds,) = _finds(QueryTerms(stems=frozenset({"cat"}), tokens=frozenset(), prefixes=frozenset()), "")

    for number in range(CHUNKS_KEPT + 10):
        finds[f"w{number}"]

    assert len(finds) <= CHUNKS_KEPT


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match="not a file"):
        open_regular(tmp_path / "pipe")


def test_reading_at_a_place_ends_where_the_file_does(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    handle = open_regular(path)

    assert read_at(handle, 4, 2) == b"cdef"
    with pytest.raises(OSError, match="shorter"):
        read_at(handle, 5, 2)
    os.close(handle)


FIRST_USE = """
import sys, threading
from typing import Annotated
from msgspec import Meta, Struct
from recollect.lazy import convert

sys.setswitchinterval(1e-6)
fields = {f"name{n}": f"Annotated[str, Meta(min_length={n})] | None" for n in range(9)}
names = {"__annotations__": fields, "__module__": __name__, **dict.fromkeys(fields)}
kinds = [type(Struct)(f"Kind{n}", (Struct,), dict(names)) for n in range(3000)]
together = threading.Barrier(8)

def use():
    together.wait()
    for kind in kinds:
        assert convert({"name0": "x"}, kind).name0 == "x"

threads = [threading.Thread(target=use) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
"""


def test_threads_that_first_use_a_type_at_once_do_not_crash_the_process() -> None:
    assert subprocess.run([sys.executable, "-c", FIRST_USE], check=False).returncode == 0  # noqa: S603
