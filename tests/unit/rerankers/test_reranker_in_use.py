"""A reranker named by a setting, an option or in Python; off unless named, and never a traceback."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tiny_cross import write_reranker

import recollect
from kit import NOON
from recollect.errors import ModelError
from recollect.rerankers.contract import Rerankers
from recollect.surfaces.cli import main

MEMORIES = [
    "Cats, feeding",
    "Anna is the one who feeds it, the old cat",
    "The dog sleeps",
    "A ship sails the sea",
]
QUESTION = "who feeds the cat"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the settings of whoever runs the tests away; fill a store."""
    for name in [name for name in os.environ if name.startswith("RECOLLECT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RECOLLECT_CONFIG", "")
    monkeypatch.setenv("RECOLLECT_MODEL", "none")
    monkeypatch.setenv("RECOLLECT_DB", str(tmp_path / "notes.db"))
    with recollect.open() as db:
        for text in MEMORIES:
            db.add(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_reranker(tmp_path / "cross")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run a command; return its exit code and what it wrote."""
    code = 0
    try:
        main(words)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    said = capsys.readouterr()
    return code, said.out, said.err


def rerank_points(reply: recollect.Reply) -> list[float]:
    return [share.points for hit in reply.hits for share in hit.shares if share.ranking == "rerank"]


# --- on -------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["argument", "environment", "file"])
def test_a_folder_named_at_any_door_reads_the_hits_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    if place == "environment":
        monkeypatch.setenv("RECOLLECT_RERANKER", str(folder))
    if place == "file":
        (tmp_path / "settings.toml").write_text(f'reranker = "{folder}"\n')
        monkeypatch.setenv("RECOLLECT_CONFIG", str(tmp_path / "settings.toml"))

    with recollect.open(reranker=str(folder) if place == "argument" else None) as db:
        reply = db.search(QUESTION)

    with recollect.open(reranker="none") as db:
        former = db.search(QUESTION)
    assert [hit.memory.content for hit in former.hits[:2]] == MEMORIES[:2]
    assert [hit.memory.content for hit in reply.hits[:2]] == MEMORIES[1::-1]
    assert len(rerank_points(reply)) == len(reply.hits) > 1


def test_the_score_that_explain_shows_adds_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--reranker", str(folder), "search", QUESTION, "--mode", "keyword", "--explain")

    _, text, _ = run(capsys, *asked)
    _, answer, _ = run(capsys, *asked, "--json")

    assert re.search(r"rerank [\d.]+ \(rank 1\)", text)
    for hit in json.loads(answer)["hits"]:
        score = sum(share["points"] for share in hit["explain"]["shares"])
        for factor in hit["explain"]["factors"].values():
            score *= factor
        assert score == pytest.approx(hit["score"])
        assert [share["ranking"] for share in hit["explain"]["shares"]] == ["words", "rerank"]


def test_why_shows_the_list_of_the_reranker(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, answer, _ = run(capsys, "why", "2", QUESTION, "--reranker", str(folder), "--json")

    lists = {each["ranking"]: each["rank"] for each in json.loads(answer)["lists"]}
    assert code == 0
    assert lists["rerank"] == 1


def test_many_threads_load_it_once(folder: Path) -> None:
    rerankers = Rerankers(str(folder))

    with ThreadPoolExecutor(4) as pool:
        loaded = {id(each.result()) for each in [pool.submit(rerankers.current) for _ in range(8)]}

    assert len(loaded) == 1
    reader = rerankers.current()
    rerankers.close()
    assert reader is not None
    with pytest.raises(ModelError, match="closed"):
        reader.score("cat", ["cat"])


# --- off ------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["", "none"])
def test_off_is_as_if_there_were_no_such_thing(folder: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    with recollect.open(clock=lambda: NOON) as db:
        never = db.search(QUESTION)
    monkeypatch.setenv("RECOLLECT_RERANKER", str(folder))

    with recollect.open(reranker=word, clock=lambda: NOON) as db:
        off = db.search(QUESTION)

    assert off.hits == never.hits
    assert rerank_points(off) == []


def test_off_loads_nothing() -> None:
    script = (
        "import sys, recollect\n"
        "with recollect.open() as db: print(len(db.search('cat').hits))\n"
        "print([name for name in ('recollect.rerankers.onnx', 'onnxruntime', 'tokenizers') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603

    assert done.stdout.splitlines() == ["2", "[]"]


# --- trouble --------------------------------------------------------------------------------


def test_a_bad_folder_is_one_line_with_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "search", "cat", "--reranker", str(tmp_path / "nowhere"))

    assert (code, out) == (3, "")
    assert err.startswith("error: there is no reranker at ")
    assert err.endswith("(name a folder with model.onnx and tokenizer.json, or none)\n")
    assert err.count("\n") == 1


def test_a_folder_with_another_kind_of_model_is_one_line_with_a_hint(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_reranker(folder, inputs=("input_ids", "attention_mask", "pixels"))

    code, _, err = run(capsys, "search", "cat", "--reranker", str(folder), "--json")

    assert code == 3
    assert json.loads(err)["error"]["code"] == "model"
    assert "pixels" in json.loads(err)["error"]["message"]


def test_a_bad_folder_hinders_nobody_who_does_not_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "add", "The cat is grey", "--reranker", str(tmp_path / "nowhere"))

    assert (code, err) == (0, "")


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_reranker_that_fails_at_its_work_is_named_and_the_answer_comes_without_it(
    folder: Path, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    write_reranker(folder, places=8)
    plain = run(capsys, "search", QUESTION, "--mode", "keyword")[1]

    code, out, err = run(capsys, "search", QUESTION, "--mode", mode, "--reranker", str(folder))
    degraded = json.loads(run(capsys, "search", QUESTION, "--reranker", str(folder), "--json")[1])["degraded"]

    assert (code, err) == (0, "")
    assert out == f"(the reranker failed: the order is that of words and meaning alone)\n{plain}"
    assert degraded == "reranker_failed"
