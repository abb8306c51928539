"""Writers side by side: whatever the order of their steps, readers see what some serial order would have left."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some
from msgspec.structs import replace

import recollect
from kit import NOON, asking, plain
from postgres_server import fresh_database
from recollect.records import ALL_PROJECTS, NO_FILTER, Forget, Insert, Memory, Restore, Revise
from recollect.stores.postgres import open_postgres
from recollect.stores.sql import SqlStore
from recollect.stores.sql.index import answering, sealing
from recollect.stores.sqlite import open_sqlite

PROJECTS = ("north", "south", "west")
WORDS = ("lamp", "harbor", "keeper", "storm", "ship")
ACTIONS = ("begin", "insert", "insert", "revise", "forget", "restore", "commit", "commit", "abort", "read", "settle")
MAX_STATEMENTS = 8


class Writer:
    """One writer with a project, a connection and a thread of its own; its steps are taken one by one."""

    def __init__(self, address: str, project: str) -> None:
        self.store, self.project = open_postgres(address, plain), project
        self._thread = ThreadPoolExecutor(1)
        self._open: AbstractContextManager[None] | None = None
        self.texts: dict[int, str | None] = {}
        self.pending: dict[int, str | None] = {}
        """What each memory says after the open transaction; None for a forgotten one."""

    def step(self, action: str, text: str) -> None:
        """Take one step, in the thread whose transaction it is."""
        self._thread.submit(self._step, action, text).result()

    def _step(self, action: str, text: str) -> None:
        if action == "begin" and self._open is None:
            self._open, self.pending = self.store.transaction([self.project]), dict(self.texts)
            self._open.__enter__()
        elif action == "commit" and self._open is not None:
            self._open.__exit__(None, None, None)
            self._open, self.texts = None, self.pending
        elif action == "abort" and self._open is not None:
            self._open.__exit__(KeyError, KeyError("abort"), None)
            self._open, self.pending = None, {}
        elif action in ("insert", "revise", "forget", "restore") and self._open is not None:
            self._write(action, text)

    def _write(self, action: str, text: str) -> None:
        memory = Memory(content=text, project=self.project)
        live = [row for row, says in self.pending.items() if says is not None]
        gone = [row for row, says in self.pending.items() if says is None]
        if action == "insert":
            (row,) = self.store.apply([Insert(memory=memory)], at=NOON)
            self.pending[row] = text
        elif action == "revise" and live:
            held = self.store.load(live[:1], scope=ALL_PROJECTS)[live[0]]
            self.store.apply([Revise(memory=replace(held, content=text))], at=NOON)
            self.pending[live[0]] = text
        elif action == "forget" and live:
            self.store.apply([Forget(id=live[-1])], at=NOON)
            self.pending[live[-1]] = None
        elif action == "restore" and gone:
            self.store.apply([Restore(id=gone[0])], at=NOON)
            self.pending[gone[0]] = self.store.load(gone[:1], scope=ALL_PROJECTS)[gone[0]].content

    def close(self) -> None:
        """Let go of the connection."""
        self.step("abort", "")
        self._thread.shutdown()
        self.store.close()


def answers(store: SqlStore) -> object:
    """What a store answers about words, whatever its ids are."""
    found = store.match_words(asking(*WORDS), scope=ALL_PROJECTS, where=NO_FILTER, limit=100)
    loaded = store.load([hit.id for hit in found.top], scope=ALL_PROJECTS)
    hits = sorted((round(hit.score, 9), loaded[hit.id].project, loaded[hit.id].content) for hit in found.top)
    return hits, store.document_frequencies(scope=ALL_PROJECTS), store.stats(scope=ALL_PROJECTS).projects


def serial(writers: Sequence[Writer]) -> object:
    """What a store answers to which the same memories were written one after the other."""
    store = open_sqlite(None, plain)
    memories = [
        Memory(content=text, project=each.project)
        for each in writers
        for text in each.texts.values()
        if text is not None
    ]
    store.apply([Insert(memory=memory) for memory in memories], at=NOON)
    found = answers(store)
    store.close()
    return found


steps = some.tuples(
    some.integers(0, len(PROJECTS) - 1),
    some.sampled_from(ACTIONS),
    some.lists(some.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    return fresh_database()


@settings(
    max_examples=10,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(schedule=some.lists(steps, min_size=20, max_size=60))
def test_any_interleaving_of_writers_gives_the_answers_of_a_serial_order(
    schedule: list[tuple[int, str, str]], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "SEAL", 4)
    monkeypatch.setattr(sealing, "FIRST", 4)
    monkeypatch.setattr(answering, "TINY", 3)
    address = fresh_database()
    writers = [Writer(address, project) for project in PROJECTS]
    reader = open_postgres(address, plain, cache=tmp_path_factory.mktemp("reader"))
    sealer = open_postgres(address, plain, cache=tmp_path_factory.mktemp("sealer"))
    for number, action, text in [*schedule, *((number, "commit", "") for number in range(len(writers)))]:
        writers[number].step(action, text)
        if action == "settle":
            sealer.settle()
        if action in ("read", "commit", "settle"):
            assert answers(reader) == serial(writers)
    sealer.settle()

    assert [answers(reader), answers(sealer)] == [serial(writers)] * 2
    assert sealer.check(deep=True) == ()
    for each in writers:
        each.close()
    for store in (reader, sealer):
        store.close()


def test_an_older_transaction_that_commits_late_is_found_beyond_newer_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "SEAL", 4)
    monkeypatch.setattr(sealing, "FIRST", 4)
    address = fresh_database()
    late, soon = Writer(address, "north"), Writer(address, "south")
    reader = open_postgres(address, plain, cache=tmp_path)
    late.step("begin", "")
    late.step("insert", "lamp late")
    for number in range(9):
        for action in ("begin", "insert", "commit"):
            soon.step(action, f"lamp {WORDS[number % 5]}")
    reader.settle()
    before = answers(reader)
    late.step("commit", "")

    assert before == serial([soon])
    assert answers(reader) == serial([late, soon])
    reader.settle()
    assert answers(reader) == serial([late, soon])
    assert reader.check(deep=True) == ()
    for each in (late, soon):
        each.close()
    reader.close()


def test_writers_of_one_project_store_the_same_text_once(address: str) -> None:
    together = threading.Barrier(8)

    def add(number: int) -> str:
        with recollect.open(address, model="none", project="shared") as db:
            together.wait()
            return db.add(f"The lamp of the lighthouse is lit at six, says keeper {number % 2}").decision

    with ThreadPoolExecutor(8) as pool:
        decisions = list(pool.map(add, range(8)))

    with recollect.open(address, model="none", project="shared") as db:
        assert db.stats().memories == decisions.count("distinct") + decisions.count("updates") + decisions.count(
            "conflicts"
        )
        assert db.stats().memories <= 2
        assert db.doctor(deep=True).problems == ()


def test_writers_of_other_projects_do_not_wait(address: str) -> None:
    one, other = open_postgres(address, plain), open_postgres(address, plain)

    with one.transaction(["north"]):
        one.apply([Insert(memory=Memory(content="lamp", project="north"))], at=NOON)
        with ThreadPoolExecutor(1) as pool:
            write = pool.submit(other.apply, [Insert(memory=Memory(content="ship", project="south"))], at=NOON)
            assert write.result(timeout=30)

    one.close()
    other.close()


def test_an_add_takes_few_statements(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[str] = []
    run = psycopg.Connection.execute

    def execute(self: psycopg.Connection[object], query: object, *given: object, **options: object) -> object:
        statements.append(str(query))
        return run(self, query, *given, **options)  # type: ignore[arg-type]

    with recollect.open(address, model="none", project="counted") as db:
        db.add("The first one opens connections")
        db.add("The second one finds the harbor")
        with monkeypatch.context() as patched:
            patched.setattr(psycopg.Connection, "execute", execute)
            db.add("The third one is written by itself")

    assert len(statements) <= MAX_STATEMENTS, statements
