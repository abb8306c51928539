"""What is stored is acknowledged, whatever becomes of its vectors; what is missing is named beside the id."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Ran, apart

import recollect
from kit import installed_models
from local_server import Answer, serving
from recollect import Recollection
from recollect.embedders.hashing import HashingEmbedder
from recollect.errors import ModelError, StoreError


@pytest.fixture
def failing() -> Iterator[str]:
    """Give the address of an embedding server that always fails."""
    with serving(lambda _: Answer(status=500)) as url:
        yield f"{url}#model=m&dimensions=2&timeout=1"


def test_an_addition_beside_a_failing_server_returns_its_id_and_says_what_is_missing(failing: str) -> None:
    with recollect.open(":memory:", model=failing) as db:
        result = db.add("We ship on Tuesdays")
        several = db.add_all([recollect.Memory(content=text) for text in ("one fish", "two birds")])
        captured = db.capture("[MEMORY] type=decision: We ship weekly")

        assert (result.id, result.degraded) == (1, "model_failed")
        assert [(each.id, each.degraded) for each in (*several, *captured)] == [
            (2, "model_failed"),
            (3, "model_failed"),
            (4, "model_failed"),
        ]
        assert db.search("Tuesdays").hits[0].id == 1


def test_an_import_beside_a_failing_server_reports_what_it_did_and_what_is_missing(
    failing: str, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("# Shipping\n\nWe ship on Tuesdays.\n")

    with recollect.open(":memory:", model=failing) as db:
        report = db.import_(tmp_path)

    assert (report.memories["new"], report.degraded) == (1, "model_failed")


def test_vectors_that_cannot_be_stored_are_no_reason_to_refuse_a_memory_that_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object, **__: object) -> int:
        raise StoreError("the disk is full", hint="make room")

    monkeypatch.setattr(Recollection, "_embed", full)
    with recollect.open(":memory:", model="hashing") as db:
        result = db.add("We ship on Tuesdays")

        assert (result.degraded, db.models.notice) == (
            "vectors_pending",
            "by words alone: the disk is full (make room)",
        )


def test_a_trouble_that_is_over_is_told_of_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ModelError("gone", hint="wait")

    with recollect.open(":memory:", model="hashing") as db:
        with monkeypatch.context() as patch:
            patch.setattr(HashingEmbedder, "embed_passages", fail)
            first = db.add("We ship on Tuesdays")
        second = db.add("The office has a green door")

        assert (first.degraded, second.degraded, db.models.notice) == ("model_failed", None, "")
        assert [each.pending for each in db.generations()] == [1]  # the first waits for `embed`


def told(ran: Ran) -> tuple[int, int, str]:
    return ran.code, ran.err.count("\n"), ran.err


@pytest.mark.full
def test_commands_that_write_exit_with_success_and_name_what_is_missing(failing: str, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Doors\n\nThe office has a green door.\n")
    model = {"RECOLLECT_MODEL": failing}

    added = apart("add", "We ship on Tuesdays", folder=tmp_path, **model)
    as_json = apart("add", "The lift is slow", "--json", folder=tmp_path, **model)
    imported = apart("import", str(tmp_path / "notes.md"), folder=tmp_path, **model)
    report = apart("import", str(tmp_path / "notes.md"), "--json", folder=tmp_path, **model)

    note = (
        "note: by words alone: the embedding server answered 500 Internal Server Error "
        "(look into the log of the server)\n"
    )
    assert told(added) == told(imported) == (0, 1, note)
    assert added.out == "#1 remembered; found by words alone until its vectors are made: recollect embed\n"
    assert imported.out.endswith("; found by words alone until their vectors are made: recollect embed\n")
    assert (as_json.value["id"], as_json.value["degraded"]) == (2, "model_failed")
    assert report.value["degraded"] == "model_failed"


def test_a_search_beside_a_failing_server_says_so_and_exits_with_success(failing: str, tmp_path: Path) -> None:
    apart("add", "We ship on Tuesdays", folder=tmp_path)

    found = apart("search", "Tuesdays", folder=tmp_path, RECOLLECT_MODEL=failing)

    assert found.code == 0
    assert found.out.startswith("(the embedding model failed: answered by words alone)\n 1. We ship on Tuesdays")
    assert "the embedding server answered 500" in found.err


# --- a damaged model ------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_model_of_the_right_size_and_the_wrong_bytes_is_called_damaged(tmp_path: Path, file: str) -> None:
    models = tmp_path / "models"
    shutil.copytree(installed_models() / "minilm", models / "minilm")
    path = models / "minilm" / file
    path.write_bytes(bytes(path.stat().st_size))
    surroundings = {"RECOLLECT_MODEL": "minilm", "RECOLLECT_MODELS": str(models)}

    added = apart("add", "We ship on Tuesdays", folder=tmp_path, **surroundings)
    health = apart("doctor", folder=tmp_path, **surroundings)

    assert added.code == health.code == 0
    assert added.err.startswith(f"note: by words alone: the model minilm is damaged: {file} has sha256 ")
    assert added.err.endswith("(run: recollect model install minilm)\n")
    assert f"the model minilm is damaged: {file} has sha256 " in health.out


# --- what doctor says of it -----------------------------------------------------------------


OFF = (
    "the telemetry of onnxruntime, which runs embedding models, is off: "
    "ORT_DISABLE_TELEMETRY=1 is set before it is loaded"
)


def test_doctor_says_that_nothing_leaves_the_machine_and_how_it_knows(tmp_path: Path) -> None:
    health = apart("doctor", "--json", folder=tmp_path)

    assert health.value["privacy"] == [
        "nothing that is stored or asked leaves this machine: no embedding server is configured",
        OFF,
    ]


def test_doctor_says_what_goes_to_which_server(tmp_path: Path) -> None:
    model = "https://me:secret@models.example/v1#model=m&dimensions=2"

    health = apart("doctor", folder=tmp_path, RECOLLECT_MODEL=model)

    assert "the texts of memories and queries go to models.example, the embedding server" in health.out
    assert "secret" not in health.out


def test_doctor_tells_of_a_server_that_is_left_alone(failing: str) -> None:
    with recollect.open(":memory:", model=failing) as db:
        db.add("We ship on Tuesdays")

        assert any("the embedding server answered 500" in line for line in db.doctor().advice)


def test_a_program_that_loaded_the_runtime_first_is_told_that_nobody_can_vouch_for_it(tmp_path: Path) -> None:
    script = (
        "import onnxruntime, json, recollect\n"
        "with recollect.open(':memory:', model='none') as db: print(json.dumps(db.doctor().privacy))"
    )
    surroundings = {**os.environ, "ORT_DISABLE_TELEMETRY": "", "HOME": str(tmp_path)}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=surroundings
    )

    assert "loaded onnxruntime before its telemetry could be turned off" in json.loads(done.stdout)[1]
