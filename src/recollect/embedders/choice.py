"""The models of a recollection: loaded when first needed, and never before."""

from pathlib import Path
from typing import Final

from recollect.embedders.contract import Embedder
from recollect.embedders.manifest import place_of
from recollect.errors import ModelError


class Models:
    """The embedding model in use, and others by name."""

    def __init__(self, *, name: str = "none", folder: Path | None = None, key: str = "") -> None:
        self.name = name
        self._folder = folder or Path()
        self._key = key
        self._loaded: dict[str, Embedder | None] = {}

    def current(self) -> Embedder | None:
        """Return the model in use, or nothing when there is none."""
        return self.named(self.name)

    def named(self, name: str) -> Embedder | None:
        """Return the model *name*, or nothing when it cannot be had here."""
        if name == "none":
            return None
        if name not in self._loaded:
            try:
                self._loaded[name] = self._load(name) if self._may_be_had(name) else None
            except ModelError:
                self._loaded[name] = None
        return self._loaded[name]

    def _may_be_had(self, name: str) -> bool:
        """Return whether *name* is built in, a server or a folder that is here: a search by words asks no more."""
        return name == "hashing" or "://" in name or place_of(name, self._folder) is not None

    def required(self) -> Embedder:
        """Return the model in use; say what is missing when it cannot be had."""
        if self.name == "none":
            raise ModelError("no embedding model is chosen", hint="open the store with --model minilm")
        loaded = self.current()
        return self._load(self.name) if loaded is None else loaded

    def _load(self, name: str) -> Embedder:
        from recollect.embedders.cached import CachedEmbedder  # noqa: PLC0415  (a search by words needs none of it)

        if "://" in name:
            from recollect.embedders.remote import RemoteEmbedder, read_remote  # noqa: PLC0415

            return CachedEmbedder(RemoteEmbedder(read_remote(name, key=self._key)))
        from recollect.embedders.models import load  # noqa: PLC0415

        return CachedEmbedder(load(name, self._folder))

    def close(self) -> None:
        """Let go of every model."""
        for embedder in self._loaded.values():
            if embedder is not None:
                embedder.close()
        self._loaded = {}


NO_MODELS: Final = Models()
