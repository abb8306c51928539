"""Vectors from an ONNX sentence model in a folder: onnxruntime and a tokenizer, no network, no torch."""

import os
import threading
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

from recollect.embedders.contract import Span
from recollect.embedders.manifest import Manifest, need, read_manifest, stamped, wrong_files
from recollect.embedders.passages import batches, clean, cut, knows
from recollect.errors import ModelError
from recollect.vectors import Vector

ROOM: Final = 1024
"""Pieces in one batch: more is no faster on a CPU, takes more memory and makes a query wait longer."""

WINDOW: Final = 2048
"""Texts tokenized and sorted at a time, so that memory does not grow with the number of texts."""

MOST_THREADS: Final = 4


class OnnxEmbedder:
    """Embed with the model in *folder*, as its `model.toml` says.

    All embedders of a process that name the same folder and number of threads share one session,
    which any number of threads may use at the same time.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        manifest = read_manifest(folder)
        for problem in wrong_files(folder, manifest, look="size"):
            raise ModelError(f"the model {manifest.name} is damaged: {problem}", hint="install it again")
        self._manifest = stamped(folder, manifest)
        self._engine: _Engine | None = _shared(folder, self._manifest, threads or default_threads())
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

    def close(self) -> None:
        """Let go of the session; the last embedder that shares it frees its memory."""
        self._engine = None

    def _embed(self, texts: Sequence[str], prefix: str) -> list[Vector]:
        engine, found = self._open(), []
        for start in range(0, len(texts), WINDOW):
            window = [prefix + clean(text) for text in texts[start : start + WINDOW]]
            found += engine.embed(window, self._manifest)
        return found

    def _open(self) -> "_Engine":
        if self._engine is None:
            raise ModelError(f"the embedder {self._manifest.name} is closed", hint="open it again")
        return self._engine

    def _frame(self) -> int:
        """Count the pieces that stand around every passage: the special ones and the prefix."""
        return int(self._open().tokenizer.num_special_tokens_to_add(False)) + len(
            self._pieces(self._manifest.passage_prefix)
        )

    def _pieces(self, text: str) -> list[Span]:
        """Return where the word pieces of *text* are, all of them: the tokenizer keeps what it cuts off."""
        whole = self._open().tokenizer.encode(clean(text), add_special_tokens=False)
        return [span for part in (whole, *whole.overflowing) for span in part.offsets]

    def _cut(self, text: str, start: int, room: int) -> Iterator[Span]:
        """Cut, and cut again what became longer because a word was cut in its middle."""
        for begin, end in cut(text, self._pieces(text), most=room):
            if room > 1 and len(self._pieces(text[begin:end])) > room:
                yield from self._cut(text[begin:end], start + begin, room // 2)
            else:
                yield start + begin, start + end


@dataclass(slots=True, weakref_slot=True)
class _Engine:
    """A loaded graph and its tokenizer."""

    session: Any
    tokenizer: Any
    inputs: dict[str, Any]
    output: str

    def embed(self, texts: Sequence[str], manifest: Manifest) -> list[Vector]:
        """Return the vector of each text, in the order given."""
        numpy = need("numpy")
        # One by one: the tokenizer's own batches start a thread pool that no setting of ours bounds.
        rows = [numpy.array(self.tokenizer.encode(text).ids, dtype=numpy.int64) for text in texts]
        found: list[Vector] = [array("f")] * len(rows)
        for group in batches([len(row) for row in rows], room=ROOM, most=64):
            vectors = self._run(numpy, [rows[at] for at in group], manifest)
            for at, vector in zip(group, vectors, strict=True):
                found[at] = array("f", vector.tobytes())
        return found

    def _run(self, numpy: Any, rows: Sequence[Any], manifest: Manifest) -> Any:
        """Return one float32 row for each of *rows* of piece ids."""
        ids = numpy.zeros((len(rows), max(1, *map(len, rows))), dtype=numpy.int64)
        mask = numpy.zeros_like(ids)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
            mask[at, : len(row)] = 1
        fill = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
        feed = {name: fill[name].astype(kind, copy=False) for name, kind in self.inputs.items()}
        try:
            (hidden,) = self.session.run([self.output], feed)
        except Exception as error:  # the driver raises bare Exceptions
            raise ModelError(
                f"the model {manifest.name} failed: {error}",
                hint="is max_pieces in its model.toml more than it can take?",
            ) from error
        return _finish(numpy, hidden, mask, manifest)


def _finish(numpy: Any, hidden: Any, mask: Any, manifest: Manifest) -> Any:
    """Pool what the graph did not pool, and make each row of length one."""
    rows = _POOL[manifest.pooling](hidden, mask) if hidden.ndim == 3 else hidden
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

_engines: Final[WeakValueDictionary[tuple[object, ...], _Engine]] = WeakValueDictionary()
_lock: Final = threading.Lock()


def _shared(folder: Path, manifest: Manifest, threads: int) -> _Engine:
    """Return the one engine of this process for this model; a forked child makes its own."""
    files = (manifest.files[name].sha256 for name in manifest.needed)
    key = (os.getpid(), folder.resolve(), threads, manifest.max_pieces, manifest.output, *files)
    with _lock:
        engine = _engines.get(key)
        if engine is None:
            engine = _engines[key] = _load(folder, manifest, threads)
        return engine


def _load(folder: Path, manifest: Manifest, threads: int) -> _Engine:
    need("numpy")
    onnxruntime, tokenizers = need("onnxruntime"), need("tokenizers")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / manifest.tokenizer))
        tokenizer.no_padding()
        tokenizer.enable_truncation(manifest.max_pieces)
        session = onnxruntime.InferenceSession(
            str(folder / manifest.graph), session_options(onnxruntime, threads), providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the drivers raise bare Exceptions
        raise ModelError(f"cannot load the model {manifest.name}: {error}", hint="install it again") from error
    outputs = [entry.name for entry in session.get_outputs()]
    if manifest.output and manifest.output not in outputs:
        raise ModelError(
            f"the model {manifest.name} has no output {manifest.output}", hint=f"it has: {', '.join(outputs)}"
        )
    return _Engine(session, tokenizer, _inputs(session, manifest), manifest.output or outputs[0])


def session_options(onnxruntime: Any, threads: int) -> Any:
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


def _inputs(session: Any, manifest: Manifest) -> dict[str, Any]:
    """Return the inputs the graph wants and the kind of number of each."""
    kinds = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
    wanted = {entry.name: kinds.get(entry.type) for entry in session.get_inputs()}
    strange = sorted({*wanted} - {"input_ids", "attention_mask", "token_type_ids"})
    if strange or None in wanted.values():
        raise ModelError(
            f"the model {manifest.name} wants an input that is not known: {', '.join(strange or wanted)}",
            hint="export it as a sentence model with input_ids and attention_mask",
        )
    return dict(wanted)


def default_threads() -> int:
    """Return how many threads a run may use: the cores this process may use, four at most."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, MOST_THREADS)
