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

from recollect.embedders.manifest import need
from recollect.errors import ModelError

_KINDS: Final = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}


def read_tensors(path: Path) -> dict[str, Any]:
    """Return every floating-point tensor in the file by name, as read-only float32 arrays."""
    numpy = need("numpy")
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
    onnx = need("onnx")
    tensors = read_tensors(weights)
    try:
        model = _model(onnx, tensors, heads, epsilon)
    except KeyError as error:
        raise ModelError(
            f"{weights.name} holds no BERT model: it lacks {error}", hint="is it the right file?"
        ) from error
    onnx.save(model, str(graph))


class _Sketch:
    """A graph in the making: every method adds to it and returns the name of what it added."""

    def __init__(self, onnx: Any, tensors: Mapping[str, Any]) -> None:
        self.onnx = onnx
        self.numpy = need("numpy")
        self.tensors = tensors
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(self.numpy.ascontiguousarray(value), name))
        return name

    def weight(self, name: str) -> str:
        return self.constant(self.tensors[name])

    def turned(self, name: str) -> str:
        """Add a weight matrix the way a product wants it: inputs down, outputs across."""
        return self.constant(self.tensors[name].T)

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], domain=domain, **attributes))
        return name


def _model(onnx: Any, tensors: Mapping[str, Any], heads: int, epsilon: float) -> Any:
    sketch = _Sketch(onnx, tensors)
    layers = sorted({int(found[1]) for name in tensors if (found := re.match(r"encoder\.layer\.(\d+)\.", name))})
    mask = sketch.node("Cast", "attention_mask", to=onnx.TensorProto.INT32)
    hidden = _embeddings(sketch, epsilon)
    for layer in layers:
        prefix = f"encoder.layer.{layer}"
        hidden = _attention(sketch, hidden, mask, f"{prefix}.attention", heads, epsilon)
        hidden = _feed_forward(sketch, hidden, prefix, epsilon)
    _pooled(sketch, hidden)
    width = tensors["embeddings.word_embeddings.weight"].shape[1]
    helper, kinds = onnx.helper, onnx.TensorProto
    inputs = [helper.make_tensor_value_info(name, kinds.INT64, ["texts", "pieces"]) for name in _INPUTS]
    output = helper.make_tensor_value_info("embedding", kinds.FLOAT, ["texts", width])
    graph = helper.make_graph(sketch.nodes, "sentence", inputs, [output], sketch.constants)
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=_IR, producer_name="recollect")


_INPUTS: Final = ("input_ids", "attention_mask")


def _embeddings(sketch: _Sketch, epsilon: float) -> str:
    """Add word, position and kind; every piece is of kind 0, so its row goes into the positions once."""
    tensors, numpy = sketch.tensors, sketch.numpy
    places = tensors["embeddings.position_embeddings.weight"] + tensors["embeddings.token_type_embeddings.weight"][0]
    zero = sketch.constant(numpy.array([0], dtype=numpy.int64))
    words = sketch.node("Gather", sketch.weight("embeddings.word_embeddings.weight"), "input_ids")
    length = sketch.node("Shape", "input_ids", start=1, end=2)
    both = sketch.node("Add", words, sketch.node("Slice", sketch.constant(places), zero, length, zero))
    scale, shift = (sketch.weight(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias"))
    return sketch.node("LayerNormalization", both, scale, shift, axis=-1, epsilon=epsilon)


def _attention(sketch: _Sketch, hidden: str, mask: str, prefix: str, heads: int, epsilon: float) -> str:
    parts = [f"{prefix}.self.{part}" for part in ("query", "key", "value")]
    weight = sketch.constant(sketch.numpy.concatenate([sketch.tensors[f"{part}.weight"].T for part in parts], axis=1))
    bias = sketch.constant(sketch.numpy.concatenate([sketch.tensors[f"{part}.bias"] for part in parts]))
    seen = sketch.node("Attention", hidden, weight, bias, mask, domain=_FUSED, num_heads=heads)
    return _joined(sketch, seen, hidden, f"{prefix}.output", epsilon)


def _feed_forward(sketch: _Sketch, hidden: str, prefix: str, epsilon: float) -> str:
    wide = sketch.node("MatMul", hidden, sketch.turned(f"{prefix}.intermediate.dense.weight"))
    wide = sketch.node("BiasGelu", wide, sketch.weight(f"{prefix}.intermediate.dense.bias"), domain=_FUSED)
    return _joined(sketch, wide, hidden, f"{prefix}.output", epsilon)


def _joined(sketch: _Sketch, new: str, old: str, prefix: str, epsilon: float) -> str:
    """Project *new*, add *old* and the bias, and normalise."""
    narrow = sketch.node("MatMul", new, sketch.turned(f"{prefix}.dense.weight"))
    scale, shift, bias = (
        sketch.weight(f"{prefix}.{part}") for part in ("LayerNorm.weight", "LayerNorm.bias", "dense.bias")
    )
    return sketch.node("SkipLayerNormalization", narrow, old, scale, shift, bias, domain=_FUSED, epsilon=epsilon)


def _pooled(sketch: _Sketch, hidden: str) -> None:
    """Sum over the pieces that count; the sum points where the mean points, and only that is kept."""
    numpy = sketch.numpy
    one = sketch.constant(numpy.array([1], dtype=numpy.int64))
    counted = sketch.node("Cast", "attention_mask", to=sketch.onnx.TensorProto.FLOAT)
    total = sketch.node("MatMul", sketch.node("Unsqueeze", counted, one), hidden)
    flat = sketch.node("Squeeze", total, one)
    norm = sketch.onnx.helper.make_node("LpNormalization", [flat], ["embedding"], axis=-1, p=2)
    sketch.nodes.append(norm)
