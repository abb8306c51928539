"""A cross-encoder small enough to compute by hand: its logit is 2 x the words that both texts hold - 3."""

import math
from pathlib import Path

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper, save
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = ["who", "where", "when", "feeds", "the", "cat", "dog", "red", "blue", "ship", "sails", "sea", "deploy", "note"]
ALL_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def expected(shared: int) -> float:
    """Return the score of a pair with so many words in common."""
    return 1.0 / (1.0 + math.exp(3.0 - 2.0 * shared))


def write_reranker(folder: Path, **graph: object) -> Path:
    """Write the model and its tokenizer, as an exporter does."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_tokenizer(folder / "tokenizer.json")
    write_graph(folder / "model.onnx", **graph)  # type: ignore[arg-type]
    return folder


def _write_tokenizer(path: Path) -> None:
    words = {word: at for at, word in enumerate([*SPECIAL, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    # What many published tokenizers carry, and what must not count here.
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(path))


def write_graph(
    path: Path,
    *,
    inputs: tuple[str, ...] = ALL_INPUTS,
    kind: int = TensorProto.INT64,
    columns: int = 1,
    places: int = 1000,
    bias: float = -3.0,
) -> None:
    """Write a graph that counts equal pieces: one of the question (type 0) and one of the text (type 1).

    Without token types, any two pieces count. Like a real one it takes at most *places* pieces.
    """
    node = helper.make_node
    nodes = [
        node("Cast", ["input_ids"], ["ids"], to=TensorProto.INT64),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        *_words_that_count(),
        *(_sides() if "token_type_ids" in inputs else [node("Mul", ["word", "half"], ["asked"])]),
        *([] if "token_type_ids" in inputs else [node("Identity", ["word"], ["read"])]),
        node("Unsqueeze", ["ids", "two"], ["down"]),
        node("Unsqueeze", ["ids", "one"], ["across"]),
        node("Equal", ["down", "across"], ["same"]),
        node("Cast", ["same"], ["equal"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["asked", "two"], ["asked_down"]),
        node("Unsqueeze", ["read", "one"], ["read_across"]),
        node("Mul", ["asked_down", "read_across"], ["pairs"]),
        node("Mul", ["pairs", "equal"], ["counted"]),
        node("ReduceSum", ["counted", "both"], ["shared"], keepdims=0),
        node("Mul", ["shared", "scale"], ["scaled"]),
        node("Add", ["scaled", "bias"], ["flat"]),
        *_columns(columns),
    ]
    numbers = {"one": np.array([1]), "two": np.array([2]), "both": np.array([1, 2]), "special": np.array(3)}
    numbers |= {"zero": np.array(0), "step": np.array(1)}
    reals = {"bias": bias, "scale": 2.0, "half": 0.5, "whole": 1.0}
    shape = {0: ["pairs"]}.get(columns, ["pairs", columns])
    graph = helper.make_graph(
        nodes,
        "overlap",
        [helper.make_tensor_value_info(name, kind, ["pairs", "pieces"]) for name in inputs],
        [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("word", TensorProto.FLOAT, ["pairs", "pieces"]),
        ],
        [
            *(numpy_helper.from_array(value.astype(np.int64), name) for name, value in numbers.items()),
            *(numpy_helper.from_array(np.array(value, dtype=np.float32), name) for name, value in reals.items()),
            numpy_helper.from_array(np.zeros(places, dtype=np.float32), "places"),
        ],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def _words_that_count() -> list[NodeProto]:
    """The pieces that are no special ones, with a (blank) table row for each place as models with positions have."""
    node = helper.make_node
    return [
        node("Greater", ["ids", "special"], ["plain"]),
        node("Cast", ["plain"], ["plain_f"], to=TensorProto.FLOAT),
        node("Shape", ["ids"], ["shape"]),
        node("Gather", ["shape", "step"], ["length"]),
        node("Range", ["zero", "length", "step"], ["positions"]),
        node("Gather", ["places", "positions"], ["places_f"]),
        node("Mul", ["plain_f", "mask"], ["placeless"]),
        node("Add", ["placeless", "places_f"], ["word"]),
    ]


def _sides() -> list[NodeProto]:
    node = helper.make_node
    return [
        node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT),
        node("Sub", ["whole", "types"], ["first"]),
        node("Mul", ["word", "first"], ["asked"]),
        node("Mul", ["word", "types"], ["read"]),
    ]


def _columns(columns: int) -> list[NodeProto]:
    """The logit alone, in a column, or as the last of several whose lead over the first it is."""
    node = helper.make_node
    if columns == 0:
        return [node("Identity", ["flat"], ["logits"])]
    column = node("Unsqueeze", ["flat", "one"], ["column"])
    if columns == 1:
        return [column, node("Identity", ["column"], ["logits"])]
    yes, no = node("Mul", ["column", "half"], ["yes"]), node("Neg", ["yes"], ["no"])
    return [column, yes, no, node("Concat", [*["no"] * (columns - 1), "yes"], ["logits"], axis=1)]
