"""Every verb and every method is asked, as one project, about another: the tests in tests/leaks, counted."""

import re
import subprocess
import sys
from pathlib import Path

from row import Progress, Row, silent

LEAKS = Path(__file__).parents[1] / "leaks"


def row(*, progress: Progress = silent) -> Row:
    """Run the leak tests and count them."""
    progress(0, 1)
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", str(LEAKS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=LEAKS.parents[1])  # noqa: S603
    passed, failed = (_count(word, done.stdout) for word in ("passed", "failed"))
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Row(
        title="Leaks between projects",
        done=(
            "Every verb of the command line and every method, awaited or not, asked as one project about another that "
            "has a mark in every field, in lenses, sessions and logged questions: "
            f"{passed + failed} tests of several questions each. A new verb without a question fails."
        ),
        lost=f"{failed} answers, errors or changes that tell of the other project",
        unproven="Who opens the file with another program reads every project.",
        failures=tuple(lines) if lines or passed else ("the tests did not run",),
    )


def _count(word: str, text: str) -> int:
    found = re.search(rf"(\d+) {word}", text)
    return int(found[1]) if found else 0
