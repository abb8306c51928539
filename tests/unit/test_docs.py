"""What is made from the code is up to date, and a man can read the man page."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from recollect.operations import OPERATIONS

ROOT = Path(__file__).parent.parent.parent


def ran(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603


def test_reference_schema_and_man_page_are_what_the_code_says() -> None:
    done = ran(sys.executable, "scripts/docs.py", "--check")

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_page_that_is_out_of_date_is_named(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "src" / "recollect").mkdir(parents=True)
    shutil.copy(ROOT / "src" / "recollect" / "aio.py", tmp_path / "src" / "recollect")

    done = ran(sys.executable, str(tmp_path / "scripts" / "docs.py"), "--check")

    assert done.returncode == 1
    assert "docs/api.md is out of date; run: make docs" in done.stdout


def test_the_published_schema_names_every_verb() -> None:
    published = json.loads((ROOT / "src" / "recollect" / "schemas" / "answers.json").read_text(encoding="utf-8"))

    assert {"search", "add", "list", "error", "Reply", "Hit", "Memory"} <= set(published["$defs"])


def test_the_man_page_tells_every_command_in_roff_that_every_man_reads() -> None:
    lines = (ROOT / "share" / "man" / "man1" / "recollect.1").read_text(encoding="utf-8").splitlines()
    macros = {line.split()[0] for line in lines if line.startswith((".", "'"))}
    told = {line.split()[2].replace("\\-", "-") for line in lines if line.startswith(".SS recollect ")}

    assert macros <= {".TH", ".SH", ".SS", ".TP", ".PP", ".B"}
    assert {each.verb.split()[0] for each in OPERATIONS.values() if each.verb} <= told
    assert any(line.startswith("\\fB\\-\\-only\\-tag\\fR ") for line in lines)
