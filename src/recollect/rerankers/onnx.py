"""Scores from an ONNX cross-encoder in a folder: onnxruntime and a tokenizer, no network, no torch."""

import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from recollect.arguments import storable
from recollect.embedders.manifest import is_inside
from recollect.embedders.onnx import MOST_TEXTS, ROOM, Transformer, default_threads, load_transformer, one_line
from recollect.embedders.passages import batches
from recollect.errors import ModelError

FILE: Final = "reranker.toml"
USUAL: Final = 512
"""How many pieces a model takes when its folder does not say; few take less, and more is slow."""
FEWEST: Final = 16


class RerankerManifest(Struct, frozen=True, kw_only=True):
    """Where the parts of a cross-encoder are; `max_pieces` counts question, text and what stands around them."""

    max_pieces: int = USUAL
    graph: str = "model.onnx"
    tokenizer: str = "tokenizer.json"
    output: str = ""
    """Which output is the score; the first when blank."""


def read_manifest(folder: Path) -> RerankerManifest:
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
    manifest = RerankerManifest(**told)
    for name in (manifest.graph, manifest.tokenizer):
        if not (folder / name).is_file():
            raise ModelError(f"the reranker in {folder} lacks {name}", hint=f"put the file there, or name it in {FILE}")
    return manifest


def fingerprint(folder: Path, manifest: RerankerManifest) -> str:
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


_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "max_pieces": lambda value: type(value) is int and value >= FEWEST,
    "graph": is_inside,
    "tokenizer": is_inside,
    "output": lambda value: isinstance(value, str),
}


class OnnxReranker:
    """Score with the cross-encoder in *folder*: `model.onnx`, `tokenizer.json`, and `reranker.toml` if it needs one.

    It is tried with one pair at once, so that a model of another kind is refused here and not in a search.
    Any number of threads may use it at the same time.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self._folder = folder
        self._manifest = read_manifest(folder)
        self._loaded: Transformer | None = load_transformer(
            folder,
            graph=self._manifest.graph,
            tokenizer=self._manifest.tokenizer,
            output=self._manifest.output,
            threads=threads or default_threads(),
            called=f"the reranker in {folder}",
            hint="export the model to ONNX again",
        )
        self.score("question", ["text"])

    @cached_property
    def fingerprint(self) -> str:
        """Name what the scores depend on."""
        return fingerprint(self._folder, self._manifest)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers *query*, between 0 and 1, in the order given.

        A question may take half the room; of a text that does not fit beside it the end is cut off.
        """
        if self._loaded is None:
            raise ModelError(f"the reranker {self._folder.name} is closed", hint="open it again")
        try:
            return _scores(self._loaded, storable(query), [storable(text) for text in texts], self._manifest.max_pieces)
        except ModelError:
            raise
        except Exception as error:  # the drivers raise bare Exceptions
            raise ModelError(
                f"the reranker {self._folder.name} failed: {one_line(error)}",
                hint=f"does it take {self._manifest.max_pieces} pieces? {FILE} may say max_pieces",
            ) from error

    def close(self) -> None:
        """Close the session and free its memory."""
        self._loaded = None


def _scores(loaded: Transformer, query: str, texts: Sequence[str], most: int) -> list[float]:
    """Return the score of each text, in the order given."""
    pairs = _pairs(loaded.tokenizer, query, texts, most)
    found = [0.0] * len(pairs)
    for group in batches([len(pair.ids) for pair in pairs], room=ROOM, most=MOST_TEXTS):
        logits, _ = loaded.run([pairs[at].ids for at in group], [pairs[at].type_ids for at in group])
        for at, score in zip(group, _between(loaded.numpy, logits, len(group)), strict=True):
            found[at] = score
    return found


def _pairs(tokenizer: Any, query: str, texts: Sequence[str], most: int) -> list[Any]:
    """Return question and text as pieces, at most so many; only the text is cut unless the question is huge."""
    asked = _beginning(tokenizer, query, most // 2)
    room = most - len(asked.ids) - tokenizer.num_special_tokens_to_add(True)
    # One by one: the tokenizer's own batches start a thread pool that no setting of ours bounds.
    return [tokenizer.post_process(asked, _beginning(tokenizer, text, max(1, room))) for text in texts]


def _beginning(tokenizer: Any, text: str, most: int) -> Any:
    """Return the first *most* pieces of *text*."""
    whole = tokenizer.encode(text, add_special_tokens=False)
    if len(whole.ids) <= most:
        return whole
    # The tokenizer keeps what it cuts off and would pair all of it: so the text is cut first, the pieces after.
    begun = tokenizer.encode(text[: whole.offsets[most - 1][1]], add_special_tokens=False)
    begun.truncate(most)
    return begun


def _between(numpy: Any, logits: Any, count: int) -> list[float]:
    """Return one number between 0 and 1 for each pair: the sigmoid of its logit, or of how far "yes" leads "no"."""
    if logits.shape not in {(count,), (count, 1), (count, 2)}:
        shape = " x ".join(map(str, logits.shape))
        raise ModelError(
            f"the reranker gives {shape} numbers for {count} pairs",
            hint=f"it must give one logit a pair, or two (no, yes); {FILE} may name another output",
        )
    rows = numpy.asarray(logits, dtype=numpy.float64).reshape(count, -1)
    lead = rows[:, 0] if rows.shape[1] == 1 else rows[:, 1] - rows[:, 0]
    if numpy.isnan(lead).any():
        raise ModelError("the reranker gives something that is no number", hint="export it again, in float32")
    # The sigmoid, in a form that does not overflow.
    return [float(score) for score in 0.5 * (1.0 + numpy.tanh(lead / 2.0))]
