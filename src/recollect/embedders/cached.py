"""An embedder that remembers the questions it was asked, and may begin with one before it is asked for."""

import os
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from recollect.embedders.contract import Embedder, Span
from recollect.embedders.scale import kept
from recollect.vectors import Scale, Vector

if TYPE_CHECKING:  # few embedders work ahead
    from concurrent.futures import Future, ThreadPoolExecutor

MOST: Final = 512
"""How many questions are remembered."""


class CachedEmbedder:
    """Ask *inner*, and remember the vectors of questions; *ahead* says that a thread of its own may work ahead.

    Its scale is kept in the *folder* of the models, if one is given.
    """

    def __init__(self, inner: Embedder, *, folder: Path | None = None, ahead: bool = False) -> None:
        self._inner, self._folder, self._ahead = inner, folder, ahead
        self._thread: tuple[int, ThreadPoolExecutor] | None = None
        self._begun: dict[str, Future[None]] = {}
        self._lock = Lock()
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self.fingerprint: Final = inner.fingerprint
        self.dimensions: Final = inner.dimensions

    @cached_property
    def scale(self) -> Scale:
        """How its cosines compare with those of others."""
        return self._inner.scale if self._folder is None else kept(self._inner, self._folder)

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to be found."""
        return self._inner.embed_passages(texts)

    def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to find by, asking only for those not known."""
        for text in texts if self._begun else ():
            begun = self._begun.pop(text, None)
            if begun is not None:
                begun.result()
        with self._lock:
            known = {text: self._known[text] for text in texts if text in self._known}
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        known |= self._made(fresh) if fresh else {}
        return [known[text] for text in texts]

    def _made(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Ask for the vectors of *texts*, and remember them."""
        made = dict(zip(texts, self._inner.embed_queries(texts), strict=True))
        with self._lock:
            self._known |= made
            while len(self._known) > MOST:
                self._known.popitem(last=False)
        return made

    def begin(self, text: str) -> None:
        """Begin with the vector of a question, unless it is known; one at a time, so that searches do not wait."""
        if not self._ahead or text in self._known or any(not each.done() for each in tuple(self._begun.values())):
            return
        self._begun = {text: self._worker().submit(self._begin, text)}

    def _begin(self, text: str) -> None:
        self._made([text])

    def _worker(self) -> "ThreadPoolExecutor":
        """Return the thread; a copy of the process that a fork made starts its own."""
        if self._thread is None or self._thread[0] != os.getpid():
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

            self._thread = os.getpid(), ThreadPoolExecutor(max_workers=1, thread_name_prefix="recollect-embedder")
        return self._thread[1]

    def count_pieces(self, text: str) -> int:
        """Say how much of the model's room *text* takes."""
        return self._inner.count_pieces(text)

    def passages(self, text: str, *, most: int | None = None) -> list[Span]:
        """Cut *text* into passages."""
        return self._inner.passages(text, most=most)

    def covers(self, text: str) -> bool:
        """Say whether the model knows the script of *text*."""
        return self._inner.covers(text)

    def knows_word(self, word: str) -> bool:
        """Say whether *word* is a whole word of the model's vocabulary."""
        return self._inner.knows_word(word)

    def close(self) -> None:
        """Finish what was begun, close the model and forget the questions."""
        if self._thread is not None and self._thread[0] == os.getpid():
            self._thread[1].shutdown()
        self._thread, self._begun = None, {}
        self._inner.close()
        self._known.clear()
