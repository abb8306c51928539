"""What embedders have in common whose tokenizer is not known here."""

from typing import Final

from recollect.embedders.contract import Span
from recollect.embedders.passages import cut
from recollect.embedders.scale import Measured
from recollect.text.sentences import estimate

ROOM: Final = 256
"""Pieces of a passage: what every sentence model takes."""


class Estimating(Measured):
    """Estimates word pieces, rather too many than too few, and takes every script."""

    def count_pieces(self, text: str) -> int:
        """Estimate the word pieces of *text*."""
        return len(estimate(text))

    def passages(self, text: str, *, most: int | None = None) -> list[Span]:
        """Cut *text* into passages of about *most* word pieces or fewer."""
        return cut(text, estimate(text), most=min(most or ROOM, ROOM))

    def covers(self, text: str) -> bool:  # noqa: ARG002 - nobody can say
        """Take every script."""
        return True

    def knows_word(self, word: str) -> bool:  # noqa: ARG002 - nobody can say
        """Know no words."""
        return False
