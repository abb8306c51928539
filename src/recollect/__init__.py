"""Memory search for AI agents and the people who run them."""

from recollect.version import __version__

TYPE_CHECKING = False  # the module typing costs a thin front as much as all the rest
if TYPE_CHECKING:
    from typing import Any

    from recollect import aio
    from recollect.embedders.contract import EmbeddingModel
    from recollect.errors import InputError, ModelError, RecollectError, StoreError
    from recollect.recollection import Recollection, move, open, recover  # noqa: A004  (recollect.open is the way in)
    from recollect.records import Filter, Memory
    from recollect.replies import Hit, Reason, Reply

__all__ = [
    "EmbeddingModel",
    "Filter",
    "Hit",
    "InputError",
    "Memory",
    "ModelError",
    "Reason",
    "RecollectError",
    "Recollection",
    "Reply",
    "StoreError",
    "__version__",
    "aio",
    "move",
    "open",
    "recover",
]

_MODULES = {
    "embedders.contract": ("EmbeddingModel",),
    "errors": ("InputError", "ModelError", "RecollectError", "StoreError"),
    "recollection": ("Recollection", "move", "open", "recover"),
    "records": ("Filter", "Memory"),
    "replies": ("Hit", "Reason", "Reply"),
}


def __getattr__(name: str) -> "Any":
    """Return a public name, or a module, loaded when it is first asked for: thin programs need none of them."""
    from importlib import import_module  # noqa: PLC0415

    for module, names in _MODULES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"recollect.{module}"), name)
            return found
    if name in ("aio", *_MODULES):
        return import_module(f"recollect.{name}")
    raise AttributeError(f"module 'recollect' has no attribute {name!r}")
