"""The reranker of a recollection: none unless a folder is named, loaded when first needed."""

from pathlib import Path
from threading import Lock
from typing import Final

from recollect.rerankers.contract import Reranker

NONE: Final = ("", "none")
"""What turns reranking off."""


class Rerankers:
    """The cross-encoder in a folder, or none."""

    def __init__(self, folder: str = "") -> None:
        self.folder = folder
        self._loaded: Reranker | None = None
        self._lock = Lock()

    def current(self) -> Reranker | None:
        """Return the reranker, or nothing when none is named; ModelError when the named one cannot be had."""
        if self.folder in NONE:
            return None
        with self._lock:
            if self._loaded is None:
                from recollect.rerankers.onnx import OnnxReranker  # noqa: PLC0415  (most searches need none of it)

                self._loaded = OnnxReranker(Path(self.folder).expanduser())
            return self._loaded

    def close(self) -> None:
        """Let go of the reranker."""
        with self._lock:
            if self._loaded is not None:
                self._loaded.close()
            self._loaded = None


NO_RERANKER: Final = Rerankers()
