"""How a model's cosines compare with those of others: measured once with texts of our own, and kept beside the models.

The cosines of unrelated texts are about 0 for one model and about 0.75 for another. Rules that compare a cosine with a
bound read it on one scale (`vectors.Scale`), that of all-MiniLM-L6-v2, for which the bounds were chosen.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from operator import mul
from pathlib import Path
from statistics import fmean, pstdev
from typing import Final

from msgspec import MsgspecError
from msgspec.json import decode, encode

from recollect.embedders.contract import Embedder
from recollect.files import write_private
from recollect.vectors import FAR, NEAR, RAW, Scale, Vector

KNOWN: Final[Mapping[str, Scale]] = {
    "minilm-mean-l2-256-9692accb7f68": RAW,
    "hashing-1-256": Scale(far=0.137, near=0.9, place=0.288, tells=False),
}
"""The scales of the models that this program knows, by fingerprint."""
FILE: Final = "scales-1.json"
"""Where those of others are kept, in the folder of the models; the number changes with how they are measured."""
DECIMALS: Final = 3
TELLING: Final = 4.0
"""A model whose near texts are fewer standard deviations than this from unrelated ones tells little."""
DOUBT: Final = 3
"""How much less the cosines of such a model differ on the scale: by this power of what is missing."""
SURE: Final = 0.9
"""From this cosine on such a model tells too: the texts are nearly the same."""
LEAST_APART: Final = 0.01
"""How far apart near and unrelated texts must be to measure anything."""


def scale_of(embedder: Embedder) -> Scale:
    """Return the scale of *embedder*, known or measured."""
    return KNOWN.get(embedder.fingerprint) or measure(embedder)


def measure(embedder: Embedder) -> Scale:
    """Return the scale of *embedder*, from a few dozen short texts."""
    things = tomllib.loads(files("recollect.embedders").joinpath("probes.toml").read_text("utf-8"))["thing"]
    notes, again, beside = (embedder.embed_passages([each[kind] for each in things]) for kind in _PASSAGES)
    asked = embedder.embed_queries([each["ask"] for each in things])
    unrelated = [*_unrelated(asked, notes), *_unrelated(again, notes)]
    related = [_cosine(*pair) for others in (asked, again, beside) for pair in zip(others, notes, strict=True)]
    far, apart, spread = fmean(unrelated), fmean(related) - fmean(unrelated), pstdev(unrelated)
    if apart <= LEAST_APART:  # it tells nothing
        return RAW
    near, place, tells = far + apart, NEAR, apart >= TELLING * spread
    if not tells:
        slope = (NEAR - FAR) / apart * (apart / (TELLING * spread)) ** DOUBT
        near, place = SURE, FAR + slope * (SURE - far)
    return Scale(far=round(far, DECIMALS), near=round(near, DECIMALS), place=round(place, DECIMALS), tells=tells)


_PASSAGES: Final = ("note", "again", "beside")


def _unrelated(some: Sequence[Vector], others: Sequence[Vector]) -> list[float]:
    return [_cosine(a, b) for at, a in enumerate(some) for place, b in enumerate(others) if place != at]


def _cosine(a: Vector, b: Vector) -> float:
    return math.fsum(map(mul, a, b))


# --- kept -----------------------------------------------------------------------------------


def kept(embedder: Embedder, folder: Path) -> Scale:
    """Return the scale of *embedder* that is kept in the *folder* of the models; measure and keep it the first time."""
    known = scales_in(folder)
    scale = known.get(embedder.fingerprint)
    if scale is None:
        scale = embedder.scale
        with suppress(OSError):  # where nothing can be written it is measured again
            write_private(folder / FILE, encode({**known, embedder.fingerprint: scale}).decode())
    return scale


def scales_in(folder: Path | None) -> Mapping[str, Scale]:
    """Return the scales that are known, or kept in the *folder* of the models, by fingerprint."""
    try:
        return {**decode((folder / FILE).read_bytes(), type=dict[str, Scale]), **KNOWN} if folder else KNOWN
    except (OSError, MsgspecError):  # none yet, or damaged
        return KNOWN
