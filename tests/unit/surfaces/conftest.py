import os
from pathlib import Path

import pytest
from command import Run, inside, surroundings


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run commands on a store of the test's own, without a model and without anybody's settings."""
    for name in [name for name in os.environ if name.startswith("RECOLLECT_")]:
        monkeypatch.delenv(name)
    for name, value in surroundings(tmp_path, {}).items():
        if name.startswith("RECOLLECT_"):
            monkeypatch.setenv(name, value)
    return inside(capsys, monkeypatch)
