from pathlib import Path

import pytest
from snapshot import SWITCH, matches


def test_a_changed_face_fails_until_it_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    (tmp_path / "a.txt").write_text("old\n")

    with pytest.raises(AssertionError, match=f"{SWITCH}=1"):
        matches("a.txt", "new", folder=tmp_path)
    monkeypatch.setenv(SWITCH, "1")
    assert matches("a.txt", "new \n", folder=tmp_path)
    monkeypatch.delenv(SWITCH)
    assert matches("a.txt", "new", folder=tmp_path)


def test_a_face_without_a_file_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)

    with pytest.raises(AssertionError):
        matches("none.txt", "new", folder=tmp_path)
