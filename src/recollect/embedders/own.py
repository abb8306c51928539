"""A model that the program brings: a function from texts to vectors, or an object with two such methods."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from threading import Thread
from typing import Any, Final

from recollect.arguments import storable
from recollect.embedders import estimating
from recollect.embedders.contract import OwnModel, Vectors, expect
from recollect.embedders.scale import scale_of
from recollect.errors import ModelError
from recollect.vectors import Vector, unit, zero


class OwnEmbedder:
    """Embed with *model*. Its vectors may be of any length, and it need not take blank text."""

    scale = cached_property(scale_of)
    count_pieces = staticmethod(estimating.count_pieces)
    passages = staticmethod(estimating.passages)
    covers = staticmethod(estimating.covers)
    knows_word = staticmethod(estimating.knows_word)

    def __init__(self, model: OwnModel, name: str) -> None:
        self._name: Final = name
        both: Any = model
        self._passages: Callable[[Sequence[str]], Any] = getattr(both, "embed_passages", both)
        self._queries: Callable[[Sequence[str]], Any] = getattr(both, "embed_queries", both)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._width = 0

    @property
    def dimensions(self) -> int:
        """Say how many numbers each vector has; the model is asked once."""
        if not self._width:
            self._width = len(self._ask(self._passages, ["How long is a vector?"])[0])
        return self._width

    @property
    def fingerprint(self) -> str:
        """Name what the vectors depend on."""
        return f"{self._name}-{self.dimensions}"

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to be found."""
        return self._embed(self._passages, texts)

    def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to find by."""
        return self._embed(self._queries, texts)

    def close(self) -> None:
        """End the thread that an asynchronous model runs in."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._loop = None

    def _embed(self, ask: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> list[Vector]:
        told = [storable(text) for text in texts if text.strip()]
        made = iter(self._ask(ask, told) if told else ())
        return [next(made) if text.strip() else zero(self.dimensions) for text in texts]

    def _ask(self, ask: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> list[Vector]:
        try:
            answer = ask(texts)
            rows = self._awaited(answer) if isinstance(answer, Awaitable) else answer
            found = [unit(map(float, row)) for row in rows]
        except Exception as error:  # whatever the program's own code raises
            raise ModelError(
                f"the model {self._name} failed: {error!r}", hint="it must return a list of numbers for each text"
            ) from error
        if len(found) != len(texts):
            raise ModelError(
                f"the model {self._name} returned {len(found)} vectors for {len(texts)} texts",
                hint="it must return one for each, in the same order",
            )
        for vector in found:
            expect(vector, dimensions=self._width or len(vector))
        return found

    def _awaited(self, answer: Awaitable[Vectors]) -> Vectors:
        """Wait for an asynchronous answer, always in the same loop: connections belong to one."""

        async def wait() -> Vectors:
            return await answer

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            Thread(target=self._loop.run_forever, name="recollect-own-model", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(wait(), self._loop).result()
