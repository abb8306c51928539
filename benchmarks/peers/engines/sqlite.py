"""FTS5 alone, and FTS5 with sqlite-vec, joined by reciprocal rank fusion (k = 60) of the first 100 of each.

A question is the OR of its distinct words, or of its distinct trigrams where words are not set apart by spaces. The
conversation is a column beside the text in FTS5 and the partition key in vec0.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import apsw
import sqlite_vec
from material import DEPTH, Material, Question, Searches

VERSION = f"SQLite {apsw.sqlite_lib_version()}, sqlite-vec {sqlite_vec.__version__}"
RRF = 60

_WORD = re.compile(r"\w+")
_WORDS = "select rowid from words where words match ? and project = ? order by rank limit ?"
_NEAR = "select rowid from near where vector match ? and project = ? and k = ? order by distance"


def build(material: Material, home: Path) -> Searches:
    """Index the texts by word and their vectors in one SQLite file."""
    db = apsw.Connection(str(home / "notes.db"))
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    tokenize = "trigram" if material.cjk else "porter unicode61"
    db.execute(f"create virtual table words using fts5(text, project unindexed, tokenize = '{tokenize}')")
    db.execute(
        f"create virtual table near using vec0(project text partition key, vector float[{material.vectors.shape[1]}])"
    )
    with db:
        db.executemany(
            "insert into words (rowid, text, project) values (?, ?, ?)",
            ((number, each.text, each.group) for number, each in enumerate(material.documents, start=1)),
        )
        db.executemany(
            "insert into near (rowid, project, vector) values (?, ?, ?)",
            (
                (number, each.group, vector.tobytes())
                for number, (each, vector) in enumerate(zip(material.documents, material.vectors, strict=True), start=1)
            ),
        )
    ids = [document.id for document in material.documents]
    words = partial(by_word, db, cjk=material.cjk)

    def keyword(question: Question) -> list[str]:
        return [ids[row - 1] for row in words(question)]

    def hybrid(question: Question) -> list[str]:
        return [ids[row - 1] for row in fuse((words(question), by_vector(db, question)))]

    return {"FTS5": keyword, "FTS5 + sqlite-vec, RRF 60": hybrid}


def by_word(db: apsw.Connection, question: Question, *, cjk: bool) -> list[int]:
    """Return the rows that hold a word of the question, best first."""
    runs = _WORD.findall(question.text.lower())
    words = [run[at : at + 3] for run in runs for at in range(len(run) - 2)] if cjk else runs
    match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
    return [row for (row,) in db.execute(_WORDS, (match, question.group, DEPTH))] if match else []


def by_vector(db: apsw.Connection, question: Question) -> list[int]:
    """Return the rows nearest to the question."""
    return [row for (row,) in db.execute(_NEAR, (question.vector.tobytes(), question.group, DEPTH))]


def fuse(rankings: Iterable[Sequence[int]]) -> list[int]:
    """Return the best of both by reciprocal rank fusion (Cormack, Clarke & Büttcher, SIGIR 2009)."""
    points: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            points[row] = points.get(row, 0.0) + 1 / (RRF + rank)
    return sorted(points, key=lambda row: (-points[row], row))[:DEPTH]
