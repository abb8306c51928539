"""The same texts, vectors and questions for every tool, as files that any of their processes can read."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

DEPTH = 100
"""How many hits each tool is asked for."""

Array = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A document, title and body as one text; *group* is the conversation it is searched within, or empty."""

    id: str
    text: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, within which group (everywhere when empty), and its vector."""

    id: str
    text: str
    group: str
    vector: Array


Search = Callable[[Question], Sequence[str]]
"""Ids of documents, best first."""
Searches = Mapping[str, Search]
"""The rows of the table that one tool gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """A set as every tool gets it; *cjk* when its words are not set apart by spaces; *source* is where it lies."""

    source: str
    cjk: bool
    documents: tuple[Text, ...]
    vectors: Array
    questions: tuple[Question, ...]

    @property
    def groups(self) -> dict[str, list[int]]:
        """The numbers of the documents of each group."""
        found: dict[str, list[int]] = {}
        for number, document in enumerate(self.documents):
            found.setdefault(document.group, []).append(number)
        return found


def save(material: Material, folder: Path) -> None:
    """Write *material* into *folder*."""
    facts = {
        "source": material.source,
        "cjk": material.cjk,
        "documents": [asdict(document) for document in material.documents],
        "questions": [{"id": each.id, "text": each.text, "group": each.group} for each in material.questions],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "texts.json").write_text(json.dumps(facts), encoding="utf-8")
    np.save(folder / "documents.npy", material.vectors)
    np.save(folder / "questions.npy", np.stack([question.vector for question in material.questions]))


def load(folder: Path) -> Material:
    """Read what `save` wrote."""
    facts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    vectors = np.load(folder / "questions.npy")
    return Material(
        source=facts["source"],
        cjk=facts["cjk"],
        documents=tuple(Text(**document) for document in facts["documents"]),
        vectors=np.load(folder / "documents.npy"),
        questions=tuple(
            Question(**question, vector=vector) for question, vector in zip(facts["questions"], vectors, strict=True)
        ),
    )
