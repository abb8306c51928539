"""Memory search for AI agents and the people who run them."""

from recollect.errors import InputError, ModelError, RecollectError, StoreError
from recollect.recollection import Recollection, open, recover  # noqa: A004  (recollect.open is the way in)
from recollect.records import Filter, Memory
from recollect.replies import Hit, Reason, Reply

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
    "open",
    "recover",
]
__version__ = "0.1.0"
