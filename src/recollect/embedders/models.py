"""The models of a recollection: loaded when first needed and never before, fetched when first written with."""

import os
from collections.abc import Callable, Hashable
from contextlib import suppress
from copy import copy
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recollect.embedders.contract import Embedder, OwnModel
from recollect.errors import InputError, ModelError, RecollectError
from recollect.records import Progress
from recollect.vectors import RAW, Scale

if TYPE_CHECKING:  # few ask a server, and a search by words no model
    from recollect.embedders.cached import CachedEmbedder
    from recollect.embedders.remote import Breaker

FILE: Final = "model.toml"
"""What a folder with a model describes itself in."""
HASHING: Final = "hashing"
"""The embedder that is built in."""


class Models:
    """The embedding model in use, and others by name.

    *fetch* is what installs the model in use when it is first needed; `install.fetch_missing` unless told. *own* is a
    model that the program brings.
    """

    def __init__(
        self,
        *,
        name: str = "none",
        folder: Path | None = None,
        key: str = "",
        offline: bool = False,
        fetch: Callable[..., object] | None = None,
        own: OwnModel | None = None,
    ) -> None:
        self.name = name if own is None else name_of(own)
        self._own = own
        self.progress: Progress | None = None
        """Who is told how far a fetch is, unless the writer says."""
        self._folder, self._scales, self._key = folder or Path(), folder, key
        self.offline, self._fetch = offline, fetch
        self._loaded: dict[str, CachedEmbedder] = {}
        self._missing: dict[str, Hashable] = {}
        """Models that could not be had, with the stamp of their place at that time."""
        self._error: ModelError | None = None
        self._breaker: Breaker | None = None
        self.failure: RecollectError | None = None
        """What went wrong when the model in use was last written with."""

    @property
    def notice(self) -> str:
        """Why the model in use could not be had or failed when it was needed, in one line; blank when all is well."""
        error = self._error or (self._breaker.error if self._breaker else None) or self.failure
        return f"by words alone: {error} ({error.hint})" if error else ""

    def current(self) -> Embedder | None:
        """Return the model in use, or nothing when there is none."""
        return self.named(self.name)

    def begin(self, text: str) -> None:
        """Begin to make the vector of a question that the model in use will be asked for."""
        loaded = self._loaded.get(self.name)
        if loaded is not None:
            loaded.begin(text)

    def named(self, name: str) -> Embedder | None:
        """Return the model *name*, or nothing when it cannot be had here; nothing is ever fetched for it."""
        if name == "none":
            return None
        loaded = self._loaded.get(name)
        return loaded if loaded is not None else self._looked_for(name)

    def scale(self, fingerprint: str) -> Scale:
        """Return the scale of the vectors with this fingerprint; as they are, where nothing is known of them."""
        loaded = next((each for each in self._loaded.values() if each.fingerprint == fingerprint), None)
        if loaded is not None:
            with suppress(ModelError):
                return loaded.scale
        from recollect.embedders.scale import scales_in  # noqa: PLC0415  (most compare no vectors)

        return scales_in(self._scales).get(fingerprint, RAW)

    @property
    def state(self) -> Hashable:
        """Where the model in use is: changes when it is installed, replaced or removed. Nothing is loaded for it."""
        return self._stamp(self.name)

    def ready(self, *, now: datetime, progress: Progress | None = None) -> Embedder | None:
        """Return the model in use to write with, or nothing; a known one that is not here is installed first.

        What went wrong is tried once and no more; `notice` says what it was.
        """
        if self.name != "none" and self.current() is None and self._error is None:
            try:
                self._install(now, progress or self.progress)
            except ModelError as error:
                self._error = error
        return self.current()

    def required(self) -> Embedder:
        """Return the model in use; say what is missing when it cannot be had."""
        if self.name == "none":
            raise ModelError("no embedding model is chosen", hint="open the store with --model minilm")
        loaded = self.current()
        if loaded is None and self._error is not None:
            raise self._error
        return self._load(self.name) if loaded is None else loaded

    def lent(self) -> "Models":
        """Return these models for one command of many: what is loaded is shared, what goes wrong is its own."""
        view = copy(self)
        view._error = view.failure = view.progress = None  # noqa: SLF001
        return view

    def close(self) -> None:
        """Close every model."""
        for embedder in self._loaded.values():
            embedder.close()
        self._loaded, self._missing = {}, {}

    def _looked_for(self, name: str) -> Embedder | None:
        """Load the model *name*, unless its place is as it was when that failed last."""
        stamp = self._stamp(name)
        if name in self._missing and self._missing[name] == stamp:
            return None
        loaded = self._if_here(name)
        if loaded is None:
            self._missing[name] = stamp
            return None
        if name == self.name:
            self._error = None
        return self._loaded.setdefault(name, loaded)

    def _stamp(self, name: str) -> Hashable:
        """Return what changes when a model is put into the place of *name*, or taken away."""
        place = None if name in ("none", HASHING) or "://" in name else find_model(name, self._folder)
        try:
            about = place and place.stat()
        except OSError:  # it was removed meanwhile
            about = None
        return name, about and (about.st_ino, about.st_mtime_ns)

    def _if_here(self, name: str) -> "CachedEmbedder | None":
        """Return the model *name*; a search by words pays for a look at one folder and no more."""
        brought = self._own is not None and name == self.name
        if not brought and name != HASHING and "://" not in name and find_model(name, self._folder) is None:
            return None
        try:
            return self._load(name)
        except ModelError as error:
            if name == self.name:
                self._error = error
            return None

    def _install(self, now: datetime, progress: Progress | None) -> None:
        from recollect.embedders.install import fetch_missing  # noqa: PLC0415  (most commands find their model)

        fetch = self._fetch or fetch_missing
        fetch(self.name, self._folder, now=now, offline=self.offline, progress=progress)

    def _load(self, name: str) -> "CachedEmbedder":
        from recollect.embedders.cached import CachedEmbedder  # noqa: PLC0415  (a search by words needs none of it)

        if self._own is not None and name == self.name:
            from recollect.embedders.own import OwnEmbedder  # noqa: PLC0415

            return CachedEmbedder(OwnEmbedder(self._own, name), folder=self._scales, ahead=True)
        if "://" in name:
            from recollect.embedders.remote import Breaker, RemoteEmbedder, read_remote  # noqa: PLC0415

            breaker = Breaker()
            self._breaker = breaker if name == self.name else self._breaker
            inner = RemoteEmbedder(read_remote(name, key=self._key), breaker)
            return CachedEmbedder(inner, folder=self._scales, ahead=True)
        # What computes here gains nothing by another thread.
        return CachedEmbedder(load(name, self._folder), folder=self._scales)


def name_of(own: OwnModel) -> str:
    """Return what tells a program's own model from others: its fingerprint, or the name of the function."""
    name = getattr(own, "fingerprint", None) or getattr(own, "__qualname__", "")
    if not isinstance(name, str) or not name or "<lambda>" in name:
        raise InputError(
            "the model has no name to tell its vectors from those of others",
            hint="give a function made with def, or an object with a fingerprint",
        )
    return f"own-{name}"


NO_MODELS: Final = Models()


def find_model(name: str, folder: Path) -> Path | None:
    """Return the folder of a model: *name* is its name below *folder*, or a path to it; nothing when it is not here."""
    # A bare name never means a folder that happens to lie where the program was started.
    places = [folder / name, *([Path(name).expanduser()] if {"/", os.sep} & set(name) else [])]
    return next((place for place in places if place.is_dir()), None)


def load(name: str, folder: Path, *, threads: int | None = None) -> Embedder:
    """Return the embedder *name*: one built in, one installed below *folder*, or a folder with a model."""
    if name == HASHING:
        from recollect.embedders.hashing import HashingEmbedder  # noqa: PLC0415

        return HashingEmbedder()
    from recollect.embedders.manifest import catalogue, damaged_model, missing_model  # noqa: PLC0415
    from recollect.embedders.onnx import OnnxEmbedder  # noqa: PLC0415

    place = find_model(name, folder)
    if place is None:
        raise missing_model(name)
    if name in catalogue() and not (place / FILE).is_file():
        raise damaged_model(name, f"{FILE} is missing")
    return OnnxEmbedder(place, threads=threads)
