"""recollect: the import as a user runs it, then searches by the public face and questions to the store below it.

Rows: *words* is the OR of eight words, the first ten; *question* what the default profile asks of the word index for
the same eight words; *keyword* and *hybrid* are whole searches by `Recollection.search`; *vectors* the nearest 100.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.common import recollect as command
from benchmarks.common import run
from benchmarks.speed.material import WIDTH, read_questions, read_vectors
from benchmarks.speed.worker import PLAIN
from msgspec.structs import replace

import recollect
from recollect.profile import Expand, Profile, load_profile
from recollect.records import (
    ALL_PROJECTS,
    NO_FILTER,
    AnyOf,
    EmbeddedMemory,
    Generation,
    Passage,
    Word,
    WordQuery,
)
from recollect.stores.contract import Store
from recollect.text.tokenizer import read_words

VERSION = f"recollect {recollect.__version__}"
NOTE = "default profile; whole memories with snippets and reasons come back, not ids alone"
EXTERNAL = f"external-{WIDTH}"
"""The generation of vectors that callers bring."""
PAGE = 2000


def build(material: Path, home: Path) -> dict[str, float]:
    """Import the texts by the command, then give them their vectors; return what the import alone took."""
    store, source = home / "notes.db", material / "texts.jsonl"
    ran = run(command("--db", str(store), "--json", "import", str(source)), environment=PLAIN)
    new = json.loads(ran.output)["memories"]["new"]
    with recollect.open(store, model="none") as db:
        give_vectors(db.store, read_vectors(material), Generation(fingerprint=EXTERNAL, dimensions=WIDTH, model=""))
        settle(db.store)
    return {"documents": new, "seconds": ran.seconds, "cpu": ran.computed, "peak_mb": ran.megabytes}


def settle(store: Store) -> None:
    """Bring the index into the shape that a long-lived process brings it to in the background."""
    getattr(store, "settle", tuple)()


def give_vectors(store: Store, vectors: Any, generation: Generation) -> None:
    """Give the memories *vectors* in the order of their ids, as an embedder would."""
    for at, ids in enumerate(_pages(store)):
        held = store.load(ids, scope=ALL_PROJECTS)
        store.put_vectors(
            generation,
            [
                EmbeddedMemory(
                    memory_id=row,
                    meaning=held[row].meaning,
                    passages=(Passage(start=0, stop=len(held[row].content), vector=vector.tobytes()),),
                )
                for row, vector in zip(ids, vectors[at * PAGE : at * PAGE + len(ids)], strict=True)
            ],
        )


def _pages(store: Store) -> Iterator[tuple[int, ...]]:
    last = 0
    while ids := store.ids(scope=ALL_PROJECTS, after=last, limit=PAGE):
        yield ids
        last = ids[-1]


def with_model(home: Path, material: Path, copy: Path) -> None:
    """Write a copy of the store whose vectors are known as MiniLM's, so that the model may ask for them."""
    from benchmarks.common import cached_embedder  # noqa: PLC0415 - most rows run without a model

    shutil.copytree(home, copy)
    embedder = cached_embedder()
    with recollect.open(copy / "notes.db", model="none") as db:
        known = Generation(fingerprint=embedder.fingerprint, dimensions=WIDTH, model="minilm")
        give_vectors(db.store, read_vectors(material), known)
        db.store.drop_vectors(EXTERNAL)


# --- questions ------------------------------------------------------------------------------


@dataclass(eq=False)
class Recorder:
    """A store that keeps what the word index is asked, so that the same can be asked again by itself."""

    store: Store
    asked: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    def match_words(self, *given: Any, **options: Any) -> Any:
        """Answer, and keep the question."""
        self.asked.append((given, options))
        return self.store.match_words(*given, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


def asked_of_index(db: recollect.Recollection, question: str, vector: list[float]) -> list[Any]:
    """Return what the default profile asks of the word index for *question*."""
    recorder = Recorder(db.store)
    db.store = recorder  # type: ignore[assignment]
    try:
        db.search(question, embedding=vector, limit=10)
    finally:
        db.store = recorder.store
    return recorder.asked


def or_of(question: str) -> WordQuery:
    """Return the OR of the words of *question*, with the numbers of the default profile."""
    words = load_profile("default").words
    stems = dict.fromkeys(stem for word in read_words(question) for stem in word.stems)
    return WordQuery(
        expression=AnyOf(parts=tuple(Word(text=stem) for stem in stems)),
        weights=words.fields,
        k1=words.k1,
        b=words.b,
        idf=words.idf,
    )


def searches(material: Path, home: Path) -> dict[str, Callable[[int], Any]]:
    """Open the store; nothing of a model is loaded."""
    os.environ.update(PLAIN)
    db = recollect.open(home / "notes.db", model="none")
    questions, vectors = read_questions(material), read_vectors(material, "questions")
    simple = cache(lambda at: or_of(questions[at]))
    recorded: dict[int, list[Any]] = {}
    store, everywhere = db.store, {"scope": ALL_PROJECTS, "where": NO_FILTER}

    def words(at: int) -> list[int]:
        return [hit.id for hit in store.match_words(simple(at), limit=10, **everywhere).top]

    def question(at: int) -> int:
        for given, options in recorded[at]:
            store.match_words(*given, **options)
        return len(recorded[at])

    def prepare(at: int) -> None:
        recorded.setdefault(at, asked_of_index(db, questions[at], vectors[at].tolist()))

    question.prepare = prepare  # type: ignore[attr-defined]
    first = next(iter(store.ids(scope=ALL_PROJECTS, limit=1)), 1)

    def near(at: int) -> list[int]:
        found = store.nearest(EXTERNAL, vectors[at].tobytes(), limit=100, **everywhere)
        return [hit.id - first for hit in found.top]

    return {
        "words": words,
        "question": question,
        "keyword": lambda at: _shown(db.search(questions[at], mode="keyword", limit=10)),
        "vectors": near,
        "hybrid": lambda at: _shown(db.search(questions[at], embedding=vectors[at].tolist(), limit=10)),
        "add": lambda at: db.add(f"{questions[at]} was noted by run {os.urandom(6).hex()}").id,
        "add and find": lambda at: _added(db, questions[at]),
        "keyword, logged": lambda at: _shown(db.search(questions[at], mode="keyword", limit=10, session="bench")),
        **{f"keyword, {name}": _staged(db, profile, questions) for name, profile in STAGES.items()},
    }


def _added(db: recollect.Recollection, text: str) -> int:
    """Add a memory and look for it; what is not found at once is an error."""
    mark = f"zq{os.urandom(6).hex()}"
    row = db.add(f"{text} was noted by {mark}").id
    if row not in _shown(db.search(mark, mode="keyword", limit=10)):
        raise LookupError(f"{mark} was added and not found")
    return row


DEFAULT = load_profile("default")
BARE = replace(DEFAULT, typos=None, date_boost=None)
STAGES = {
    "bare": BARE,
    "with typo tolerance": replace(BARE, typos=DEFAULT.typos),
    "with dates": replace(BARE, date_boost=DEFAULT.date_boost),
    "with expansion": replace(BARE, expand=Expand(max_variants=4)),
}
"""Stages that have nothing to do for a question of known words; what they cost then is told."""


def _staged(db: recollect.Recollection, profile: Profile, questions: Sequence[str]) -> Callable[[int], Any]:
    view = copy(db)
    view.profile = profile
    return lambda at: _shown(view.search(questions[at], mode="keyword", limit=10))


def _shown(reply: recollect.Reply) -> list[int]:
    return [hit.memory.id for hit in reply.hits]


def searches_with_model(material: Path, home: Path) -> dict[str, Callable[[int], Any]]:
    """Open the store with its model: the embedding alone, and hybrid searches that embed their question."""
    os.environ.update({**PLAIN, "RECOLLECT_MODEL": "minilm"})
    db = recollect.open(home / "notes.db", model="minilm")
    questions = read_questions(material)
    embedder = db.models.current()

    def alone(at: int) -> int:
        return len(embedder.embed_queries([" ".join(reversed(questions[at].split()))]))

    return {"embedding": alone, "embedded hybrid": lambda at: _shown(db.search(questions[at], limit=10))}
