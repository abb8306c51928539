"""Models small enough to compute by hand: a word list for a tokenizer, a table for a graph, a two-layer BERT."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from recollect.embedders.manifest import Manifest, Package, Probe, PublishedModel, checksum, write_manifest

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "ship", "sails", ".", "sea"]
Arrays = Mapping[str, np.ndarray]


def write_tokenizer(path: Path) -> None:
    """Write a tokenizer of whole words with [CLS] and [SEP] around them."""
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(path))


def table() -> np.ndarray:
    """Return three numbers for each word; each word points another way."""
    return np.random.default_rng(7).normal(size=(len(WORDS), 3)).astype(np.float32)


def write_lookup(path: Path, *, inputs: tuple[str, ...] = ("input_ids", "attention_mask")) -> None:
    """Write a graph whose hidden state is the table row of each word; the other inputs are added times zero."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["rows"])]
    last = "rows"
    for name in inputs[1:]:
        nodes += [
            helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"{name}_f", "zero"], [f"{name}_0"]),
            helper.make_node("Unsqueeze", [f"{name}_0", "last"], [f"{name}_u"]),
            helper.make_node("Add", [last, f"{name}_u"], [f"{name}_s"]),
        ]
        last = f"{name}_s"
    nodes.append(helper.make_node("Identity", [last], ["hidden"]))
    constants = {
        "table": table(),
        "zero": np.zeros((), dtype=np.float32),
        "last": np.array([-1], dtype=np.int64),
    }
    graph = helper.make_graph(
        nodes,
        "lookup",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "pieces"]) for name in inputs],
        [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["texts", "pieces", 3])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def write_model(folder: Path, **changes: object) -> Path:
    """Write the lookup model with its manifest, as a user would by hand: without checksums."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder / "tokenizer.json")
    write_lookup(folder / "model.onnx")
    write_manifest(folder, Manifest(**{"name": "lookup", "dimensions": 3, "max_pieces": 16, **changes}))  # type: ignore[arg-type]
    return folder


def row(word: str) -> np.ndarray:
    return table()[WORDS.index(word)]


# --- BERT -----------------------------------------------------------------------------------

WIDTH, HEADS, INNER, LAYERS, PLACES = 16, 4, 24, 2, 12


def bert() -> dict[str, np.ndarray]:
    """Return random weights under the names the published models use."""
    random = np.random.default_rng(3)

    def draw(*shape: int) -> np.ndarray:
        return random.normal(scale=0.4, size=shape).astype(np.float32)

    names = {
        "embeddings.word_embeddings.weight": draw(len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": draw(PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": draw(2, WIDTH),
        "embeddings.LayerNorm.weight": draw(WIDTH) + 1,
        "embeddings.LayerNorm.bias": draw(WIDTH),
    }
    shapes = {f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
    shapes |= {
        "attention.output.dense": (WIDTH, WIDTH),
        "intermediate.dense": (INNER, WIDTH),
        "output.dense": (WIDTH, INNER),
    }
    for layer in range(LAYERS):
        for part, shape in shapes.items():
            names[f"encoder.layer.{layer}.{part}.weight"] = draw(*shape)
            names[f"encoder.layer.{layer}.{part}.bias"] = draw(shape[0])
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            names[f"encoder.layer.{layer}.{part}.weight"] = draw(WIDTH) + 1
            names[f"encoder.layer.{layer}.{part}.bias"] = draw(WIDTH)
    return names


def write_tensors(path: Path, tensors: Arrays) -> None:
    """Write a safetensors file, with a whole-number tensor among the others as published files have."""
    everything = {"embeddings.position_ids": np.arange(PLACES, dtype=np.int64), **tensors}
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, value in everything.items():
        kind = {"float32": "F32", "float16": "F16", "int64": "I64"}[value.dtype.name]
        header[name] = {
            "dtype": kind,
            "shape": list(value.shape),
            "data_offsets": [len(body), len(body) + value.nbytes],
        }
        body += value.tobytes()
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + body)


TEXT = "red ship"


def write_published(folder: Path) -> Path:
    """Write the files that the tiny BERT would be published as."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / "model.safetensors", bert())
    write_tokenizer(folder / "tokenizer.json")
    return folder


def tiny(published: Path, *begins: float, url: str = "") -> Mapping[str, PublishedModel]:
    """Return a catalogue of one model: the files in *published*, served at *url*."""
    files = {path.name: checksum(path) for path in sorted(published.iterdir())}
    weights = files["model.safetensors"].sha256
    entry = PublishedModel(
        title="tiny",
        licence="none",
        about="for tests",
        heads=HEADS,
        epsilon=1e-12,
        manifest=Manifest(name="tiny", dimensions=WIDTH, max_pieces=12, weights=weights),
        package=Package(name="tiny", version="1", sha256="00"),
        files=files,
        urls={name: f"{url}/{name}" for name in files},
        probe=Probe(text=TEXT, begins=begins),
    )
    return {"tiny": entry}
