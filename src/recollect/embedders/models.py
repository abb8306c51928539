"""The models on this machine: which there are, whether they are whole, and how to use one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recollect.embedders.contract import Embedder
from recollect.embedders.hashing import HashingEmbedder
from recollect.embedders.install import install, problems
from recollect.embedders.manifest import FILE, RUN, catalogue, need_all, place_of, read_manifest, stamped, wrong_files
from recollect.embedders.onnx import OnnxEmbedder
from recollect.errors import ModelError

__all__ = ["Model", "default_folder", "install", "list_models", "load", "verify"]

BUILT_IN: Final[Mapping[str, Callable[[], Embedder]]] = {"hashing": HashingEmbedder}


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model by name: what it is, whether it can be used now, and what is wrong with it."""

    name: str
    about: str
    dimensions: int
    installed: bool
    fingerprint: str | None = None
    path: Path | None = None
    bytes: int = 0
    problem: str | None = None


def default_folder() -> Path:
    """Return where models live when nobody says otherwise."""
    from platformdirs import user_data_path  # noqa: PLC0415 - not needed where the folder is given

    return user_data_path("recollect", appauthor=False) / "models"


def list_models(folder: Path) -> tuple[Model, ...]:
    """Return every model that is built in, known or installed below *folder*, by name."""
    here = {path.parent.name for path in folder.glob(f"*/{FILE}") if not path.parent.name.startswith(".")}
    names = sorted({*BUILT_IN, *catalogue(), *here})
    return tuple(_built_in(name) if name in BUILT_IN else _describe(name, folder / name) for name in names)


def verify(name: str, folder: Path) -> tuple[str, ...]:
    """Read every byte of an installed model and say what is wrong, one line each; nothing when all is well."""
    if name in BUILT_IN:
        return ()
    known = catalogue().get(name)
    return problems(_place(name, folder), known.manifest if known else None)


def load(name: str, folder: Path, *, threads: int | None = None) -> Embedder:
    """Return the embedder *name*: one built in, one installed below *folder*, or a folder with a model."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    place = _place(name, folder)
    need_all(RUN)
    return OnnxEmbedder(place, threads=threads)


def _place(name: str, folder: Path) -> Path:
    """Return the folder of a model: *name* is its name below *folder*, or a path to it."""
    if (place := place_of(name, folder)) is not None:
        return place
    if name in catalogue():
        raise ModelError(f"the model {name} is not installed", hint=f"run: recollect model install {name}")
    raise ModelError(
        f"there is no model {name!r}",
        hint=f"known: {', '.join({**BUILT_IN, **catalogue()})}; or a folder with a {FILE}",
    )


def _built_in(name: str) -> Model:
    embedder = BUILT_IN[name]()
    about = "no model: shared words and spellings only"
    return Model(
        name=name, about=about, dimensions=embedder.dimensions, installed=True, fingerprint=embedder.fingerprint
    )


def _describe(name: str, place: Path) -> Model:
    known = catalogue().get(name)
    about = f"{known.title}: {known.about} ({known.licence})" if known else str(place)
    dimensions = known.manifest.dimensions if known else 0
    if not (place / FILE).is_file():
        return Model(name=name, about=about, dimensions=dimensions, installed=False)
    try:
        manifest = stamped(place, read_manifest(place))
    except ModelError as error:
        return Model(name=name, about=about, dimensions=dimensions, installed=False, path=place, problem=str(error))
    problems = wrong_files(place, manifest, look="size")
    return Model(
        name=name,
        about=about,
        dimensions=manifest.dimensions,
        installed=not problems,
        fingerprint=manifest.fingerprint,
        path=place,
        bytes=sum(stamp.bytes for stamp in manifest.files.values()),
        problem="; ".join(problems) or None,
    )
