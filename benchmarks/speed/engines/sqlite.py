"""SQLite: FTS5 with its porter stemmer, vectors in sqlite-vec, joined by reciprocal rank fusion."""

from collections.abc import Callable
from pathlib import Path

import apsw
import sqlite_vec
from benchmarks.speed.engines.fusion import fuse
from benchmarks.speed.material import read_questions, read_texts, read_vectors

VERSION = f"SQLite {apsw.sqlite_lib_version()}, sqlite-vec {sqlite_vec.__version__}"
NOTE = "`porter unicode61`, OR of the words, `bm25()`; `vec0` with float32; RRF 60 of the first 100 of each"
_WORDS = "select rowid from words where words match ? order by rank limit ?"
_NEAR = "select rowid from near where vector match ? and k = 100 order by distance"


def _open(home: Path) -> apsw.Connection:
    db = apsw.Connection(str(home / "notes.db"))
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    return db


def build(material: Path, home: Path) -> None:
    """Write both tables."""
    db = _open(home)
    vectors = read_vectors(material)
    db.execute("pragma journal_mode = wal")
    db.execute("create virtual table words using fts5(text, tokenize = 'porter unicode61')")
    db.execute(f"create virtual table near using vec0(vector float[{vectors.shape[1]}])")
    with db:
        db.executemany("insert into words (rowid, text) values (?, ?)", enumerate(read_texts(material)))
        db.executemany(
            "insert into near (rowid, vector) values (?, ?)", ((at, each.tobytes()) for at, each in enumerate(vectors))
        )
    db.close()


def searches(material: Path, home: Path) -> dict[str, Callable[[int], list[int]]]:
    """Open it."""
    db = _open(home)
    asked = [" OR ".join(f'"{word}"' for word in question.split()) for question in read_questions(material)]
    vectors = [each.tobytes() for each in read_vectors(material, "questions")]

    def words(at: int, limit: int) -> list[int]:
        return [row for (row,) in db.execute(_WORDS, (asked[at], limit))]

    def near(at: int) -> list[int]:
        return [row for (row,) in db.execute(_NEAR, (vectors[at],))]

    return {
        "words": lambda at: words(at, 10),
        "vectors": near,
        "hybrid": lambda at: fuse((words(at, 100), near(at)))[:10],
    }
