"""A model describes itself, is verified by checksums, and is known by name with all it takes to trust it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from recollect.embedders.manifest import (
    Checksum,
    Manifest,
    catalogue,
    checksum,
    parse_manifest,
    read_manifest,
    require,
    with_checksums,
    write_manifest,
    wrong_files,
)
from recollect.embedders.models import FILE
from recollect.errors import ModelError

WHOLE = Manifest(
    name="lookup",
    dimensions=3,
    weak_on=("cjk",),
    files={"model.onnx": Checksum(sha256="aa", bytes=2), "tokenizer.json": Checksum(sha256="bb", bytes=3)},
)


def filled(folder: Path) -> Manifest:
    (folder / "model.onnx").write_bytes(b"graph")
    (folder / "tokenizer.json").write_bytes(b"words")
    return with_checksums(folder, Manifest(name="lookup", dimensions=3))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    told = replace(WHOLE, query_prefix='say "é"\\ \n\x7f🎉', passage_prefix="passage: ", pooling="cls", normalise=False)

    write_manifest(tmp_path, told)

    assert read_manifest(tmp_path) == told


def test_two_lines_by_hand_are_enough(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('name = "mine"\ndimensions = 768\n')

    found = read_manifest(tmp_path)

    assert found == Manifest(name="mine", dimensions=768, pooling="mean", max_pieces=256, normalise=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dimension": 3}, "unknown key dimension"),
        ({"dimensions": "3"}, "wrong value for dimensions"),
        ({"dimensions": True}, "wrong value for dimensions"),
        ({"dimensions": 0}, "wrong value for dimensions"),
        ({"pooling": "max"}, "wrong value for pooling"),
        ({"max_pieces": 2}, "wrong value for max_pieces"),
        ({"weak_on": ["klingon"]}, "wrong value for weak_on"),
        ({"graph": "../model.onnx"}, "wrong value for graph"),
        ({"tokenizer": "/etc/passwd"}, "wrong value for tokenizer"),
        ({"files": {"a/../../b": {"sha256": "aa", "bytes": 1}}}, "wrong value for files"),
        ({"files": {"b": {"sha256": "aa"}}}, "wrong value for files"),
    ],
)
def test_a_wrong_manifest_is_refused_by_the_key_that_is_wrong(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        parse_manifest({"name": "lookup", "dimensions": 3, **changes}, where="here")

    assert "dimensions" in caught.value.hint


def test_a_manifest_without_a_name_is_refused() -> None:
    with pytest.raises(ModelError, match="has no name"):
        parse_manifest({"dimensions": 3}, where="here")


@pytest.mark.parametrize("content", [b"name = ", b"\xff\xfe", None], ids=["syntax", "encoding", "missing"])
def test_a_manifest_that_cannot_be_read_is_an_error_with_a_hint(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / FILE).write_bytes(content)

    with pytest.raises(ModelError, match=FILE) as caught:
        read_manifest(tmp_path)

    assert caught.value.hint


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"pooling": "cls"},
        {"normalise": False},
        {"max_pieces": 128},
        {"query_prefix": "query: "},
        {"passage_prefix": "query: "},
        {"weights": "cc"},
        {"files": {**WHOLE.files, "model.onnx": Checksum(sha256="ab", bytes=2)}},
        {"files": {**WHOLE.files, "tokenizer.json": Checksum(sha256="bc", bytes=3)}},
    ],
)
def test_the_fingerprint_changes_with_everything_the_vectors_depend_on(changes: dict[str, object]) -> None:
    other = replace(WHOLE, **changes)  # type: ignore[arg-type]

    assert other.fingerprint != WHOLE.fingerprint


def test_the_fingerprint_stands_on_the_published_weights_and_not_on_how_the_graph_was_built() -> None:
    one = replace(WHOLE, weights="cc")
    other = replace(one, files={**WHOLE.files, "model.onnx": Checksum(sha256="ab", bytes=2)})

    assert one.fingerprint == other.fingerprint
    assert one.fingerprint.startswith("lookup-mean-l2-256-")


def test_checksums_that_are_missing_are_taken_from_the_files(tmp_path: Path) -> None:
    found = filled(tmp_path)

    assert found.files["model.onnx"] == checksum(tmp_path / "model.onnx")
    assert found.files["tokenizer.json"].bytes == 5


def test_a_file_that_is_not_there_cannot_be_with_checksums(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"lacks model\.onnx"):
        with_checksums(tmp_path, Manifest(name="lookup", dimensions=3))


def test_whole_files_have_no_fault(tmp_path: Path) -> None:
    manifest = filled(tmp_path)

    assert wrong_files(tmp_path, manifest, look="sha256") == ()


def test_a_changed_byte_is_seen_by_its_hash_only(tmp_path: Path) -> None:
    manifest = filled(tmp_path)

    (tmp_path / "model.onnx").write_bytes(b"grape")

    assert wrong_files(tmp_path, manifest, look="size") == ()
    assert [line.split()[0] for line in wrong_files(tmp_path, manifest, look="sha256")] == ["model.onnx"]


def test_a_short_file_and_a_missing_one_are_seen_at_once(tmp_path: Path) -> None:
    manifest = filled(tmp_path)

    (tmp_path / "model.onnx").write_bytes(b"gr")
    (tmp_path / "tokenizer.json").unlink()

    assert wrong_files(tmp_path, manifest, look="size") == (
        "model.onnx has 2 bytes instead of 5",
        "tokenizer.json is missing",
    )


# --- libraries that may be missing ----------------------------------------------------------


def test_a_library_that_is_here_is_returned() -> None:
    assert require("json").dumps([1]) == "[1]"


def test_a_library_that_is_not_here_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(ModelError, match="the reranker needs the library no_such_library, which") as caught:
        require("no_such_library", by="the reranker")

    assert caught.value.hint == "run: pip install no_such_library"


# --- the catalogue --------------------------------------------------------------------------


def test_minilm_is_known_with_all_it_takes_to_trust_it() -> None:
    known = catalogue()["minilm"]

    assert known.manifest.dimensions == 384
    assert known.manifest.max_pieces == 256
    assert known.manifest.weights == known.files["model.safetensors"].sha256
    assert sorted(known.files) == sorted(known.urls) == ["model.safetensors", "tokenizer.json"]
    assert all(len(right.sha256) == 64 for right in known.files.values())
    assert len(known.package.sha256) == 64
    assert len(known.probe.begins) == 8


def test_every_address_is_encrypted_and_every_model_goes_by_its_name() -> None:
    models = catalogue()

    assert all(url.startswith("https://") for known in models.values() for url in known.urls.values())
    assert all(known.manifest.name == name for name, known in models.items())
