"""Questions without an answer are recognised, those with one are not silenced: real conversations, real model."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from kit import installed_models

ROOT = Path(__file__).resolve().parents[2]
Figures = Mapping[str, Mapping[str, Mapping[str, float]]]


@pytest.fixture(scope="module")
def found(shared_data: Path) -> Figures:
    """What comes of 150 questions, each asked of its own conversation and of another, on the test half."""
    assert (shared_data / "locomo").is_dir()
    script = [sys.executable, str(ROOT / "benchmarks" / "silence.py"), "--json", "--most", "150"]
    options = ["--groups", "masked,as asked,with chatter", "--modes", "keyword,hybrid"]
    places = {**os.environ, "RECOLLECT_MODELS": str(installed_models())}
    done = subprocess.run([*script, *options], capture_output=True, text=True, check=False, env=places)  # noqa: S603
    assert done.returncode == 0, done.stderr
    figures: Figures = json.loads(done.stdout)
    assert all(group["answerable"] > 50 < group["unanswerable"] for group in figures["hybrid"].values())
    return figures


@pytest.mark.parametrize(
    ("mode", "group", "kept", "recognised"),
    [
        ("hybrid", "masked", 0.92, 0.55),
        ("hybrid", "as asked", 0.95, 0.62),
        ("hybrid", "with chatter", 0.85, 0.4),
        ("keyword", "masked", 0.9, 0.5),
        ("keyword", "as asked", 0.9, 0.72),
    ],
)
def test_questions_with_an_answer_are_answered_and_many_without_one_are_recognised(
    found: Figures, mode: str, group: str, kept: float, recognised: float
) -> None:
    figures = found[mode][group]

    assert figures["kept"] >= kept
    assert figures["recognised"] >= recognised


def test_with_names_taken_out_most_questions_without_an_answer_could_be_recognised_at_95_percent(
    found: Figures,
) -> None:
    assert found["hybrid"]["masked"]["recognised at 95 % kept"] >= 0.55
    assert found["hybrid"]["masked"]["AUC"] >= 0.88
