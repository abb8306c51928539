"""Notes as JSON: what is kept of a value, whatever it was made of."""

import json
from collections.abc import Mapping
from typing import Any


def to_text(value: Mapping[str, object]) -> str:
    """Return *value* as JSON; what JSON does not know is written as text."""
    return json.dumps(dict(value), separators=(",", ":"), default=_plain)


def from_text(text: str) -> dict[str, Any]:
    """Return the value that `to_text` wrote."""
    value: dict[str, Any] = json.loads(text)
    return value


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
