"""A thousand projects of a hundred memories in one schema: a question within one of them, and beside a noisy one.

The rows are those of the store of 100,000, TIMES over, copied in the server under other ids and projects; their
segments are made by the store. No graph is made: a question within a project compares its vectors.
"""

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.common import ROOT
from benchmarks.postgres.latency import SIZE, addresses
from benchmarks.postgres.server import HOME
from benchmarks.postgres.stores import MODEL, open_at
from benchmarks.speed.engines.recollect import or_of
from benchmarks.speed.material import folder_of, read_questions, read_vectors
from benchmarks.speed.progress import say
from benchmarks.speed.results import Result, quantile

import recollect
from recollect.records import NO_FILTER, Scope

TIMES, PROJECTS = 1, 1_000
ASKED = 200
NOISE = 25.0
"""How many seconds the noisy project is at work."""
MEMORY = (
    "kind, type, created_at, updated_at, observed_at, deleted_at, superseded_by, superseded_at, valid_from, "
    "valid_until, confidence, pinned, trust, digest, external_id, source, line, section, thread, turn, title, "
    "tags, metadata, context, content"
)
NUMBER = "{after} + {table}.id"
PROJECT = f"'p' || (({NUMBER}) % {PROJECTS})"
COPIES = (
    f"insert into memory (id, project, {MEMORY}) select {NUMBER}, {PROJECT}, {MEMORY} from recollect.memory o",
    (
        f"insert into document (id, project, superseded, stem_length, exact_length, code) "
        f"select {NUMBER}, {PROJECT}, superseded, stem_length, exact_length, code from recollect.document o"
    ),
    f"insert into tokens (id, seq, stem, exact) select {NUMBER}, {NUMBER}, stem, exact from recollect.tokens o",
    (
        "insert into vector (generation_id, memory_id, ordinal, start, stop, embedding, stamp, alone, context) "
        "select 1, {after} + o.memory_id, ordinal, start, stop, embedding, 1, alone, context from recollect.vector o"
    ),
)
ENDING = (
    (
        "insert into collection_stats (project, documents, stem_length, exact_length, code) "
        "select project, count(*), sum(stem_length), sum(exact_length), sum(code) from document group by project"
    ),
    f"update meta set value = {SIZE * TIMES} where key in ('newest', 'seq')",
    "update meta set value = value + 1 where key in ('version', 'vectors')",
)


def address_of(server: str) -> str:
    """Return where the projects are, copied where they are missing."""
    base = addresses(server)["postgres"]
    address = f"{base}{'&' if '?' in base else '?'}schema=projects"
    if not (HOME / "projects.json").exists():
        store = open_at(address)
        started = time.perf_counter()
        with store.engine.session(write=True) as session:
            session.rows("set local statement_timeout = 0")
            session.rows(
                "insert into generation (id, fingerprint, dimensions, model) values (1, ?, ?, '')",
                (MODEL.fingerprint, MODEL.dimensions),
            )
            for turn in range(TIMES):
                for copy in COPIES:
                    say(f"projects: {turn * SIZE:,} memories")
                    session.rows(copy.format(after=turn * SIZE, table="o"))
            for each in ENDING:
                session.rows(each)
        say("projects: segments")
        store.words.settle(store.engine, whole=True)
        with store.engine.session(write=True) as session:
            session.rows("analyze")
        store.close()
        (HOME / "projects.json").write_text(f"{time.perf_counter() - started:.0f}", encoding="utf-8")
    return address


def measure(server: str) -> list[Result]:
    """Ask within single projects: alone, and while another project is noisy."""
    address = address_of(server)
    alone = list(_asked(address, "alone"))
    with _noise(address):
        beside = list(_asked(address, "beside a noisy project"))
    return [*alone, *beside]


def _asked(address: str, when: str) -> Iterator[Result]:
    material = folder_of("zipf", SIZE)
    questions, vectors = read_questions(material), read_vectors(material, "questions")
    chance = random.Random(3)
    with recollect.open(address, model="none") as db:
        rows = {
            "words": lambda at, scope: db.store.match_words(
                or_of(questions[at]), scope=scope, where=NO_FILTER, limit=10
            ),
            "vectors": lambda at, scope: db.store.nearest(
                MODEL.fingerprint, vectors[at].tobytes(), scope=scope, where=NO_FILTER, limit=10
            ),
            "hybrid": lambda at, scope: db.search(
                questions[at], embedding=tuple(map(float, vectors[at])), limit=10, project=tuple(scope.projects or ())
            ),
        }
        for row, ask in rows.items():
            say(f"projects: {row}, {when}")
            taken = []
            for at in range(-5, ASKED):
                scope = Scope(projects=frozenset({f"p{chance.randrange(1, PROJECTS)}"}))
                started = time.perf_counter()
                ask(at % len(questions), scope)
                taken.append(1000 * (time.perf_counter() - started))
            yield _result(f"{row}, {when}", sorted(taken[5:]))


def _result(row: str, ordered: list[float]) -> Result:
    p50, p95, p99 = (quantile(ordered, share) for share in (0.5, 0.95, 0.99))
    return Result(
        section="projects",
        row=row,
        engine="postgres",
        text="zipf",
        size=SIZE * TIMES,
        samples=len(ordered),
        p50=p50,
        p95=p95,
        p99=p99,
    )


@contextmanager
def _noise(address: str) -> Iterator[None]:
    """Let the project p0 be searched and written by four clients of another process meanwhile."""
    command = [sys.executable, "-m", "benchmarks.postgres.clients", address, "0", "4", str(NOISE), "mixed", "p0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as noisy:
        if noisy.stdin is None or noisy.stdout is None:
            raise RuntimeError("the noisy project does not begin")
        noisy.stdout.readline()
        noisy.stdin.write("go\n")
        noisy.stdin.flush()
        time.sleep(3.0)  # it opens the store first
        try:
            yield
        finally:
            noisy.communicate()
