"""What a role writes by raw SQL neither stops the writes of others nor breaks their reads nor empties their log."""

from collections.abc import Iterator

import pytest
from psycopg import errors
from roles import connect_as, role_at
from two_projects import OURS, THEIRS, fill_two_projects, open_address

from kit import NOON
from postgres_server import fresh_database
from recollect.recall.log import Retention
from recollect.records import ALL_PROJECTS

MINE = "(select max(id) from memory)"
"""A memory that the role sees."""
NEW_MEMORY = (
    "insert into memory (id, project, kind, type, created_at, updated_at, confidence, pinned, trust, digest, title, "
    "tags, metadata, context, content) select {id}, project, kind, type, created_at, updated_at, confidence, pinned, "
    f"trust, digest, title, tags, metadata, context, content from memory where id = {MINE}"
)
AHEAD = (
    NEW_MEMORY.format(id="9999"),
    f"update memory set id = 9999 where id = {MINE}",
    (
        "insert into fact (id, memory_id, subject, folded, predicate, object, type, confidence, decay_rate, quote, "
        f"last_reinforced, state) select 9999, {MINE}, '', '', '', "
        "'', '', 1, 0, '', created_at, 'active' from memory limit 1"
    ),
    f"insert into removed (seq, id) values (999999999, {MINE})",
    f"insert into removed (seq, id) values (1, {MINE})",
    f"update tokens set seq = 999999999 where id = {MINE}",
    "insert into document values (9999, 'ours', false, 1, 1, 0)",
    f"update document set id = 9999 where id = {MINE}",
    f"insert into event (id, memory_id, verb, at, detail) values (9999, {MINE}, 'add', '{{moment}}', '{{{{}}}}')",
    (
        "insert into recall (id, query, mode, outcome, at, scope) "
        "values (9999, 'x', 'keyword', 'none', '{moment}', '[\"ours\"]')"
    ),
    "insert into generation (id, fingerprint, dimensions, model) values (9999, 'x', 8, 'x')",
    "update vector set id = 9999 where id = (select max(id) from vector)",
    "select setval('memory_ids', 4000000000)",
    "select nextval('fact_ids')",
    "update collection_stats set version = version + 4000000000",
    "update collection_stats set version = 0, changes = 0",
)
MOMENT = "2026-03-01T12:00:00.000000+00:00"
DEEP = '{"a":' * 900 + "1" + "}" * 900
UNREADABLE = (
    *(
        f"update memory set {column} = {value} where id = {MINE}"
        for column, value in (
            ("created_at", "'yesterday'"),
            ("updated_at", "'2026-02-30T12:00:00.000000+00:00'"),
            ("observed_at", "'2026-03-01T24:00:00.000000+00:00'"),
            ("deleted_at", "''"),
            ("valid_from", "'2026'"),
            ("valid_until", "'!'"),
            ("superseded_at", "'x'"),
            ("tags", "'{'"),
            ("tags", "'[1]'"),
            ("metadata", "'[]'"),
            ("metadata", f"'{DEEP}'"),
            ("metadata", '\'{"a":' + "9" * 5000 + "}'"),
            ("context", '\'{"elsewhere":"x"}\''),
            ("confidence", "'NaN'"),
            ("trust", "'nobody'"),
        )
    ),
    f"insert into event (memory_id, verb, at, detail) values ({MINE}, 'add', 'x', '{{}}')",
    f"insert into event (memory_id, verb, at, detail) values ({MINE}, 'add', '{MOMENT}', '[]')",
    f"insert into event (memory_id, verb, at, detail) values ({MINE}, 'add', '{MOMENT}', '{{\"of\":true}}')",
    f"insert into event (memory_id, verb, at, detail) values ({MINE}, 'add', '{MOMENT}', '{{\"by\":{'9' * 25}}}')",
    "update fact set last_reinforced = 'x'",
    "update fact set confidence = 'Infinity'",
    "update note set value = '{'",
    "update note set value = '3'",
    "insert into recall (query, mode, outcome, at, scope) values ('x', 'keyword', 'none', '!', '[\"ours\"]')",
    "update recalled set score = 'NaN'",
    "update recalled set fact_ids = '[\"x\"]'",
    "update collection_stats set documents = -5",
    "update collection_stats set documents = 4000000000000000000",
    "update document set stem_length = -1",
    "update tokens set stem = ''",
    "update generation set context_weights = 'x' where fingerprint = 'fresh'",
    "insert into generation (fingerprint, dimensions, model) values ('x', 0, 'x')",
    "update vector set embedding = '\\x00'",
    "update vector set embedding = decode(repeat('ff', length(embedding)), 'hex')",
    "update vector set alone = '[1,2]'",
    "update vector set alone = null",
)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a store of two projects for its owner, and for a role that was granted one of them."""
    address = fresh_database()
    fill_two_projects(address, tmp_path_factory.mktemp("two"))
    with role_at(address, OURS) as restricted:
        with open_address(restricted, project=OURS) as some:
            some.add("Keeper: Ida, the newest of the role")
            some.roots.add("/notes")
            some.search("the newest of the role", session="s")
            some.flush()
        with connect_as(restricted) as db:
            db.execute("insert into generation (fingerprint, dimensions, model) values ('fresh', 8, 'fresh')")
        yield address, restricted


@pytest.mark.parametrize("statement", AHEAD)
def test_a_role_takes_no_number_that_was_not_given(two: tuple[str, str], statement: str) -> None:
    owner, restricted = two

    with connect_as(restricted) as db, pytest.raises(errors.InsufficientPrivilege):
        db.execute(statement.format(moment=MOMENT))

    with open_address(owner, project=THEIRS) as theirs:
        row = theirs.add("Written after that").id
        theirs.edit(row, content="Changed after that")
        assert theirs.purge(row).ids == (row,)


@pytest.mark.parametrize("statement", UNREADABLE)
def test_a_role_writes_no_row_that_cannot_be_read_back(two: tuple[str, str], statement: str) -> None:
    _, restricted = two

    with connect_as(restricted) as db, pytest.raises(errors.CheckViolation):
        db.execute(statement)


def test_no_role_takes_an_id_that_another_writer_is_about_to_use(two: tuple[str, str]) -> None:
    owner, restricted = two

    with connect_as(owner) as db:
        (given,) = db.execute("select give_ids('memory', 1)").fetchone() or (0,)
    with connect_as(restricted) as db, pytest.raises(errors.InsufficientPrivilege):
        db.execute(NEW_MEMORY.format(id=given))


def test_a_role_uses_the_ids_that_it_was_given_once(two: tuple[str, str]) -> None:
    _, restricted = two

    with connect_as(restricted) as db, db.transaction():
        (given,) = db.execute("select give_ids('memory', 1)").fetchone() or (0,)
        db.execute(NEW_MEMORY.format(id=given))
        db.execute("delete from memory where id = %s", (given,))
        with pytest.raises(errors.InsufficientPrivilege), db.transaction():
            db.execute(NEW_MEMORY.format(id=given))


def test_a_role_neither_changes_the_size_of_the_log_nor_empties_it_for_all(two: tuple[str, str]) -> None:
    owner, restricted = two
    with connect_as(restricted) as db:
        changed = db.execute("update meta set value = 4000000000000000000").rowcount

    with open_address(owner) as everything:
        before = everything.stats().log
        Retention(days=None, megabytes=1.0).prune(everything.store, scope=ALL_PROJECTS, now=NOON, most=50)

        assert changed == 0
        assert everything.stats().log == before


def test_what_a_role_logs_and_prunes_is_counted_for_all(two: tuple[str, str]) -> None:
    owner, restricted = two

    with open_address(restricted, project=OURS) as some, connect_as(owner) as db:
        counted = "select value from meta where key = 'recall_bytes'"
        sizes = []
        for act in (
            lambda: some.search("lighthouse keeper", session="s"),
            lambda: some.log.prune(max_size=0.0),
            lambda: None,
        ):
            act()
            some.flush()
            with open_address(owner) as everything:
                sizes.append((db.execute(counted).fetchone(), (everything.stats().log.bytes,)))

    assert all(kept == counted_anew for kept, counted_anew in sizes)
    assert sizes[1][0] < sizes[0][0]


def test_nothing_that_runs_as_the_owner_looks_where_a_role_makes_tables(two: tuple[str, str]) -> None:
    owner, _ = two
    open_to_roles = (
        "select proname from pg_proc where pronamespace = 'recollect'::regnamespace and prosecdef "
        "and not coalesce('search_path=recollect, pg_temp' = any(proconfig), false)"
    )

    with connect_as(owner) as db:
        assert db.execute(open_to_roles).fetchall() == []


def test_text_that_stands_for_no_character_is_read_as_it_is(two: tuple[str, str]) -> None:
    owner, restricted = two
    odd = "\U0010ffffffffff"

    with connect_as(restricted) as db:
        db.execute(f"update memory set title = %s where id = {MINE}", (odd,))

    with open_address(owner) as everything:
        assert odd in [each.title for each in everything.list(limit=100).memories]


def test_odd_rows_that_a_role_may_write_break_no_read_of_the_owner(two: tuple[str, str]) -> None:
    owner, restricted = two
    odd = ("null", '"x"', "-5", "0.5", "1e400", "[1]", '{"a":1}', "true")
    keys = ("content", "decision", "query", "session", "verdict", "reason", "source", "trust", "use", "name", "kept")
    with connect_as(restricted) as db, db.cursor() as cursor:
        for value in odd:
            told = "{" + ",".join(f'"{key}":{value}' for key in keys) + "}"
            verbs = ("add", "edit", "forget", "restore", "supersede", "reinforce", "feedback", "conflict", "nonsense")
            events = f"insert into event (memory_id, verb, at, detail) values ({MINE}, %s, %s, %s)"
            cursor.executemany(events, [(verb, MOMENT, told) for verb in verbs])
            notes = "insert into note (project, kind, name, value) values ('ours', %s, %s, %s)"
            kinds = ("lens", "root", "tuning", "injected", "settled", "nonsense")
            cursor.executemany(notes, [(kind, f"odd {value}", told) for kind in kinds])

    with open_address(owner) as everything:
        assert everything.list(limit=100).total > 0
        assert list(everything.export())
        assert everything.search("lighthouse port").hits
        assert everything.stats().memories > 0
        everything.conflicts()
        everything.activity()
        everything.review()
        assert not [line for line in everything.doctor(deep=True).problems if "cannot be read" in line]
