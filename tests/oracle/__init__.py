"""The contract over dictionaries, the long way: what every store's answers are compared with."""

from oracle.store import OracleStore

__all__ = ["OracleStore"]
