"""Near names: a memory that holds a word only nearly, where another holds the word itself, speaks of something else."""

from collections.abc import Sequence

from recollect.search.spelling import near_among, plain_words
from recollect.search.state import State
from recollect.text.tokenizer import QueryWord, TokenAnalysis, analyse_text


def near_only(rows: Sequence[int], state: State) -> frozenset[int]:
    """Return those of *rows* that hold a near form of a word of the query, of which another holds the word itself."""
    words = plain_words(state.query.words)
    if state.query.tree is not None or not words or len(rows) < 2:
        return frozenset()
    held = {row: _held(row, state) for row in rows}
    return frozenset(row for word in words for row in _near_rows(word, held))


def _near_rows(word: QueryWord, held: dict[int, TokenAnalysis]) -> list[int]:
    exact = {row for row, read in held.items() if _holds(read, word)}
    return [row for row, read in held.items() if row not in exact and _near(read, word)] if exact else []


def without_correction(rows: Sequence[int], state: State) -> frozenset[int]:
    """Return those of *rows* that hold nothing near a word that no memory holds, where another holds what was meant."""
    told = {row: {word for word, _ in corrected(row, state)} for row in rows}
    meant = frozenset().union(*told.values())
    return frozenset(row for row, words in told.items() if meant - words)


def corrected(row: int, state: State) -> tuple[tuple[str, str], ...]:
    """Return the words of the query that no memory holds, each with the near one that *row* holds."""
    known = state.ranking("words").document_frequencies
    unheld = [word for word in plain_words(state.query.words) if known.get(word.stems[0]) == 0]
    if state.query.tree is not None or not unheld or row not in state.outlines:
        return ()
    read = _held(row, state)
    return tuple((word.text, near) for word in unheld if (near := _near(read, word)))


def _held(row: int, state: State) -> TokenAnalysis:
    memory = state.outlines[row]
    return analyse_text(f"{memory.title}\n{memory.content}")


def _holds(read: TokenAnalysis, word: QueryWord) -> bool:
    return word.stems[0] in read.stems or word.text.casefold() in read.tokens


def _near(read: TokenAnalysis, word: QueryWord) -> str | None:
    """Return the word one edit away that was read, if any."""
    near = (one.text for one in near_among(word.text, dict.fromkeys(read.tokens, 1)) if one.distance == 1)
    return next(near, None)
