"""A model is loaded when it is needed, and fetched when something is written with it that nobody installed."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from kit import NOON
from local_server import Answer, Asked, serving
from recollect.embedders.install import PAUSE, fetch_missing, problems, verify
from recollect.embedders.manifest import read_manifest, with_checksums, write_manifest
from recollect.embedders.models import FILE, Models, load
from recollect.errors import ModelError
from recollect.profile import load_profile
from recollect.recollection import Recollection
from recollect.stores.choice import open_store
from recollect.text.analyser import analyse
from tiny_models import WIDTH, tiny, write_model, write_published


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
def test_a_missing_library_is_named_with_the_command_that_installs_it(tmp_path: Path, library: str) -> None:
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
    assert f"run: pip install {library}" in done.stdout


# --- damage ---------------------------------------------------------------------------------


@pytest.mark.req("C-35")
@pytest.mark.parametrize("lost", ["model.onnx", FILE])
def test_a_damaged_model_is_called_damaged_with_the_command_that_mends_it(tmp_path: Path, lost: str) -> None:
    place = write_model(tmp_path / "minilm", name="minilm")
    write_manifest(place, with_checksums(place, read_manifest(place)))
    (place / lost).unlink()
    models = Models(name="minilm", folder=tmp_path)

    assert models.current() is None
    assert models.notice == (
        f"by words alone: the model minilm is damaged: {lost} is missing (run: recollect model install minilm)"
    )
    with pytest.raises(ModelError, match=f"the model minilm is damaged: {lost} is missing"):
        models.required()


def test_a_damaged_model_is_not_fetched_over(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    with published(tmp_path) as (models, asked):
        found = models.ready(now=NOON)

    assert (found, asked) == (None, [])
    assert "holds no model.toml" in models.notice


# --- fetched when first needed --------------------------------------------------------------


@contextmanager
def published(
    folder: Path, *, change: Callable[[Answer], Answer] = lambda answer: answer, **more: bool
) -> Iterator[tuple[Models, list[str]]]:
    """Give models whose tiny one is published at a local server, and the paths that are asked for there."""
    source = write_published(folder / "published")
    asked: list[str] = []

    def answer(request: Asked) -> Answer:
        asked.append(request.path + request.headers.get("Range", ""))
        body = (source / request.path.lstrip("/")).read_bytes()
        start = int(request.headers.get("Range", "bytes=0-")[6:-1])
        return change(Answer(status=206 if start else 200, body=body[start:]))

    with serving(answer) as url:
        fetch = partial(fetch_missing, sources=["web"], among=tiny(source, url=url))
        yield Models(name="tiny", folder=folder, fetch=fetch, **more), asked


@pytest.mark.req("C-35")
def test_the_model_in_use_is_installed_when_it_is_first_written_with(tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []

    with published(tmp_path) as (models, asked):
        found = models.ready(now=NOON, progress=lambda *news: told.append(news))
        again = models.ready(now=NOON)

    assert found is not None
    assert found is again
    assert len(found.embed_queries(["red ship"])[0]) == WIDTH
    assert asked == ["/model.safetensors", "/tokenizer.json"]
    assert problems(tmp_path / "tiny") == ()
    assert {what for _, _, what in told} >= {"fetch model.safetensors", "build the graph"}
    assert models.notice == ""


@pytest.mark.req("C-35")
def test_a_search_fetches_nothing_and_an_addition_makes_the_next_search_one_by_meaning(tmp_path: Path) -> None:
    with published(tmp_path) as (models, asked):
        db = Recollection(
            store=open_store(":memory:", analyse), profile=load_profile("default"), models=models, clock=lambda: NOON
        )
        before = db.search("red ship")
        looked = list(asked)
        db.add("A green ship sails on the blue sea.")
        after = db.search("red ship")
        db.close()

    assert (before.degraded, looked) == ("no_model", [])
    assert asked == ["/model.safetensors", "/tokenizer.json"]
    assert after.degraded is None
    assert after.hits[0].semantic_score is not None


@pytest.mark.req("C-35")
def test_a_fetch_that_broke_off_goes_on_where_it_stopped(tmp_path: Path) -> None:
    def broken(answer: Answer) -> Answer:
        return replace(answer, body=answer.body[:100], claims=len(answer.body))

    with published(tmp_path, change=broken) as (models, _):
        nothing = models.ready(now=NOON)
    with published(tmp_path) as (later, asked):
        found = later.ready(now=NOON + PAUSE)

    assert nothing is None
    assert "it broke off after 300 of" in models.notice
    assert found is not None
    assert asked[0] == "/model.safetensorsbytes=300-"


@pytest.mark.req("C-35")
def test_a_file_that_is_not_the_known_one_is_not_installed(tmp_path: Path) -> None:
    def changed(answer: Answer) -> Answer:
        return replace(answer, body=answer.body[:-1] + b"!")

    with published(tmp_path, change=changed) as (models, _):
        found = models.ready(now=NOON)

    assert found is None
    assert "model.safetensors is not the file that is known" in models.notice
    assert not (tmp_path / "tiny").exists()


@pytest.mark.req("C-35")
def test_a_fetch_that_failed_is_tried_once_and_then_not_for_a_day(tmp_path: Path) -> None:
    def gone(_: Answer) -> Answer:
        return Answer(status=404)

    with published(tmp_path, change=gone) as (models, asked):
        models.ready(now=NOON)
        models.ready(now=NOON)
        first = list(asked)
    with published(tmp_path) as (later, asked):
        soon = later.ready(now=NOON + timedelta(hours=23))
        waiting = list(asked)
    with published(tmp_path) as (much_later, _):
        found = much_later.ready(now=NOON + PAUSE)

    assert first == ["/model.safetensors"]
    assert models.notice.startswith("by words alone: the model tiny could not be fetched: cannot download http://")
    assert models.notice.endswith("404: Not Found (run: recollect model install tiny)")
    assert (soon, waiting) == (None, [])
    assert later.notice == (
        "by words alone: the model tiny could not be fetched on 2026-05-04 at 12:00 (run: recollect model install tiny)"
    )
    assert found is not None


@pytest.mark.req("C-35")
def test_offline_nothing_is_fetched_and_one_line_says_so(tmp_path: Path) -> None:
    with published(tmp_path, offline=True) as (models, asked):
        found = models.ready(now=NOON)

    assert (found, asked) == (None, [])
    assert models.notice == (
        "by words alone: the model tiny is not installed, and nothing is fetched offline "
        "(run: recollect model install tiny)"
    )
    with pytest.raises(ModelError, match="nothing is fetched offline"):
        models.required()


@pytest.mark.req("C-35")
def test_without_the_runtime_the_command_that_installs_it_is_named_and_nothing_is_fetched(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from datetime import UTC, datetime\n"
        "from pathlib import Path\n"
        "from recollect.embedders.models import Models\n"
        "models = Models(name='minilm', folder=Path(sys.argv[1]))\n"
        "print(models.ready(now=datetime(2026, 5, 4, tzinfo=UTC)), models.notice)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "models")]

    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603

    assert done.stdout == (
        "None by words alone: the embedding model needs the library onnxruntime, which is not installed "
        "(run: pip install onnxruntime)\n"
    )
    assert not (tmp_path / "models").exists()


def test_a_model_that_nobody_publishes_is_not_looked_for(tmp_path: Path) -> None:
    models = Models(name="maxilm", folder=tmp_path)

    assert models.ready(now=NOON) is None
    assert "there is no model 'maxilm'" in models.notice


def test_who_chose_no_model_gets_none_and_hears_nothing(tmp_path: Path) -> None:
    models = Models(name="none", folder=tmp_path)

    assert models.ready(now=NOON) is None
    assert models.notice == ""
