"""A command answers the same, byte for byte, whether a server answers it or it works alone."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import driver
import pytest
from served import process, surroundings, wait_for_line

import recollect
from recollect.operations import OPERATIONS
from recollect.settings import default_db
from recollect.surfaces import front
from recollect.surfaces.client import address_file, read_address

NOTE = "The queue is drained by three workers because two of them were too slow on the first Monday of a month, 高 é"
MARKED = "Done.\\n[MEMORY] type=decision: The shop sends its mail through Postmark"
STORY: tuple[tuple[str, ...], ...] = (
    ("add", "We deploy on Fridays", "--type", "decision", "--tag", "ops,rules"),
    ("add", "The staging database listens on port 5433", "--type", "gotcha", "--source", "docs/staging.md"),
    ("add", NOTE, "--title", "Workers", "--metadata", "team=queue"),
    ("add", NOTE),
    ("add", "-", "--project", "web"),
    ("add", "-", "--date", "yesterday"),
    ("add", ""),
    ("add", "token", "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2),
    ("add", "bad date", "--date", "someday maybe"),
    ("capture", MARKED),
    ("capture", "nothing in it"),
    ("search", "which port"),
    ("search", "which port", "--explain"),
    ("search", "deploy", "--type", "decision", "--limit", "1", "--session", "tuesday"),
    ("search", "deploy", "--profile", "oro"),
    ("search", "deploy", "--mode", "keyword", "--format", "ids"),
    ("search", "deploy", "--format", "csv"),
    ("search", "deploy", "--mode", "sideways"),
    ("search", "zebra crossing in Ulm"),
    ("search", "x", "--limit", "0"),
    ("search",),
    ("--project", "web", "search", "port"),
    ("search", "port", "--project", "nobody"),
    ("search", "--leaning", "decisions", "deploy"),
    ("search", "--leaning", "changes", "staging"),
    ("search", "--leaning", "how-it-works", "queue"),
    ("why", "2", "port"),
    ("why", "1", "port"),
    ("show", "related", "1"),
    ("show", "related", "77"),
    ("inject", "deploy", "the", "queue"),
    ("brief",),
    ("show", "1", "#2"),
    ("show", "99"),
    ("show", "x"),
    ("list",),
    ("list", "--limit", "2", "--json"),
    ("list", "--type", "nothing"),
    ("list", "timeline"),
    ("list", "timeline", "port"),
    ("facts",),
    ("facts", "stale"),
    ("conflicts",),
    ("log", "recent"),
    ("log", "unanswered"),
    ("log", "provenance"),
    ("log", "sometimes"),
    ("log", "recent", "--memory", "1"),
    ("log", "activity", "--limit", "3"),
    ("review", "list"),
    ("review", "done", "trust:1"),
    ("review", "again", "trust:9"),
    ("lens", "create", "ops", "--type", "gotcha"),
    ("lens", "list"),
    ("search", "port", "--lens", "ops"),
    ("lens", "drop", "ops"),
    ("lens", "drop", "ops"),
    ("stats",),
    ("doctor",),
    ("doctor", "--deep"),
    ("export",),
    ("export", "--all", "--vectors"),
    ("pin", "1"),
    ("tag", "1", "--add", "weekly"),
    ("edit", "2", "--title", "Staging"),
    ("edit", "2", "--content", "-"),
    ("feedback", "1", "useful"),
    ("feedback", "1", "splendid"),
    ("facts", "reinforce", "1", "2"),
    ("edit", "supersede", "3", "1"),
    ("forget", "2"),
    ("forget", "2"),
    ("restore", "2"),
    ("consolidate", "--dry-run"),
    ("consolidate",),
    ("purge", "3", "--dry-run"),
    ("purge", "3"),
    ("--db", "{folder}/store.db", "stats"),
    ("--profile=cortex", "search", "port"),
)
"""Every verb that a server offers, with arguments that go well and arguments that do not."""
SLOW: tuple[tuple[str, ...], ...] = (("embed",), ("reindex",), ("purge", "3", "--yes"))
"""Verbs that show their progress on a terminal."""
VARYING = re.compile(r'"timings_ms": \{[^}]*\}|"bytes": \d{5,}')


def told(folder: Path, mode: str, commands: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what *commands* leave, without what no two runs have in common."""
    env = {**surroundings(folder), "RECOLLECT_MODEL": "hashing", "TERM": "xterm-256color"}
    env |= {"RECOLLECT_DAEMON": "off"} if mode == "alone" else {}
    done = subprocess.run(  # noqa: S603
        [sys.executable, driver.__file__, mode],
        input=json.dumps(commands).replace("{folder}", str(folder)),
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return [{**each, "out": VARYING.sub("", each["out"])} for each in json.loads(done.stdout)]


@contextmanager
def server_at_noon(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    env = {**surroundings(folder), "RECOLLECT_MODEL": "hashing"}
    started = subprocess.Popen(  # noqa: S603
        [sys.executable, driver.__file__, "serve"],
        env=env,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        bufsize=0,
    )
    try:
        wait_for_line(started, "serving")
        yield started
    finally:
        started.kill()
        started.communicate()


def fresh(folder: Path) -> Path:
    """Return *folder* without a store: what a terminal wraps depends on the name of it."""
    for each in folder.glob("store.db*"):
        each.unlink()
    return folder


def test_the_story_has_every_verb_that_a_server_offers() -> None:
    offered = {name for name, each in OPERATIONS.items() if each.rights.is_offered and name != "remind"}  # no command

    told_of = {word for words in (*STORY, *SLOW) for word in words}

    assert offered - told_of == set()


@pytest.mark.parametrize("form", ["pipe", "terminal", "json"])
@pytest.mark.full
def test_the_same_story_has_the_same_bytes_alone_and_through_a_server(tmp_path: Path, form: str) -> None:
    story = STORY if form == "terminal" else (*STORY, *SLOW)
    if form == "terminal":  # where input is typed, and erasure asks and draws
        story = tuple(words for words in story if "-" not in words and "purge" not in words)
    more = ["--json"] if form == "json" else []
    commands = [
        {"words": [*words, *more], "terminal": form == "terminal", "stdin": "typed é\r\n\x1b[31m text"}
        for words in story
    ]

    expected = told(tmp_path, "alone", commands)
    with server_at_noon(fresh(tmp_path)):
        found = told(tmp_path, "served", commands)

    for words, one, other in zip(story, expected, found, strict=True):
        assert {"words": words, **other} == {"words": words, **one}
    assert {each["code"] for each in expected} >= {0, 1, 2}


def opens_itself(folder: Path, commands: Sequence[Sequence[str]]) -> list[bool]:
    """Return of each of *commands* whether it opens the store itself though a server runs."""
    given = [{"words": words, "terminal": False, "stdin": ""} for words in commands]
    with server_at_noon(folder):
        done = told(folder, "only-served", given)
    return [each["code"] == driver.LEFT_ALONE for each in done]


def test_a_command_that_gains_from_a_warm_store_asks_the_server_and_the_others_open_it(tmp_path: Path) -> None:
    warm = (
        ("add", "We deploy on Fridays"),
        *(("search", "deploy"), ("search", "--leaning", "decisions", "deploy")),
        *(("why", "1", "deploy"), ("show", "related", "1"), ("inject", "deploy"), ("brief",)),
        ("search", "deploy", "--explain", "--set", "alpha=0.5", "--all"),
    )
    others = (("list",), ("stats",), ("export", "all.jsonl"), ("edit", "1", "--title", "Deploys"))

    opened = opens_itself(tmp_path, [*warm, *others])

    assert opened == [*(False for _ in warm), *(True for _ in others)]


def test_a_command_with_other_settings_than_the_server_opens_the_store_itself(tmp_path: Path) -> None:
    same = ("--model", "hashing", "--project", "web")
    others = (
        ("--model", "none"),
        ("--profile", "oro"),
        ("--profile", "own.toml"),
        ("--profile", "nosuch"),
        ("--reranker", "folder"),
        ("--db", ":memory:"),
        ("--db", "other.db"),
    )

    opened = opens_itself(tmp_path, [("search", "port", *each) for each in (same, *others)])

    assert opened == [False, *(True for _ in others)]


# --- one server, many commands --------------------------------------------------------------


def run(*words: str, env: Mapping[str, str], cwd: Path | None = None) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "recollect", *words],
        env=dict(env),
        cwd=cwd,
        capture_output=True,
        timeout=300,
        check=False,
    )


def test_commands_at_the_same_time_do_not_mix_what_they_write(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    with recollect.open(env["RECOLLECT_DB"], model="none") as db:
        for number in range(20):
            db.add(f"{number} {chr(65 + number) * 20_000}", project=f"p{number}")

    with process("serve", "--no-http", env=env) as started, ThreadPoolExecutor(20) as threads:
        wait_for_line(started, "serving")
        asked = [("search", str(number), "--project", f"p{number}", "--json") for number in range(20)]
        done = list(threads.map(lambda words: run(*words, env=env), asked))

    for number, each in enumerate(done):
        found = [hit["memory"]["content"] for hit in json.loads(each.stdout)["hits"]]
        assert found == [f"{number} {chr(65 + number) * 20_000}"]
        assert (each.returncode, each.stderr) == (0, b"")


def test_each_command_has_the_folder_and_the_project_of_its_caller(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    source, elsewhere = tmp_path / "docs" / "rules.md", tmp_path / "elsewhere"
    for each in (source.parent, elsewhere):
        each.mkdir()

    with process("serve", "--no-http", "--project", "web", env=env) as started:
        wait_for_line(started, "serving")
        run("add", "We deploy on Fridays", "--source", str(source), "--project", "shop", env=env)
        near = run("search", "deploy", env=env, cwd=source.parent).stdout.decode()
        far = run("search", "deploy", env=env, cwd=elsewhere).stdout.decode()
        named = run("search", "deploy", "--db", "../store.db", env=env, cwd=source.parent).stdout.decode()
        other = run("search", "deploy", env={**env, "RECOLLECT_PROJECT": "web"})

    assert "rules.md" in near
    assert str(source.parent) not in near
    assert str(source) in far
    assert named == near
    assert other.returncode == 1


def test_after_a_sudden_end_of_the_server_a_command_goes_on_alone(tmp_path: Path) -> None:
    env = surroundings(tmp_path)

    with process("serve", "--no-http", env=env) as started:
        wait_for_line(started, "serving")
        warm = run("add", "We deploy on Fridays", env=env)
        started.send_signal(signal.SIGKILL)
        started.wait(60)
        left = read_address(env["RECOLLECT_DB"])
        found = run("search", "deploy", env=env)
        added = run("add", "The staging database listens on port 5433", env=env)

    assert left is not None
    assert (warm.stdout, added.stdout) == (b"#1 remembered\n", b"#2 remembered\n")
    assert found.returncode == 0
    assert b"We deploy on Fridays" in found.stdout


def test_what_was_typed_is_not_lost_when_the_server_ends_meanwhile(tmp_path: Path) -> None:
    env = surroundings(tmp_path)

    with process("serve", "--no-http", env=env) as started:
        wait_for_line(started, "serving")
        with process("add", "-", env=env) as waiting:
            started.kill()
            started.wait(300)
            out, err = waiting.communicate(b"We deploy on Fridays", timeout=300)

    assert (out, err, waiting.returncode) == (b"#1 remembered\n", b"", 0)


# --- whether a server is used ---------------------------------------------------------------


def test_the_front_knows_the_usual_store_without_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("RECOLLECT_DB", "RECOLLECT_DAEMON"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RECOLLECT_CONFIG", str(tmp_path / "settings.toml"))

    usual = front.chosen(["search", "port"])
    (tmp_path / "settings.toml").write_text('db = "/notes.db"\ndaemon = "off"\n')
    told_by_file = front.chosen(["search", "port"])

    assert usual == (default_db(), "use")
    assert told_by_file == ("/notes.db", "off")
    assert front.chosen(["--db=other.db"]) == ("other.db", "off")


def running(db: str) -> bool:
    return address_file(db).exists()


def test_no_server_is_started_unless_a_setting_says_so(tmp_path: Path) -> None:
    env = surroundings(tmp_path)

    run("add", "We deploy on Fridays", env=env)
    run("search", "deploy", env=env)

    assert not running(env["RECOLLECT_DB"])


def test_a_command_starts_a_server_for_the_next_one_where_a_setting_says_so(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    Path(env["RECOLLECT_CONFIG"]).write_text('daemon = "auto"\n')
    missing = run("list", "--db", str(tmp_path / "other.db"), env=env)
    run("add", "We deploy on Fridays", env={**env, "RECOLLECT_DAEMON": "off"})

    found = run("search", "deploy", env=env)
    until = time.monotonic() + 300
    while not running(env["RECOLLECT_DB"]) and time.monotonic() < until:
        time.sleep(0.05)
    again = run("search", "deploy", env=env)
    stopped = run("daemon", "stop", env=env)

    assert missing.returncode == 2
    assert not (tmp_path / "other.db").exists()
    assert found.stdout == again.stdout
    assert b"stopped process" in stopped.stdout


def test_a_server_is_not_asked_where_a_setting_says_so(tmp_path: Path) -> None:
    with server_at_noon(tmp_path):
        command = {"words": ["brief"], "terminal": False, "stdin": ""}
        used = told(tmp_path, "only-served", [command])
        Path(surroundings(tmp_path)["RECOLLECT_CONFIG"]).write_text('daemon = "off"\n')
        off = told(tmp_path, "only-served", [command])

    assert used[0]["code"] == 0
    assert off[0]["code"] == driver.LEFT_ALONE


def test_an_unknown_way_to_use_a_server_is_refused(tmp_path: Path) -> None:
    done = run("stats", env={**surroundings(tmp_path), "RECOLLECT_DAEMON": "sometimes"})

    assert done.returncode == 2
    assert b"daemon cannot be 'sometimes' (one of use, off, auto)" in done.stderr


def test_the_daemon_is_started_as_its_options_say(tmp_path: Path) -> None:
    env = surroundings(tmp_path)

    run("daemon", "start", "--model", "hashing", "--idle", "60s", env=env)
    run("search", "deploy", "--model", "hashing", env=env)
    run("search", "deploy", env=env)
    status = run("daemon", "status", "--json", env=env)
    run("daemon", "stop", env=env)

    assert json.loads(status.stdout)["cache"]["misses"] == 1
