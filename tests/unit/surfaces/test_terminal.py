"""No text from a store, a file name or a caller steers a terminal or deceives its reader, whatever the verb."""

import json
import sys
import unicodedata
from pathlib import Path

import pytest
from command import Ran, Run, commands, on_a_terminal
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.operations import OPERATIONS
from recollect.recall.lens import Lens
from recollect.render.terminal import _PATTERN, visible, visible_line
from recollect.surfaces.program import cli
from recollect.text.normalise import HIDDEN, compiled

CODES = (
    *("\x1b[2J", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\a", "\b\b", "\r", "\x7f", "\x9b31m"),
    *("\x85", "\u202e", "\u2066", "\u200b", "\u200e", "\u2028", "\u2029", "\ufeff", "\u00ad", "\U000e0041", "\u3164"),
)
HOSTILE = "port " + "x".join(CODES) + " 5432"
LAYOUT = "\n\t"
JOINERS = "\u200c\u200d\ufe0f"


def forbidden(text: str) -> list[str]:
    """Return what may not reach a terminal: controls, separators of lines, all that is not seen."""
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    fillers = "\u115f\u1160\u3164\uffa0\u034f"
    return [c for c in text if (unicodedata.category(c) in kinds or c in fillers) and c not in LAYOUT + JOINERS]


# --- the function ---------------------------------------------------------------------------


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_spelled_out_as_json_spells_it(code: str) -> None:
    shown = visible(f"a{code}b")

    assert forbidden(shown) == []
    assert visible("a\x1b[31mb") == "a\\u001b[31mb"
    assert visible("\U000e0041") == "\\udb40\\udc41"


@given(text=st.text(alphabet=st.sampled_from([*"".join(CODES), "a", "\n", "\t", "\r", "ü", "❤", "\ufe0f", "\u200d"])))
def test_nothing_forbidden_is_left_and_json_says_the_same(text: str) -> None:
    told = json.dumps({"a": text}, ensure_ascii=False, indent=2)

    assert forbidden(visible(text)) == []
    assert forbidden(visible_line(text)) == []
    assert not {"\n", "\t"} & set(visible_line(text))
    assert json.loads(visible(told)) == {"a": text}
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize("text", ["❤️‍🔥", "1️⃣ ©️", "می‌خواهم", "क्‍ष", "naïve — “quoted” 漢字", "tab\tand\nline"])
def test_what_writing_needs_stays(text: str) -> None:
    assert visible(text) == text


def test_a_joiner_behind_a_letter_that_joins_nothing_is_spelled_out() -> None:
    assert visible("pass\u200dword \u200d\ufe0f") == "pass\\u200dword \\u200d\\ufe0f"
    assert visible("a\r\nb\rc") == "a\nb\\u000dc"


# --- every verb -----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store full of hostile strings, and a hostile file name beside it."""
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        about = {"type": HOSTILE, "source": f"{HOSTILE}\n#9 forged", "tags": (HOSTILE,), "title": HOSTILE}
        db.add(HOSTILE, **about, section=HOSTILE, metadata={HOSTILE: f"{HOSTILE}\nforged"}, external_id=HOSTILE)
        db.add(f"The port{HOSTILE} is 5432{HOSTILE}", **about)
        db.add(f"The port{HOSTILE} is 5433{HOSTILE}", **about, project=HOSTILE)
        db.lenses.keep(Lens(name=HOSTILE, types=(HOSTILE,), boosts={f"type:{HOSTILE}": 2.0}))
        db.search(HOSTILE, session=HOSTILE, lens=HOSTILE)
        db.search("\x1b]0;nothing\x07", session=HOSTILE)
        db.feedback(1, "used", session=HOSTILE, query=HOSTILE)
        db.forget(2, reason=HOSTILE)
        db.restore(2)
    name = "".join(code for code in CODES if "/" not in code)
    (tmp_path / f"{name}.md").write_text(f"# {HOSTILE}\n\n{HOSTILE}\n", encoding="utf-8")
    (tmp_path / f"{name}.json").write_text('{"a": \x1b[2J', encoding="utf-8")
    return tmp_path


def harmless(ran: Ran, words: list[str]) -> None:
    assert forbidden(ran.out + ran.err) == [], words
    assert "Traceback" not in ran.err, words
    assert "something unforeseen" not in ran.err, (words, ran.err)


@pytest.mark.parametrize("verb", OPERATIONS)
def test_no_verb_lets_a_code_through(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    monkeypatch.chdir(folder)
    for words in commands(OPERATIONS[verb], folder, HOSTILE):
        harmless(run(*words), words)
        harmless(run(*words, "--json"), words)


def test_errors_help_and_unknown_words_let_no_code_through(run: Run, folder: Path) -> None:
    wrong = [[HOSTILE], ["search", f"--{HOSTILE}"], ["show", HOSTILE], ["stats", "--profile", HOSTILE]]
    wrong += [["stats", "--db", str(folder / HOSTILE / "x")], ["--help"], *([name, "--help"] for name in cli.commands)]

    for words in wrong:
        harmless(run(*words), words)
        harmless(run(*words, "--json"), words)


@pytest.mark.usefixtures("folder")
def test_a_stored_line_break_forges_no_line(run: Run) -> None:
    shown = [run("show", "1"), run("search", "port", "--facets")]

    assert [line for ran in shown for line in ran.out.splitlines() if line.startswith(("#9", "forged"))] == []


@pytest.mark.usefixtures("folder")
def test_json_says_exactly_what_is_stored(run: Run) -> None:
    shown, exported = run("show", "1", "--json").value, run("export").out.splitlines()

    assert shown["content"] == HOSTILE.strip()
    assert HOSTILE.strip() in [json.loads(line).get("content") for line in exported]


def test_a_progress_line_shows_a_hostile_name_and_styles_only_itself(folder: Path) -> None:
    code, drawn = on_a_terminal("import", *map(str, folder.glob("*.md")), folder=folder)

    assert code == 0
    assert forbidden(drawn.replace("\r\x1b[K", "").replace("\r\n", "")) == []
    assert "\r\x1b[K" in drawn


def test_what_is_left_as_it_is_at_a_glance_holds_nothing_that_is_spelled_out() -> None:
    glanced = (char for char in map(chr, range(sys.maxunicode + 1)) if char.isprintable() and char not in HIDDEN)

    assert [char for char in glanced if compiled(_PATTERN).search(char)] == []
