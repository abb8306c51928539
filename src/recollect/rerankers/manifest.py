"""What a reranker's folder holds, and the file `reranker.toml` in it, for what is not as usual."""

import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from recollect.errors import ModelError

FILE: Final = "reranker.toml"
USUAL: Final = 512
"""How many pieces a model takes when its folder does not say; few take less, and more is slow."""
FEWEST: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Where the parts of a cross-encoder are; `max_pieces` counts question, text and what stands around them."""

    max_pieces: int = USUAL
    graph: str = "model.onnx"
    tokenizer: str = "tokenizer.json"
    output: str = ""
    """Which output is the score; the first when blank."""


def read_manifest(folder: Path) -> Manifest:
    """Return what *folder* says of itself; ModelError when a part is missing or a key makes no sense."""
    if not folder.is_dir():
        raise ModelError(
            f"there is no reranker at {folder}", hint="name a folder with model.onnx and tokenizer.json, or none"
        )
    told = {"max_pieces": min(USUAL, _places(folder)), **_told(folder)}
    for key, value in told.items():
        if key not in _FITS:
            raise ModelError(f"{folder / FILE} has an unknown key {key}", hint=f"it knows: {', '.join(_FITS)}")
        if not _FITS[key](value):
            raise ModelError(f"{folder / FILE} has a wrong value for {key}: {value!r}", hint="mend the file")
    manifest = Manifest(**told)
    for name in (manifest.graph, manifest.tokenizer):
        if not (folder / name).is_file():
            raise ModelError(f"the reranker in {folder} lacks {name}", hint=f"put the file there, or name it in {FILE}")
    return manifest


def fingerprint(folder: Path, manifest: Manifest) -> str:
    """Name what the scores depend on: the graph with its weights, the tokenizer, and how much is read."""
    graph = folder / manifest.graph
    digest = hashlib.sha256()
    for path in (*sorted(graph.parent.glob(f"{graph.name}*")), folder / manifest.tokenizer):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"{folder.name}-{manifest.max_pieces}-{digest.hexdigest()[:12]}"


def _told(folder: Path) -> Mapping[str, Any]:
    path = folder / FILE
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path}: {error}", hint="mend the file, or remove it") from error


def _places(folder: Path) -> int:
    """Return how many pieces the `config.json` that exporters write beside a graph allows."""
    try:
        places = json.loads((folder / "config.json").read_text("utf-8"))["max_position_embeddings"]
    except (OSError, ValueError, LookupError, TypeError):
        return USUAL
    return places if isinstance(places, int) and places >= FEWEST else USUAL


def _name(value: object) -> bool:
    """Say whether *value* names a file in the folder itself or below, and nowhere else."""
    return isinstance(value, str) and bool(value) and not Path(value).is_absolute() and ".." not in Path(value).parts


_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "max_pieces": lambda value: type(value) is int and value >= FEWEST,
    "graph": _name,
    "tokenizer": _name,
    "output": lambda value: isinstance(value, str),
}
