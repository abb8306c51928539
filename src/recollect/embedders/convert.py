"""Build the ONNX graph of a BERT sentence model straight from its weights, without torch.

Post-norm BERT with gelu, mean pooling and L2 norm in the graph. The fused operators of onnxruntime
(Attention, SkipLayerNormalization, BiasGelu) give the same vectors as plain ones to 3e-7.
"""

import json
import re
import struct
from collections.abc import Mapping
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
_IR: Final = 8
"""The oldest formats that hold all we use, so that older runtimes read the graph too."""


def convert(weights: Path, graph: Path, *, heads: int, epsilon: float) -> None:
    """Write to *graph* the model whose *weights* are in a safetensors file."""
    onnx = require("onnx")
    tensors = read_tensors(weights)
    try:
        model = _model(onnx, tensors, heads, epsilon)
    except KeyError as error:
        raise ModelError(
            f"{weights.name} holds no BERT model: it lacks {error}", hint="is it the right file?"
        ) from error
    onnx.save(model, str(graph))


class _Graph:
    """A graph that is being built: every method adds to it and returns the name of what it added."""

    def __init__(self, onnx: Any, tensors: Mapping[str, Any]) -> None:
        self.onnx = onnx
        self.numpy = require("numpy")
        self.tensors = tensors
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(self.numpy.ascontiguousarray(value), name))
        return name

    def weight(self, name: str) -> str:
        return self.constant(self.tensors[name])

    def transposed(self, name: str) -> str:
        """Add a weight matrix as a product takes it: inputs down, outputs across."""
        return self.constant(self.tensors[name].T)

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], domain=domain, **attributes))
        return name


def _model(onnx: Any, tensors: Mapping[str, Any], heads: int, epsilon: float) -> Any:
    graph = _Graph(onnx, tensors)
    layers = sorted({int(found[1]) for name in tensors if (found := re.match(r"encoder\.layer\.(\d+)\.", name))})
    mask = graph.node("Cast", "attention_mask", to=onnx.TensorProto.INT32)
    hidden = _embeddings(graph, epsilon)
    for layer in layers:
        prefix = f"encoder.layer.{layer}"
        hidden = _attention(graph, hidden, mask, f"{prefix}.attention", heads, epsilon)
        hidden = _feed_forward(graph, hidden, prefix, epsilon)
    _pooled(graph, hidden)
    width = tensors["embeddings.word_embeddings.weight"].shape[1]
    helper, kinds = onnx.helper, onnx.TensorProto
    inputs = [helper.make_tensor_value_info(name, kinds.INT64, ["texts", "pieces"]) for name in _INPUTS]
    output = helper.make_tensor_value_info("embedding", kinds.FLOAT, ["texts", width])
    made = helper.make_graph(graph.nodes, "sentence", inputs, [output], graph.constants)
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=_IR, producer_name="recollect")


_INPUTS: Final = ("input_ids", "attention_mask")


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
    counted = graph.node("Cast", "attention_mask", to=graph.onnx.TensorProto.FLOAT)
    total = graph.node("MatMul", graph.node("Unsqueeze", counted, one), hidden)
    flat = graph.node("Squeeze", total, one)
    norm = graph.onnx.helper.make_node("LpNormalization", [flat], ["embedding"], axis=-1, p=2)
    graph.nodes.append(norm)
