"""The graph is right when it gives what the textbook gives: BERT in twenty lines of NumPy is the oracle."""

import math
import struct
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from recollect.embedders.convert import convert, read_tensors
from recollect.errors import ModelError
from tiny_models import HEADS, LAYERS, WIDTH, Arrays, bert, write_tensors

EPSILON = 1e-12


def norm(values: np.ndarray, weights: Arrays, name: str) -> np.ndarray:
    centred = values - values.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def dense(values: np.ndarray, weights: Arrays, name: str) -> np.ndarray:
    return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def attend(values: np.ndarray, weights: Arrays, name: str) -> np.ndarray:
    query, key, value = (
        dense(values, weights, f"{name}.{part}").reshape(len(values), HEADS, -1).swapaxes(0, 1)
        for part in ("query", "key", "value")
    )
    scores = query @ key.swapaxes(1, 2) / math.sqrt(WIDTH // HEADS)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return (shares @ value).swapaxes(0, 1).reshape(len(values), WIDTH)


def embed(ids: list[int], weights: Arrays) -> np.ndarray:
    """Return the unit mean of the last hidden states, one text at a time and without padding."""
    hidden = weights["embeddings.word_embeddings.weight"][ids]
    hidden = hidden + weights["embeddings.position_embeddings.weight"][: len(ids)]
    hidden = norm(hidden + weights["embeddings.token_type_embeddings.weight"][0], weights, "embeddings.LayerNorm")
    erf = np.vectorize(math.erf)
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        seen = dense(attend(hidden, weights, f"{at}.attention.self"), weights, f"{at}.attention.output.dense")
        hidden = norm(hidden + seen, weights, f"{at}.attention.output.LayerNorm")
        wide = dense(hidden, weights, f"{at}.intermediate.dense")
        wide = wide * (1 + erf(wide / math.sqrt(2))) / 2
        hidden = norm(hidden + dense(wide, weights, f"{at}.output.dense"), weights, f"{at}.output.LayerNorm")
    mean = hidden.mean(0)
    return mean / np.linalg.norm(mean)


def test_the_graph_gives_what_the_textbook_gives_with_and_without_padding(tmp_path: Path) -> None:
    texts = [[2, 4, 5, 6, 3], [2, 7, 3], [2, 3], [2, 4, 4, 8, 9, 10, 5, 3]]
    write_tensors(tmp_path / "w", bert())

    convert(tmp_path / "w", tmp_path / "g.onnx", heads=HEADS, epsilon=EPSILON)

    ids = np.zeros((4, 8), dtype=np.int64)
    mask = np.zeros_like(ids)
    for at, text in enumerate(texts):
        ids[at, : len(text)], mask[at, : len(text)] = text, 1
    session = onnxruntime.InferenceSession(str(tmp_path / "g.onnx"), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
    expected = np.array([embed(text, bert()) for text in texts])
    assert np.abs(found - expected).max() < 1e-5


def test_equal_weights_give_equal_graphs(tmp_path: Path) -> None:
    write_tensors(tmp_path / "w", bert())

    for name in ("a.onnx", "b.onnx"):
        convert(tmp_path / "w", tmp_path / name, heads=HEADS, epsilon=EPSILON)

    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_the_graph_says_what_goes_in_and_what_comes_out(tmp_path: Path) -> None:
    write_tensors(tmp_path / "w", bert())

    convert(tmp_path / "w", tmp_path / "g.onnx", heads=HEADS, epsilon=EPSILON)

    graph = onnx.load(str(tmp_path / "g.onnx")).graph
    assert [entry.name for entry in graph.input] == ["input_ids", "attention_mask"]
    assert [entry.name for entry in graph.output] == ["embedding"]


def test_weights_of_another_kind_of_model_are_refused(tmp_path: Path) -> None:
    write_tensors(tmp_path / "w", {"transformer.h.0": np.ones(3, dtype=np.float32)})

    with pytest.raises(ModelError, match="holds no BERT model"):
        convert(tmp_path / "w", tmp_path / "g.onnx", heads=HEADS, epsilon=EPSILON)


# --- safetensors ----------------------------------------------------------------------------


def test_every_floating_point_tensor_is_read_as_float32(tmp_path: Path) -> None:
    one = np.arange(6, dtype=np.float32).reshape(2, 3)
    half = np.array([0.5, -2.0], dtype=np.float16)
    write_tensors(tmp_path / "w", {"one": one, "half": half})

    found = read_tensors(tmp_path / "w")

    assert sorted(found) == ["half", "one"]
    assert np.array_equal(found["one"], one)
    assert found["half"].dtype == np.float32
    assert found["half"].tolist() == [0.5, -2.0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x01\x02",
        struct.pack("<Q", 1 << 40),
        struct.pack("<Q", 3) + b"[1]",
        struct.pack("<Q", 2) + b"{]",
        struct.pack("<Q", 21) + b'{"a":{"dtype":"F32"}}',
    ],
)
def test_a_file_that_is_no_safetensors_is_an_error_with_a_hint(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "w").write_bytes(content)

    with pytest.raises(ModelError, match="cannot read the weights in w") as caught:
        read_tensors(tmp_path / "w")

    assert caught.value.hint


def test_numbers_that_lost_their_end_are_an_error(tmp_path: Path) -> None:
    write_tensors(tmp_path / "w", {"one": np.ones((4, 4), dtype=np.float32)})
    (tmp_path / "w").write_bytes((tmp_path / "w").read_bytes()[:-4])

    with pytest.raises(ModelError):
        read_tensors(tmp_path / "w")
