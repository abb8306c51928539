"""Read a safetensors file: a length, a JSON header, then the numbers."""

import json
import struct
from pathlib import Path
from typing import Any, Final

from recollect.embedders.extras import need
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
