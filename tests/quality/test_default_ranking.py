"""What the default profile finds in real conversations, with the real model: floors that no change may lose."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit import installed_models

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def found(shared_data: Path) -> dict[str, float]:
    """Return nDCG@10 by mode on the first 150 dev questions of locomo, as `recollect eval` tells it."""
    command = [str(Path(sys.executable).with_name("recollect")), "eval", str(shared_data / "locomo")]
    modes = [word for mode in ("hybrid", "keyword", "semantic") for word in ("--mode", mode)]
    options = ["--split", "dev", "--queries", "150", "--vectors", str(ROOT / "build" / "vectors"), "--json"]
    places = {**os.environ, "RECOLLECT_MODELS": str(installed_models())}
    done = subprocess.run([*command, *modes, *options], capture_output=True, text=True, check=False, env=places)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return {run["mode"]: run["measures"]["ndcg@10"] for run in json.loads(done.stdout)["runs"]}


@pytest.mark.parametrize(("mode", "floor"), [("hybrid", 0.62), ("keyword", 0.59), ("semantic", 0.41)])
def test_questions_about_conversations_find_the_turn_that_answers(
    found: dict[str, float], mode: str, floor: float
) -> None:
    assert found[mode] >= floor


def test_words_and_meaning_together_do_not_find_less_than_either(found: dict[str, float]) -> None:
    assert found["hybrid"] >= max(found["keyword"], found["semantic"]) - 0.01
