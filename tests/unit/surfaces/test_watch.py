"""Roots on the command line, vectors after the words, and a real process that follows a folder."""

import json
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from command import COMMAND, Run, surroundings

import recollect
from recollect import Recollection
from recollect.errors import InputError, RecollectError
from recollect.remember.import_files import ImportReport
from recollect.render.text import changed_text
from recollect.surfaces import watching
from recollect.workspace.roots import Roots

PATIENCE = 300.0
"""How many seconds something that must happen is waited for."""


def until(is_so: Callable[[], bool]) -> None:
    """Wait until it *is so*."""
    last = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < last, "it did not happen"
        time.sleep(0.05)


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


# --- roots ----------------------------------------------------------------------------------


def test_an_import_keeps_its_paths_as_roots_and_does_them_again(run: Run, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="The port is 8080.")
    run("import", str(folder))
    write(folder, b="The host is db1.")

    again = run("import", "--json")
    listed = run("roots", "list", "--json").value["roots"]

    assert (again.code, again.value["memories"]["new"], again.value["files"]["skipped"]) == (0, 1, 1)
    assert listed == [
        {"path": folder.as_posix(), "project": "", "trust": "owner", "redact": True, "follow_links": False}
    ]


def test_an_import_that_is_made_once_keeps_no_root(run: Run, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="The port is 8080.")

    run("import", "--once", str(folder))
    run("import", str(tmp_path / "nowhere"))

    assert run("roots", "list").out == "No roots; recollect import PATH keeps PATH as one.\n"
    assert "no roots are kept here" in run("import").err


def test_roots_are_added_listed_and_removed(run: Run, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="The port is 8080.")

    added = run("roots", "add", str(folder), "--trust", "agent")
    listed = run("roots", "list")
    removed = run("roots", "remove", str(folder))

    assert added.out == f"{folder} is a root now; import it with: recollect import\n"
    assert listed.out == f"{folder} (trust agent)\n"
    assert removed.out == f"{folder} is not a root any more; its memories stay\n"
    assert run("roots", "remove").code == 2


@pytest.mark.parametrize("option", ["--as=text", "--keep-secrets", "--follow-links"])
def test_an_option_that_no_root_takes_is_refused_without_a_path(run: Run, tmp_path: Path, option: str) -> None:
    run("import", str(write(tmp_path / "notes", a="The port is 8080.")))

    refused = run("import", option)

    assert refused.code == 2
    assert f"{option.partition('=')[0]} needs a path" in refused.err


def test_roots_are_trusted_no_further_than_the_command_that_imports_them_says(run: Run, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="The port is 8080.")
    run("import", str(folder))
    write(folder, b="The host is db1.")

    run("import", "--trust", "untrusted")

    assert run("list", "--json").value["memories"][0]["origin"] == "untrusted"


# --- what a watch prints --------------------------------------------------------------------


def test_a_line_of_a_watch_names_the_time_and_the_files(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="The port is 8080.", b="The host is db1.")
    lines = []
    with recollect.open(":memory:", model="none") as db:
        db.import_(folder)
        for change in (
            lambda: write(folder, c="The user is admin."),
            lambda: (folder / "c.md").rename(folder / "d.md"),
            (folder / "d.md").unlink,
            lambda: None,
        ):
            change()
            lines.append(changed_text(db.import_(folder), at=db.now()))

    assert [line[9:] for line in lines] == ["1 new: c.md", "c.md -> d.md", "1 removed: d.md is gone", ""]
    assert re.match(r"\d\d:\d\d:\d\d ", lines[0])


# --- vectors after the words ----------------------------------------------------------------


def test_an_import_tells_what_waits_for_vectors(run: Run, tmp_path: Path) -> None:
    run("add", "waiting", "--no-embed")
    folder = write(tmp_path / "notes", a="The port is 8080.")

    told = run("--model", "hashing", "import", str(folder))

    assert told.out.splitlines()[-2:] == [
        "1 embedded",
        "1 memory without vectors yet; found by words alone until its vectors are made: recollect embed",
    ]


def test_stats_tell_what_waits_for_vectors(run: Run, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", a="The port is 8080.")
    run("--model", "hashing", "import", str(folder))
    before = run("stats", "--json").value
    run("add", "waiting", "--no-embed")

    told, value = run("stats").out, run("stats", "--json").value

    assert "without vectors: 1; " in told
    assert ("vectors_waiting" in before, value["vectors_waiting"]) == (False, 1)
    assert (before["vectors"], value["vectors"]) == (1, 1)


def test_stats_tell_that_there_is_no_vector(run: Run) -> None:
    run("add", "The port is 8080.", "--no-embed")

    value = run("stats", "--json").value

    assert (value["vectors"], value.get("vectors_waiting")) == (0, None)


def test_whoever_stops_the_vectors_keeps_the_import(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Recollection, "_embed_if_possible", stop)
    folder = write(tmp_path / "notes", a="The port is 8080.")

    stopped = run("--model", "hashing", "import", str(folder))

    assert stopped.code == 130
    assert stopped.out.startswith("1 file, 1 memory new")
    assert "stopped; 1 memory without vectors yet" in stopped.out
    assert run("search", "port", "--mode", "keyword").code == 0


# --- a process that follows a folder --------------------------------------------------------


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    folder = write(tmp_path / "notes", a="The port is 8080.", b="The host is db1.")
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        db.roots.add(folder)
    process = started(tmp_path)
    yield folder, process
    process.kill()
    process.wait()


def started(folder: Path) -> subprocess.Popen[bytes]:
    words = ("--db", str(folder / "notes.db"), "--model", "hashing", "watch", "--json")
    return subprocess.Popen(  # noqa: S603
        [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=surroundings(folder, {})
    )


def contents(folder: Path) -> set[str]:
    with recollect.open(folder / "notes.db", model="none") as db:
        return {memory.content for memory in db.list(limit=1000).memories}


def test_a_watch_catches_up_follows_and_ends_cleanly(watched: tuple[Path, subprocess.Popen[bytes]]) -> None:
    folder, process = watched
    until(lambda: contents(folder.parent) == {"The port is 8080.", "The host is db1."})
    write(folder, c="The user is admin.")
    until(lambda: "The user is admin." in contents(folder.parent))
    write(folder, c="The user is root.")
    until(lambda: "The user is root." in contents(folder.parent))
    (folder / "c.md").unlink()
    until(lambda: contents(folder.parent) == {"The port is 8080.", "The host is db1."})

    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE)

    told = [json.loads(line)["memories"] for line in out.decode().splitlines()]
    assert (process.returncode, err.decode().splitlines()[-1]) == (0, "stopped; everything imported so far is kept")
    assert [sum(each[name] for each in told) for name in ("new", "removed")] == [4, 2]


def test_what_would_go_all_at_once_is_kept_by_a_watch(watched: tuple[Path, subprocess.Popen[bytes]]) -> None:
    folder, process = watched
    until(lambda: len(contents(folder.parent)) == 2)
    for path in folder.iterdir():
        path.unlink()
    write(folder.parent / "notes", d="The last one.")
    until(lambda: "The last one." in contents(folder.parent))

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    assert "The last one." in contents(folder.parent)


def test_two_watches_of_one_folder_do_not_disturb_each_other(watched: tuple[Path, subprocess.Popen[bytes]]) -> None:
    folder, first = watched
    second = started(folder.parent)
    try:
        assert second.stderr is not None
        assert second.stderr.readline().startswith(b"watching")  # from here on it ends cleanly when it is told to
        until(lambda: len(contents(folder.parent)) == 2)
        for number in range(5):
            write(folder, **{f"n{number}": f"Note {number} speaks of thing {number * 7}."})
        until(lambda: len(contents(folder.parent)) == 7)
    finally:
        for process in (first, second):
            process.send_signal(signal.SIGTERM)
        ended = [process.communicate(timeout=PATIENCE) for process in (first, second)]

    assert [first.returncode, second.returncode] == [0, 0]
    assert not any(b"error" in err for _, err in ended)
    assert len(contents(folder.parent)) == 7


# --- following, piece by piece --------------------------------------------------------------


def test_nothing_to_watch_is_an_error(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "notes.db", model="none") as db, pytest.raises(InputError, match="nothing to watch"):
        watching.follow(db, stop=threading.Event(), told=lambda _: None, trouble=lambda _: None)


def test_a_root_that_comes_later_is_watched_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LOOK", 50)
    folder, stop, reports = tmp_path / "notes", threading.Event(), list[ImportReport]()

    def told(report: ImportReport) -> None:
        reports.append(report)
        if len(reports) == 1:
            write(folder, a="The port is 8080.")
        if report.memories["new"]:
            stop.set()

    with recollect.open(tmp_path / "notes.db", model="none") as db:
        db.roots.add(folder)
        watching.follow(db, stop=stop, told=told, trouble=lambda _: None)

    assert reports[-1].memories["new"] == 1


def test_trouble_is_told_and_does_not_end_the_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LOOK", 50)
    folder, stop, errors = write(tmp_path / "notes", a="The port is 8080."), threading.Event(), list[RecollectError]()
    real, calls = Roots.import_, list[int]()

    def import_roots(self: Roots, **more: object) -> ImportReport:
        calls.append(1)
        if len(calls) == 1:
            raise RecollectError("the store is locked")
        return real(self, **more)  # type: ignore[arg-type]

    def told(_: ImportReport) -> None:
        stop.set()

    monkeypatch.setattr(Roots, "import_", import_roots)
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        db.roots.add(folder)
        watching.follow(db, stop=stop, told=told, trouble=errors.append)

    assert ([str(each) for each in errors], len(calls)) == (["the store is locked"], 2)


def test_without_the_library_watching_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "watchfiles", None)
    with recollect.open(tmp_path / "notes.db", model="none") as db, pytest.raises(InputError) as told:
        watching.follow(db, stop=threading.Event(), told=lambda _: None, trouble=lambda _: None)

    assert (str(told.value), told.value.hint) == (
        "watching needs the extra 'watch'",
        "pip install 'recollect[watch]'",
    )


def test_a_vector_in_the_making_is_given_up_when_told_to_stop(tmp_path: Path) -> None:
    folder, stop, seen = write(tmp_path / "notes", a="The port is 8080."), threading.Event(), list[Sequence[str]]()

    def told(report: ImportReport) -> None:
        seen.append([name for _, name in report.sources])
        stop.set()

    with recollect.open(tmp_path / "notes.db", model="hashing") as db:
        db.roots.add(folder)
        watching.follow(db, stop=stop, told=told, trouble=lambda _: None)

        assert (len(seen), db.show(1).memory.content) == (1, "The port is 8080.")
