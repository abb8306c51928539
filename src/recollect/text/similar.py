"""Say how much two texts share."""

from recollect.text.reading import READINGS
from recollect.text.written import written


def jaccard(a: str, b: str) -> float:
    """Return the share of their folded words that *a* and *b* have in common; two texts without words are the same."""
    ours, theirs = words(a), words(b)
    return len(ours & theirs) / len(ours | theirs) if ours or theirs else 1.0


def words(text: str) -> frozenset[str]:
    """Return the distinct folded words of *text*."""
    return frozenset(atom for word in written(text) for atom in READINGS[word].atoms)
