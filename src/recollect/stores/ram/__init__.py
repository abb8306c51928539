"""Memories in dictionaries: real, small, and the oracle the other stores are measured by."""

from recollect.stores.ram.store import RamStore

__all__ = ["RamStore"]
