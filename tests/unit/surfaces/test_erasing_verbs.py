"""`purge` and `log prune` on the command line."""

from pathlib import Path

import pytest
from command import Run, apart, on_a_terminal

import recollect


def added(run: Run, *texts: str) -> None:
    for text in texts:
        assert run("add", text).code == 0


def test_purge_wants_a_yes_where_nobody_can_be_asked(run: Run) -> None:
    added(run, "the cat sleeps")

    refused = run("purge", "1")
    done = run("purge", "1", "--yes", "--verify", "--json")

    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "error: what is purged cannot be brought back (look with --dry-run, then add --yes)\n"
    assert (done.code, done.value["ids"], done.value["traces"]) == (0, [1], [])
    assert run("show", "1").code == 2


def test_a_dry_run_shows_what_would_go(run: Run) -> None:
    added(run, *(f"engine{n} drives wheel{n} through gear{n}" for n in range(12)))

    shown = run("purge", "--older-than", "2100-01-01", "--dry-run")

    lines = shown.out.splitlines()
    assert lines[0] == "would erase 12 memories, 12 events, 1 names of projects"
    assert lines[1] == "#1 [note] engine0 drives wheel0 through gear0"
    assert lines[-1] == "… and 2 more"
    assert run("list", "--json").value["total"] == 12


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("purge",), "say what to purge"),
        (("purge", "x", "--yes"), "'x' is not an id"),
        (("purge", "9", "--yes"), "no memory has the id 9"),
        (("purge", "9" * 30, "--yes"), f"{'9' * 30} is too large"),
        (("purge", "--older-than", "soon", "--yes"), "older_than: 'soon' is not a date"),
        (("log", "prune", "--max-size", "-1"), "max_size cannot be -1.0"),
        (("log", "prune", "--max-size", "nan"), "max_size cannot be nan"),
        (("log", "prune", "--older-than", "soon"), "older_than: 'soon' is not a date"),
    ],
)
def test_bad_input_is_one_line(run: Run, words: tuple[str, ...], error: str) -> None:
    ran = run(*words)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {error}")
    assert ran.err.count("\n") == 1


def test_a_project_cannot_purge_what_another_has(run: Run) -> None:
    run("add", "the cat sleeps", "--project", "a")

    ran = run("--project", "b", "purge", "1", "--yes")

    assert ran.code == 2
    assert run("show", "1").code == 0


def test_a_trace_is_told_and_fails(run: Run, tmp_path: Path) -> None:
    added(run, "the cat sleeps")
    run("search", "ocelots", "--session", "s")

    ran = run("purge", "1", "--yes", "--trace", "ocelots")

    assert ran.code == 3
    assert "error: notes.db holds 'ocelots'" in ran.err
    assert (tmp_path / "notes.db").exists()


@pytest.mark.parametrize(("typed", "code", "left"), [("y\n", 0, 0), ("n\n", 130, 1)])
def test_a_terminal_is_shown_what_goes_and_asked(tmp_path: Path, typed: str, code: int, left: int) -> None:
    apart("add", "the cat sleeps", folder=tmp_path)

    ended, drawn = on_a_terminal("purge", "1", folder=tmp_path, typed=typed)

    assert ended == code
    assert "would erase 1 memories" in drawn
    assert "It cannot be undone" in drawn
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        assert db.list().total == left


def test_the_log_is_pruned_and_told_of(run: Run) -> None:
    added(run, "the cat sleeps")
    run("search", "cat", "--session", "s")

    told = run("stats")
    kept = run("log", "prune")
    pruned = run("log", "prune", "--max-size", "0")

    assert "recall log: 1 search, 0.0 MB since" in told.out
    assert "kept for 180 days or 100 MB" in told.out
    assert kept.out == "0 searches pruned from the recall log\n"
    assert pruned.out == "1 searches pruned from the recall log\n"
    assert run("stats", "--json").value["log"]["recalls"] == 0


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [("LOG_DAYS", "7", "kept for 7 days or 100 MB"), ("LOG_MEGABYTES", "none", "kept for 180 days\n")],
)
def test_the_settings_say_how_long_the_log_is_kept(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(f"RECOLLECT_{name}", value)

    assert told in run("stats").out


def test_a_setting_that_is_no_bound_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_LOG_DAYS", "soon")

    ran = run("stats")

    assert (ran.code, ran.err) == (2, "error: log_days cannot be 'soon' (give a number, or none)\n")
