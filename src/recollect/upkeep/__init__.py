"""Keeping a store healthy: consolidation, backups, export, what facts say of each other."""

from typing import TYPE_CHECKING

from recollect.lazy import lazily

if TYPE_CHECKING:
    from recollect.upkeep import backup, consolidate, export, facts

__all__ = ["backup", "consolidate", "export", "facts"]
__getattr__ = lazily(__name__)
