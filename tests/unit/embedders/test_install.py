import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_models import HEADS, WIDTH, bert, write_model, write_tensors, write_tokenizer

from recollect.embedders.install import install, problems
from recollect.embedders.manifest import FILE, Known, Manifest, Package, Probe, read_manifest, stamp
from recollect.embedders.onnx import OnnxEmbedder
from recollect.errors import InputError, ModelError

TEXT = "red ship"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Give a folder with the published files of a tiny BERT."""
    folder = tmp_path / "published"
    folder.mkdir()
    write_tensors(folder / "model.safetensors", bert())
    write_tokenizer(folder / "tokenizer.json")
    return folder


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


def known(published: Path, *begins: float) -> Mapping[str, Known]:
    files = {path.name: stamp(path) for path in sorted(published.iterdir())}
    weights = files["model.safetensors"].sha256
    entry = Known(
        title="tiny",
        licence="none",
        about="for tests",
        heads=HEADS,
        epsilon=1e-12,
        manifest=Manifest(name="tiny", dimensions=WIDTH, max_pieces=12, weights=weights),
        package=Package(name="tiny", version="1", sha256="00"),
        files=files,
        urls={},
        probe=Probe(text=TEXT, begins=begins),
    )
    return {"tiny": entry}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_model_is_built_from_its_published_files(published: Path, models: Path) -> None:
    place = install("tiny", models, source=str(published), among=known(published))

    assert place == models / "tiny"
    assert names(models) == [".lock", "tiny"]
    assert names(place) == ["model.onnx", FILE, "tokenizer.json"]
    assert problems(place) == ()
    assert len(OnnxEmbedder(place).embed_passages([TEXT])[0]) == WIDTH


def test_installing_again_changes_nothing(published: Path, models: Path) -> None:
    place = install("tiny", models, source=str(published), among=known(published))
    before = (place / "model.onnx").stat()
    told: list[str] = []

    install("tiny", models, source=str(published), among=known(published), progress=lambda what, *_: told.append(what))

    assert (place / "model.onnx").stat().st_ino == before.st_ino
    assert told == []


def test_a_damaged_model_is_made_anew(published: Path, models: Path) -> None:
    place = install("tiny", models, source=str(published), among=known(published))
    graph = (place / "model.onnx").read_bytes()
    (place / "model.onnx").write_bytes(graph[:-1] + bytes([graph[-1] ^ 1]))
    damaged = problems(place)

    install("tiny", models, source=str(published), among=known(published))

    assert [line.split()[0] for line in damaged] == ["model.onnx"]
    assert problems(place) == ()
    assert (place / "model.onnx").read_bytes() == graph
    assert names(models) == [".lock", "tiny"]


def test_a_manifest_that_was_changed_is_seen_and_mended(published: Path, models: Path) -> None:
    among = known(published)
    place = install("tiny", models, source=str(published), among=among)
    (place / FILE).write_text((place / FILE).read_text().replace('"mean"', '"cls"'))

    assert problems(place, among["tiny"].manifest) == (f"{FILE} describes another model",)

    install("tiny", models, source=str(published), among=among)

    assert read_manifest(place).pooling == "mean"


def test_a_model_that_gives_other_numbers_is_not_installed(published: Path, models: Path) -> None:
    with pytest.raises(ModelError, match="other numbers than it should"):
        install("tiny", models, source=str(published), among=known(published, 5.0))

    assert not (models / "tiny").exists()


def test_a_model_that_gives_the_known_numbers_is_installed(published: Path, models: Path) -> None:
    place = install("tiny", models / "first", source=str(published), among=known(published))
    (vector,) = OnnxEmbedder(place).embed_passages([TEXT])

    again = install("tiny", models / "second", source=str(published), among=known(published, *vector[:4]))

    assert problems(again) == ()


def test_a_changed_weight_is_refused_and_nothing_is_installed(published: Path, models: Path) -> None:
    among = known(published)
    weights = (published / "model.safetensors").read_bytes()
    (published / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))

    with pytest.raises(ModelError, match="not the file that is known"):
        install("tiny", models, source=str(published), among=among)

    assert not (models / "tiny").exists()


def test_what_a_failed_try_had_fetched_is_used_by_the_next(published: Path, models: Path, tmp_path: Path) -> None:
    among = known(published)
    half = tmp_path / "half"
    half.mkdir()
    (published / "tokenizer.json").rename(half / "tokenizer.json")
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        install("tiny", models, source=str(published), among=among)

    place = install("tiny", models, source=str(half), among=among)

    assert problems(place) == ()


def test_a_half_made_folder_is_never_taken_for_a_model(published: Path, models: Path) -> None:
    leftover = models / ".tiny.partial" / "ready"
    leftover.mkdir(parents=True)
    (leftover / "model.onnx").write_bytes(b"half")

    place = install("tiny", models, source=str(published), among=known(published))

    assert problems(place) == ()
    assert names(models) == [".lock", "tiny"]


def test_any_onnx_folder_can_be_installed_under_a_name(models: Path, tmp_path: Path) -> None:
    mine = write_model(tmp_path / "mine", query_prefix="red ")

    place = install("my-model.2", models, source=str(mine))

    manifest = read_manifest(place)
    assert (manifest.name, manifest.query_prefix) == ("my-model.2", "red ")
    assert sorted(manifest.files) == ["model.onnx", "tokenizer.json"]
    assert problems(place) == ()


def test_another_model_under_the_same_name_takes_its_place(models: Path, tmp_path: Path) -> None:
    install("mine", models, source=str(write_model(tmp_path / "one")))

    place = install("mine", models, source=str(write_model(tmp_path / "two", pooling="cls")))

    assert read_manifest(place).pooling == "cls"


def test_a_ready_model_that_is_damaged_is_not_copied(published: Path, models: Path) -> None:
    ready = install("tiny", models, source=str(published), among=known(published))
    graph = (ready / "model.onnx").read_bytes()
    (ready / "model.onnx").write_bytes(graph[:-1] + bytes([graph[-1] ^ 1]))

    with pytest.raises(ModelError, match=r"damaged: model\.onnx"):
        install("copy", models / "other", source=str(ready))

    assert not (models / "other" / "copy").exists()


def test_a_ready_model_that_does_not_work_is_not_installed(models: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="gives 3 dimensions"):
        install("mine", models, source=str(write_model(tmp_path / "mine", dimensions=5)))

    assert not (models / "mine").exists()


def test_a_name_that_is_not_known_is_refused_with_those_that_are(models: Path) -> None:
    with pytest.raises(InputError, match="no model is known by the name 'maxilm'") as caught:
        install("maxilm", models)

    assert "minilm" in caught.value.hint
    assert not models.exists()


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "a\\b", "hashing"])
def test_a_name_that_would_lead_elsewhere_is_refused(models: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of a model"):
        install(name, models, source=str(write_model(tmp_path / "mine")))


def test_a_folder_that_cannot_be_written_is_an_error_with_a_hint(published: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(ModelError, match="cannot install the model tiny") as caught:
        install("tiny", tmp_path / "file" / "models", source=str(published), among=known(published))

    assert caught.value.hint


def test_without_the_builder_the_missing_extra_is_named_before_anything_is_fetched(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['onnx'] = None\n"
        "from pathlib import Path\n"
        "from recollect.embedders.models import install\n"
        "from recollect.errors import ModelError\n"
        "try: install('minilm', Path(sys.argv[1]))\n"
        "except ModelError as error: print(error, '|', error.hint)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "models")]

    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603

    assert "needs the library onnx" in done.stdout
    assert "recollect[model,convert]" in done.stdout
    assert not (tmp_path / "models").exists()


def test_two_processes_that_install_at_once_both_end_with_a_whole_model(models: Path, tmp_path: Path) -> None:
    mine = write_model(tmp_path / "mine")
    script = (
        "import sys; from pathlib import Path; from recollect.embedders.models import install\n"
        "install('mine', Path(sys.argv[1]), source=sys.argv[2])"
    )
    command = [sys.executable, "-c", script, str(models), str(mine)]

    started = [subprocess.Popen(command) for _ in range(3)]  # noqa: S603
    codes = [process.wait() for process in started]

    assert codes == [0, 0, 0]
    assert problems(models / "mine") == ()


def test_a_manifest_with_fewer_stamps_than_files_is_a_problem(tmp_path: Path) -> None:
    place = write_model(tmp_path / "mine")

    assert problems(place) == (f"model.onnx has no sha256 in {FILE}", f"tokenizer.json has no sha256 in {FILE}")


def test_a_model_that_should_have_other_files_is_a_problem(published: Path, models: Path) -> None:
    place = install("tiny", models, source=str(published), among=known(published))
    manifest = read_manifest(place)
    other = replace(manifest, files={**manifest.files, "extra": manifest.files["model.onnx"]})

    assert problems(place, manifest) == ()
    assert problems(place, other) == (f"{FILE} describes another model",)
