"""MiniLM alone: every vector compared exactly, with NumPy."""

from pathlib import Path

import numpy as np
from material import DEPTH, Material, Question, Searches

VERSION = f"NumPy {np.__version__}"


def build(material: Material, home: Path) -> Searches:  # noqa: ARG001 - it holds vectors in memory
    """Lay the vectors of each group together."""
    numbers = {group: np.array(found) for group, found in material.groups.items()}
    matrices = {group: material.vectors[found] for group, found in numbers.items()}
    ids = [document.id for document in material.documents]

    def search(question: Question) -> list[str]:
        near = np.argsort(-(matrices[question.group] @ question.vector), kind="stable")[:DEPTH]
        return [ids[number] for number in numbers[question.group][near]]

    return {"MiniLM, cosine": search}
