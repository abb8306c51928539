import subprocess
import sys
from operator import mul

import pytest

from recollect.embedders.hashing import HashingEmbedder
from recollect.errors import InputError


def alike(one: str, other: str) -> float:
    first, second = HashingEmbedder().embed_passages([one, other])
    return sum(map(mul, first, second))


def test_shared_words_bring_texts_together() -> None:
    assert (
        alike("the harbour master", "a harbour master spoke") > alike("the harbour master", "seven green apples") + 0.3
    )


def test_shared_spellings_bring_texts_together() -> None:
    assert alike("deployment", "deployments") > 0.5
    assert abs(alike("deployment", "sunflower")) < 0.3


def test_case_accents_and_width_do_not_matter() -> None:
    assert alike("Café \uff2e\uff21\uff29\uff36\uff25", "cafe naive") == pytest.approx(1.0)


def test_the_vector_is_the_same_in_another_process() -> None:
    script = (
        "from recollect.embedders.hashing import HashingEmbedder\n"
        "print(HashingEmbedder().embed_queries(['ship code'])[0].tobytes().hex())"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603

    assert done.stdout.strip() == HashingEmbedder().embed_queries(["ship code"])[0].tobytes().hex()


@pytest.mark.parametrize("dimensions", [1, 3, 64, 1000])
def test_a_vector_has_as_many_dimensions_as_asked_for(dimensions: int) -> None:
    embedder = HashingEmbedder(dimensions=dimensions)

    (vector,) = embedder.embed_passages(["some words here"])

    assert len(vector) == dimensions
    assert embedder.fingerprint.endswith(f"-{dimensions}")


def test_no_dimensions_are_refused() -> None:
    with pytest.raises(InputError, match="0 dimensions"):
        HashingEmbedder(dimensions=0)


def test_it_needs_no_library() -> None:
    script = (
        "import sys; sys.modules.update(dict.fromkeys(['numpy', 'onnxruntime', 'tokenizers', 'onnx']));"
        "from recollect.embedders.models import load; from pathlib import Path;"
        "print(len(load('hashing', Path()).embed_passages(['x'])[0]))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603

    assert done.stdout.strip() == "256"
