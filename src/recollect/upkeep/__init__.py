"""Keeping a store healthy: consolidation, export, what facts say of each other, who can read what."""

from typing import TYPE_CHECKING

from recollect.lazy import lazily

if TYPE_CHECKING:
    from recollect.upkeep import consolidate, export, facts, privacy

__all__ = ["consolidate", "export", "facts", "privacy"]
__getattr__ = lazily(__name__)
