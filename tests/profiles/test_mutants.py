"""Every value of a seed profile is held: whichever is moved, a test of this folder fails."""

import subprocess
import sys
from pathlib import Path

import pytest

HUNT = Path(__file__).parents[2] / "scripts" / "mutate_profiles.py"


@pytest.mark.full
@pytest.mark.parametrize("name", ["cortex", "oro", "boocode", "nornicdb", "engram"])
def test_some_test_notices_whichever_value_of_a_seed_profile_is_moved(name: str) -> None:
    done = subprocess.run([sys.executable, HUNT, name], capture_output=True, text=True, check=False)  # noqa: S603

    assert done.returncode == 0, done.stdout + done.stderr
