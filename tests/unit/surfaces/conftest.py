import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recollect.surfaces.cli import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run commands in this process, on a store of the test's own, without a model and without anybody's settings."""
    for name in ("PROFILE", "PROJECT", "MODELS"):
        monkeypatch.delenv(f"RECOLLECT_{name}", raising=False)
    monkeypatch.setenv("RECOLLECT_CONFIG", "")
    monkeypatch.setenv("RECOLLECT_MODEL", "none")
    monkeypatch.setenv("RECOLLECT_DB", str(tmp_path / "notes.db"))

    def run(*words: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main(words)
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
        said = capsys.readouterr()
        return Ran(code=code, out=said.out, err=said.err)

    return run
