"""Keeping a store healthy: consolidation, erasure, backups, export, what facts say of each other, who can read what."""

from typing import TYPE_CHECKING

from recollect.lazy import lazily

if TYPE_CHECKING:
    from recollect.upkeep import activity, backup, consolidate, export, facts, privacy, purge, review, tokens

__all__ = ["activity", "backup", "consolidate", "export", "facts", "privacy", "purge", "review", "tokens"]
__getattr__ = lazily(__name__)
