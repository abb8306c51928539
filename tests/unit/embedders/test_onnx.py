import threading
from pathlib import Path

import numpy as np
import pytest

from recollect.embedders.manifest import read_manifest, with_checksums, write_manifest
from recollect.embedders.models import FILE
from recollect.embedders.onnx import OnnxEmbedder
from recollect.errors import ModelError
from recollect.vectors import Vector
from tiny_models import row, write_lookup, write_model


def unit(values: np.ndarray) -> np.ndarray:
    return values / np.linalg.norm(values)


def close(found: Vector, expected: np.ndarray) -> bool:
    return np.allclose(np.frombuffer(found, dtype=np.float32), expected, atol=1e-6)


def test_mean_pooling_is_the_mean_over_the_pieces_that_count(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path))

    short, _ = embedder.embed_passages(["red", "red green blue ship sails sea"])

    assert close(short, unit((row("[CLS]") + row("red") + row("[SEP]")) / 3))


def test_cls_pooling_is_the_first_piece(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, pooling="cls"))

    (vector,) = embedder.embed_passages(["red green"])

    assert close(vector, unit(row("[CLS]")))


def test_a_vector_keeps_its_length_where_the_manifest_says_so(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, normalise=False))

    (vector,) = embedder.embed_passages(["sea"])

    assert close(vector, (row("[CLS]") + row("sea") + row("[SEP]")) / 3)


def test_queries_and_passages_get_their_own_prefix(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, query_prefix="red ", passage_prefix="blue "))

    (query,), (passage,) = embedder.embed_queries(["sea"]), embedder.embed_passages(["sea"])

    assert close(query, unit(row("[CLS]") + row("red") + row("sea") + row("[SEP]")))
    assert close(passage, unit(row("[CLS]") + row("blue") + row("sea") + row("[SEP]")))


def test_what_is_too_long_is_cut_at_the_end(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, max_pieces=8))

    one, other = embedder.embed_passages(["red " * 6 + "sea", "red " * 6 + "blue green"])

    assert one == other


def test_a_graph_may_ask_for_token_types(tmp_path: Path) -> None:
    write_model(tmp_path)
    (plain,) = OnnxEmbedder(tmp_path).embed_passages(["red sea"])

    write_lookup(tmp_path / "model.onnx", inputs=("input_ids", "attention_mask", "token_type_ids"))
    (typed,) = OnnxEmbedder(tmp_path).embed_passages(["red sea"])

    assert typed == plain


def test_a_graph_that_asks_for_something_else_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path)
    write_lookup(tmp_path / "model.onnx", inputs=("input_ids", "pixels"))

    with pytest.raises(ModelError, match="pixels"):
        OnnxEmbedder(tmp_path)


@pytest.mark.case(73)
def test_other_dimensions_than_the_manifest_says_are_reported(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, dimensions=4))

    with pytest.raises(ModelError, match=r"gives 3 dimensions, its model\.toml says 4"):
        embedder.embed_passages(["red"])


def test_a_graph_without_pooling_must_be_pooled(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, pooling="none"))

    with pytest.raises(ModelError) as caught:
        embedder.embed_passages(["red"])

    assert "pooling" in caught.value.hint


def test_an_output_that_is_not_there_is_reported_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no output vectors") as caught:
        OnnxEmbedder(write_model(tmp_path, output="vectors"))

    assert "hidden" in caught.value.hint


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_broken_file_is_an_error_with_a_hint(tmp_path: Path, file: str) -> None:
    (write_model(tmp_path) / file).write_bytes(b"broken")

    with pytest.raises(ModelError, match="cannot load the model lookup") as caught:
        OnnxEmbedder(tmp_path)

    assert caught.value.hint


def test_a_file_that_lost_its_end_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    write_model(tmp_path)
    write_manifest(tmp_path, with_checksums(tmp_path, read_manifest(tmp_path)))
    (tmp_path / "model.onnx").write_bytes((tmp_path / "model.onnx").read_bytes()[:-1])

    with pytest.raises(ModelError, match=r"damaged: model\.onnx has"):
        OnnxEmbedder(tmp_path)


def test_pieces_are_counted_with_all_that_stands_around_them(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, passage_prefix="blue ship "))

    assert embedder.count_pieces("red green sea.") == 2 + 2 + 4
    assert embedder.count_pieces("red " * 100) == 2 + 2 + 100


def test_passages_leave_room_for_what_stands_around_them(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path, passage_prefix="blue ", max_pieces=10))
    text = "red green. " * 20

    spans = embedder.passages(text)

    assert max(embedder.count_pieces(text[start:end]) for start, end in spans) <= 10
    assert all(text[start:end].endswith(".") for start, end in spans)


def test_a_smaller_passage_can_be_asked_for_but_no_larger(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path))
    text = "red " * 40

    assert max(embedder.count_pieces(text[a:b]) for a, b in embedder.passages(text, most=8)) <= 8
    assert embedder.passages(text, most=900) == embedder.passages(text)


def test_a_session_is_shared_by_all_that_name_the_same_model(tmp_path: Path) -> None:
    folder = write_model(tmp_path)

    one, other, apart = (OnnxEmbedder(folder, threads=threads) for threads in (1, 1, 2))

    assert one._loaded is other._loaded  # noqa: SLF001
    assert one._loaded is not apart._loaded  # noqa: SLF001


def test_closing_one_embedder_leaves_the_others_open(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    one, other = OnnxEmbedder(folder), OnnxEmbedder(folder)

    one.close()

    assert len(other.embed_passages(["red"])) == 1
    with pytest.raises(ModelError, match="closed"):
        one.embed_passages(["red"])


def test_a_model_that_was_replaced_is_loaded_anew(tmp_path: Path) -> None:
    before = OnnxEmbedder(write_model(tmp_path, pooling="mean"))
    (tmp_path / FILE).unlink()

    after = OnnxEmbedder(write_model(tmp_path, pooling="cls"))

    assert before.fingerprint != after.fingerprint
    assert before.embed_passages(["red"]) != after.embed_passages(["red"])


def test_many_threads_may_ask_at_once(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path))
    texts = ["red", "green sea", "blue ship sails"]
    expected, found = embedder.embed_passages(texts), []

    threads = [threading.Thread(target=lambda: found.append(embedder.embed_passages(texts))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [expected] * 8


def test_more_texts_than_one_window_keep_their_order(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path))
    texts = ["red " * (at % 5) + ("sea" if at % 2 else "ship") for at in range(5000)]

    found = embedder.embed_passages(texts)

    few = sorted(set(texts))
    again = dict(zip(few, embedder.embed_passages(few), strict=True))
    assert all(np.allclose(vector, again[text], atol=1e-6) for text, vector in zip(texts, found, strict=True))
