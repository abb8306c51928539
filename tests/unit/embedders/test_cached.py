"""An embedder that remembers questions, and works ahead."""

import threading
from collections.abc import Sequence

import pytest

from recollect.embedders.cached import CachedEmbedder
from recollect.embedders.hashing import HashingEmbedder
from recollect.errors import ModelError
from recollect.vectors import Vector


class Noting(HashingEmbedder):
    """An embedder that notes what it is asked, and by which thread."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, str]] = []

    def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += [(text, threading.current_thread().name) for text in texts]
        if "bad" in texts:
            raise ModelError("no", hint="none")
        return super().embed_queries(texts)


def test_a_question_that_was_begun_is_made_once_by_another_thread() -> None:
    inner = Noting()
    embedder = CachedEmbedder(inner, ahead=True)

    embedder.begin("one")
    found = embedder.embed_queries(["one"])
    embedder.begin("one")
    again = embedder.embed_queries(["one"])
    embedder.close()

    assert found == again == HashingEmbedder().embed_queries(["one"])
    assert [text for text, _ in inner.asked] == ["one"]
    assert inner.asked[0][1] != threading.current_thread().name


def test_without_leave_nothing_is_begun() -> None:
    inner = Noting()
    embedder = CachedEmbedder(inner)

    embedder.begin("one")
    embedder.embed_queries(["one"])

    assert inner.asked == [("one", threading.current_thread().name)]


def test_what_fails_ahead_fails_when_it_is_asked_for() -> None:
    embedder = CachedEmbedder(Noting(), ahead=True)
    embedder.begin("bad")

    with pytest.raises(ModelError):
        embedder.embed_queries(["bad"])
    embedder.close()
