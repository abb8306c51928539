"""What people see in a terminal of 60 and 140 columns, kept as text: the real program in a real terminal."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from snapshot import matches

import recollect
from kit import NOON
from screen import on_a_screen

WIDTHS = (60, 140)
NOTES = [
    {
        "content": "We deploy every Tuesday at 10:00 with Docker from the main branch. A change that misses the "
        "train waits a week; nobody holds the train for a single feature, and the price stays at 1,234.56 EUR.",
        "title": "Deploys",
        "section": "Releases > Deploys",
        "type": "decision",
        "tags": ("release", "docker"),
        "source": "/srv/notes/releases/2026-03-02-how-we-deploy.md",
        "line": 14,
        "observed_at": datetime(2026, 3, 2, tzinfo=UTC),
    },
    {
        "content": "A deploy takes four minutes [measured], and a rollback takes one",
        "source": "/srv/notes/runbook.md",
        "line": 3,
    },
    {
        "content": "部署需要四分钟、回滚需要一分钟。部署之前请先通知大家、部署之后请检查日志。不要在星期五部署。",
        "type": "fact",
    },
    {"content": "Deploys never happen on Friday", "trust": "agent", "confidence": 0.4},
    {"content": "The cat sleeps on the server", "metadata": {"team": "core"}},
    {"content": "The deploy timeout is 30 seconds"},
    {"content": "The deploy timeout is now 60 seconds"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small store and some notes, the same on every day and on every machine."""
    with recollect.open(tmp_path / "notes.db", model="none", clock=lambda: NOON) as db:
        for note in NOTES:
            db.add(**note)
    (tmp_path / "notes").mkdir()
    for n in range(3):
        (tmp_path / "notes" / f"a-note-with-quite-a-long-name-of-the-day-{n}.md").write_text(
            f"# Note {n}\n\nWords {n}.\n"
        )
    return tmp_path


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize(
    ("name", "words", "code"),
    [
        ("search", ("search", "when", "do", "we", "deploy"), 0),
        ("search-explain", ("search", "deploy", "timeout", "--explain", "-n", "2"), 0),
        ("search-chinese", ("search", "部署", "日志"), 0),
        ("search-nothing", ("search", "xylophone"), 1),
        ("list", ("list", "-n", "5"), 0),
        ("show", ("show", "1", "6"), 0),
        ("stats", ("stats", "--db", "notes.db"), 0),
        ("error", ("search", "deploy", "--since", "the day before the big release of the year"), 2),
        ("error-verb", ("serch", "deploy"), 2),
    ],
)
def test_a_screen_looks_as_it_did(folder: Path, name: str, words: tuple[str, ...], code: int, columns: int) -> None:
    screen = on_a_screen(*words, folder=folder, columns=columns)

    assert screen.code == code
    assert matches(f"screens/{name}.{columns}.txt", "\n".join(screen.lines))


def test_the_help_fits_on_one_screen(folder: Path) -> None:
    screen = on_a_screen("--help", folder=folder, columns=80)

    assert len(screen.lines) <= 50
    assert max(map(len, screen.lines)) <= 80
    assert [name for name in ("search", "inject", "doctor", "tune") if name not in " ".join(screen.lines)] == []


@pytest.mark.parametrize("columns", WIDTHS)
def test_an_import_draws_its_progress_in_one_line(folder: Path, columns: int) -> None:
    screen = on_a_screen("import", "notes", folder=folder, columns=columns)

    assert screen.code == 0
    assert matches(f"screens/import.{columns}.txt", "\n".join([*screen.frames, *screen.lines]))


def test_colours_are_those_of_the_theme_and_links_are_ours(folder: Path) -> None:
    sent = on_a_screen("search", "when", "do", "we", "deploy", folder=folder).sent
    codes, links = set(re.findall(r"\x1b\[([0-9;]*)m", sent)), set(re.findall(r"\x1b\]8;;([^\x1b]*)\x1b\\", sent))

    assert codes == {"0", "1", "2", "1;4", "32", "1;31"}
    assert links == {"", "file:///srv/notes/releases/2026-03-02-how-we-deploy.md", "file:///srv/notes/runbook.md"}
    assert "\x1b[1;4mdeploy\x1b[0m" in sent


@pytest.mark.parametrize("surroundings", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_whoever_wants_no_colour_gets_no_code_at_all(folder: Path, surroundings: dict[str, str]) -> None:
    plain = on_a_screen("search", "when", "do", "we", "deploy", folder=folder, **surroundings)
    styled = on_a_screen("search", "when", "do", "we", "deploy", folder=folder)

    assert "\x1b" not in plain.sent
    assert plain.lines == styled.lines


def test_a_terminal_shows_five_hits_and_a_program_what_the_profile_says(folder: Path) -> None:
    with recollect.open(folder / "notes.db", model="none") as db:
        for n in range(12):
            db.add(f"The parrot number {n} is green", external_id=str(n))

    def hits(*words: str) -> int:
        lines = on_a_screen("search", "parrot", *words, folder=folder).lines
        return sum("parrot number" in line for line in lines)

    assert (hits(), hits("-n", "7"), hits("--all")) == (5, 7, 12)
    as_json = on_a_screen("search", "parrot", "--json", folder=folder)
    assert len(json.loads(as_json.sent)["hits"]) == 12


def test_stored_codes_never_reach_the_terminal(folder: Path) -> None:
    hostile = "\x1b]8;;http://evil\x1b\\parrot\x1b]8;;\x1b\\ \x1b[31mred"
    with recollect.open(folder / "notes.db", model="none") as db:
        db.add(hostile, title=hostile, source=f"https://example.org/{hostile}", type=hostile, tags=(hostile,))

    for words in (
        ("search", "parrot"),
        ("list",),
        ("show", "8"),
        ("show", "open", "8"),
        ("list", "timeline", "parrot"),
    ):
        sent = on_a_screen(*words, folder=folder, EDITOR="").sent

        assert "\x1b[31m" not in sent
        assert "\x1b]8;;http://evil" not in sent
        assert "\\u001b" in sent


def test_whoever_stops_an_import_is_told_what_is_in(folder: Path) -> None:
    lines = "".join(f'{{"text": "entry {n} of a long file"}}\n' for n in range(300_000))
    (folder / "notes" / "z.jsonl").write_text(lines)

    stopped = on_a_screen("import", "notes", folder=folder, until="4/4", typed="\x03")

    assert stopped.code == 130
    assert stopped.lines[-2:] == [
        "stopped: the first 3 of 4 files are in and stay; the same command goes on from",
        "  there",
    ]
    with recollect.open(folder / "notes.db", model="none") as db:
        assert db.search("words", mode="keyword").total == 3


def test_whoever_says_no_is_told_that_nothing_was_changed(folder: Path) -> None:
    asked = on_a_screen("purge", "#1", folder=folder, until="[y/N]", typed="n\n")

    assert (asked.code, asked.lines[-1]) == (130, "stopped: nothing was changed")
    assert asked.lines[0].startswith("would erase 1 memories")
    assert on_a_screen("show", "1", folder=folder).code == 0
