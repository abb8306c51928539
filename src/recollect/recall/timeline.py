"""What was believed, in the order of time."""

from recollect.records import Memory
from recollect.replies import Reply


def in_time(reply: Reply) -> tuple[Memory, ...]:
    """Return the memories of *reply*, oldest first."""
    return tuple(sorted((hit.memory for hit in reply.hits), key=lambda memory: (memory.when, memory.id)))
