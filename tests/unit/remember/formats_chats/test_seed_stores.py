"""The stores of the five programs that recollect grew from: what their owners had is there after an import."""

import json
import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest
from trial import changes, first, store, taken, written

import recollect
from recollect.records import ALL_PROJECTS
from recollect.remember.formats import read_file

NOW = datetime(2026, 6, 1, tzinfo=UTC)
OLD = NOW - timedelta(days=90)


def database(path: Path, *tables: tuple[str, Sequence[Sequence[object]]]) -> Path:
    """Write a database; each table is given by its `create` and its rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = apsw.Connection(str(path))
    for create, rows in tables:
        db.execute(f"create table {create}")
        name = create.split("(")[0]
        for row in rows:
            db.execute(f"insert into {name} values ({', '.join('?' * len(row))})", row)
    db.close()
    return path


def cortex(folder: Path) -> Path:
    day, stated = f"{OLD:%Y-%m-%d %H:%M:%S}", f"{OLD + timedelta(days=30):%Y-%m-%d %H:%M:%S}"
    return database(
        folder / "cortex.db",
        (
            (
                "memories(id integer primary key, content text, source_file text, source_line integer,"
                " source_section text, content_hash text unique, imported_at datetime, updated_at datetime,"
                " deleted_at datetime)"
            ),
            [
                (1, "The relay listens on port 2525.", "a.md", 3, "Relay", "h1", day, day, None),
                (2, "Gone.", "a.md", 9, None, "h2", day, day, day),
            ],
        ),
        (
            (
                "facts(id integer primary key, memory_id integer, subject text, predicate text, object text,"
                " fact_type text, confidence real, decay_rate real, last_reinforced datetime, source_quote text)"
            ),
            [(7, 1, "relay", "listens on", "port 2525", "config", 0.7, 0.05, stated, "listens on port 2525")],
        ),
        ("embeddings(memory_id integer primary key, vector blob)", [(1, struct.pack("<8f", 3, 4, *[0] * 6))]),
        ("recall_log(id integer, fact_id integer, recalled_at text, context text, session_id text, lens text)", []),
    )


def test_what_cortex_stores_of_a_memory_comes_with_it(tmp_path: Path) -> None:
    path = cortex(tmp_path)

    with recollect.open(":memory:", model="none") as db:
        db.now = lambda: NOW
        report = db.import_(path)
        (fact,) = db.facts()
        (near,) = db.search("zzz", mode="semantic", embedding=[0.6, 0.8, *[0.0] * 6]).hits
        memory = db.show(fact.memory_id).memory

    assert taken(path) == "cortex"
    assert (fact.subject, fact.predicate, fact.object, fact.type) == ("relay", "listens on", "port 2525", "config")
    assert (fact.confidence, fact.decay_rate, fact.quote) == (0.7, 0.05, "listens on port 2525")
    assert fact.last_reinforced == OLD + timedelta(days=30)
    assert (memory.created_at, memory.section) == (OLD, "Relay")
    assert near.id == memory.id
    assert report.left_out == {"deleted memory": 1}


def test_what_cortex_deletes_later_is_forgotten_and_comes_back(tmp_path: Path) -> None:
    path = cortex(tmp_path)

    with store() as db:
        db.import_(path)
        apsw.Connection(str(path)).execute("update memories set deleted_at = '2026-05-01' where id = 1")
        gone = changes(db, path)
        apsw.Connection(str(path)).execute("update memories set deleted_at = null where id = 1")
        back = changes(db, path)

    assert (gone, back) == ({"removed": 1}, {"revived": 1})


def oro(folder: Path) -> Path:
    return database(
        folder / ".oro" / "state.db",
        (
            (
                "memories(id integer primary key, content text, type text, tags text, source text, bead_id text,"
                " worker_id text, confidence real, created_at text, embedding blob, pinned integer)"
            ),
            [
                (
                    *(1, "Always use table-driven tests", "decision", '["go","testing"]', "self_report", "oro-1"),
                    *("w1", 0.95, f"{OLD:%Y-%m-%d %H:%M:%S}", b"\1\2\3", 0),
                ),
                (2, "Retries need jitter", "lesson", "[]", "daemon_extracted", None, None, 0.6, "2026-05-31", None, 1),
            ],
        ),
        ("assignments(id integer)", []),
    )


def test_a_memory_of_oro_is_as_old_and_as_sure_as_it_was(tmp_path: Path) -> None:
    path = oro(tmp_path)

    with recollect.open(":memory:", model="none") as db:
        db.now = lambda: NOW
        report = db.import_(path)
        rule, jitter = (first_of(db, word) for word in ("table-driven", "jitter"))
        told = db.inject("table-driven tests").text

    assert (taken(path), report.memories["new"]) == ("oro", 2)
    assert (rule.type, rule.tags, rule.confidence, rule.created_at) == ("decision", ("go", "testing"), 0.95, OLD)
    assert rule.metadata == {"origin": "self_report", "bead": "oro-1", "worker": "w1"}
    assert (jitter.confidence, jitter.pinned) == (0.6, True)
    assert "age: 90d" in told


def first_of(db: recollect.Recollection, word: str) -> recollect.Memory:
    return next(memory for memory in db.list().memories if word in memory.content)


def test_the_store_of_the_seed_called_engram_is_read(tmp_path: Path) -> None:
    session, moment = "5b7e9a52", int(OLD.timestamp() * 1000)
    path = database(
        tmp_path / "claude-mnemonic.db",
        (
            "sdk_sessions(id integer, claude_session_id text, sdk_session_id text, project text)",
            [(1, "c1", session, "shop")],
        ),
        (
            (
                "observations(id integer primary key, sdk_session_id text, project text, scope text, type text,"
                " title text, subtitle text, facts text, narrative text, concepts text, files_read text,"
                " files_modified text,"
                " created_at text, created_at_epoch integer, importance_score real, user_feedback integer,"
                " retrieval_count integer, is_superseded integer)"
            ),
            [
                (
                    *(1, session, "shop", "project", "bugfix", "Cart", "Cookie", '["SameSite was missing"]'),
                    *("The proxy dropped the cookie.", '["security"]', "[]", '["cart.ts"]'),
                    *(f"{OLD:%Y-%m-%dT%H:%M:%SZ}", moment, 1.4, 1, 12, 0),
                ),
                (
                    *(2, session, "shop", "project", "bugfix", "Old", "", "[]", "An old telling.", "[]", "[]", "[]"),
                    *("", moment, 1.0, 0, 0, 1),
                ),
            ],
        ),
        (
            "session_summaries(id integer primary key, sdk_session_id text, project text, request text, learned text)",
            [(1, session, "shop", "Repair the cart", "Proxies rewrite headers")],
        ),
        (
            "user_prompts(id integer primary key, claude_session_id text, prompt_number integer, prompt_text text)",
            [(1, "c1", 1, "Why does my cart lose items?")],
        ),
    )

    with store() as db:
        report, again = db.import_(path), changes(db, path)
        cookie, asked = (first(db, each) for each in ("cookie dropped", "why does my cart lose items"))
        verdicts = db.store.usage(scope=ALL_PROJECTS)[cookie.id].verdicts

    assert (taken(path), report.memories["new"], again) == ("engram", 3, {})
    assert cookie.content == "The proxy dropped the cookie.\n- SameSite was missing"
    assert (cookie.created_at, cookie.tags, cookie.metadata["retrievals"]) == (OLD, ("security",), 12)
    assert (asked.project, asked.type) == ("shop", "prompt")
    assert verdicts == {"useful": 1}
    assert report.left_out == {"superseded memory": 1}


VECTOR = [0.6, 0.8, *[0.0] * 6]
NODES = [
    {
        "type": "node",
        "id": "4",
        "labels": ["Memory", "Task"],
        "properties": {
            "id": "memory-1",
            "title": "Docker",
            "content": "The registry runs on port 5000.",
            "workerRole": "DevOps",
            "embedding": VECTOR,
            "created_at": OLD.isoformat(),
        },
    },
    {"type": "node", "id": "5", "labels": ["File"], "properties": {"name": "deploy.sh", "path": "ops/deploy.sh"}},
    {"type": "relationship", "id": "0", "label": "USES", "start": {"id": "4"}, "end": {"id": "5"}, "properties": {}},
]


@pytest.mark.parametrize("form", ["lines.jsonl", "lines.json", "list.json", "object.json"])
def test_nodes_of_a_graph_are_memories_with_their_labels_and_vectors(tmp_path: Path, form: str) -> None:
    text = {
        "lines": "\n".join(map(json.dumps, NODES)),
        "list": json.dumps(NODES),
        "object": json.dumps({"nodes": NODES[:2], "rels": NODES[2:]}),
    }[Path(form).stem]
    path = written(tmp_path / form, text)

    with recollect.open(":memory:", model="none") as db:
        db.now = lambda: NOW
        report = db.import_(path)
        node, file = first(db, "registry port"), first(db, "deploy.sh")
        (near,) = db.search("zzz", mode="semantic", embedding=VECTOR).hits

    assert taken(path) == "neo4j"
    assert (node.content, node.title, node.tags) == ("The registry runs on port 5000.", "Docker", ("Memory", "Task"))
    assert (node.external_id, node.created_at, node.metadata) == ("neo4j:memory-1", OLD, {"workerRole": "DevOps"})
    assert (file.content, file.metadata["path"]) == ("deploy.sh", "ops/deploy.sh")
    assert near.id == node.id
    assert report.left_out == {"relationship": 1}


def test_the_embedding_of_a_record_is_its_vector_and_not_its_words(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", json.dumps({"content": "The gate is green.", "embedding": VECTOR}) + "\n")

    with store() as db:
        db.import_(path)
        (near,) = db.search("zzz", mode="semantic", embedding=VECTOR).hits

    assert (near.memory.content, near.memory.metadata) == ("The gate is green.", {"observed_from": "mtime"})


def test_a_list_of_numbers_that_is_no_vector_stays_data(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", json.dumps({"content": "Wind.", "vector": [3, 4]}) + "\n")

    (memory,) = read_file(path).memories

    assert memory.metadata == {"vector": [3, 4]}


def test_looking_at_a_database_copies_nothing_however_large_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = database(tmp_path / "big.db", ("things(id integer, name text)", [(1, "x" * 100_000)] * 20))
    writer = apsw.Connection(str(path))
    writer.execute("pragma journal_mode = wal")
    writer.execute("insert into things values (2, 'more')")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "no such folder"))  # a copy could be made nowhere
    before = {each.name: each.stat().st_size for each in tmp_path.iterdir()}

    found = taken(path)

    after = {each.name: each.stat().st_size for each in tmp_path.iterdir()}
    writer.close()
    assert (found, after) == ("", before)


def test_a_new_database_whose_tables_stand_in_its_log_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    writer = apsw.Connection(str(path))
    writer.execute("pragma journal_mode = wal")
    writer.execute(
        "create table memories(id integer, content text, type text, tags text, confidence real, bead_id text)"
    )

    found = taken(path)

    writer.close()
    assert found == "oro"
