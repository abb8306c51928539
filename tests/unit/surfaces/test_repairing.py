"""The verbs about damage, as a user types them."""

import json
from pathlib import Path

import apsw
import pytest
from command import Run


@pytest.fixture
def damaged(run: Run, tmp_path: Path) -> Path:
    """Make a store of three memories, of which the second has other words and the third another title by damage."""
    path = tmp_path / "damaged.db"
    for word in ("first", "second", "third"):
        run("add", f"the {word} memory", "--title", word, "--db", str(path))
    with apsw.Connection(str(path)) as db:
        db.execute("update memory set content = 'the secund memory' where id = 2")
        db.execute("update memory set title = 'thirt' where id = 3")
    return path


def test_a_deep_look_tells_what_is_damaged_and_a_glance_does_not(run: Run, damaged: Path) -> None:
    glance, deep = run("doctor", "--db", str(damaged)), run("doctor", "--deep", "--db", str(damaged), "--json")

    assert glance.code == 0
    assert deep.code == 3
    assert "memory 2, 3: not as it was written; run: recollect recover OLD NEW" in deep.value["problems"]


def test_recover_saves_what_can_be_read_and_says_what_was_not_saved(run: Run, damaged: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.db"

    told = run("recover", str(damaged), str(new))
    again = run("recover", str(damaged), str(new))

    assert told.code == 3
    assert told.out.splitlines()[0] == f"2 memories saved to {new}"
    assert "could not be read: memories 2" in told.out
    assert "saved with their words, but not all of their other fields: memories 3" in told.out
    assert f"{new}.aside.jsonl" in told.out
    assert run("doctor", "--deep", "--db", str(new)).code == 0
    assert (again.code, "exists" in again.err) == (2, True)


def test_recover_of_a_sound_store_misses_nothing(run: Run, tmp_path: Path) -> None:
    run("add", "a memory", "--db", str(tmp_path / "old.db"))

    told = run("recover", str(tmp_path / "old.db"), str(tmp_path / "new.db"))

    assert (told.code, told.out.splitlines()[1]) == (0, "nothing is missing")


def test_export_leaves_out_what_is_damaged_when_asked_to(run: Run, damaged: Path, tmp_path: Path) -> None:
    with apsw.Connection(str(damaged)) as db:
        db.execute("update memory set tags = '[1' where id = 2")

    refused = run("export", "--db", str(damaged))
    told = run("export", "--skip-damaged", "--db", str(damaged))
    written = run("export", str(tmp_path / "out.jsonl"), "--skip-damaged", "--db", str(damaged), "--json")

    assert (refused.code, "memory 2 is damaged" in refused.err) == (3, True)
    records = [json.loads(line) for line in told.out.splitlines()]
    assert [each["content"] for each in records if "content" in each] == ["the first memory", "the third memory"]
    assert "memories 2" in told.err
    assert (written.value["memories"], len(written.value["left_out"])) == (2, 3)
