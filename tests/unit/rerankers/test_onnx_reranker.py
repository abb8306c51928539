import subprocess
import sys
from pathlib import Path

import pytest
from onnx import TensorProto
from tiny_cross import ALL_INPUTS, WORDS, expected, write_graph, write_reranker

from recollect.errors import ModelError
from recollect.rerankers.onnx import FILE, OnnxReranker

QUESTION = "who feeds the cat"


def near(*shared: int) -> object:
    return pytest.approx([expected(each) for each in shared], abs=1e-6)


# --- scores ---------------------------------------------------------------------------------


def test_a_score_is_the_sigmoid_of_the_logit_of_question_and_text_together(tmp_path: Path) -> None:
    reranker = OnnxReranker(write_reranker(tmp_path))

    scores = reranker.score(QUESTION, ["the dog feeds the cat", "red ship", "cat"])
    others = reranker.score("red ship", ["the dog feeds the cat", "red ship", "cat"])

    assert scores == near(4, 0, 1)
    assert others == near(0, 2, 0)


def test_scores_come_in_the_order_of_the_texts_whatever_their_length(tmp_path: Path) -> None:
    reranker = OnnxReranker(write_reranker(tmp_path))
    texts = [" ".join(["cat"] * (at % 3) + ["sea"] * (at * 37 % 90)) for at in range(150)]

    scores = reranker.score("cat", texts)

    assert scores == near(*(at % 3 for at in range(150)))
    assert scores == [reranker.score("cat", [text])[0] for text in texts]


def test_nothing_to_read_has_no_scores_and_blank_texts_have_one(tmp_path: Path) -> None:
    reranker = OnnxReranker(write_reranker(tmp_path))

    assert reranker.score(QUESTION, []) == []
    assert reranker.score("", [""]) == near(0)


@pytest.mark.parametrize("columns", [0, 1, 2])
def test_a_graph_may_give_a_number_a_column_or_no_and_yes(tmp_path: Path, columns: int) -> None:
    reranker = OnnxReranker(write_reranker(tmp_path, columns=columns))

    assert reranker.score("cat", ["cat", "dog"]) == near(1, 0)


def test_token_types_are_given_only_to_a_graph_that_asks_for_them(tmp_path: Path) -> None:
    reranker = OnnxReranker(write_reranker(tmp_path, inputs=("input_ids", "attention_mask"), bias=-5.0))

    # cat, cat and dog are five equal pairs, of which half counts: 2 x 2.5 - 5 = 0.
    assert reranker.score("cat", ["cat dog"]) == pytest.approx([0.5])


def test_a_graph_may_count_in_32_bits(tmp_path: Path) -> None:
    reranker = OnnxReranker(write_reranker(tmp_path, kind=TensorProto.INT32))

    assert reranker.score("cat", ["cat cat"]) == near(2)


def test_a_huge_logit_is_a_score_of_one_and_no_warning(tmp_path: Path) -> None:
    reranker = OnnxReranker(write_reranker(tmp_path, bias=1e30))

    assert reranker.score("cat", ["dog"]) == [1.0]


def test_any_text_can_be_read(tmp_path: Path) -> None:
    reranker = OnnxReranker(write_reranker(tmp_path))

    assert reranker.score("cat \ud800", ["cat \x00 \udfff", "猫", "\n"]) == near(1, 0, 0)


# --- room -----------------------------------------------------------------------------------


def test_of_what_is_too_long_only_the_end_of_the_text_is_cut(tmp_path: Path) -> None:
    (write_reranker(tmp_path, places=16) / FILE).write_text("max_pieces = 16")
    reranker = OnnxReranker(tmp_path)

    # 16 pieces: [CLS], 4 words, [SEP], 9 words, [SEP].
    kept, cut = reranker.score(QUESTION, ["sea " * 8 + "cat", "sea " * 9 + "cat"])

    assert [kept, cut] == near(1, 0)


def test_a_question_that_is_too_long_leaves_half_the_room_to_the_text(tmp_path: Path) -> None:
    (write_reranker(tmp_path, places=16) / FILE).write_text("max_pieces = 16")
    reranker = OnnxReranker(tmp_path)

    scores = reranker.score("cat " + "ship " * 5000, ["cat " * 5000])

    assert scores == near(5)


def test_the_exporters_config_says_how_much_a_model_takes(tmp_path: Path) -> None:
    (write_reranker(tmp_path, places=20) / "config.json").write_text('{"max_position_embeddings": 20}')

    assert OnnxReranker(tmp_path).score("cat", ["cat " * 99]) == near(16)


def test_a_run_that_fails_is_one_line_with_a_hint(tmp_path: Path) -> None:
    reranker = OnnxReranker(write_reranker(tmp_path, places=20))

    with pytest.raises(ModelError, match="failed: ") as caught:
        reranker.score("cat", ["cat " * 99])

    assert "\n" not in str(caught.value)
    assert "max_pieces" in caught.value.hint


# --- fingerprint and end --------------------------------------------------------------------


def test_a_fingerprint_changes_with_everything_the_scores_depend_on(tmp_path: Path) -> None:
    folder = write_reranker(tmp_path)
    prints = [OnnxReranker(folder).fingerprint, OnnxReranker(folder).fingerprint]
    (folder / FILE).write_text("max_pieces = 64")
    prints.append(OnnxReranker(folder).fingerprint)
    write_graph(folder / "model.onnx", bias=-1.0)
    prints.append(OnnxReranker(folder).fingerprint)
    (folder / "model.onnx_data").write_bytes(b"weights that were too large for the graph")
    prints.append(OnnxReranker(folder).fingerprint)

    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


def test_a_closed_reranker_says_so(tmp_path: Path) -> None:
    reranker = OnnxReranker(write_reranker(tmp_path))
    reranker.close()

    with pytest.raises(ModelError, match="is closed"):
        reranker.score("cat", ["dog"])


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        ({"inputs": (*ALL_INPUTS, "pixels")}, "wants other inputs than known: pixels"),
        ({"inputs": ALL_INPUTS, "kind": TensorProto.FLOAT}, "attention_mask, input_ids, token_type_ids"),
        ({"columns": 3}, "gives 1 x 3 numbers for 1 pairs"),
        ({"bias": float("nan")}, "no number"),
    ],
)
def test_a_model_of_another_kind_is_refused_when_it_is_opened(tmp_path: Path, graph: object, said: str) -> None:
    write_reranker(tmp_path, **graph)  # type: ignore[arg-type]

    with pytest.raises(ModelError, match=said) as caught:
        OnnxReranker(tmp_path)

    assert caught.value.hint


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_missing_or_broken_file_is_named(tmp_path: Path, file: str) -> None:
    (write_reranker(tmp_path) / file).write_bytes(b"broken")
    with pytest.raises(ModelError, match="cannot load the reranker") as broken:
        OnnxReranker(tmp_path)

    (tmp_path / file).unlink()
    with pytest.raises(ModelError, match=f"lacks {file}") as missing:
        OnnxReranker(tmp_path)

    assert broken.value.hint
    assert FILE in missing.value.hint


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no reranker at .*nowhere") as caught:
        OnnxReranker(tmp_path / "nowhere")

    assert "model.onnx" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_peices = 64", "unknown key max_peices"),
        ("max_pieces = 3", "wrong value for max_pieces"),
        ("max_pieces = true", "wrong value for max_pieces"),
        ("graph = '../model.onnx'", "wrong value for graph"),
        ("output = 'score'", "has no output score"),
        ("max_pieces", "cannot read"),
    ],
)
def test_a_wrong_description_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (write_reranker(tmp_path) / FILE).write_text(text)

    with pytest.raises(ModelError, match=said) as caught:
        OnnxReranker(tmp_path)

    assert caught.value.hint


def test_the_parts_may_have_other_names(tmp_path: Path) -> None:
    write_reranker(tmp_path)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "model.onnx").rename(tmp_path / "onnx" / "small.onnx")
    (tmp_path / FILE).write_text('graph = "onnx/small.onnx"\noutput = "logits"\n')

    assert OnnxReranker(tmp_path).score("cat", [WORDS[5]]) == near(1)


@pytest.mark.parametrize("library", ["numpy", "onnxruntime", "tokenizers"])
def test_a_library_that_is_not_installed_is_named_with_the_command_that_installs_it(
    tmp_path: Path, library: str
) -> None:
    script = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from pathlib import Path\n"
        "from recollect.errors import ModelError\n"
        "from recollect.rerankers.onnx import OnnxReranker\n"
        "try: OnnxReranker(Path(sys.argv[1]))\n"
        "except ModelError as error: print(error, error.hint)"
    )

    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, str(write_reranker(tmp_path))], capture_output=True, text=True, check=True
    )

    assert f"needs the library {library}, which is not installed" in done.stdout
    assert "run: pip install" in done.stdout
