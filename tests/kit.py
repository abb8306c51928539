"""What many tests share: a fixed clock, a plain analyser for store tests, and every store by name."""

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any
from zlib import crc32

from msgspec.structs import replace

from oracle import OracleStore
from postgres_server import open_lent
from recollect.operations.answer import Answer, Operation
from recollect.operations.request import Call
from recollect.recollection import Recollection
from recollect.records import (
    ALL_PROJECTS,
    ARCHIVED_NOTES,
    FIELDS,
    AnyOf,
    Context,
    Expression,
    FactQuery,
    Filter,
    Memory,
    Recall,
    Scope,
    SubstringQuery,
    TokenizedMemory,
    Word,
    WordQuery,
)
from recollect.remember.formats.csv_text import csv_parts
from recollect.remember.formats.record import Origin, Parsed
from recollect.search.candidates import Candidate, Candidates, Given
from recollect.stores.contract import Analyse, Store
from recollect.stores.sqlite import open_sqlite

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
EVEN = dict.fromkeys(FIELDS, 1.0)

STORES: dict[str, Callable[[Path, Analyse], Store]] = {
    "oracle": lambda _, analyse: OracleStore(analyse),
    "memory": lambda _, analyse: open_sqlite(None, analyse),
    "postgres": lambda _, analyse: open_lent(analyse),
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


def read_table(path: Path) -> dict[str, list[tuple[str, ...]]]:
    """Read rows of values parted by tabs, by the heading in brackets that they stand under."""
    sections: dict[str, list[tuple[str, ...]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            rows = sections.setdefault(line[1:-1], [])
        else:
            rows.append(tuple(line.split("\t")))
    return sections


@cache
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


class Clock:
    """A clock that goes on by a minute each time it is read."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


def write_archive(db: Recollection, path: Path, *, everything: bool = True, vectors: bool = False) -> Path:
    records = db.archive(everything=everything, vectors=vectors)
    path.write_text("".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records), encoding="utf-8")
    return path


def truth(db: Recollection) -> dict[str, Any]:
    """Return all that a store holds and nothing else could make again, asked for question by question.

    A reference to a fact that was stated once and is no longer stated is 0.
    """
    store, scope = db.store, ALL_PROJECTS
    rows = store.ids(scope=scope, limit=10_000)
    facts = store.facts(FactQuery(include_superseded=True, include_forgotten=True), scope=scope)
    stated = {fact.id for fact in facts}
    return {
        "memories": store.load(rows, scope=scope),
        "wordings": store.wordings(rows, scope=scope),
        "events": {
            row: [(event.verb, event.at, _settled(event.detail, stated)) for event in log]
            for row, log in store.history(rows, scope=scope).items()
        },
        "facts": facts,
        "sources": {name: held for name in store.projects() if (held := store.sources(below="/", project=name))},
        "recalls": tuple(_of_facts(each, stated) for each in store.recalls(scope=scope, limit=10_000)),
        "notes": {
            kind: {name: held for name in store.projects() if (held := store.notes(kind, project=name))}
            for kind in ARCHIVED_NOTES
        },
        "vectors": {
            each.fingerprint: store.vectors(each.fingerprint, rows, scope=scope, include_forgotten=True)
            for each in store.generations(scope=scope)
            if each.is_external
        },
        "usage": store.usage(scope=scope),
        "stats": store.stats(scope=scope),
    }


def _settled(detail: Any, stated: set[int]) -> dict[str, Any]:
    return {name: 0 if name == "fact" and each not in stated else each for name, each in detail.items()}


def _of_facts(recall: Recall, stated: set[int]) -> Recall:
    hits = (replace(hit, fact_ids=tuple(n if n in stated else 0 for n in hit.fact_ids)) for hit in recall.hits)
    return replace(recall, hits=tuple(hits))


def archived(memory: Memory, wordings: tuple[str, ...]) -> dict[str, Any]:
    """Return *memory* as a record of an archive."""
    values = {name: getattr(memory, name) for name in Memory.__slots__}
    plain_values = {name: each.isoformat() if isinstance(each, datetime) else each for name, each in values.items()}
    context = {name: getattr(memory.context, name) for name in Context.__slots__}
    rest = {"context": context, "metadata": dict(memory.metadata), "wordings": list(wordings)}
    return {"recollect": 2, "record": "memory", **plain_values, **rest}


def read_csv(text: str, origin: Origin) -> Parsed:
    """Return what a file with this *text* says, read as a table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        path.write_text(text, encoding="utf-8", newline="")
        found = list(csv_parts(path, origin))
    memories = tuple(memory for part in found for memory in part.memories)
    return Parsed(memories=memories, problems=tuple(problem for part in found for problem in part.problems))


def candidates_of(made: Iterable[Candidate]) -> Candidates:
    """Return candidates as the columns that the stages of a search work on."""
    candidates = tuple(made)
    factors: dict[str, dict[int, float]] = {}
    given: dict[str, Given] = {}
    for each in candidates:
        for name, factor in each.factors.items():
            factors.setdefault(name, {})[each.id] = factor
        for share in each.shares:
            of = given.setdefault(share.ranking, Given(share.ranking, {}, {}, {}))
            known = ((of.points, share.points), (of.ranks, share.rank), (of.natives, share.native))
            for column, value in known:
                if value is not None:
                    column[each.id] = value  # type: ignore[index]
    return Candidates(
        [each.id for each in candidates],
        [each.fused for each in candidates],
        [each.score for each in candidates],
        given=tuple(given.values()),
        factors=factors,
        drops={each.id: each.drop for each in candidates if each.drop is not None},
    )


def answered(
    operation: Operation, db: Recollection, values: Mapping[str, Any], call: Call | None = None
) -> Answer[Any]:
    """Return the answer of *operation* to the request that *values* describe."""
    return operation.answer(db, operation.parse(values), call)
