"""The stores of claude-mem, mem0, Cortex and engram, in several of their versions."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import apsw
import pytest
from trial import changes, first, store, survives, taken, written

from recollect.errors import FileError
from recollect.remember.formats import named, read_file

Rows = dict[str, tuple[str, Sequence[tuple[object, ...]]]]

CLAUDE_MEM, NEWER, MEM0, CORTEX, ENGRAM = cast(
    "Sequence[Rows]", json.loads(Path(__file__).with_name("memory_stores.json").read_text(encoding="utf-8")).values()
)


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

    assert all(survives(tmp_path / "a.db", sample, form=form, seed=seed) for seed in range(60))
