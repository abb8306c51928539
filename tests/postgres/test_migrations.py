"""A schema that an earlier version made gets what this one needs, with all its rows and grants."""

import psycopg
import pytest
from psycopg import errors, sql
from roles import connect_as, role_at

from kit import NOON
from postgres_server import bare_database
from recollect.records import ALL_PROJECTS, Recall
from recollect.stores.postgres import open_postgres
from recollect.stores.postgres.engine import FORMAT, migrations
from recollect.text.analyser import analyse

LANDED = 4
"""How many steps the schema of 0.1.0 has."""
MOMENT = "2026-03-01T12:00:00.000000+00:00"
ROWS = f"""
insert into memory (id, project, kind, type, created_at, updated_at, confidence, pinned, trust, digest, title, tags,
  metadata, context, content)
select i, 'web', 'memory', 'note', '{MOMENT}', '{MOMENT}', 0.8, false, 'owner', sha256(i::text::bytea), 'Title', '[]',
  '{{}}', '{{}}', 'The lighthouse keeper number ' || i from generate_series(1, 3) i;
update meta set value = 3 where key = 'newest';
insert into recall (query, mode, outcome, at, scope) values ('keeper', 'keyword', 'none', '{MOMENT}', '["web"]');
insert into recalled (recall_id, ordinal, memory_id, rank, score, shown, fact_ids) values (1, 0, 1, 1, 1, true, '[]');
insert into generation (fingerprint, dimensions, model) values ('made-up', 2, 'made-up');
insert into vector (generation_id, memory_id, ordinal, start, stop, embedding, alone, context)
values (1, 1, 0, 0, 3, '\\x0000803f00000000', '[1,0]', '[1,0]');
create index near_1_alone on vector using hnsw ((alone::halfvec(2)) halfvec_cosine_ops) where generation_id = 1;
analyze;
"""


@pytest.fixture
def landed() -> str:
    """The address of a schema as 0.1.0 left it, with rows and samples of them."""
    address = bare_database()
    with psycopg.connect(address, autocommit=True, options="-c search_path=recollect,public") as db:
        db.execute("create schema recollect")
        for step in migrations()[:LANDED]:
            db.execute(step)
        db.execute(sql.SQL("comment on schema recollect is {}").format(f"{FORMAT}{LANDED}"))
        db.execute(ROWS)
    return address


def test_a_store_of_the_landed_version_opens_with_all_its_rows_and_is_sound(landed: str) -> None:
    store = open_postgres(landed, analyse)

    found = store.load([1, 2, 3], scope=ALL_PROJECTS)
    store.log_recall([Recall(query="beacon", mode="keyword", outcome="none", at=NOON)])
    with store.engine.session() as session:
        counted = session.value("select value from meta where key = 'recall_bytes'")

    assert [memory.content for memory in found.values()] == [f"The lighthouse keeper number {row}" for row in (1, 2, 3)]
    assert counted == store.stats(scope=ALL_PROJECTS).log.bytes
    assert store.check(deep=False) == ()
    store.close()


def test_samples_of_texts_that_were_taken_before_are_dropped_and_none_are_taken_again(landed: str) -> None:
    sampled = "select tablename || '.' || attname from pg_stats where schemaname = 'recollect'"
    with connect_as(landed) as db:
        before = {name for (name,) in db.execute(sampled).fetchall()}
        open_postgres(landed, analyse).close()
        after = {name for (name,) in db.execute(sampled).fetchall()}
        db.execute("analyze")
        again = {name for (name,) in db.execute(sampled).fetchall()}

    texts = {"memory.content", "memory.title", "memory.tags", "recall.query"}
    assert before > texts
    assert (after & texts, again & texts) == (set(), set())
    assert "memory.project" in again


def test_a_role_that_was_granted_before_is_guarded_afterwards(landed: str) -> None:
    with role_at(landed, "web") as restricted:
        open_postgres(landed, analyse).close()

        with connect_as(restricted) as db, pytest.raises(errors.CheckViolation):
            db.execute("update memory set valid_from = 'soon'")
