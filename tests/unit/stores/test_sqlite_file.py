"""What is particular to one SQLite file: its schema, its formula, its damage, its other users."""

import sqlite3
import threading
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from kit import NOON, asking, in_text, plain
from recollect.errors import StoreDamaged, StoreError, WordIndexUnavailable
from recollect.records import (
    ALL_PROJECTS,
    FIELDS,
    EmbeddedMemory,
    Filter,
    Generation,
    Insert,
    Memory,
    Passage,
    TokenizedMemory,
)
from recollect.stores.contract import Store
from recollect.stores.sql.engine import Session
from recollect.stores.sqlite import open_sqlite
from recollect.stores.sqlite.copies import APPLICATION
from recollect.stores.sqlite.engine import SqliteEngine, migrations
from recollect.stores.token_text import unpacked
from recollect.vectors import pack

SCHEMA = Path(__file__).parents[3] / "src/recollect/stores/sqlite/schema.sql"
ANY = Filter()
TEXTS = ("the cat sat", "a cat and a dog", "dogs bark at cats", "cat cat cat", "birds", "fish swim", "a cow", "mice")


def store_of(path: Path, *texts: str) -> Store:
    store = open_sqlite(path, plain)
    store.apply([Insert(memory=Memory(content=text)) for text in texts], at=NOON)
    return store


def found(store: Store, word: str) -> list[int]:
    return [match.id for match in store.match_words(asking(word), scope=ALL_PROJECTS, where=ANY, limit=9).top]


def described(sql: str) -> set[tuple[str, str, str]]:
    db = apsw.Connection(":memory:")
    db.execute(sql)
    rows = db.execute("select type, name, coalesce(sql, '') from sqlite_schema")
    return {(kind, name, " ".join(text.split())) for kind, name, text in rows}


def test_the_schema_is_the_sum_of_the_migrations() -> None:
    assert described(SCHEMA.read_text(encoding="utf-8")) == described("\n".join(migrations()))


@pytest.mark.req("C-01", "C-07")
@pytest.mark.parametrize("words", [("cat",), ("cat", "dog"), ("bird", "cow", "cat"), ("the",)])
def test_scores_equal_the_bm25_of_fts5_to_rounding(tmp_path: Path, words: tuple[str, ...]) -> None:
    store = store_of(tmp_path / "a.db", *TEXTS)
    weights = dict.fromkeys(FIELDS, 1.0) | {"title": 2.0}

    ours = store.match_words(asking(*words, **weights), scope=ALL_PROJECTS, where=ANY, limit=9).top

    own = ", ".join(str(weights[name]) for name in FIELDS)
    match = " OR ".join(f'"{word}"' for word in words)
    sql = f"select rowid, -bm25(stem, {own}) from stem where stem match ? order by 2 desc, 1"
    with apsw.Connection(str(tmp_path / "a.db")) as db:
        db.execute(f"create virtual table temp.stem using fts5 ({', '.join(FIELDS)})")
        for row, data in db.execute("select id, stem from tokens").fetchall():
            stem, _ = unpacked(data)
            db.execute(f"insert into stem values ({', '.join('?' * len(FIELDS))})", tuple(stem.split("\n")))
            assert db.last_insert_rowid() == row
        theirs = db.execute(sql, (match,)).fetchall()
    assert [match.id for match in ours] == [row for row, _ in theirs]
    assert [match.score for match in ours] == pytest.approx([score for _, score in theirs], rel=1e-9)


@pytest.mark.case(99)
def test_a_damaged_word_index_is_made_anew_and_nothing_else_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store_of(path, *TEXTS).close()
    with apsw.Connection(str(path)) as db:
        db.execute("update tokens set stem = zeroblob(8) where id = 3")
    store = open_sqlite(path, plain)

    problems = store.check()
    rows = found(store, "cat")

    assert any("the tokens of memory 3 are damaged" in problem for problem in problems)
    assert set(rows) == {1, 2, 3, 4}
    assert store.check() == ()


@pytest.mark.parametrize("table", ["tokens", "removed", "segment", "document"])
def test_a_word_index_that_lacks_a_table_is_made_anew(tmp_path: Path, table: str) -> None:
    path = tmp_path / "a.db"
    store_of(path, *TEXTS).close()
    with apsw.Connection(str(path)) as db:
        db.execute(f"drop table {table}")
    store = open_sqlite(path, plain)

    rows = found(store, "cat")
    exact, stems = (store.document_frequencies(scope=ALL_PROJECTS, form=form) for form in ("exact", "stem"))

    assert (set(rows), exact["cat"], stems["cat"]) == ({1, 2, 3, 4}, 3, 4)
    assert store.check() == ()


def test_a_damaged_word_index_is_made_anew_within_a_read_transaction_too(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store_of(path, *TEXTS).close()
    with apsw.Connection(str(path)) as db:
        db.execute("drop table tokens")
    store = open_sqlite(path, plain)

    with store.reading():
        rows = found(store, "cat")

    assert set(rows) == {1, 2, 3, 4}
    assert store.check() == ()


def test_what_is_read_in_one_transaction_is_one_state(tmp_path: Path) -> None:
    store, other = store_of(tmp_path / "a.db", *TEXTS), open_sqlite(tmp_path / "a.db", plain)

    with store.reading():
        before = found(store, "cat")
        other.apply([Insert(memory=Memory(content="cat"))], at=NOON)
        within = found(store, "cat")

    assert (before, len(found(store, "cat"))) == (within, len(before) + 1)


def test_a_rebuilt_word_index_has_the_tables_of_the_schema(tmp_path: Path) -> None:
    store_of(tmp_path / "a.db", *TEXTS).rebuild()

    rows = apsw.Connection(str(tmp_path / "a.db")).execute("select type, name, coalesce(sql, '') from sqlite_schema")

    assert unquoted(rows) == unquoted(described(SCHEMA.read_text(encoding="utf-8")))


def unquoted(rows: Iterable[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """Return the parts of a schema without blanks and without the quotes that renaming a table leaves."""
    own = [row for row in rows if not row[1].startswith("sqlite_")]
    return {(kind, name, "".join(text.translate(str.maketrans("", "", "'\"")).split())) for kind, name, text in own}


def test_a_word_index_that_cannot_be_rebuilt_is_unavailable_and_the_text_still_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    store_of(path, *TEXTS).close()
    with apsw.Connection(str(path)) as db:
        db.execute("update tokens set stem = 'cat' where id = 2")
    monkeypatch.setattr(apsw, "connection_hooks", [lambda made: made.pragma("query_only", True)])
    store = open_sqlite(path, plain)

    with pytest.raises(WordIndexUnavailable, match="cannot be rebuilt") as caught:
        found(store, "cat")

    assert "reindex" in caught.value.hint
    assert list(in_text(store, ["cow"], scope=ALL_PROJECTS, where=ANY)) == [7]
    assert any("reindex" in problem for problem in store.check())


# --- another analyser -----------------------------------------------------------------------


def backwards(memory: Memory, wordings: Sequence[str]) -> TokenizedMemory:
    return plain(replace(memory, content=memory.content[::-1]), wordings)


def test_a_changed_analyser_rebuilds_the_word_index_when_the_store_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = open_sqlite(path, plain, analyser=1)
    store.apply([Insert(memory=Memory(content=text)) for text in TEXTS], at=NOON)
    before = found(store, "cat"), store.version()
    store.close()

    again = open_sqlite(path, plain, analyser=1)
    same = found(again, "cat"), again.version()
    again.close()
    other = open_sqlite(path, backwards, analyser=2)

    assert same == before
    assert (found(other, "cat"), len(found(other, "tac"))) == ([], 3)
    assert other.version() > before[1]
    assert other.check() == ()


def test_of_several_that_open_a_store_with_a_changed_analyser_one_rebuilds_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = open_sqlite(path, plain, analyser=1)
    store.apply([Insert(memory=Memory(content=text)) for text in TEXTS], at=NOON)
    version = store.version()
    opened: list[Store] = []

    threads = [
        threading.Thread(target=lambda: opened.append(open_sqlite(path, backwards, analyser=2))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [len(found(each, "tac")) for each in opened] == [3] * 4
    assert store.version() == version + 1


def test_where_a_changed_analyser_cannot_rebuild_the_store_opens_and_the_check_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    store_of(path, *TEXTS).close()
    monkeypatch.setattr(apsw, "connection_hooks", [lambda made: made.pragma("query_only", True)])

    store = open_sqlite(path, backwards, analyser=2)

    assert len(found(store, "cat")) == 4
    assert [problem for problem in store.check() if "another version" in problem]


# --- old vectors ----------------------------------------------------------------------------


def embed(store: Store, generation: Generation, *rows: int) -> None:
    passages = (Passage(start=0, stop=1, vector=bytes(4 * generation.dimensions)),)
    held = store.load(rows, scope=ALL_PROJECTS).values()
    made = [EmbeddedMemory(memory_id=memory.id, meaning=memory.meaning, passages=passages) for memory in held]
    store.put_vectors(generation, made)


def test_vectors_that_a_newer_model_has_replaced_are_told_of_until_they_are_dropped(tmp_path: Path) -> None:
    store = store_of(tmp_path / "a.db", "one", "two")
    old, new = (Generation(fingerprint=name, dimensions=2, model=name) for name in ("old", "new"))
    embed(store, Generation(fingerprint="external-2", dimensions=2, model="external"), 1)
    embed(store, old, 1, 2)
    embed(store, new, 1)
    filling = store.check()

    embed(store, new, 2)
    (line,) = store.check()
    dropped = store.drop_vectors("old")

    assert filling == ()
    assert line == "2 memories have vectors of old that nothing needs any more; run: recollect model prune"
    assert (dropped, store.check()) == (2, ())
    assert [each.fingerprint for each in store.generations(scope=ALL_PROJECTS)] == ["new", "external-2"]


def test_a_generation_in_the_place_of_a_dropped_one_is_searched_with_its_own_width(tmp_path: Path) -> None:
    store = store_of(tmp_path / "a.db", "one")
    embed(store, Generation(fingerprint="a", dimensions=2, model="a"), 1)
    store.nearest("a", bytes(8), scope=ALL_PROJECTS, where=ANY, limit=9)
    store.drop_vectors("a")
    embed(store, Generation(fingerprint="b", dimensions=3, model="b"), 1)

    assert [near.id for near in store.nearest("b", bytes(12), scope=ALL_PROJECTS, where=ANY, limit=9).top] == [1]


def test_a_vector_that_takes_the_number_of_a_dropped_one_is_seen(tmp_path: Path) -> None:
    store = store_of(tmp_path / "a.db", "one")
    generation = Generation(fingerprint="f", dimensions=2, model="m")
    memory = store.load([1], scope=ALL_PROJECTS)[1]

    def cosine(*numbers: float) -> float:
        passages = (Passage(start=0, stop=1, vector=pack(numbers)),)
        store.put_vectors(generation, [EmbeddedMemory(memory_id=1, meaning=memory.meaning, passages=passages)])
        (near,) = store.nearest("f", pack([1.0, 0.0]), scope=ALL_PROJECTS, where=ANY, limit=9).top
        return near.score

    assert (cosine(1.0, 0.0), cosine(0.0, 1.0)) == (1.0, 0.0)


@pytest.mark.parametrize("content", [b"this is no database at all, but long enough", b"x"])
def test_a_file_that_is_not_sqlite_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(content)

    with pytest.raises(StoreDamaged, match="not a recollect store"):
        open_sqlite(path, plain)

    assert path.read_bytes() == content


def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with sqlite3.connect(path) as db:
        db.execute("create table theirs (x)")
    before = path.read_bytes()

    with pytest.raises(StoreDamaged, match="another program"):
        open_sqlite(path, plain)

    assert path.read_bytes() == before


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store_of(path, "cat").close()
    with apsw.Connection(str(path)) as db:
        db.pragma("user_version", 9999)

    with pytest.raises(StoreError, match="newer"):
        open_sqlite(path, plain)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="folder"):
        open_sqlite(tmp_path, plain)


def test_a_truncated_file_is_damaged_not_deleted(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store_of(path, *TEXTS).close()
    path.write_bytes(path.read_bytes()[:5000])

    with pytest.raises(StoreDamaged):
        found(open_sqlite(path, plain), "cat")

    assert path.stat().st_size == 5000


def test_the_file_says_whose_it_is_and_keeps_its_log_beside_it(tmp_path: Path) -> None:
    store_of(tmp_path / "deep" / "a.db", "cat")

    db = apsw.Connection(str(tmp_path / "deep" / "a.db"))

    assert db.pragma("application_id") == APPLICATION
    assert db.pragma("journal_mode") == "wal"


def test_threads_share_a_store(tmp_path: Path) -> None:
    store = store_of(tmp_path / "a.db", "cat")
    seen: list[list[int]] = []

    def work() -> None:
        store.apply([Insert(memory=Memory(content="cat too"))], at=NOON)
        seen.append(found(store, "cat"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(seen) == 4
    assert len(found(store, "cat")) == 5


def test_a_reader_is_not_blocked_by_a_writer_and_sees_the_state_before_it(tmp_path: Path) -> None:
    writer, reader = store_of(tmp_path / "a.db", "cat"), open_sqlite(tmp_path / "a.db", plain)

    with writer.transaction():
        writer.apply([Insert(memory=Memory(content="cat too"))], at=NOON)
        during = found(reader, "cat")

    assert during == [1]
    assert found(reader, "cat") == [1, 2]


@pytest.mark.case(74)
def test_a_stored_vector_of_a_wrong_width_is_left_out_and_told_of(tmp_path: Path) -> None:
    store = store_of(tmp_path / "a.db", "one", "two", "three")
    generation = Generation(fingerprint="f", dimensions=2, model="m")
    vector = array("f", (1.0, 0.0)).tobytes()
    held = store.load([1, 2, 3], scope=ALL_PROJECTS).values()
    passages = (Passage(start=0, stop=1, vector=vector),)
    store.put_vectors(generation, [EmbeddedMemory(memory_id=m.id, meaning=m.meaning, passages=passages) for m in held])
    with apsw.Connection(str(tmp_path / "a.db")) as db:
        db.execute("update vector set embedding = zeroblob(12) where memory_id = 2")

    found = open_sqlite(tmp_path / "a.db", plain).nearest("f", vector, scope=ALL_PROJECTS, where=ANY, limit=9)

    assert [near.id for near in found.top] == [1, 3]
    assert any("wrong width" in problem for problem in store.check())


# --- what a connection has read -------------------------------------------------------------


def counted(session: Session) -> int:
    return int(session.value("select count(*) from jotting"))


@pytest.mark.parametrize("name", ["a.db", None])
def test_what_a_connection_keeps_is_read_again_when_anybody_has_written(tmp_path: Path, name: str | None) -> None:
    engine = SqliteEngine(None if name is None else tmp_path / name)
    others = engine if name is None else SqliteEngine(tmp_path / name)
    seen = []

    def look(of: SqliteEngine) -> None:
        with of.session() as session:
            seen.append((session.kept(counted), counted(session)))

    with engine.session(write=True) as session:
        session.rows("create table jotting (text)")
    for writer in (engine, others, others, engine):
        look(engine)
        with writer.session(write=True) as session:
            session.kept(counted)
            session.rows("insert into jotting values ('a')")
            seen.append((session.kept(counted), counted(session)))
        look(engine)
        look(others)

    assert all(kept == there for kept, there in seen)
    assert seen[-1] == (4, 4)


def test_what_a_connection_keeps_is_right_after_a_write_that_was_undone(tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "a.db")
    with engine.session(write=True) as session:
        session.rows("create table jotting (text)")

    def written() -> None:
        with engine.session() as outer, engine.session(write=True) as session:
            assert outer.kept(counted) == 0
            session.rows("insert into jotting values ('a')")
            assert session.kept(counted) == 1
            raise ValueError("undone")

    for _ in range(2):
        with pytest.raises(ValueError, match="undone"):
            written()
        with engine.session() as session:
            assert session.kept(counted) == 0


def test_a_transaction_sees_one_state_from_the_first_that_it_keeps(tmp_path: Path) -> None:
    engine, others = SqliteEngine(tmp_path / "a.db"), SqliteEngine(tmp_path / "a.db")
    with engine.session(write=True) as session:
        session.rows("create table jotting (text)")

    with engine.session() as session:
        before = session.kept(counted)
        with others.session(write=True) as writing:
            writing.rows("insert into jotting values ('a')")
        during = (session.kept(counted), counted(session))
        engine.renew()
        after = (session.kept(counted), counted(session))

    assert (before, during, after) == (0, (0, 0), (1, 1))
