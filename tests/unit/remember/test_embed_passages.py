"""Which passages of a memory get a vector of their own."""

from collections.abc import Sequence

import pytest

from recollect.embedders.hashing import HashingEmbedder
from recollect.records import Memory
from recollect.remember.embed import PASSAGE, SHORT, SPOKEN_FOR, embed_memories
from recollect.vectors import Vector, matrix, pack

MANY_THINGS = (
    "Parking behind transformer, visitors need slips signed. Painter wants 3500 for damp kitchen wall, shade linen. "
    "Rangoli colours stay inside shoe box above geyser. Grandmother takes tablets after breakfast every Wednesday. "
    "Ishaan's school bus leaves seven sharp, corner shop. Lawyer meeting ninth March about contractor's deposit. "
    "Cricket behind block C, never against pump house. Misal: sprouted matki, kanda lasun masala, farsan, lemon. "
    "Electricity bill autopay from Kiran's account, 14th monthly. Roof keys with Mrs Joshi until evening."
)
ONE_THING = "The boat leaves the harbour at nine and returns to the harbour at noon. " * 8


class Noting(HashingEmbedder):
    """Hashed vectors, and the texts they were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += texts
        return super().embed_passages(texts)


def test_a_note_of_many_things_has_a_vector_of_the_whole_and_of_each_passage_that_says_something_else() -> None:
    memory = Memory(content=MANY_THINGS)

    (made,) = embed_memories([memory], HashingEmbedder())

    first, *others = made.passages
    assert (first.start, first.stop) == (0, len(MANY_THINGS))
    assert len(others) > 1
    assert all(MANY_THINGS[each.start : each.stop].endswith(".") for each in others)


def test_the_vector_of_a_passage_lies_midway_between_its_own_and_that_of_the_whole() -> None:
    embedder = HashingEmbedder()

    (made,) = embed_memories([Memory(content=MANY_THINGS)], embedder)

    whole, passage = made.passages[:2]
    (alone,) = embedder.embed_passages([MANY_THINGS[passage.start : passage.stop]])
    near = matrix([whole.vector, pack(alone)], dimensions=embedder.dimensions).products(passage.vector, [0, 1])
    assert near[0] == pytest.approx(near[1], abs=1e-6)
    assert near[0] > SPOKEN_FOR


def test_a_text_of_one_thing_has_one_vector() -> None:
    (made,) = embed_memories([Memory(content=ONE_THING)], HashingEmbedder())

    assert [(each.start, each.stop) for each in made.passages] == [(0, len(ONE_THING.rstrip()))]


def test_a_short_memory_is_not_cut() -> None:
    text = "Tea. Milk. Bread. Salt. " * 8

    (made,) = embed_memories([Memory(content=text[:SHORT])], HashingEmbedder())

    assert len(made.passages) == 1


def test_each_passage_is_read_with_the_title_above_it() -> None:
    embedder = Noting()

    assert embedder.scale
    embedder.asked.clear()

    embed_memories([Memory(title="Home", content=MANY_THINGS)], embedder)

    assert len(embedder.asked) > 2
    assert all(text.startswith("Home\n") for text in embedder.asked)


def test_a_title_longer_than_a_passage_leaves_the_whole_alone() -> None:
    (made,) = embed_memories([Memory(title="word " * PASSAGE, content=MANY_THINGS)], HashingEmbedder())

    assert all(after.start == before.stop + 1 for before, after in zip(made.passages, made.passages[1:], strict=False))
