"""What is purged is gone from the samples of columns that the planner of a server keeps."""

import pytest
from roles import connect_as
from two_projects import open_address

from postgres_server import fresh_database
from recollect.records import ALL_PROJECTS

BIRD = "quartzbird"
HELD = "select position(%s::bytea in pg_read_binary_file(pg_relation_filepath('pg_statistic')))"


@pytest.fixture
def sampled() -> str:
    """The address of a store whose memories the planner has sampled."""
    address = fresh_database()
    with open_address(address) as db:
        for number in range(3):
            db.in_project(f"project of {BIRD}").add(
                f"The {BIRD} sings {number}", title=f"About {BIRD}", tags=(BIRD,), type=f"type{BIRD}"
            )
        db.in_project("kept").add("Something else is kept")
    with connect_as(address) as server:
        server.execute("analyze")
    return address


def test_after_a_purge_no_sample_holds_a_word_of_it_on_disk_or_in_pg_stats(sampled: str) -> None:
    with open_address(sampled) as db, connect_as(sampled) as server:
        server.execute("checkpoint")
        before = server.execute(HELD, (BIRD.encode(),)).fetchone()

        report = db.purge(project=f"project of {BIRD}", verify=True)
        server.execute("checkpoint")
        after = server.execute(HELD, (BIRD.encode(),)).fetchone()

    assert before is not None
    assert before[0] > 0
    assert (report.verified, report.traces, report.unfinished) == (True, (), ())
    assert after == (0,)


def test_a_purge_that_leaves_nothing_leaves_no_sample(sampled: str) -> None:
    with open_address(sampled) as db, connect_as(sampled) as server:
        for project in ("kept", f"project of {BIRD}"):
            db.purge(project=project)
        left = server.execute(
            "select tablename, attname from pg_stats where schemaname = 'recollect' and most_common_vals::text like %s",
            (f"%{BIRD}%",),
        ).fetchall()

    assert left == []


def test_verifying_reports_a_sample_that_holds_what_was_erased(sampled: str) -> None:
    with open_address(sampled) as db, connect_as(sampled) as server:
        server.execute("alter table memory alter column title set statistics 100")
        server.execute("analyze memory")
        db.store.erase(ids=[1, 2, 3], scope=ALL_PROJECTS)

        found = db.store.traces([BIRD.encode()]).found

    assert ("pg_stats of memory.title", BIRD.encode()) in found
