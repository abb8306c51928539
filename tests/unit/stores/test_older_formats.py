"""A file of an older format is brought up to date with nothing lost."""

from datetime import timedelta
from pathlib import Path

import apsw

from kit import NOON, asking, plain
from recollect.records import ALL_PROJECTS, Fact, FactQuery, Filter, Insert, Memory
from recollect.stores.sql.codec import moment
from recollect.stores.sqlite import open_sqlite
from recollect.stores.sqlite.engine import APPLICATION, migrations

DAY = timedelta(days=1)
OLD = (
    "insert into memory (id, project, kind, type, created_at, updated_at, superseded_by, confidence, pinned, trust, "
    "digest, title, tags, metadata, context, content) values (?, 'default', 'memory', 'note', ?, ?, ?, 0.8, 0, "
    "'owner', x'00', '', '[]', '{}', '{}', ?)"
)


def of_format(path: Path, number: int) -> apsw.Connection:
    """Return a file as the program wrote it when there were so many migrations."""
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    for step in migrations()[:number]:
        db.execute(step)
    db.pragma("application_id", APPLICATION)
    db.pragma("user_version", number)
    return db


def test_what_was_superseded_before_it_was_noted_when_gets_the_time_of_its_event(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with of_format(path, 2) as db:
        db.execute(OLD, (1, moment(NOON), moment(NOON + 3 * DAY), 2, "cat one"))
        db.execute(OLD, (2, moment(NOON + DAY), moment(NOON + 2 * DAY), 3, "cat two"))
        db.execute(OLD, (3, moment(NOON + 2 * DAY), moment(NOON + 2 * DAY), None, "cat three"))
        db.execute("update meta set value = 3 where key = 'newest'")
        event = "insert into event (memory_id, verb, at, detail) values (1, 'supersede', ?, '{}')"
        db.execute(event, (moment(NOON + DAY),))
    db.close()
    store = open_sqlite(path, plain)
    store.rebuild()

    loaded = store.load([1, 2, 3], scope=ALL_PROJECTS)

    assert [memory.superseded_at for memory in loaded.values()] == [NOON + DAY, NOON + 2 * DAY, None]
    for day, row in enumerate((1, 2, 3)):
        where = Filter(as_of=NOON + day * DAY)
        found = store.match_words(asking("cat"), scope=ALL_PROJECTS, where=where, limit=9)
        assert [match.id for match in found.top] == [row]


def test_every_older_format_takes_new_memories_and_facts(tmp_path: Path) -> None:
    fact = Fact(subject="cat", predicate="is", object="here", type="state", confidence=1.0, decay_rate=0.0)
    for number in range(1, len(migrations()) + 1):
        path = tmp_path / f"{number}.db"
        of_format(path, number).close()
        store = open_sqlite(path, plain)

        (row,) = store.apply([Insert(memory=Memory(content="cat"), facts=(fact,))], at=NOON)

        assert [each.object for each in store.facts(FactQuery(memory_ids=(row,)), scope=ALL_PROJECTS)] == ["here"]
        assert store.check() == ()
