"""What people type: words without quotes, ids with a sign, mistyped verbs, numbers out of bounds, and what they get."""

import csv
import io
import json
from pathlib import Path

import pytest
from command import Run

from recollect.operations import OPERATIONS
from recollect.surfaces.commands import GROUPS, MEANT, TWO_WORDS


@pytest.fixture
def filled(run: Run) -> Run:
    """A store of three memories."""
    run(
        "add",
        "We ship on Tuesdays",
        "--title",
        "Shipping",
        "--type",
        "decision",
        "--tag",
        "release",
        "--date",
        "2026-03-02",
    )
    run("add", 'The ship, "Alma", leaves *late*', "--source", "/n/a.md", "--date", "2026-03-01")
    run("add", "Ship parts are in stock", "--source", "/n/a.md", "--date", "2026-02-01")
    return run


# --- words ----------------------------------------------------------------------------------


@pytest.mark.parametrize("leaning", ["", "decisions", "changes", "how-it-works"])
def test_the_words_after_a_search_are_one_query(filled: Run, leaning: str) -> None:
    more = ("--leaning", leaning, "--json") if leaning else ("--json",)
    apart, together = filled("search", "when", "do", "we", "ship", *more), filled("search", "when do we ship", *more)

    assert apart.value["query"].startswith("when do we ship")
    assert [hit["id"] for hit in apart.value["hits"]] == [hit["id"] for hit in together.value["hits"]]


def test_words_are_joined_wherever_a_text_is_asked_for(run: Run) -> None:
    run("add", "We", "ship", "on", "Tuesdays")

    assert run("show", "1", "--json").value["content"] == "We ship on Tuesdays"
    assert run("why", "1", "when", "ship", "--json").value["found"] is True
    assert run("list", "timeline", "ship", "tuesdays", "--json").value["memories"][0]["id"] == 1
    assert run("inject", "ship", "on", "tuesdays", "--json").value["ids"] == [1]


def test_a_word_with_a_dash_is_left_out_of_the_answer_and_no_option(filled: Run) -> None:
    found = filled("search", "ship", "-tuesdays", "-n", "5", "--json").value

    assert found["query"] == "ship -tuesdays"
    assert {hit["id"] for hit in found["hits"]} == {2, 3}


# --- ids ------------------------------------------------------------------------------------


def test_an_id_may_have_its_sign_and_there_may_be_several(filled: Run) -> None:
    one, several = filled("show", "#2", "--json"), filled("show", "1", "#3", "--json")

    forgotten = filled("forget", "#1", "2", "2")

    assert one.value["id"] == 2
    assert [each["id"] for each in several.value["results"]] == [1, 3]
    assert forgotten.out.splitlines() == [
        "#1 forgotten; bring it back with: recollect restore 1",
        "#2 forgotten; bring it back with: recollect restore 2",
    ]
    assert filled("restore", "1", "2", "--json").value == {
        "results": [{"id": 1, "event": "restore"}, {"id": 2, "event": "restore"}]
    }
    assert filled("pin", "#1", "#2").out == "#1 is pinned\n#2 is pinned\n"
    assert filled("edit", "supersede", "#1", "#2").out == "#1 is superseded by #2\n"
    assert filled("feedback", "#2", "used").code == 0
    assert filled("show", "related", "#2").code in (0, 1)
    assert filled("purge", "#3", "--yes").code == 0


# --- formats --------------------------------------------------------------------------------


def test_what_is_found_is_written_in_the_format_that_is_asked_for(filled: Run) -> None:
    def written(form: str) -> str:
        return filled("list", "--format", form).out

    table = list(csv.DictReader(io.StringIO(written("csv"))))

    assert written("ids") == "1\n2\n3\n"
    assert written("paths") == "/n/a.md\n"
    assert [json.loads(each)["id"] for each in written("jsonl").splitlines()] == [1, 2, 3]
    assert json.loads(written("json")) == filled("list", "--json").value
    assert (table[1]["content"], table[1]["source"], table[0]["tags"]) == (
        *('The ship, "Alma", leaves *late*', "/n/a.md", "release"),
    )
    assert written("md").splitlines()[:2] == [
        "- **Shipping** We ship on Tuesdays (\\#1, decision, 2026-03-02)",
        '- The ship, "Alma", leaves \\*late\\* (\\#2, note, 2026-03-01, /n/a.md)',
    ]


def test_hits_have_formats_too(filled: Run) -> None:
    hits = [json.loads(each) for each in filled("search", "ship", "--format", "jsonl").out.splitlines()]
    table = csv.DictReader(io.StringIO(filled("search", "ship", "--format", "csv").out))

    assert [hit["rank"] for hit in hits] == [1, 2, 3]
    assert [float(row["score"]) for row in table] == pytest.approx([hit["score"] for hit in hits])
    assert filled("search", "xylophone", "--format", "ids").out == ""
    assert filled("search", "xylophone", "--format", "ids").code == 1
    assert filled("show", "related", "1", "--format", "ids").code in (0, 1)
    assert filled("show", "1", "2", "--format", "ids").out == "1\n2\n"
    assert filled("list", "timeline", "--format", "ids").out == "3\n2\n1\n"


# --- what is mistyped -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("serch", "search"),
        ("ls", "list"),
        ("rm", "forget"),
        ("delete", "forget"),
        ("cat", "show"),
        ("improt", "import"),
    ],
)
def test_of_a_mistyped_verb_it_is_said_what_was_perhaps_meant(run: Run, word: str, meant: str) -> None:
    told = run(word, "x")

    assert told.code == 2
    assert told.err == f"error: No such command {word!r}; did you mean {meant}? (see: recollect --help)\n"


def test_a_word_that_is_like_no_verb_gets_no_suggestion(run: Run) -> None:
    assert run("xylophone").err == "error: No such command 'xylophone' (see: recollect --help)\n"


def test_what_other_programs_call_a_verb_is_none_here() -> None:
    verbs = {each.verb for each in OPERATIONS.values() if each.verb}

    assert {meant.split()[0] for meant in MEANT.values()} - {"--help"} <= {verb.split()[0] for verb in verbs}
    assert MEANT.keys() & verbs == set()
    assert {verb.split()[0] for verb in verbs if " " in verb} == TWO_WORDS


def test_of_a_mistyped_choice_it_is_said_what_was_perhaps_meant(run: Run) -> None:
    assert "did you mean keyword?" in run("search", "x", "--mode", "keywrod").err
    assert "did you mean useful?" in run("feedback", "1", "usefull").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("search", "x", "--limit", "0"), "limit cannot be 0 (give a whole number of at least 1)"),
        (("search", "x", "-n", "-3"), "limit cannot be -3 (give a whole number of at least 1)"),
        (("list", "--limit", "0"), "limit cannot be 0 (give a whole number of at least 1)"),
        (("list", "--offset", "-1"), "offset cannot be -1 (give a whole number of at least 0)"),
        (("add", "x", "--confidence", "7"), "confidence cannot be 7.0 (give a number from 0 to 1)"),
        (("add", "x", "--confidence", "nan"), "confidence cannot be nan (give a number from 0 to 1)"),
        (("facts", "stale", "--below", "2"), "below cannot be 2.0 (give a number from 0 to 1)"),
        (("inject", "x", "--budget", "0"), "budget cannot be 0 (give a whole number of at least 1)"),
        (
            ("search", "x", "--model", "nosuch"),
            "there is no model 'nosuch' (installed: hashing; or name a folder with a",
        ),
        (("search", "x", "--model", "minlm"), "there is no model 'minlm' (did you mean minilm? installed: hashing;"),
    ],
)
def test_a_number_or_a_name_that_cannot_be_is_an_error_that_helps(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.setenv("RECOLLECT_MODELS", str(tmp_path))

    told = run(*words)

    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"error: {said}")


def test_a_mistyped_store_is_not_taken_for_an_empty_one(filled: Run, tmp_path: Path) -> None:
    mistyped = str(tmp_path / "ntoes.db")

    told, other = filled("search", "ship", "--db", mistyped), filled("--db", str(tmp_path / "x"), "list")
    made = filled("add", "x", "--db", mistyped)

    assert told.code == other.code == 2
    assert told.err == (
        f"error: there is no store {mistyped} (did you mean notes.db?; `add` and `import` make a new store)\n"
    )
    assert made.code == 0
    assert not (tmp_path / "x").exists()


def test_an_empty_store_says_which_one_it_is(run: Run, tmp_path: Path) -> None:
    assert f"there are no memories here yet ({tmp_path / 'notes.db'})" in run("search", "ship").out


def test_a_list_past_its_end_says_so(filled: Run) -> None:
    told = filled("list", "--offset", "30000")

    assert told.code == 1
    assert told.out == "Nothing here: there are 3 memories, and --offset 30000 passes over all of them.\n"
    assert filled("list", "--offset", "1", "--limit", "1").out.endswith("\n… 1 more (go on with --offset 2)\n")


def test_a_changed_text_under_the_same_external_id_is_told(run: Run) -> None:
    run("add", "The office is in Berlin", "--external-id", "office")

    changed = run("add", "The office is in Lisbon", "--external-id", "office")
    again = run("add", "The office is in Lisbon", "--external-id", "office")
    value = run("add", "The office is in Porto", "--external-id", "office", "--json").value

    assert changed.out == "#1 updated: the memory with this external id says this now\n"
    assert again.out == "#1 known already; nothing changed\n"
    assert value["updated"] is True


def test_repeats_in_a_first_import_are_called_repeats(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.md").write_text("The ship leaves at noon.")

    told = run("import", str(tmp_path / "a.md"), str(tmp_path / "b.md"))

    assert told.out.splitlines() == [
        "2 files, 1 memory new",
        "read as: 2 markdown",
        "1 duplicate skipped",
    ]


def test_a_marked_line_without_a_type_is_kept(run: Run) -> None:
    told = run("capture", "[MEMORY] The cache TTL is 30 seconds")

    assert told.out == "#1 remembered\n"
    assert "marked by an agent" in run("show", "1").out


# --- help -----------------------------------------------------------------------------------


def test_the_help_names_every_verb_in_its_group(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = run("--help").out.replace(",", " ").split()

    assert {each.traits.group for each in OPERATIONS.values()} == set(GROUPS)
    assert [each.verb for each in OPERATIONS.values() if each.verb and each.verb.split()[0] not in words] == []


def test_global_options_stand_in_one_help_and_are_taken_everywhere(filled: Run) -> None:
    told = filled("list", "--help").out

    assert "RECOLLECT_DB" not in told
    assert "Also: --db, --project, --profile, --model, --reranker, --json" in told
    assert filled("list", "--project", "none").code == filled("--project", "none", "list").code == 1
