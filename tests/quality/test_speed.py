"""The benchmark of speed prints the headline of a seed beside NumPy, what has to hold, and what got slower."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = {"vector search, 150": 8.5, "BM25, 150": 0.255, "fusion of 100": 0.027, "index, 150": 5400.0}
LINE = re.compile(
    r"headline: (.+): recollect ([\d.,]+) ms, NumPy ([\d.,]+) ms \(.+x\), the seed on its machine ([\d.,]+) ms"
)


@pytest.mark.req("N-14")
def test_the_four_figures_of_the_headline_are_told_beside_numpy_and_the_seed() -> None:
    command = [sys.executable, "-m", "benchmarks.speed.headline", "150", "150"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603

    assert done.returncode == 0, done.stderr
    told = [match.groups() for match in map(LINE.fullmatch, done.stdout.splitlines()) if match]
    assert {row: float(seed.replace(",", "")) for row, _, _, seed in told} == ROWS
    assert all(float(figure.replace(",", "")) > 0 for _, ours, numpy, _ in told for figure in (ours, numpy))
    assert {each["engine"] for each in json.loads(done.stdout.splitlines()[-1])} == {"recollect", "NumPy", "seed"}


def compared(folder: Path, *, ours: float) -> subprocess.CompletedProcess[str]:
    """Compare one ratio, 1 when it was committed, with what it is when our search takes *ours* milliseconds."""
    shared = {"section": "words", "row": "words", "text": "zipf", "size": 10_000, "run": {"source": "other"}}
    measured = [{"engine": "recollect", "p50": ours, **shared}, {"engine": "tantivy", "p50": 1.0, **shared}]
    (folder / "results.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in measured))
    name = "words, 8-word OR, top 10, 10K, of tantivy"
    ratios = {"by": "wall", "ratios": {name: {"found": 1.0, "noise": 0.1, "least": False}}}
    (folder / "ratios.json").write_text(json.dumps(ratios))
    command = [sys.executable, "-m", "benchmarks.speed", "--report", "--any-code", "--check"]
    files = ["--results", str(folder / "results.jsonl"), "--ratios", str(folder / "ratios.json")]
    return subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603


def test_a_ratio_that_grew_beyond_the_noise_is_named_and_fails(tmp_path: Path) -> None:
    done = compared(tmp_path, ours=1.5)

    assert done.returncode == 1, done.stderr
    assert "SLOWER  words, 8-word OR, top 10, 10K, of tantivy: 1 before, 1.5 now" in done.stdout


def test_a_ratio_within_the_noise_is_the_same(tmp_path: Path) -> None:
    done = compared(tmp_path, ours=1.2)

    assert done.returncode == 0, done.stderr
    assert "1 ratios compared, 0 got worse" in done.stdout


def test_a_bar_that_is_missed_is_told_as_missed(tmp_path: Path) -> None:
    done = compared(tmp_path, ours=2.5)

    line = next(line for line in done.stdout.splitlines() if line.startswith("words, 8-word OR, top 10, 10K"))
    assert re.split(r" {2,}", line)[1:] == ["2.50x", "at most 2.00x", "MISS", "2.50 ms : 1.00 ms"]
