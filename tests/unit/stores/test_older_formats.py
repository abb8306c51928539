"""A file of an older format is brought up to date with nothing lost."""

from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from kit import NOON, asking, plain
from recollect.errors import StoreDamaged
from recollect.records import ALL_PROJECTS, Fact, FactQuery, Filter, Insert, Memory, Piece, Source, Usage, digest
from recollect.stores.choice import open_store, recover_store
from recollect.stores.sql.codec import moment
from recollect.stores.sqlite import open_sqlite
from recollect.stores.sqlite.copies import APPLICATION
from recollect.stores.sqlite.engine import migrations
from recollect.text.analyser import ANALYSER, analyse
from recollect.vectors import pack

FORMATS = Path(__file__).parent / "formats"
"""A file of each format as the program wrote it, with something of everything in it."""
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

    loaded = store.load([1, 2, 3], scope=ALL_PROJECTS)

    assert [memory.superseded_at for memory in loaded.values()] == [NOON + DAY, NOON + 2 * DAY, None]
    for day, row in enumerate((1, 2, 3)):
        where = Filter(as_of=NOON + day * DAY)
        found = store.match_words(asking("cat"), scope=ALL_PROJECTS, where=where, limit=9)
        assert [match.id for match in found.top] == [row]


@pytest.mark.parametrize("damage", ["drop table stem_config", "update exact_config set v = 99", "drop table stem_data"])
def test_a_damaged_word_index_of_before_is_not_dropped_and_the_memories_are_recovered(
    tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "old.db"
    with of_format(path, 8) as db:
        db.execute(OLD, (1, moment(NOON), moment(NOON), None, "cat one"))
        db.execute("update memory set digest = ?", (digest("cat one"),))
        db.execute(damage)
    db.close()

    with pytest.raises(StoreDamaged, match="cannot be brought up to date") as caught:
        open_sqlite(path, plain)
    recover_store(str(path), str(tmp_path / "new.db"), plain)

    assert "recollect recover" in caught.value.hint
    store = open_sqlite(tmp_path / "new.db", plain)
    assert store.match_words(asking("cat"), scope=ALL_PROJECTS, where=Filter(), limit=9).total == 1


def test_a_file_of_format_3_opens_with_everything_that_was_in_it(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes((FORMATS / "3.db").read_bytes())

    store = open_store(str(path), analyse, analyser=ANALYSER)

    one, cat, old, gone, *turns = store.load(range(1, 8), scope=ALL_PROJECTS).values()
    assert (one.title, one.tags, one.external_id, one.metadata) == (
        "Deploys",
        ("ops", "habit"),
        "d-1",
        {"deep": [1, None]},
    )
    assert (cat.project, store.wordings([2], scope=ALL_PROJECTS)) == ("home", {2: ("A cat naps on the keys",)})
    assert (old.superseded_by, old.superseded_at, gone.deleted_at) == (1, NOON, NOON + DAY)
    assert [(turn.thread, turn.turn) for turn in turns] == [("talk", 0), ("talk", 1), ("talk", 2)]
    assert [event.verb for event in store.history([1], scope=ALL_PROJECTS)[1]] == ["add", "feedback"]
    assert [(fact.id, fact.object) for fact in store.facts(FactQuery(), scope=ALL_PROJECTS)] == [(1, "Tuesday")]
    held = store.sources(below="notes", project="default")["notes/ops.md"]
    assert held.pieces == (Piece(digest=b"d" * 16, memory_id=1, section="Ops"),)
    assert store.notes("lens") == {"work": {"types": ["decision"], "boosts": {}}}
    assert [recall.query for recall in store.recalls(scope=ALL_PROJECTS)] == ["weather", "deploy"]
    assert store.usage(scope=ALL_PROJECTS) == {1: Usage(shown=1, verdicts={"used": 1})}
    assert store.known("default", external_ids=[("memory", "d-1")]).by_external_id == {("memory", "d-1"): 1}
    assert store.check(deep=True) == ()


def test_a_file_of_format_3_is_found_by_words_and_by_vectors_with_their_context(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes((FORMATS / "3.db").read_bytes())
    store = open_store(str(path), analyse, analyser=ANALYSER)

    words = store.match_words(asking("deploy"), scope=ALL_PROJECTS, where=Filter(), limit=9)
    near = store.nearest("tiny", pack([0, 1, 0, 0]), scope=ALL_PROJECTS, where=Filter(), limit=9, in_context=True)

    assert [hit.id for hit in words.top] == [1]
    size = (0.5**2 + 1 + 0.3**2) ** 0.5
    assert {hit.id: round(hit.score, 6) for hit in near.top}[6] == round(1 / size, 6)
    assert [each.context_weights for each in store.generations(scope=ALL_PROJECTS)] == [(0.5, 0.3, 0.25, 0.15)]


def test_an_id_of_a_fact_is_not_given_twice_after_the_change_of_format(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with of_format(path, 3) as db:
        columns = (
            "memory_id, subject, folded, predicate, object, type, confidence, decay_rate, quote, last_reinforced, state"
        )
        for _ in range(2):
            db.execute(f"insert into fact ({columns}) values (1, 's', 's', 'p', 'o', 't', 1, 0, '', '', 'active')")
        db.execute("delete from fact")
    db.close()
    store = open_sqlite(path, plain)
    fact = Fact(subject="cat", predicate="is", object="here", type="state", confidence=1.0, decay_rate=0.0)

    store.apply([Insert(memory=Memory(content="cat"), facts=(fact,))], at=NOON)

    assert [each.id for each in store.facts(FactQuery(), scope=ALL_PROJECTS)] == [3]


def test_what_was_imported_and_noted_before_projects_were_walls_gets_its_project(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with of_format(path, 4) as db:
        db.execute(OLD, (1, moment(NOON), moment(NOON), None, "cat one"))
        db.execute(OLD, (2, moment(NOON), moment(NOON), None, "cat two"))
        db.execute("update memory set project = 'home' where id = 2")
        db.execute("insert into source (name, fingerprint) values ('/n/a.md', 'f')")
        piece = "insert into piece (source, ordinal, digest, memory_id, section) values ('/n/a.md', ?, ?, ?, null)"
        db.executemany(piece, [(0, b"1", 1), (1, b"2", 2)])
        db.execute("insert into note (kind, name, value) values ('lens', 'work', '{}')")
    db.close()

    store = open_sqlite(path, plain)

    one, two = (Piece(digest=digest, memory_id=row) for row, digest in ((1, b"1"), (2, b"2")))
    assert store.sources(below="/n", project="default") == {"/n/a.md": Source(fingerprint="f", pieces=(one,))}
    assert store.sources(below="/n", project="home") == {"/n/a.md": Source(fingerprint="f", pieces=(two,))}
    assert (store.notes("lens"), store.notes("lens", project="home")) == ({"work": {}}, {})


def test_every_older_format_takes_new_memories_and_facts(tmp_path: Path) -> None:
    fact = Fact(subject="cat", predicate="is", object="here", type="state", confidence=1.0, decay_rate=0.0)
    for number in range(1, len(migrations()) + 1):
        path = tmp_path / f"{number}.db"
        of_format(path, number).close()
        store = open_sqlite(path, plain)

        (row,) = store.apply([Insert(memory=Memory(content="cat"), facts=(fact,))], at=NOON)

        assert [each.object for each in store.facts(FactQuery(memory_ids=(row,)), scope=ALL_PROJECTS)] == ["here"]
        assert store.check() == ()


def test_longer_memories_of_format_6_wait_for_the_vectors_of_their_passages_and_others_keep_theirs(
    tmp_path: Path,
) -> None:
    path = tmp_path / "old.db"
    with of_format(path, 6) as db:
        for row, text in enumerate(("a cat", "a cat. " * 40, "a dog. " * 40), start=1):
            db.execute(OLD, (row, moment(NOON), moment(NOON), None, text))
        names = "(fingerprint, dimensions, model)"
        db.execute(f"insert into generation {names} values ('tiny', 2, 'tiny'), ('external-2', 2, 'external')")
        vector = (
            "insert into vector (generation_id, memory_id, ordinal, start, stop, embedding, checksum) "
            "values (?, ?, 0, 0, 5, ?, -1)"
        )
        db.executemany(vector, [(of, row, pack([1, 0])) for of, row in ((1, 1), (1, 2), (2, 3))])
    db.close()

    store = open_sqlite(path, plain)

    assert store.vectors("tiny", [1, 2, 3], scope=ALL_PROJECTS).keys() == {1}
    assert store.vectors("external-2", [1, 2, 3], scope=ALL_PROJECTS).keys() == {3}
    assert store.pending("tiny", after=0, limit=9) == (2, 3)
