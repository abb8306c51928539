"""A model that a program brings: functions and objects, synchronous or not, and what they may do wrong."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import recollect
from recollect.embedders.hashing import HashingEmbedder
from recollect.vectors import Vector

INNER = HashingEmbedder(dimensions=64)


def embed(texts: Sequence[str]) -> list[Vector]:
    return INNER.embed_passages(texts)


async def embed_slowly(texts: Sequence[str]) -> list[list[float]]:
    await asyncio.sleep(0)
    return [[3 * number for number in vector] for vector in INNER.embed_passages(texts)]


class Model:
    fingerprint = "harbour-2"

    def __init__(self) -> None:
        self.queries: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        assert all(text.strip() for text in texts)
        return INNER.embed_passages(texts)

    async def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        self.queries += texts
        return INNER.embed_queries(texts)


@pytest.mark.parametrize(
    ("model", "named"), [(embed, "own-embed"), (embed_slowly, "own-embed_slowly"), (Model(), "own-harbour-2")]
)
def test_a_store_is_searched_by_the_meaning_that_a_model_of_ones_own_gives(model: Any, named: str) -> None:
    with recollect.open(":memory:", model=model) as db:
        db.add("Bread needs flour and a warm place")
        db.add("The boat sails at noon from the old pier")
        db.add("\u200b", title=" ", external_id="blank")
        hits = db.search("sailing boats", mode="semantic").hits
        (made,) = db.generations()

    assert hits[0].id == 2
    assert (made.fingerprint, made.dimensions, made.model) == (f"{named}-64", 64, named)


def test_questions_are_asked_of_the_method_for_questions() -> None:
    model = Model()
    with recollect.open(":memory:", model=model) as db:
        db.add("The boat sails at noon")
        db.search("when does the boat sail")

    assert "when does the boat sail" in model.queries
    assert isinstance(model, recollect.EmbeddingModel)


def test_an_asynchronous_model_works_within_a_running_loop() -> None:
    async def work() -> list[int]:
        async with recollect.aio.open(":memory:", model=embed_slowly) as db:
            await db.add("The boat sails at noon")
            return [hit.id for hit in (await db.search("a boat at noon", mode="semantic")).hits]

    assert asyncio.run(work()) == [1]


def raises(_: Sequence[str]) -> list[Vector]:
    raise RuntimeError("no more memory")


def numbers(texts: Sequence[str]) -> list[float]:
    return [0.5 for _ in texts]


def too_few(texts: Sequence[str]) -> list[Vector]:
    return embed(texts)[:1]


def uneven(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0] * len(text) for text in texts]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (raises, "own-raises failed: RuntimeError('no more memory')"),
        (numbers, "own-numbers failed: TypeError"),
        (too_few, "own-too_few returned 1 vectors for "),
        (uneven, "dimensions where 21 were expected"),
    ],
)
def test_what_a_model_does_wrong_is_said_and_words_answer(model: Callable[..., Any], said: str) -> None:
    with recollect.open(":memory:", model=model) as db:
        db.add("The boat sails at noon. " * 30)
        reply = db.search("boat")
        notice = db.models.notice

    assert [hit.id for hit in reply.hits] == [1]
    assert said in notice


@pytest.mark.parametrize("model", [lambda texts: texts, 3, object()])
def test_a_model_without_a_name_or_that_is_none_is_refused(model: Any) -> None:
    with pytest.raises(recollect.InputError, match="model"):
        recollect.open(":memory:", model=model)
