"""Memory search for AI agents and the people who run them."""

from typing import TYPE_CHECKING, Any

from recollect.errors import InputError, ModelError, RecollectError, StoreError
from recollect.lazy import lazily
from recollect.recollection import Recollection, open, recover  # noqa: A004  (recollect.open is the way in)
from recollect.records import Filter, Memory
from recollect.replies import Hit, Reason, Reply

if TYPE_CHECKING:  # who does not await does not pay for asyncio
    from recollect import aio

__all__ = [
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
    "aio",
    "open",
    "recover",
]
__version__ = "0.1.0"

_load = lazily(__name__)


def __getattr__(name: str) -> Any:
    """Load `recollect.aio` when it is first asked for."""
    if name == "aio":
        return _load(name)
    raise AttributeError(f"recollect has no {name}")
