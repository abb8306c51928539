"""Words alone find at least what FTS5 finds with its porter stemmer, on judged questions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("collection", "floor"), [("scifact", 0.687), ("cranfield", 0.420), ("locomo", 0.439)])
@pytest.mark.req("C-07")
def test_the_words_of_a_question_find_at_least_what_fts5_finds(
    collection: str, floor: float, shared_data: Path
) -> None:
    script = [sys.executable, str(ROOT / "benchmarks" / "keyword_quality.py")]
    options = ["--json", "--depth", "10", "--data", str(shared_data)]

    done = subprocess.run([*script, *options, collection], capture_output=True, text=True, check=False)  # noqa: S603

    assert done.stderr == ""
    assert json.loads(done.stdout)[collection]["all"]["ndcg@10"] >= floor
