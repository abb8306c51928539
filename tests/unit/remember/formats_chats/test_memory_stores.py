"""The stores of claude-mem, mem0, Cortex and engram, in several of their versions."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest
from trial import changes, first, store, survives, taken, written

from recollect.errors import FileError
from recollect.remember.formats import named, read_file

Rows = dict[str, tuple[str, Sequence[tuple[object, ...]]]]

SESSION = "5b7e9a52-2f1b-4a6e-8f3c-0d9c7e1b2a34"

CLAUDE_MEM: Rows = {
    "sdk_sessions": (
        "id integer primary key, content_session_id text, memory_session_id text, project text",
        [(1, "8d0f4c1e-1f0e-4a43-9a52-6c1a3f0e7b21", SESSION, "shop")],
    ),
    "observations": (
        (
            "id integer primary key, memory_session_id text, project text, text text, type text, title text,"
            " subtitle text, facts text, narrative text, concepts text, files_read text, files_modified text,"
            " created_at text, created_at_epoch integer"
        ),
        [
            (
                *(1, SESSION, "shop", None, "bugfix", "Cart lost its items", "Session cookie"),
                *('["The cookie lacked SameSite"]', "The proxy dropped the cookie.", '["auth", "cookies"]'),
                *('["proxy.conf"]', '["src/cart.ts"]', "2026-01-02T03:04:05Z", 1767323045000),
            ),
            (2, SESSION, "shop", None, "change", None, None, None, None, None, None, None, "", 1767323045000),
        ],
    ),
    "session_summaries": (
        (
            "id integer primary key, memory_session_id text, project text, request text, learned text, next_steps text,"
            " created_at_epoch integer"
        ),
        [(1, SESSION, "shop", "Repair the cart", "Proxies rewrite headers", "Add a test", 1767323099000)],
    ),
    "user_prompts": (
        "id integer primary key, content_session_id text, prompt_text text, created_at_epoch integer",
        [(1, "8d0f4c1e-1f0e-4a43-9a52-6c1a3f0e7b21", "Why does my cart lose items overnight?", 1767323000000)],
    ),
}
NEWER: Rows = {
    "projects": ("id text primary key, name text", [("p1", "shop")]),
    "memory_items": (
        (
            "id text primary key, project_id text, legacy_observation_id integer, kind text, type text, title text,"
            " text text, narrative text, facts text, concepts text, files_read text, files_modified text,"
            " created_at_epoch integer, updated_at_epoch integer"
        ),
        [
            (
                "i1",
                "p1",
                1,
                "observation",
                "bugfix",
                "Old",
                None,
                "told above",
                "[]",
                "[]",
                "[]",
                "[]",
                1767323045000,
                1,
            ),
            (
                "i2",
                "p1",
                None,
                "manual",
                "decision",
                "Queue",
                "We take Redis streams",
                None,
                "[]",
                "[]",
                "[]",
                "[]",
                1767323045000,
                1,
            ),
        ],
    ),
}
MEM0: Rows = {
    "history": (
        (
            "id text primary key, memory_id text, old_memory text, new_memory text, event text, created_at text,"
            " updated_at text, is_deleted integer, actor_id text, role text"
        ),
        [
            ("h1", "m1", None, "Likes tea", "ADD", "2026-01-01T00:00:00+00:00", None, 0, None, "user"),
            (
                "h2",
                "m1",
                "Likes tea",
                "Likes coffee now",
                "UPDATE",
                "2026-01-01T00:00:00+00:00",
                "2026-02-01T00:00:00+00:00",
                0,
                None,
                "user",
            ),
            ("h3", "m2", None, "Lives in Bonn", "ADD", "2026-01-01T00:00:00+00:00", None, 0, "ann", "user"),
            ("h7", "m4", None, "Works at Acme", "ADD", "2026-01-03T00:00:00+00:00", None, 0, None, "user"),
            ("h4", "m3", None, "Has a cat", "ADD", "2026-01-01T00:00:00+00:00", None, 0, None, "user"),
            ("h5", "m3", "Has a cat", None, "DELETE", "2026-01-02T00:00:00+00:00", None, 1, None, "user"),
        ],
    ),
}
CORTEX: Rows = {
    "memories": (
        (
            "id integer primary key, content text, source_file text, source_line integer, source_section text,"
            " content_hash text, imported_at datetime, deleted_at datetime, project text, memory_class text"
        ),
        [
            (
                1,
                "The mail relay listens on port 2525.",
                "notes/mail.md",
                12,
                "Relay",
                "h1",
                "2026-01-02 03:04:05",
                None,
                "home",
                "rule",
            ),
            (3, "Backups run at night.", "notes/b.md", 1, None, "h3", "2026-01-03 03:04:05", None, "home", "note"),
            (4, "Ann prefers tabs.", "notes/c.md", None, None, "h4", "2026-01-04 03:04:05", None, "", None),
            (2, "Gone.", "notes/mail.md", 20, None, "h2", "2026-01-02 03:04:05", "2026-02-01 00:00:00", "home", ""),
        ],
    ),
    "facts": (
        (
            "id integer primary key, memory_id integer, subject text, predicate text, object text, fact_type text,"
            " confidence real, state text, superseded_by integer"
        ),
        [
            (1, 1, "mail relay", "listens on", "port 2525", "config", 0.9, "active", None),
            (2, 1, "mail relay", "listens on", "port 25", "config", 0.9, "superseded", 1),
        ],
    ),
}
ENGRAM: Rows = {
    "sessions": (
        "id text primary key, project text, directory text, started_at text, ended_at text, summary text",
        [
            (SESSION, "shop", "shop", "2026-01-02 03:00:00", "2026-01-02 04:00:00", "Moved the worker to arm64"),
            ("s2", "shop", "shop", "2026-01-03 03:00:00", None, None),
        ],
    ),
    "observations": (
        (
            "id integer primary key, session_id text, type text, title text, content text, project text, scope text,"
            " topic_key text, revision_count integer, created_at text, updated_at text, deleted_at text"
        ),
        [
            (
                1,
                SESSION,
                "decision",
                "Rate limits",
                "Token bucket of 50 a second",
                "shop",
                "project",
                "api/limits",
                2,
                "2026-01-02 03:04:05",
                "2026-01-05 00:00:00",
                None,
            ),
            (
                2,
                SESSION,
                "note",
                "Old",
                "Gone",
                "shop",
                "project",
                None,
                1,
                "2026-01-02 03:04:05",
                "",
                "2026-01-03 00:00:00",
            ),
        ],
    ),
    "user_prompts": (
        "id integer primary key, session_id text, content text, project text, created_at text",
        [(1, SESSION, "How do we limit requests?", "shop", "2026-01-02 03:01:00")],
    ),
}


def built(path: Path, *stores: Rows) -> Path:
    """Write a database with these tables and rows."""
    path.unlink(missing_ok=True)
    db = apsw.Connection(str(path))
    for rows in stores:
        for table, (columns, values) in rows.items():
            db.execute(f"create table {table} ({columns})")
            for row in values:
                db.execute(f"insert into {table} values ({', '.join('?' * len(row))})", row)
    db.close()
    return path


def test_the_store_of_claude_mem_is_found_again(tmp_path: Path) -> None:
    path = built(tmp_path / "claude-mem.db", CLAUDE_MEM, NEWER)

    with store() as db:
        report = db.import_(path)
        again = changes(db, path)
        cookie, proxy, overnight, queue = (
            first(db, each) for each in ("cookie SameSite", "proxies rewrite", "items overnight", "redis streams")
        )

    assert (taken(path), report.memories["new"], again) == ("claude-mem", 4, {})
    assert report.secrets == []
    assert cookie.content == "The proxy dropped the cookie.\n- The cookie lacked SameSite"
    assert (cookie.title, cookie.type, cookie.tags) == ("Cart lost its items", "bugfix", ("auth", "cookies"))
    assert (cookie.project, cookie.observed_at) == ("shop", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert cookie.metadata["files"] == ["src/cart.ts", "proxy.conf"]
    assert proxy.content == "Request: Repair the cart\nLearned: Proxies rewrite headers\nNext steps: Add a test"
    assert (overnight.type, overnight.project) == ("prompt", "shop")
    assert (queue.type, queue.project, queue.content) == ("decision", "shop", "We take Redis streams")


def test_what_claude_mem_holds_twice_or_empty_is_counted(tmp_path: Path) -> None:
    path = built(tmp_path / "claude-mem.db", CLAUDE_MEM, NEWER)

    assert read_file(path).skipped == {"empty row": 1, "repeat of an observation": 1}


def test_the_history_of_mem0_gives_each_memory_as_it_is_now(tmp_path: Path) -> None:
    path = built(tmp_path / "history.db", MEM0)

    with store() as db:
        report, again = db.import_(path), changes(db, path)
        drink, city, work = (first(db, each) for each in ("likes coffee", "lives in bonn", "works at"))
        grown = (
            *MEM0["history"][1],
            (
                "h6",
                "m2",
                "Lives in Bonn",
                "Lives in Cologne",
                "UPDATE",
                "",
                "2026-03-01T00:00:00+00:00",
                0,
                "ann",
                "user",
            ),
        )
        built(path, {"history": (MEM0["history"][0], grown)})
        moved = changes(db, path)

    assert (report.memories["new"], again, moved) == (3, {}, {"updated": 1})
    assert (work.content, work.observed_at) == ("Works at Acme", datetime(2026, 1, 3, tzinfo=UTC))
    assert (drink.content, drink.observed_at) == ("Likes coffee now", datetime(2026, 2, 1, tzinfo=UTC))
    assert (city.content, city.external_id, city.metadata["actor_id"]) == ("Lives in Bonn", "mem0:m2", "ann")
    assert read_file(path).skipped == {"deleted memory": 1}


@pytest.mark.parametrize("wrapped", [True, False])
def test_what_get_all_returned_is_read_with_whose_it_is(tmp_path: Path, *, wrapped: bool) -> None:
    records = [
        {"id": "m2", "memory": "Lives in Bonn", "hash": "x", "metadata": {"city": "Bonn"}, "categories": ["places"],
         "created_at": "2026-01-01T00:00:00-08:00", "updated_at": None, "user_id": "ann"},
        {"id": None, "memory": "lost"},
    ]  # fmt: skip
    path = written(tmp_path / "all.json", {"results": records} if wrapped else records)

    parsed = read_file(path)

    assert taken(path) == "mem0"
    assert [(each.content, each.external_id, each.tags) for each in parsed.memories] == [
        ("Lives in Bonn", "mem0:m2", ("places",))
    ]
    assert parsed.memories[0].metadata == {"city": "Bonn", "user_id": "ann"}
    assert parsed.memories[0].observed_at == datetime(2026, 1, 1, 8, tzinfo=UTC)
    assert parsed.skipped == {"unknown record": 1}


def test_the_store_of_cortex_keeps_facts_that_still_hold(tmp_path: Path) -> None:
    path = built(tmp_path / "cortex.db", CORTEX)

    with store() as db:
        report, again = db.import_(path), changes(db, path)
        relay, backup, ann = (first(db, each) for each in ("port of the mail relay", "backups night", "ann prefers"))

    assert (taken(path), report.memories["new"], again) == ("cortex", 3, {})
    assert [(each.content, each.project) for each in (backup, ann)] == [
        ("Backups run at night.", "home"),
        ("Ann prefers tabs.", "default"),
    ]
    assert relay.metadata == {"file": "notes/mail.md", "line": 12}
    assert (relay.type, relay.section, relay.project) == ("rule", "Relay", "home")
    assert relay.observed_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert read_file(path).skipped == {"deleted memory": 1}


def test_the_store_of_engram_is_found_again(tmp_path: Path) -> None:
    path = built(tmp_path / "engram.db", ENGRAM)

    with store() as db:
        report, again = db.import_(path), changes(db, path)
        bucket, worker, asked = (
            first(db, each) for each in ("token bucket", "arm64 worker", "how do we limit requests")
        )

    assert (taken(path), report.memories["new"], again) == ("engram", 3, {})
    assert report.secrets == []
    assert (bucket.title, bucket.type, bucket.metadata["topic"]) == ("Rate limits", "decision", "api/limits")
    assert bucket.observed_at == datetime(2026, 1, 5, tzinfo=UTC)
    assert (worker.type, worker.observed_at) == ("summary", datetime(2026, 1, 2, 4, tzinfo=UTC))
    assert asked.type == "prompt"
    assert read_file(path).skipped == {"deleted memory": 1}


@pytest.mark.parametrize(
    ("rows", "table"),
    [(CLAUDE_MEM, "session_summaries"), (CORTEX, "memories"), (ENGRAM, "user_prompts")],
)
def test_a_store_that_grew_adds_its_new_rows_only(tmp_path: Path, rows: Rows, table: str) -> None:
    columns, values = rows[table]
    path = built(tmp_path / "a.db", {**rows, table: (columns, values[1:])})

    with store() as db:
        db.import_(path)
        built(path, rows)
        grown = changes(db, path)

    assert grown == {"new": 1}


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_store_in_use_is_read_with_its_newest_rows_and_nothing_of_it_changes(tmp_path: Path, mode: str) -> None:
    path = built(tmp_path / "engram.db", ENGRAM)
    writer = apsw.Connection(str(path))
    writer.execute(f"pragma journal_mode = {mode}")
    writer.execute("update observations set content = 'Leaky bucket' where id = 1")
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}

    contents = [memory.content for memory in read_file(path).memories]
    after = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    writer.close()

    assert "Leaky bucket" in contents
    assert after == before


def test_columns_that_a_version_lacks_are_not_missed(tmp_path: Path) -> None:
    path = built(
        tmp_path / "old.db",
        {
            "observations": (
                "id integer, memory_session_id text, project text, type text, text text",
                [(1, "m", "p", "x", "Plain words")],
            )
        },
    )

    (memory,) = read_file(path).memories

    assert (taken(path), memory.content, memory.project) == ("claude-mem", "Plain words", "p")


def test_another_database_is_of_no_known_format(tmp_path: Path) -> None:
    path = built(tmp_path / "other.db", {"things": ("id integer, name text", [(1, "a")])})

    assert taken(path) == ""


@pytest.mark.parametrize("form", ["claude-mem", "mem0", "cortex", "engram"])
def test_what_is_no_database_is_refused_in_one_line(tmp_path: Path, form: str) -> None:
    path = written(tmp_path / "a.db", b"SQLite format 3\0" + b"\xff" * 3000)

    with pytest.raises(FileError, match="cannot read"):
        read_file(path, named(form))


@pytest.mark.parametrize(
    ("form", "rows"), [("claude-mem", CLAUDE_MEM), ("mem0", MEM0), ("cortex", CORTEX), ("engram", ENGRAM)]
)
def test_no_damaged_store_makes_a_reader_raise_anything_but_a_file_error(tmp_path: Path, form: str, rows: Rows) -> None:
    sample = built(tmp_path / "whole.db", rows).read_bytes()

    assert all(survives(tmp_path / "a.db", sample, form=form, seed=seed) for seed in range(200))
