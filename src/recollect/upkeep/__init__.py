"""Keeping a store healthy: consolidation, export, what facts say of each other."""

from typing import TYPE_CHECKING

from recollect.lazy import lazily

if TYPE_CHECKING:
    from recollect.upkeep import consolidate, export, facts

__all__ = ["consolidate", "export", "facts"]
__getattr__ = lazily(__name__)
