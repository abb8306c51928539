"""Build the ONNX graph of a BERT sentence model straight from its weights, without torch or the onnx package.

Post-norm BERT with gelu, mean pooling and L2 norm in the graph. The fused operators of onnxruntime
(Attention, SkipLayerNormalization, BiasGelu) give the same vectors as plain ones to 3e-7.
"""

import json
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from recollect.embedders.manifest import require
from recollect.errors import ModelError

_KINDS: Final = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}


def read_tensors(path: Path) -> dict[str, Any]:
    """Return every floating-point tensor in the file by name, as read-only float32 arrays."""
    numpy = require("numpy")
    try:
        raw = path.read_bytes()
        (size,) = struct.unpack_from("<Q", raw)
        header = json.loads(raw[8 : 8 + size])
        body = memoryview(raw)[8 + size :]
        return {
            name: numpy.frombuffer(body[slice(*entry["data_offsets"])], dtype=_KINDS[entry["dtype"]])
            .reshape(entry["shape"])
            .astype("<f4", copy=False)
            for name, entry in header.items()
            if entry.get("dtype") in _KINDS
        }
    except (OSError, struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"cannot read the weights in {path.name}: {error}", hint="fetch the file again") from error


_FUSED: Final = "com.microsoft"
_OPSET: Final = 17
_IR_VERSION: Final = 8
"""The oldest formats that hold every operator we use, so that older runtimes read the graph too."""
_INPUTS: Final = ("input_ids", "attention_mask")
_FLOAT, _INT32, _INT64 = 1, 6, 7
"""Element types of an ONNX tensor."""


def convert(weights: Path, graph: Path, *, heads: int, epsilon: float) -> None:
    """Write to *graph* the model whose *weights* are in a safetensors file."""
    tensors = read_tensors(weights)
    try:
        model = _model(tensors, heads, epsilon)
    except KeyError as error:
        raise ModelError(
            f"{weights.name} holds no BERT model: it lacks {error}", hint="is it the right file?"
        ) from error
    graph.write_bytes(model)


# --- ONNX is protocol buffers: a message is a row of fields, each a key and a number or a length and bytes ------


def _varint(value: int) -> bytes:
    """Encode an integer, 7 bits a byte; negative numbers as 64-bit two's complement."""
    value &= (1 << 64) - 1
    low = bytearray()
    while value > 0x7F:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*low, value))


def _field(number: int, value: float | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _message(*fields: tuple[int, float | str | bytes]) -> bytes:
    return b"".join(_field(number, value) for number, value in fields)


def _tensor(name: str, value: Any) -> bytes:
    kind = _INT64 if value.dtype.kind == "i" else _FLOAT
    return _message(*((1, int(size)) for size in value.shape), (2, kind), (8, name), (9, value.tobytes()))


def _attribute(name: str, value: float) -> bytes:
    return (
        _message((1, name), (2, value), (20, 1))
        if isinstance(value, float)
        else _message((1, name), (3, value), (20, 2))
    )


def _node(kind: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: float) -> bytes:
    names = ((1, name) for name in inputs)
    settings = ((5, _attribute(name, value)) for name, value in attributes.items())
    return _message(*names, (2, output), (4, kind), *settings, (7, domain))


def _typed_value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = _message(*((1, _message((1 if isinstance(size, int) else 2, size))) for size in shape))
    return _message((1, name), (2, _message((1, _message((1, kind), (2, sizes))))))


class _Graph:
    """A graph under construction: every method adds to it and returns the name of what it added."""

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self.numpy = require("numpy")
        self.tensors = tensors
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(_tensor(name, value))
        return name

    def weight(self, name: str) -> str:
        return self.constant(self.tensors[name])

    def transposed(self, name: str) -> str:
        """Add a weight matrix as a product takes it: inputs down, outputs across."""
        return self.constant(self.tensors[name].T)

    def node(self, kind: str, *inputs: str, domain: str = "", output: str = "", **attributes: float) -> str:
        name = output or f"n{len(self.nodes)}"
        self.nodes.append(_node(kind, inputs, name, domain, **attributes))
        return name


def _model(tensors: Mapping[str, Any], heads: int, epsilon: float) -> bytes:
    graph = _Graph(tensors)
    layers = sorted({int(found[1]) for name in tensors if (found := re.match(r"encoder\.layer\.(\d+)\.", name))})
    mask = graph.node("Cast", "attention_mask", to=_INT32)
    hidden = _embeddings(graph, epsilon)
    for layer in layers:
        prefix = f"encoder.layer.{layer}"
        hidden = _attention(graph, hidden, mask, f"{prefix}.attention", heads, epsilon)
        hidden = _feed_forward(graph, hidden, prefix, epsilon)
    _pooled(graph, hidden)
    width = tensors["embeddings.word_embeddings.weight"].shape[1]
    made = _message(
        *((1, node) for node in graph.nodes),
        (2, "sentence"),
        *((5, constant) for constant in graph.constants),
        *((11, _typed_value(name, _INT64, ("texts", "pieces"))) for name in _INPUTS),
        (12, _typed_value("embedding", _FLOAT, ("texts", width))),
    )
    opsets = (_message((1, ""), (2, _OPSET)), _message((1, _FUSED), (2, 1)))
    return _message((1, _IR_VERSION), (2, "recollect"), (7, made), *((8, opset) for opset in opsets))


def _embeddings(graph: _Graph, epsilon: float) -> str:
    """Add word, position and kind; every piece is of kind 0, so its row goes into the positions once."""
    tensors, numpy = graph.tensors, graph.numpy
    places = tensors["embeddings.position_embeddings.weight"] + tensors["embeddings.token_type_embeddings.weight"][0]
    zero = graph.constant(numpy.array([0], dtype=numpy.int64))
    words = graph.node("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    length = graph.node("Shape", "input_ids", start=1, end=2)
    both = graph.node("Add", words, graph.node("Slice", graph.constant(places), zero, length, zero))
    scale, shift = (graph.weight(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias"))
    return graph.node("LayerNormalization", both, scale, shift, axis=-1, epsilon=epsilon)


def _attention(graph: _Graph, hidden: str, mask: str, prefix: str, heads: int, epsilon: float) -> str:
    parts = [f"{prefix}.self.{part}" for part in ("query", "key", "value")]
    weight = graph.constant(graph.numpy.concatenate([graph.tensors[f"{part}.weight"].T for part in parts], axis=1))
    bias = graph.constant(graph.numpy.concatenate([graph.tensors[f"{part}.bias"] for part in parts]))
    seen = graph.node("Attention", hidden, weight, bias, mask, domain=_FUSED, num_heads=heads)
    return _joined(graph, seen, hidden, f"{prefix}.output", epsilon)


def _feed_forward(graph: _Graph, hidden: str, prefix: str, epsilon: float) -> str:
    wide = graph.node("MatMul", hidden, graph.transposed(f"{prefix}.intermediate.dense.weight"))
    wide = graph.node("BiasGelu", wide, graph.weight(f"{prefix}.intermediate.dense.bias"), domain=_FUSED)
    return _joined(graph, wide, hidden, f"{prefix}.output", epsilon)


def _joined(graph: _Graph, new: str, old: str, prefix: str, epsilon: float) -> str:
    """Project *new*, add *old* and the bias, and normalise."""
    narrow = graph.node("MatMul", new, graph.transposed(f"{prefix}.dense.weight"))
    scale, shift, bias = (
        graph.weight(f"{prefix}.{part}") for part in ("LayerNorm.weight", "LayerNorm.bias", "dense.bias")
    )
    return graph.node("SkipLayerNormalization", narrow, old, scale, shift, bias, domain=_FUSED, epsilon=epsilon)


def _pooled(graph: _Graph, hidden: str) -> None:
    """Sum over the pieces that count; the sum points where the mean points, and only that is kept."""
    numpy = graph.numpy
    one = graph.constant(numpy.array([1], dtype=numpy.int64))
    counted = graph.node("Cast", "attention_mask", to=_FLOAT)
    total = graph.node("MatMul", graph.node("Unsqueeze", counted, one), hidden)
    flat = graph.node("Squeeze", total, one)
    graph.node("LpNormalization", flat, output="embedding", axis=-1, p=2)
