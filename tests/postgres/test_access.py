"""A role sees and writes the projects that were granted to it, whatever statement it runs."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors, sql
from roles import connect_as, role_at
from two_projects import MARK, OURS, THEIR_ID, THEIRS, fill_two_projects, open_address

from kit import NOON
from postgres_server import fresh_database
from recollect.errors import StoreError
from recollect.records import Merge
from recollect.stores.postgres import open_postgres
from recollect.text.analyser import analyse

OF_PROJECT = ["memory", "document", "collection_stats", "source", "note", "piece", "recall", "recalled"]
OF_MEMORY = ["tagged", "wording", "event", "fact", "vector", "minhash", "tokens"]
WITH_CONTENT = [*OF_PROJECT, *OF_MEMORY]
OF_ALL = {"meta", "generation", "removed", "vector_count"}
"""Tables without words of anybody: counters, models, numbers of rows that are gone."""
OF_OWNER = {"segment", "segment_data", "document_beside", "minhash_beside", "tokens_beside", "changed", "given"}
OF_ROLE = {"access"}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a store of two projects for its owner, and for a role that was granted one of them."""
    address = fresh_database()
    fill_two_projects(address, tmp_path_factory.mktemp("two"))
    with open_address(address) as db:
        db.store.apply([Merge(id=THEIR_ID, confidence=1.0, wording=f"Another wording{MARK}")], at=NOON)
    with role_at(address, OURS) as restricted:
        yield address, restricted


def columns(db: psycopg.Connection[tuple[object, ...]], table: str) -> str:
    """Return all that *table* holds as far as *db* sees it."""
    return repr(db.execute(sql.SQL("select * from {}").format(sql.Identifier(table))).fetchall())


def tables(db: psycopg.Connection[tuple[object, ...]]) -> set[str]:
    found = db.execute("select tablename from pg_tables where schemaname = 'recollect'").fetchall()
    return {str(name) for (name,) in found}


def test_every_table_is_either_walled_or_without_words(two: tuple[str, str]) -> None:
    owner, _ = two

    with connect_as(owner) as db:
        assert tables(db) == {*WITH_CONTENT, *OF_ALL, *OF_OWNER, *OF_ROLE}


@pytest.mark.parametrize("table", WITH_CONTENT)
def test_a_role_reads_nothing_of_another_project_by_any_statement(two: tuple[str, str], table: str) -> None:
    owner, restricted = two

    with connect_as(owner) as all_of_it, connect_as(restricted) as some:
        everything, seen = columns(all_of_it, table), columns(some, table)
        count = sql.SQL("select count(*) from {}").format(sql.Identifier(table))
        counts = all_of_it.execute(count).fetchone(), some.execute(count).fetchone()

    assert MARK not in seen
    assert counts[0] > counts[1], (everything, seen)


@pytest.mark.parametrize("table", sorted(OF_OWNER))
def test_what_holds_words_of_all_is_the_owners(two: tuple[str, str], table: str) -> None:
    _, restricted = two

    with connect_as(restricted) as db:
        try:
            seen = columns(db, table)
        except errors.InsufficientPrivilege:
            seen = "[]"

    assert seen == "[]"


@pytest.mark.parametrize("table", WITH_CONTENT)
def test_a_role_changes_no_row_but_those_it_sees(two: tuple[str, str], table: str) -> None:
    _, restricted = two

    with connect_as(restricted) as db, db.transaction(force_rollback=True):
        seen = db.execute(sql.SQL("select count(*) from {}").format(sql.Identifier(table))).fetchone()
        gone = db.execute(sql.SQL("delete from {}").format(sql.Identifier(table))).rowcount

        assert (gone,) == seen
        for statement in ("truncate {}", "drop table {}", "alter table {} disable row level security"):
            refused(db, statement, table)


def refused(db: psycopg.Connection[tuple[object, ...]], statement: str, table: str) -> None:
    """Require that the role cannot do to a whole table what its rows do not decide about."""
    with pytest.raises(errors.InsufficientPrivilege), db.transaction():
        db.execute(sql.SQL(statement).format(sql.Identifier(table)))


WRITES = (
    (
        "insert into memory (id, project, kind, type, created_at, updated_at, confidence, pinned, trust, digest, "
        "title, tags, metadata, context, content) values (9999, '{theirs}', 'memory', 'note', '', '', 1, false, "
        "'owner', '', '', '[]', '{{}}', '{{}}', 'x')"
    ),
    "update memory set project = '{theirs}'",
    "insert into event (memory_id, verb, at, detail) values (1, 'feedback', '', '{{}}')",
    "insert into tagged (tag, memory_id) values ('x', 1)",
    "insert into wording (memory_id, ordinal, digest, content) values (1, 99, '', 'x')",
    (
        "insert into fact (id, memory_id, subject, folded, predicate, object, type, confidence, decay_rate, quote, "
        "last_reinforced, state) values (9999, 1, '', '', '', '', '', 1, 0, '', '', '')"
    ),
    "insert into tokens (id, seq, stem, exact) values (1, 99999, '', '') on conflict (id) do update set stem = ''",
    "insert into removed (seq, id) values (99999, 1)",
    "insert into piece (project, source, ordinal, digest, memory_id, gone) values ('ours', 'x', 0, '', 1, false)",
    "insert into piece (project, source, ordinal, digest, memory_id, gone) values ('{theirs}', 'x', 0, '', 20, false)",
    "insert into source (project, name, fingerprint, device, root) values ('{theirs}', 'x', '', 0, '')",
    "insert into note (project, kind, name, value) values ('{theirs}', 'token', 'x', '{{}}')",
    "insert into note (project, kind, name, value) values ('', 'token', 'x', '{{}}')",
    "insert into collection_stats values ('{theirs}', 1, 1, 1, 1) on conflict (project) do update set documents = 0",
    "insert into document values (9999, '{theirs}', false, 1, 1, 0)",
    "insert into recall (query, mode, outcome, at, scope) values ('x', 'keyword', 'none', '', '[\"{theirs}\"]')",
    "insert into recall (query, mode, outcome, at, scope) values ('x', 'keyword', 'none', '', 'null')",
    "insert into vector (generation_id, memory_id, ordinal, start, stop, embedding) values (1, 1, 99, 0, 0, '')",
    "insert into minhash values (1, 1)",
    "insert into segment values ('x', 0, 9, 1)",
    "insert into access values (current_user, '{theirs}')",
    "select recollect_grant(current_user, '{theirs}')",
    "select setval('memory_ids', 1)",
    "insert into meta values ('moving', 1)",
    "update generation set dimensions = 1",
    "delete from generation",
    "alter table memory disable row level security",
    "drop policy granted on memory",
    "create function recollect.is_granted(text) returns boolean language sql as 'select true'",
    "create table recollect.mine (x int)",
    "set role recollect",
)


@pytest.mark.parametrize("statement", WRITES)
def test_no_statement_writes_beyond_what_was_granted(two: tuple[str, str], statement: str) -> None:
    _, restricted = two

    with connect_as(restricted) as db, pytest.raises(errors.InsufficientPrivilege):
        db.execute(statement.format(theirs=THEIRS))


def test_a_table_of_ones_own_does_not_stand_in_for_the_list_of_grants(two: tuple[str, str]) -> None:
    _, restricted = two

    with connect_as(restricted) as db:
        db.execute("create temporary table access (role name, project text)")
        db.execute("insert into access values (current_user, %s)", (THEIRS,))
        seen = columns(db, "memory") + columns(db, "recall")

    assert MARK not in seen


def test_a_role_opens_the_store_and_works_in_its_project(two: tuple[str, str]) -> None:
    _, restricted = two

    with open_address(restricted, project=OURS) as db:
        row = db.add("The lantern oil is kept in the cellar").id
        found = [hit.id for hit in db.search("lantern oil", session="x").hits]
        db.forget(row)
        db.flush()

        assert found[0] == row
        assert db.stats().projects.keys() == {OURS}
        assert [each.query for each in db.log.recent(session="x")] == ["lantern oil"]
        assert db.doctor(deep=True).problems == ()


def test_a_role_answers_from_rows_where_the_owner_has_segments(two: tuple[str, str]) -> None:
    owner, restricted = two
    with open_address(restricted, project=OURS) as db:
        before = [(hit.id, hit.score) for hit in db.search("lighthouse port", limit=20).hits]

    with connect_as(owner) as all_of_it, open_address(restricted, project=OURS) as db:
        all_of_it.execute("insert into segment (name, after, upto, documents) select 'a', 0, max(seq), 9 from tokens")
        found = [(hit.id, hit.score) for hit in db.search("lighthouse port", limit=20).hits]
        all_of_it.execute("delete from segment")

    assert before
    assert found == before


def test_the_owner_finds_what_a_role_wrote(two: tuple[str, str]) -> None:
    owner, restricted = two

    with open_address(restricted, project=OURS) as some, open_address(owner) as db:
        row = some.add("The beacon was painted green in spring").id

        assert db.search("beacon painted green").hits[0].id == row
        some.purge(row)
        assert row not in [hit.id for hit in db.search("beacon painted green").hits]
        assert db.doctor(deep=True).problems == ()


def test_a_role_that_names_no_project_is_told_to(two: tuple[str, str]) -> None:
    _, restricted = two

    with open_address(restricted) as db, pytest.raises(StoreError) as refusal:
        db.add("Nobody's")

    assert "granted" in refusal.value.hint


def test_a_role_makes_no_index_anew_for_all(two: tuple[str, str]) -> None:
    _, restricted = two

    with open_address(restricted, project=OURS) as db, pytest.raises(StoreError, match="does not let this user"):
        db.reindex()


def test_a_backup_by_a_role_holds_what_it_sees(two: tuple[str, str], tmp_path: Path) -> None:
    _, restricted = two

    with open_address(restricted) as db:
        db.backups.create(tmp_path / "copy.db")

    assert MARK.encode() not in (tmp_path / "copy.db").read_bytes()


def test_who_was_granted_nothing_is_not_let_in(two: tuple[str, str]) -> None:
    owner, _ = two

    with role_at(owner) as stranger, pytest.raises(StoreError, match="does not let this user in") as refusal:
        open_postgres(stranger, analyse)

    assert "recollect_grant" in refusal.value.hint


def test_what_was_revoked_is_seen_no_longer() -> None:
    address = fresh_database()
    with open_address(address) as db:
        db.in_project("web").add("The web team meets on Mondays")
    with role_at(address, "web", "api") as restricted, connect_as(address) as owner, connect_as(restricted) as some:
        before = some.execute("select count(*) from memory").fetchone()
        name = some.execute("select current_user").fetchone()

        owner.execute("select recollect_revoke(%s, 'web')", name)

        assert (before, some.execute("select count(*) from memory").fetchone()) == ((1,), (0,))


def test_a_role_puts_no_table_of_its_own_under_what_runs_as_the_owner(two: tuple[str, str]) -> None:
    with connect_as(two[1]) as db:
        db.execute("create temp table meta (key text, value bigint)")
        db.execute("insert into meta values ('timeline', 0), ('version', 0), ('lineage', 0)")
        db.execute("select recollect.follow_timeline()")

        assert db.execute("select distinct value from pg_temp.meta").fetchall() == [(0,)]
