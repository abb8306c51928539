"""Section answers: the same ids, scores and outcomes with the index of the store and with the tests' plain one.

Questions of the dev halves of the judged sets are asked of a SQLite store and of the tests' store in memory, which
looks at everything: MOST of some sets, or with MOST=0 all of all sets. The tests compare generated cases.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.common import ROOT
from benchmarks.speed.results import Result
from benchmarks.speed.worker import ToolFailed

FEW = "cranfield,zh_cmrc2018"
"""The sets that are asked some questions each time; all of them are asked all questions by `make bench-identical`."""


def compare() -> list[Result]:
    """Return how many answers were compared and how many differ; in a process of its own, which holds two stores."""
    most = os.environ.get("MOST", "5")
    chosen = ["--sets", FEW] if int(most) else []
    done = _run(["-m", "benchmarks.speed.same_answers", "--most", most, *chosen])
    if done.returncode > 1:
        raise ToolFailed((done.stderr.strip().splitlines() or ["no word"])[-1])
    told = json.loads(done.stdout.splitlines()[-1])
    return [
        Result(
            section="answers",
            row=name,
            engine="recollect",
            samples=each["asked"],
            value=float(each["different"]),
            note=each["note"],
        )
        for name, each in told.items()
    ]


def _run(words: list[str]) -> subprocess.CompletedProcess[str]:
    models = os.environ.get("RECOLLECT_MODELS") or str(Path(ROOT, ".models"))
    path = os.pathsep.join(filter(None, (str(ROOT / "tests"), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "RECOLLECT_MODELS": models, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
