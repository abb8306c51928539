"""Vectors from an ONNX sentence model in a folder: onnxruntime and a tokenizer, no network, no torch."""

import os
import threading
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

from msgspec import Struct

from recollect.arguments import storable
from recollect.embedders.contract import Span
from recollect.embedders.manifest import Manifest, damaged_model, read_manifest, require, with_checksums, wrong_files
from recollect.embedders.passages import batches, cut, knows
from recollect.embedders.scale import scale_of
from recollect.errors import ModelError
from recollect.vectors import Vector

ROOM: Final = 1024
"""Pieces in one batch: more is no faster on a CPU, takes more memory and makes a query wait longer."""
MOST_TEXTS: Final = 64
"""Texts in one batch."""
WINDOW: Final = 2048
"""Texts tokenized and sorted at a time, so that memory does not grow with the number of texts."""
MOST_THREADS: Final = 4
_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")
_UNKNOWN: Final = ("[UNK]", "<unk>")
_KINDS: Final = {"tensor(int64)": "int64", "tensor(int32)": "int32"}


# --- any transformer: rerankers share this --------------------------------------------------


class Transformer(Struct, kw_only=True, weakref=True):
    """A loaded graph and its tokenizer."""

    numpy: Any
    session: Any
    tokenizer: Any
    inputs: Mapping[str, str]
    output: str
    padding: int

    def run(self, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]] = ()) -> tuple[Any, Any]:
        """Return what the graph gives for rows of piece ids, and the mask of the pieces that are no padding."""
        width = max(1, *map(len, ids))
        mask = self._filled([[1] * len(row) for row in ids], width)
        columns = (self._filled(ids, width, self.padding), mask, self._filled(types or [()] * len(ids), width))
        fill = dict(zip(_INPUTS, columns, strict=True))
        feed = {name: fill[name].astype(kind, copy=False) for name, kind in self.inputs.items()}
        (found,) = self.session.run([self.output], feed)
        return found, mask

    def _filled(self, rows: Sequence[Sequence[int]], width: int, padding: int = 0) -> Any:
        """Return *rows* as a matrix, each filled up to *width*."""
        filled = self.numpy.full((len(rows), width), padding, dtype=self.numpy.int64)
        for at, row in enumerate(rows):
            filled[at, : len(row)] = row
        return filled


def load_transformer(
    folder: Path, *, graph: str, tokenizer: str, output: str, threads: int, called: str, hint: str
) -> Transformer:
    """Load the graph and the tokenizer in *folder*; ModelError, with what the model is *called*, when it cannot be.

    The output is the first when *output* is blank.
    """
    numpy, onnxruntime, tokenizers = (require(name, by=called) for name in ("numpy", "onnxruntime", "tokenizers"))
    try:
        pieces = tokenizers.Tokenizer.from_file(str(folder / tokenizer))
        padding = (pieces.padding or {}).get("pad_id", 0)
        pieces.no_padding()
        pieces.no_truncation()
        session = onnxruntime.InferenceSession(
            str(folder / graph), _session_options(onnxruntime, threads), providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the drivers raise bare Exceptions
        raise ModelError(f"cannot load {called}: {one_line(error)}", hint=hint) from error
    outputs = [entry.name for entry in session.get_outputs()]
    if output and output not in outputs:
        raise ModelError(f"{called} has no output {output}", hint=f"it has: {', '.join(outputs)}")
    inputs = {entry.name: _KINDS.get(entry.type, "") for entry in session.get_inputs()}
    strange = sorted(name for name, kind in inputs.items() if name not in _INPUTS or not kind)
    if strange or "input_ids" not in inputs:
        raise ModelError(
            f"{called} wants other inputs than known: {', '.join(strange or inputs)}",
            hint="export it with input_ids and attention_mask",
        )
    return Transformer(
        numpy=numpy, session=session, tokenizer=pieces, inputs=inputs, output=output or outputs[0], padding=padding
    )


def _session_options(onnxruntime: Any, threads: int) -> Any:
    """Bound what the runtime takes: threads sleep between runs, and memory is as much as one batch needs.

    The arena keeps what the largest batch took, and ROOM bounds that; patterns would be kept for every shape.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = True
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def default_threads() -> int:
    """Return how many threads a run may use: the cores this process may use, four at most."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, MOST_THREADS)


def one_line(error: Exception) -> str:
    """Return what *error* says on one line."""
    return " ".join(str(error).split())


# --- the embedder ---------------------------------------------------------------------------


class OnnxEmbedder:
    """Embed with the model in *folder*, as its `model.toml` says.

    All embedders of a process that name the same folder and number of threads share one session,
    which any number of threads may use at the same time.
    """

    scale = cached_property(scale_of)

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        manifest = read_manifest(folder)
        for problem in wrong_files(folder, manifest, look="size"):
            raise damaged_model(manifest.name, problem)
        self._manifest = with_checksums(folder, manifest)
        self._loaded: Transformer | None = _shared(folder, self._manifest, threads or default_threads())
        self.fingerprint: Final = self._manifest.fingerprint
        self.dimensions: Final = manifest.dimensions

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to be found, in the order given."""
        return self._embed(texts, self._manifest.passage_prefix)

    def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to find by, in the order given."""
        return self._embed(texts, self._manifest.query_prefix)

    def count_pieces(self, text: str) -> int:
        """Count the word pieces of *text* as a passage, the special ones too."""
        return self._frame() + len(self._pieces(text))

    def passages(self, text: str, *, most: int | None = None) -> list[Span]:
        """Cut *text* into passages of at most *most* word pieces, the special ones counted."""
        room = min(most or self._manifest.max_pieces, self._manifest.max_pieces) - self._frame()
        return list(self._cut(text, 0, max(1, room)))

    def covers(self, text: str) -> bool:
        """Say whether little enough of *text* is in scripts the model is weak on."""
        return knows(text, weak_on=self._manifest.weak_on)

    def knows_word(self, word: str) -> bool:
        """Say whether the tokenizer has *word* as one piece."""
        pieces = self._open().tokenizer.encode(storable(word), add_special_tokens=False).tokens
        return len(pieces) == 1 and pieces[0] not in _UNKNOWN

    def close(self) -> None:
        """Close the session; the last embedder that shares it frees its memory."""
        self._loaded = None

    def _open(self) -> Transformer:
        if self._loaded is None:
            raise ModelError(f"the embedder {self._manifest.name} is closed", hint="open it again")
        return self._loaded

    def _embed(self, texts: Sequence[str], prefix: str) -> list[Vector]:
        found: list[Vector] = []
        self._open()
        for start in range(0, len(texts), WINDOW):
            found += self._embed_window([prefix + storable(text) for text in texts[start : start + WINDOW]])
        return found

    def _embed_window(self, texts: Sequence[str]) -> list[Vector]:
        encode = self._open().tokenizer.encode
        # One by one: the tokenizer's own batches start a thread pool that no setting of ours bounds.
        rows = [encode(text).ids for text in texts]
        found: list[Vector] = [array("f")] * len(rows)
        for group in batches([len(row) for row in rows], room=ROOM, most=MOST_TEXTS):
            for at, vector in zip(group, self._run([rows[at] for at in group]), strict=True):
                found[at] = array("f", vector.tobytes())
        return found

    def _run(self, rows: Sequence[Sequence[int]]) -> Any:
        """Return one float32 row for each of *rows* of piece ids."""
        loaded = self._open()
        try:
            hidden, mask = loaded.run(rows)
        except Exception as error:  # the driver raises bare Exceptions
            raise ModelError(
                f"the model {self._manifest.name} failed: {one_line(error)}",
                hint="is max_pieces in its model.toml more than it can take?",
            ) from error
        return _pooled(loaded.numpy, hidden, mask, self._manifest)

    def _frame(self) -> int:
        """Count the pieces that stand around every passage: the special ones and the prefix."""
        special = int(self._open().tokenizer.num_special_tokens_to_add(False))
        return special + len(self._pieces(self._manifest.passage_prefix))

    def _pieces(self, text: str) -> list[Span]:
        """Return where the word pieces of *text* are, all of them: the tokenizer keeps what it cuts off."""
        whole = self._open().tokenizer.encode(storable(text), add_special_tokens=False)
        return [span for part in (whole, *whole.overflowing) for span in part.offsets]

    def _cut(self, text: str, start: int, room: int) -> Iterator[Span]:
        """Cut, and cut again what became longer because a word was cut in its middle."""
        for begin, end in cut(text, self._pieces(text), most=room):
            if room > 1 and len(self._pieces(text[begin:end])) > room:
                yield from self._cut(text[begin:end], start + begin, room // 2)
            else:
                yield start + begin, start + end


def _pooled(numpy: Any, hidden: Any, mask: Any, manifest: Manifest) -> Any:
    """Pool what the graph did not pool, and make each row of length one."""
    rows = _POOL[manifest.pooling](hidden, mask) if hidden.ndim == 3 else hidden
    rows = rows[:, : manifest.dimensions] if manifest.matryoshka else rows
    if rows.ndim != 2 or rows.shape[1] != manifest.dimensions:
        raise ModelError(
            f"the model {manifest.name} gives {rows.shape[-1]} dimensions, its model.toml says {manifest.dimensions}",
            hint="set dimensions, pooling and output in model.toml to what the graph gives",
        )
    rows = numpy.asarray(rows, dtype=numpy.float32)
    if manifest.normalise:
        length = numpy.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / numpy.where(length == 0.0, 1.0, length)
    return numpy.ascontiguousarray(rows, dtype=numpy.float32)


def _mean(hidden: Any, mask: Any) -> Any:
    weights = mask[:, :, None].astype(hidden.dtype)
    return (hidden * weights).sum(axis=1) / weights.sum(axis=1).clip(min=1)


_POOL: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "mean": _mean,
    "cls": lambda hidden, _: hidden[:, 0],
    "none": lambda hidden, _: hidden,
}

_transformers: Final[WeakValueDictionary[tuple[object, ...], Transformer]] = WeakValueDictionary()
_lock: Final = threading.Lock()


def _shared(folder: Path, manifest: Manifest, threads: int) -> Transformer:
    """Return the one transformer of this process for this model; a forked child makes its own."""
    files = (manifest.files[name].sha256 for name in manifest.needed)
    key = (os.getpid(), folder.resolve(), threads, manifest.max_pieces, manifest.output, *files)
    with _lock:
        loaded = _transformers.get(key)
        if loaded is None:
            loaded = _load(folder, manifest, threads)
            loaded.tokenizer.enable_truncation(manifest.max_pieces)
            _transformers[key] = loaded
        return loaded


def _load(folder: Path, manifest: Manifest, threads: int) -> Transformer:
    """Load the model in *folder*; one that cannot be loaded is called damaged if its bytes are not what they were."""
    try:
        return load_transformer(
            folder,
            graph=manifest.graph,
            tokenizer=manifest.tokenizer,
            output=manifest.output,
            threads=threads,
            called=f"the model {manifest.name}",
            hint="install it again",
        )
    except ModelError as error:
        for problem in wrong_files(folder, manifest, look="sha256"):
            raise damaged_model(manifest.name, problem) from error
        raise
