"""What many tests share: a fixed clock, a plain analyser for store tests, and every store by name."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import FrameType
from zlib import crc32

from oracle import OracleStore
from recollect.records import (
    FIELDS,
    AnyOf,
    Expression,
    Filter,
    Memory,
    Scope,
    SubstringQuery,
    TokenizedMemory,
    Word,
    WordQuery,
)
from recollect.stores.contract import Analyse, Store
from recollect.stores.sqlite import open_sqlite

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
EVEN = dict.fromkeys(FIELDS, 1.0)

STORES: dict[str, Callable[[Path, Analyse], Store]] = {
    "oracle": lambda _, analyse: OracleStore(analyse),
    "memory": lambda _, analyse: open_sqlite(None, analyse),
    "sqlite": lambda folder, analyse: open_sqlite(folder / "notes.db", analyse),
}


def plain(memory: Memory, wordings: Sequence[str]) -> TokenizedMemory:
    """Lower-case words; a final s is no part of a stem; neighbouring words (sorted) are near-duplicate keys."""
    texts = {
        "title": memory.title,
        "body": "\n".join((memory.content, *wordings)),
        "before": memory.context.before,
        "tags": " ".join(memory.tags),
    }
    exact = {name: tuple(text.lower().split()) for name, text in texts.items() if text.split()}
    stem = {name: tuple(token.removesuffix("s") or token for token in tokens) for name, tokens in exact.items()}
    words = sorted(set(memory.content.lower().split()))
    keys = {crc32(f"{a} {b}".encode("utf-8", "replace")) for a, b in pairwise(words)}
    return TokenizedMemory(stem=stem, exact=exact, minhash=tuple(sorted(keys)))


def asking(*words: str, **weights: float) -> WordQuery:
    """Any of *words* as stems, each field weighing 1 unless told otherwise."""
    return keywords(AnyOf(parts=tuple(Word(text=word) for word in words)), **weights)


def keywords(expression: Expression, **weights: float) -> WordQuery:
    return WordQuery(expression=expression, weights=EVEN | weights)


def installed_models() -> Path:
    """The folder of models with MiniLM in it, installed the real way when it is not there yet."""
    from recollect.embedders.install import install  # noqa: PLC0415

    folder = Path(os.environ.get("RECOLLECT_MODELS") or Path(__file__).parents[1] / ".models")
    install("minilm", folder)
    return folder


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """Count the calls of every function in Python by its qualified name: tests count work and time nothing."""
    calls: Counter[str] = Counter()
    before = sys.getprofile()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls[frame.f_code.co_qualname] += 1

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def in_text(store: Store, needles: Sequence[str], *, scope: Scope, where: Filter, limit: int = 9) -> dict[int, float]:
    """How many of *needles* each memory holds, in the order of the answer."""
    found = store.match_words(SubstringQuery(needles=tuple(needles)), scope=scope, where=where, limit=limit)
    return {hit.id: hit.score for hit in found.top}
