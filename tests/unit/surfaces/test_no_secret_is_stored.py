"""Whatever verb takes a secret, in whichever argument or option: the files of the store do not hold it."""

from pathlib import Path

import pytest
from command import Run, commands

import recollect
from recollect.operations import OPERATIONS
from recollect.recall.lens import Lens

SECRET = "ghp" + "_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ70123456789"
KEEPS = {"--keep-secrets"}
"""The options that ask for secrets to be kept."""


@pytest.mark.parametrize("verb", OPERATIONS)
def test_no_verb_stores_a_secret(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        db.add("The port is 5432")
        db.lenses.keep(Lens(name=SECRET))
    (tmp_path / f"{SECRET}.md").write_text(f"# {SECRET}\n\nNote: {SECRET}\n", encoding="utf-8")
    (tmp_path / "b.json").write_text(f'[{{"text": "a", "{SECRET}": {{"{SECRET}": 1}}, "id": "{SECRET}"}}]')
    monkeypatch.chdir(tmp_path)

    for words in commands(OPERATIONS[verb], tmp_path, SECRET):
        if not KEEPS & set(words):
            run(*words)
            run("--project", SECRET, *words)

    raw = b"".join(path.read_bytes() for path in tmp_path.glob("notes.db*"))
    assert len(raw) > 10_000
    assert SECRET.encode() not in raw
    assert SECRET.lower().encode() not in raw
