import struct
from pathlib import Path

import numpy as np
import pytest
from tiny_models import write_tensors

from recollect.embedders.convert import read_tensors
from recollect.errors import ModelError


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
