"""The benchmark of speed tells the four figures that a seed tells of itself, beside the same work in NumPy."""

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
