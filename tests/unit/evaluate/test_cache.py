"""Vectors are made once and read back from their file."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from recollect.embedders.hashing import HashingEmbedder
from recollect.errors import InputError
from recollect.evaluate.cache import DiskCachedEmbedder
from recollect.vectors import Vector


class Noting(HashingEmbedder):
    """Notes every text that it embeds."""

    def __init__(self, passages: list[str], queries: list[str]) -> None:
        super().__init__()
        self.made, self.asked = passages, queries

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        self.made.extend(texts)
        return super().embed_passages(texts)

    def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        self.asked.extend(texts)
        return super().embed_passages(texts)


def test_vectors_are_read_back_and_made_once(tmp_path: Path) -> None:
    made: list[str] = []
    first = DiskCachedEmbedder(Noting(made, []), tmp_path)
    vectors = first.embed_passages(["one", "two", "one"])
    first.close()

    again = DiskCachedEmbedder(Noting(made, []), tmp_path)
    found = again.embed_passages(["two", "one", "three"])
    again.close()

    assert found[:2] == [vectors[1], vectors[0]]
    assert made == ["one", "two", "three"]


def test_a_text_to_find_and_the_same_text_to_find_by_are_kept_apart(tmp_path: Path) -> None:
    made: list[str] = []
    asked: list[str] = []
    embedder = DiskCachedEmbedder(Noting(made, asked), tmp_path)

    embedder.embed_passages(["one"])
    embedder.embed_queries(["one", "one"])
    embedder.close()

    assert (made, asked) == (["one"], ["one"])


def test_another_model_has_a_file_of_its_own(tmp_path: Path) -> None:
    for dimensions in (8, 16):
        embedder = DiskCachedEmbedder(HashingEmbedder(dimensions=dimensions), tmp_path)
        (vector,) = embedder.embed_passages(["one"])
        embedder.close()
        assert len(vector) == dimensions

    assert len(list(tmp_path.glob("*.vectors"))) == 2


def test_a_folder_that_cannot_keep_vectors_is_refused(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")

    with pytest.raises(InputError, match="cannot keep vectors in"):
        DiskCachedEmbedder(HashingEmbedder(), taken)
