import subprocess
import sys
from pathlib import Path

import pytest
from tiny_models import write_model

from recollect.embedders.install import TAKEN
from recollect.embedders.models import BUILT_IN, default_folder, install, list_models, load, verify
from recollect.errors import ModelError


def test_an_empty_folder_lists_what_is_built_in_and_what_could_be_installed(tmp_path: Path) -> None:
    found = list_models(tmp_path / "nowhere")

    assert [(model.name, model.installed, model.dimensions) for model in found] == [
        ("hashing", True, 256),
        ("minilm", False, 384),
    ]


def test_an_installed_model_is_listed_with_its_fingerprint_and_size(tmp_path: Path) -> None:
    place = install("mine", tmp_path / "models", source=str(write_model(tmp_path / "source")))

    found = {model.name: model for model in list_models(tmp_path / "models")}["mine"]

    assert (found.installed, found.path, found.dimensions, found.problem) == (True, place, 3, None)
    assert found.fingerprint == load("mine", tmp_path / "models").fingerprint
    assert found.bytes == sum((place / name).stat().st_size for name in ("model.onnx", "tokenizer.json"))


@pytest.mark.parametrize("damage", ["graph", "manifest", "missing"])
def test_a_broken_model_is_listed_with_what_is_wrong(tmp_path: Path, damage: str) -> None:
    place = install("mine", tmp_path, source=str(write_model(tmp_path / "source" / "deep")))
    files = {"graph": "model.onnx", "manifest": "model.toml", "missing": "tokenizer.json"}
    (place / files[damage]).write_bytes(b"?")

    found = {model.name: model for model in list_models(tmp_path)}["mine"]

    assert not found.installed
    assert files[damage] in (found.problem or "")


def test_a_tampered_file_is_reported(tmp_path: Path) -> None:
    place = install("mine", tmp_path, source=str(write_model(tmp_path / "source" / "deep")))
    assert verify("mine", tmp_path) == ()

    words = (place / "tokenizer.json").read_bytes()
    (place / "tokenizer.json").write_bytes(words.replace(b"red", b"rad"))

    assert [line.split()[0] for line in verify("mine", tmp_path)] == ["tokenizer.json"]


def test_what_is_built_in_is_always_whole(tmp_path: Path) -> None:
    assert verify("hashing", tmp_path) == ()
    assert set(BUILT_IN) == TAKEN


@pytest.mark.parametrize("use", [load, verify])
def test_a_known_model_that_is_not_installed_is_an_error_with_the_command_that_helps(
    tmp_path: Path, use: object
) -> None:
    with pytest.raises(ModelError, match="the model minilm is not installed") as caught:
        use("minilm", tmp_path)  # type: ignore[operator]

    assert caught.value.hint == "run: recollect model install minilm"


def test_a_name_nobody_knows_is_an_error_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no model 'maxilm'") as caught:
        load("maxilm", tmp_path)

    assert "hashing, minilm" in caught.value.hint


def test_a_model_can_be_named_by_its_path(tmp_path: Path) -> None:
    mine = write_model(tmp_path / "mine")

    assert load(str(mine), tmp_path / "models").dimensions == 3


def test_a_bare_name_never_means_a_folder_where_the_program_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ModelError, match="no model 'mine'"):
        load("mine", tmp_path / "models")
    assert load("./mine", tmp_path / "models").dimensions == 3


@pytest.mark.parametrize("library", ["numpy", "onnxruntime", "tokenizers"])
def test_a_missing_library_is_named_with_the_extra_that_brings_it(tmp_path: Path, library: str) -> None:
    write_model(tmp_path / "mine")
    script = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from pathlib import Path\n"
        "from recollect.embedders.models import load\n"
        "from recollect.errors import ModelError\n"
        "try: load('mine', Path(sys.argv[1]))\n"
        "except ModelError as error: print(error, '|', error.hint)"
    )

    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)  # noqa: S603

    assert f"needs the library {library}," in done.stdout
    assert '"recollect[model]"' in done.stdout


def test_models_live_in_the_users_own_folder_unless_told_otherwise() -> None:
    folder = default_folder()

    assert folder.is_absolute()
    assert folder.parts[-2:] == ("recollect", "models")
