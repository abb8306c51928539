"""Tuning as a user types it: search, say what was useful, tune, look, undo."""

from pathlib import Path

import pytest
from command import Run

import recollect

COUNT = 21


@pytest.fixture
def told(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """A store whose user marked the right answer of enough questions, each by its query or by its session.

    Its profile trusts the cosines of a model that tells little, so that other weights are better.
    """
    misled = tmp_path / "misled" / "default.toml"
    misled.parent.mkdir()
    shipped = Path(recollect.__file__).parent / "profiles" / "default.toml"
    misled.write_text(f'cosines = "raw"\n{shipped.read_text("utf-8")}', encoding="utf-8")
    monkeypatch.setenv("RECOLLECT_PROFILE", str(misled))
    monkeypatch.setenv("RECOLLECT_MODEL", "hashing")
    for number in range(COUNT):
        run("add", f"The old device x{number:02d}q broke down", "--external-id", f"a{number}", "--no-embed")
        run("add", f"what happened to the unit in hall {number}", "--external-id", f"b{number}", "--no-embed")
    run("embed")
    for number in range(COUNT):
        query, session = f"what happened to the unit x{number:02d}q", f"s{number}"
        (right,) = [
            hit["id"]
            for hit in run("search", query, "--session", session, "--limit", "60", "--json").value["hits"]
            if hit["memory"]["external_id"] == f"a{number}"
        ]
        by = ("--query", query) if number % 2 else ("--session", session)
        assert run("feedback", str(right), "useful", *by).code == 0
    return run


@pytest.mark.full
def test_feedback_tunes_the_profile_and_undo_goes_back(told: Run) -> None:
    query = "what happened to the unit x07q"
    before = told("search", query, "--json").value["hits"]

    dry = told("tune", "--dry-run", "--json").value
    nothing_yet = told("tune", "--show")
    done = told("tune")
    shown, shape = told("tune", "--show"), told("tune", "--show", "--json").value
    after = told("search", query, "--json").value
    explained = told("search", query, "--explain").out
    undone = told("tune", "--undo")

    assert (dry["adopted"], dry["dry_run"], dry["questions"], dry["source"]) == (False, True, COUNT, "feedback")
    assert 0 < dry["interval"]["low"] <= dry["after"] - dry["before"] <= dry["interval"]["high"]
    assert (nothing_yet.code, nothing_yet.out) == (1, "default is not tuned here\n")
    assert done.out.startswith(f"{COUNT} judged questions from the feedback log\nnDCG@10 0.")
    assert "  vector: 0.7 -> " in done.out
    assert done.out.endswith("is above 0; go back with: recollect tune --undo\n")
    assert shown.out.startswith("default, tuned 20")
    assert shape["values"].keys() == dry["moved"].keys()
    assert before[0]["memory"]["external_id"] != "a7"
    assert after["hits"][0]["memory"]["external_id"] == "a7"
    assert after["profile"] == "default"
    assert explained.splitlines()[-1].startswith("ranked by default, tuned 20")
    assert undone.out.endswith("is undone\ndefault is as it comes again\n")
    assert [hit["id"] for hit in told("search", query, "--json").value["hits"]] == [hit["id"] for hit in before]
    assert "tuned" not in told("search", query, "--explain").out


def test_without_feedback_there_is_nothing_to_tune_on(run: Run) -> None:
    told = run("tune", "--from", "feedback")
    nothing = run("tune", "--undo", "--json")

    assert told.code == 0
    assert told.out.splitlines() == [
        "0 judged questions from the feedback log",
        "nothing adopted: too few questions: 0, at least 20 are needed",
    ]
    assert (nothing.code, nothing.error["code"]) == (2, "bad_input")
    assert run("tune", "--json").value == {
        "profile": "default",
        "source": "feedback",
        "questions": 0,
        "left_out": {},
        "before": 0.0,
        "after": 0.0,
        "interval": None,
        "moved": {},
        "adopted": False,
        "reason": "too few questions: 0, at least 20 are needed",
        "dry_run": False,
    }


@pytest.mark.parametrize(
    "words",
    [
        ("--show", "--undo"),
        ("--undo", "--dry-run"),
        ("--from", "feedback", "--judged", "x.jsonl"),
        ("--from", "hearsay"),
        ("--judged", "nowhere.jsonl"),
    ],
)
def test_what_makes_no_sense_is_one_line(run: Run, words: tuple[str, ...]) -> None:
    told = run("tune", *words)

    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1


def test_a_bad_line_of_a_file_is_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "judged.tsv"
    path.write_text("query\tid\tscore\nfine\t1\t1\nbroken\n")

    told = run("tune", "--judged", str(path))

    assert told.code == 2
    assert told.err.startswith("error: judged.tsv line 3 is no judgement: 'broken' (write ")
