from pathlib import Path

import pytest

from recollect.errors import ProfileError
from recollect.settings import default_db, models_folder, read_settings

NAMES = ("DB", "PROFILE", "PROJECT", "MODEL", "MODELS", "CONFIG")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Keep the settings of whoever runs the tests away; return a settings file of our own."""
    for name in NAMES:
        monkeypatch.delenv(f"RECOLLECT_{name}", raising=False)
    path = tmp_path / "settings.toml"
    monkeypatch.setenv("RECOLLECT_CONFIG", str(path))
    return path


def test_without_a_word_from_anybody_the_store_is_in_the_users_own_folder() -> None:
    settings = read_settings()

    assert settings.db == default_db()
    assert Path(settings.db).is_absolute()
    assert (settings.profile, settings.project, settings.model) == ("default", "", "minilm")
    assert models_folder(settings) == Path(settings.db).parent / "models"


def test_the_file_gives_way_to_the_environment_and_that_to_the_caller(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone.write_text('db = "file.db"\nprofile = "oro"\nproject = "filed"\n')
    monkeypatch.setenv("RECOLLECT_PROFILE", "cortex")
    monkeypatch.setenv("RECOLLECT_PROJECT", "surrounding")

    settings = read_settings(project="given", db=None)

    assert (settings.db, settings.profile, settings.project) == ("file.db", "cortex", "given")


def test_a_blank_variable_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_PROFILE", "")

    assert read_settings().profile == "default"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('databse = "x"', "unknown setting 'databse'"),
        ("db = 3", "db must be text, not 3"),
        ("db = ", "cannot read the settings"),
    ],
)
def test_a_wrong_settings_file_is_an_error_with_a_hint(alone: Path, text: str, said: str) -> None:
    alone.write_text(text)

    with pytest.raises(ProfileError) as caught:
        read_settings()

    assert said in str(caught.value)
    assert caught.value.hint


def test_a_settings_file_in_another_encoding_is_an_error(alone: Path) -> None:
    alone.write_bytes("# müde".encode("latin-1"))

    with pytest.raises(ProfileError, match="cannot read the settings"):
        read_settings()


def test_a_settings_file_that_comes_with_a_folder_is_never_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "recollect").mkdir()
    (tmp_path / "recollect" / "settings.toml").write_text('profile = "oro"\n')
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "settings.toml").write_text('profile = "cortex"\n')
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("RECOLLECT_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert read_settings().profile == "oro"


def test_an_empty_name_for_the_file_means_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CONFIG", "")

    assert read_settings().profile == "default"
