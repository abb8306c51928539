"""Faces kept as plain files: `UPDATE_GOLDEN=1 pytest tests/golden` writes them anew, git shows what changed."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"
SWITCH = "UPDATE_GOLDEN"


def matches(name: str, text: str, *, folder: Path = FOLDER) -> bool:
    """Tell whether *text* is what the file *name* holds; with the switch on, make it so first."""
    path = folder / name
    wanted = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    if os.environ.get(SWITCH):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted, encoding="utf-8")
    held = path.read_text(encoding="utf-8") if path.exists() else ""
    assert wanted == held, f"{name} is not as it was; if that is right, run: {SWITCH}=1 pytest tests/golden"
    return True
