"""What goes into a part: documents as texts of tokens, with the columns that filters and weighing look at."""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from recollect.records import FIELDS, Form, TokenizedMemory

FORMS: Final[tuple[Form, Form]] = ("stem", "exact")
"""The two forms of every token; each is an index of its own."""

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


def token_text(tokens: Mapping[str, tuple[str, ...]]) -> str:
    """Return the tokens of one form, by field, as one text."""
    return "\n".join(" ".join(tokens.get(name, ())) for name in FIELDS)


def tokens_of(text: str) -> dict[str, tuple[str, ...]]:
    """Return the tokens by field that `token_text` made into *text*; fields without any are absent."""
    return {name: tuple(line.split(" ")) for name, line in zip(FIELDS, text.split("\n"), strict=True) if line}


def index_row(row: int, project: str, tokens: TokenizedMemory, *, superseded: bool = False) -> IndexRow:
    """Return the row of a document whose tokens are at hand."""
    return IndexRow(
        id=row,
        project=project,
        stem=token_text(tokens.stem),
        exact=token_text(tokens.exact),
        superseded=superseded,
        code=tokens.code,
    )
