"""Vectors kept in a file from one evaluation to the next: the expensive part of a first run, and the same in each."""

import hashlib
import sqlite3
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from recollect.embedders.contract import Embedder, Span
from recollect.errors import InputError
from recollect.vectors import Scale, Vector


def user_cache() -> Path:
    """Return the folder of the user's cache where vectors are kept."""
    return user_cache_path("recollect", appauthor=False) / "vectors"


class DiskCachedEmbedder:
    """An embedder that looks every text up in a file before it asks *inner*."""

    def __init__(self, inner: Embedder, folder: Path) -> None:
        self._inner = inner
        self.fingerprint: Final = inner.fingerprint
        self.dimensions: Final = inner.dimensions
        name = hashlib.blake2b(inner.fingerprint.encode(), digest_size=8).hexdigest()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(folder / f"{name}.vectors", check_same_thread=False, timeout=60)
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("create table if not exists kept (digest blob primary key, vector blob) without rowid")
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"cannot keep vectors in {folder}: {error}", hint="name a folder of yours") from error

    @property
    def scale(self) -> Scale:
        """How its cosines compare with those of others."""
        return self._inner.scale

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to be found."""
        return self._cached(texts, "passage", self._inner.embed_passages)

    def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to find by."""
        return self._cached(texts, "query", self._inner.embed_queries)

    def _cached(self, texts: Sequence[str], side: str, embed: Callable[[Sequence[str]], list[Vector]]) -> list[Vector]:
        keys = {text: _key(side, text) for text in texts}
        known = {text: vector for text, key in keys.items() if (vector := self._read(key)) is not None}
        fresh = [text for text in keys if text not in known]
        if fresh:
            made = dict(zip(fresh, embed(fresh), strict=True))
            known |= made
            with self._db:
                rows = [(keys[text], vector.tobytes()) for text, vector in made.items()]
                self._db.executemany("insert or ignore into kept (digest, vector) values (?, ?)", rows)
        return [known[text] for text in texts]

    def _read(self, key: bytes) -> "Vector | None":
        row = self._db.execute("select vector from kept where digest = ?", (key,)).fetchone()
        return None if row is None else array("f", row[0])

    def count_pieces(self, text: str) -> int:
        """Say how much of the model's room *text* takes."""
        return self._inner.count_pieces(text)

    def passages(self, text: str, *, most: int | None = None) -> list[Span]:
        """Cut *text* into passages."""
        return self._inner.passages(text, most=most)

    def covers(self, text: str) -> bool:
        """Say whether the model knows the script of *text*."""
        return self._inner.covers(text)

    def knows_word(self, word: str) -> bool:
        """Say whether *word* is a whole word of the model's vocabulary."""
        return self._inner.knows_word(word)

    def close(self) -> None:
        """Close the file and the model."""
        self._db.close()
        self._inner.close()


def _key(side: str, text: str) -> bytes:
    return hashlib.blake2b(f"{side}\0{text}".encode("utf-8", "surrogatepass"), digest_size=20).digest()
