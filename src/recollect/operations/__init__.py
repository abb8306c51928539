"""The operations: every surface offers these, and derives its parameters and answers from them."""

from collections.abc import Mapping
from typing import Final

from recollect.operations import (
    backup,
    facts,
    importing,
    lenses,
    log,
    memories,
    models,
    purge,
    quality,
    repair,
    search,
    store,
    tokens,
)
from recollect.operations.answer import Operation, operations_of

OPERATIONS: Final[Mapping[str, Operation]] = operations_of(
    search, memories, importing, facts, log, lenses, store, repair, models, backup, purge, tokens, quality
)
