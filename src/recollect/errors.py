"""Everything that can go wrong, as one tree.

RecollectError               what a caller may catch to catch all of it
├── InputError               the request cannot be understood; exit code 2
│   ├── QueryError           an option of a search has no meaning
│   ├── FileError            a file cannot be read as memories
│   ├── UnknownMemory        no memory has this id
│   ├── ProfileError         a profile or setting holds an unknown key or value
│   └── AccessError          who asks may not do this
│       └── TokenError       the token is missing, wrong, expired or revoked
├── StoreError               the store cannot do its work; exit code 3
│   ├── StoreBusy            another process holds the store for too long
│   ├── StoreUnreachable     no server of the store answers
│   │   └── StoreInterrupted one stopped answering while it was asked; asked anew, another may answer
│   ├── WriteUncertain       a write may or may not have been kept
│   ├── StoreDamaged         the file is not a store, or is broken
│   ├── RowDamaged           a row of the store does not say what can have been written
│   └── WordIndexUnavailable the word index cannot be used, nor made anew
├── SearchStopped            a search was given up; exit code 3
│   ├── SearchCancelled      because its caller said so
│   └── SearchTimeout        because its time was up
└── ModelError               a model, for embedding or reranking, cannot do its work; exit code 3

Each carries what happened (`str(error)`), what to do about it (`error.hint`) and a stable
word for programs (`error.code`).
"""

from typing import ClassVar


class RecollectError(Exception):
    """Say what happened, hint what to do."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class InputError(RecollectError):
    """Refuse a request that cannot be understood."""

    code = "bad_input"
    exit_code = 2


class QueryError(InputError):
    """Refuse an option of a search that has no meaning."""

    code = "bad_query"


class FileError(InputError):
    """Refuse a file that cannot be read as memories."""

    code = "bad_file"


class UnknownMemory(InputError):
    """Say that no memory has this id."""

    code = "unknown_id"


class ProfileError(InputError):
    """Refuse an unknown key or value in a profile or in the settings."""

    code = "bad_profile"


class StoreError(RecollectError):
    """Say that the store cannot do its work."""

    code = "store"


class StoreBusy(StoreError):
    """Say that another process held the store for longer than we wait."""

    code = "store_busy"


class StoreUnreachable(StoreError):
    """Say that no server of the store answers; nothing was written."""

    code = "store_unreachable"


class StoreInterrupted(StoreUnreachable):
    """Say that a server stopped answering while it was asked; nothing was written, and another may answer."""

    code = "store_interrupted"


class WriteUncertain(StoreError):
    """Say that nobody knows whether a write was kept: the answer to its commit is missing."""

    code = "write_uncertain"


class StoreClosed(StoreError):
    """Say that the store was closed."""

    code = "store_closed"


class StoreDamaged(StoreError):
    """Say that the file is not a store, or is broken."""

    code = "store_damaged"


class RowDamaged(StoreError):
    """Say that a row of the store holds what nobody can have written; the others can be read."""

    code = "row_damaged"


class WordIndexUnavailable(StoreError):
    """Say that the word index cannot be used and cannot be made anew; the memories themselves can be read."""

    code = "word_index_unavailable"


class ModelError(RecollectError):
    """Say that a model, the one that embeds or the one that reranks, cannot do its work."""

    code = "model"


class SearchStopped(RecollectError):
    """Say that a search was given up before it had an answer."""

    code = "stopped"


class SearchCancelled(SearchStopped):
    """Say that the caller cancelled the search."""

    code = "cancelled"


class SearchTimeout(SearchStopped):
    """Say that the search took longer than its caller allowed."""

    code = "timeout"


class AccessError(InputError):
    """Refuse who may not do what is asked."""

    code = "forbidden"


class TokenError(AccessError):
    """Refuse a token that is missing, wrong, expired or revoked."""

    code = "unauthorized"
