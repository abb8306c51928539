"""Scores from an ONNX cross-encoder in a folder: onnxruntime and a tokenizer, no network, no torch."""

import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from recollect.embedders.onnx import ROOM, default_threads, session_options
from recollect.embedders.passages import batches, clean
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


_KINDS: Final = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")


class OnnxReranker:
    """Score with the cross-encoder in *folder*: `model.onnx`, `tokenizer.json`, and `reranker.toml` if it needs one.

    It is tried with one pair at once, so that a model of another kind is refused here and not in a search.
    Any number of threads may use it at the same time.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self._folder = folder
        self._manifest = read_manifest(folder)
        self._engine: _Engine | None = _load(folder, self._manifest, threads or default_threads())
        self.score("question", ["text"])

    @cached_property
    def fingerprint(self) -> str:
        """Name what the scores depend on."""
        return fingerprint(self._folder, self._manifest)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers *query*, between 0 and 1, in the order given.

        A question may take half the room; of a text that does not fit beside it the end is cut off.
        """
        if self._engine is None:
            raise ModelError(f"the reranker {self._folder.name} is closed", hint="open it again")
        try:
            return self._engine.score(clean(query), [clean(text) for text in texts], self._manifest.max_pieces)
        except ModelError:
            raise
        except Exception as error:  # the drivers raise bare Exceptions
            raise ModelError(
                f"the reranker {self._folder.name} failed: {_line(error)}",
                hint=f"does it take {self._manifest.max_pieces} pieces? {FILE} may say max_pieces",
            ) from error

    def close(self) -> None:
        """Let go of the session and its memory."""
        self._engine = None


@dataclass(slots=True)
class _Engine:
    """A loaded graph and its tokenizer."""

    numpy: Any
    session: Any
    tokenizer: Any
    inputs: dict[str, str]
    output: str
    padding: int

    def score(self, query: str, texts: Sequence[str], most: int) -> list[float]:
        """Return the score of each text, in the order given."""
        pairs = self._pairs(query, texts, most)
        found = [0.0] * len(pairs)
        for group in batches([len(pair.ids) for pair in pairs], room=ROOM, most=64):
            for at, score in zip(group, self._run([pairs[at] for at in group]), strict=True):
                found[at] = score
        return found

    def _pairs(self, query: str, texts: Sequence[str], most: int) -> list[Any]:
        """Return question and text as pieces, at most so many; only the text is cut unless the question is huge."""
        asked = self._begun(query, most // 2)
        room = most - len(asked.ids) - self.tokenizer.num_special_tokens_to_add(True)
        # One by one: the tokenizer's own batches start a thread pool that no setting of ours bounds.
        return [self.tokenizer.post_process(asked, self._begun(text, max(1, room))) for text in texts]

    def _begun(self, text: str, most: int) -> Any:
        """Return the first *most* pieces of *text*."""
        whole = self.tokenizer.encode(text, add_special_tokens=False)
        if len(whole.ids) <= most:
            return whole
        # The tokenizer keeps what it cuts off and would pair all of it: so the text is cut first, the pieces after.
        begun = self.tokenizer.encode(text[: whole.offsets[most - 1][1]], add_special_tokens=False)
        begun.truncate(most)
        return begun

    def _run(self, pairs: Sequence[Any]) -> list[float]:
        numpy = self.numpy
        ids = numpy.full((len(pairs), max(1, *(len(pair.ids) for pair in pairs))), self.padding, dtype=numpy.int64)
        mask, types = numpy.zeros_like(ids), numpy.zeros_like(ids)
        for at, pair in enumerate(pairs):
            length = len(pair.ids)
            ids[at, :length], mask[at, :length], types[at, :length] = pair.ids, 1, pair.type_ids
        fill = dict(zip(_INPUTS, (ids, mask, types), strict=True))
        feed = {name: fill[name].astype(kind, copy=False) for name, kind in self.inputs.items()}
        (logits,) = self.session.run([self.output], feed)
        return _between(numpy, logits, len(pairs))


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


def _load(folder: Path, manifest: Manifest, threads: int) -> _Engine:
    numpy, onnxruntime, tokenizers = (_need(library) for library in ("numpy", "onnxruntime", "tokenizers"))
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / manifest.tokenizer))
        padding = (tokenizer.padding or {}).get("pad_id", 0)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        session = onnxruntime.InferenceSession(
            str(folder / manifest.graph), session_options(onnxruntime, threads), providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the drivers raise bare Exceptions
        raise ModelError(
            f"cannot load the reranker in {folder}: {_line(error)}", hint="export the model to ONNX again"
        ) from error
    outputs = [entry.name for entry in session.get_outputs()]
    if manifest.output and manifest.output not in outputs:
        raise ModelError(
            f"the reranker in {folder} has no output {manifest.output}", hint=f"it has: {', '.join(outputs)}"
        )
    return _Engine(numpy, session, tokenizer, _inputs(session, folder), manifest.output or outputs[0], padding)


def _inputs(session: Any, folder: Path) -> dict[str, str]:
    """Return the inputs the graph wants and the kind of number of each."""
    wanted = {entry.name: _KINDS.get(entry.type, "") for entry in session.get_inputs()}
    strange = sorted(name for name, kind in wanted.items() if name not in _INPUTS or not kind)
    if strange or "input_ids" not in wanted:
        raise ModelError(
            f"the reranker in {folder} wants other inputs than known: {', '.join(strange or wanted)}",
            hint="export it for sequence classification, with input_ids and attention_mask",
        )
    return wanted


def _need(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError as error:
        raise ModelError(
            f"the reranker needs the library {library}, which is not installed",
            hint='run: pip install "recollect[model]"',
        ) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
