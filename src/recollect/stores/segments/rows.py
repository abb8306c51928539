"""What goes into a part: documents as texts of tokens, with the columns that filters and weighing look at."""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from recollect.records import TokenizedMemory
from recollect.stores.token_text import text_of

ColumnKind = Literal["text", "whole", "real", "flag"]
Value = str | int | float | bool

COLUMNS: Final[Mapping[str, ColumnKind]] = {
    "type": "text",
    "kind": "text",
    "source": "text",
    "thread": "text",
    "turn": "whole",
    "happened_at": "whole",
    "created_at": "whole",
    "updated_at": "whole",
    "confidence": "real",
    "pinned": "flag",
}
"""What a part keeps of a document beside its words: names once and a number for each row, or numbers as they are."""

BLANK: Final[Mapping[ColumnKind, Value]] = {"text": "", "whole": 0, "real": 0.0, "flag": False}
"""What stands in a column of a document that brings none."""


class IndexRow(Struct, frozen=True, kw_only=True):
    """One document on its way into a part.

    *stem* and *exact* are its tokens: the fields in the order of `FIELDS`, one a line, tokens divided by one blank.
    *columns* are the values of `COLUMNS`, or nothing.
    """

    id: int
    project: str
    stem: str
    exact: str
    superseded: bool = False
    code: bool = False
    columns: tuple[Value, ...] = ()


def index_row(row: int, project: str, tokens: TokenizedMemory, *, superseded: bool = False) -> IndexRow:
    """Return the row of a document whose tokens are at hand."""
    return IndexRow(
        id=row,
        project=project,
        stem=text_of(tokens.stem),
        exact=text_of(tokens.exact),
        superseded=superseded,
        code=tokens.code,
    )
