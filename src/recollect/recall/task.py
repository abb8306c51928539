"""What a task asks of memory: its title, description and tags as one query."""

from collections.abc import Sequence
from dataclasses import replace

from recollect.replies import Reply

LONGEST = 2000
"""So much of a description is asked; what matters stands at its beginning."""


def query_for(title: str, *, description: str = "", tags: Sequence[str] = ()) -> str:
    """Return the words to search by for a task."""
    said = (title, description[:LONGEST], " ".join(tags))
    return " ".join(word for text in said for word in _plain(text).split())


def as_sure_as(title: Reply, whole: Reply) -> Reply:
    """Return the answer to the *whole* task, believed if its *title* alone is: a description must not silence it."""
    if whole.outcome == "weak" and title.outcome == "answered":
        return replace(whole, outcome=title.outcome, evidence=title.evidence)
    return whole


def _plain(text: str) -> str:
    """Return *text* without what a query would read as operators or filters: a task is words, not syntax."""
    words = (word.strip('"()*').lstrip("-") for word in text.replace(":", " ").split())
    return " ".join(word.lower() if word in ("AND", "OR", "NOT") else word for word in words)
