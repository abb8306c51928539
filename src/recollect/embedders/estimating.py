"""What an embedder says of texts whose model has a tokenizer that is not known here, or none."""

from typing import Final

from recollect.embedders.contract import Span
from recollect.embedders.passages import cut
from recollect.text.sentences import estimate

ROOM: Final = 256
"""Pieces of a passage: what every sentence model takes."""


def count_pieces(text: str) -> int:
    """Estimate the word pieces of *text*, rather too many than too few."""
    return len(estimate(text))


def passages(text: str, *, most: int | None = None) -> list[Span]:
    """Cut *text* into passages of about *most* word pieces or fewer."""
    return cut(text, estimate(text), most=min(most or ROOM, ROOM))


def covers(text: str) -> bool:  # noqa: ARG001 - nobody can say
    """Take every script."""
    return True


def knows_word(word: str) -> bool:  # noqa: ARG001 - nobody can say
    """Know no words."""
    return False
