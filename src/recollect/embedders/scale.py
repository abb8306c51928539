"""How a model's cosines compare with those of others: measured once with texts of our own, and kept beside the models.

The cosines of unrelated texts are about 0 for one model and about 0.75 for another. Rules that compare a cosine with a
bound read it on one scale (`vectors.Scale`), that of all-MiniLM-L6-v2, for which the bounds were chosen.
"""

import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from importlib.resources import files
from operator import mul
from pathlib import Path
from statistics import fmean, pstdev
from typing import Final

from recollect.embedders.contract import Embedder
from recollect.files import write_private
from recollect.vectors import RAW, Scale, Vector

REFERENCE: Final = "minilm-mean-l2-256-9692accb7f68"
"""The model whose cosines are the scale."""
FILE: Final = "scales.json"
"""Where the scales of models are kept, by fingerprint, in the folder of the models."""
DECIMALS: Final = 3
import os
POWER=float(os.environ.get("POWER","2"))
TELLING: Final = 4.0
"""A model whose near texts are fewer standard deviations than this from unrelated ones tells little."""


class Measured:
    """Gives an embedder its scale, measured when it is first asked for."""

    @cached_property
    def scale(self: Embedder) -> Scale:
        """How its cosines compare with those of others."""
        return RAW if self.fingerprint == REFERENCE else measure(self)


def measure(embedder: Embedder) -> Scale:
    """Return the scale of *embedder*, from five dozen short texts."""
    things = tomllib.loads(files("recollect.embedders").joinpath("probes.toml").read_text("utf-8"))["thing"]
    kinds = ("note", "again", "beside")
    made = iter(embedder.embed_passages([thing[kind] for kind in kinds for thing in things]))
    notes, again, beside = ([next(made) for _ in things] for _ in kinds)
    asked = embedder.embed_queries([thing["ask"] for thing in things])
    unrelated = [*_unrelated(asked, notes), *_unrelated(again, notes)]
    related = [_cosine(*pair) for others in (asked, again, beside) for pair in zip(others, notes, strict=True)]
    far, near, spread = fmean(unrelated), fmean(related), pstdev(unrelated)
    if near <= far:  # it tells nothing: a constant, or noise
        return RAW
    apart = (near - far) * max(1.0, TELLING * spread / (near - far)) ** POWER
    return Scale(far=round(far, DECIMALS), near=round(far + apart, DECIMALS))


def kept(embedder: "Embedder", folder: Path) -> Scale:
    """Return the scale of *embedder* as the folder of the models keeps it; measure and keep it the first time."""
    if embedder.fingerprint == REFERENCE:
        return RAW
    path = folder / FILE
    known: dict[str, list[float]] = {}
    with suppress(OSError, ValueError):
        known = json.loads(path.read_text("utf-8"))
        far, near = known[embedder.fingerprint]
        return Scale(far=far, near=near)
    scale = embedder.scale
    with suppress(OSError):  # where nothing can be written it is measured again
        write_private(path, json.dumps({**known, embedder.fingerprint: [scale.far, scale.near]}, indent=1))
    return scale


def _unrelated(some: Sequence[Vector], others: Sequence[Vector]) -> Iterator[float]:
    pairs = ((a, b) for at, a in enumerate(some) for place, b in enumerate(others) if place != at)
    return (_cosine(a, b) for a, b in pairs)


def _cosine(a: Vector, b: Vector) -> float:
    return sum(map(mul, a, b))
