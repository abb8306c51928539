"""The demo: a newcomer's first look works from the package alone and touches nothing else."""

from pathlib import Path

import pytest
from command import Run

from recollect.surfaces.demo import SCENES, samples


def test_the_demo_builds_a_store_searches_it_and_says_what_to_try_next(run: Run, tmp_path: Path) -> None:
    told = run("demo")

    assert (told.code, told.err) == (0, "")
    for scene in SCENES:
        assert scene.shows in told.out
    assert "What to try next" in told.out
    assert "demo --keep demo.db" in told.out
    assert "Traceback" not in told.out
    assert len(told.out.splitlines()) <= 40  # one screen
    assert not (tmp_path / "notes.db").exists()


def test_every_scene_shows_what_it_promises(run: Run) -> None:
    value = run("demo", "--json").value

    found = {reply["query"]: [hit["memory"] for hit in reply["hits"]] for reply in value["searches"]}
    assert value["import"]["files"]["failed"] == 0
    assert found["why do labels come out of the printer blank?"][0]["title"] == "Labels printed blank"
    assert "缓存" in found["缓存过期"][0]["content"]
    assert {memory["type"] for memory in found["database type:decision since:2026-02-01"]} == {"decision"}
    assert found["kubernetes"] == []
    assert all(found[query] for query in found if query != "kubernetes")


def test_a_store_that_is_kept_can_be_searched(run: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "demo.db")

    told = run("demo", "--keep", path)
    again = run("demo", "--keep", path)

    assert f"--db {path} list --type decision" in told.out
    assert run("--db", path, "list", "--type", "decision").code == 0
    assert again.code == 2
    assert "exists already" in again.err


def test_the_samples_come_with_the_package_in_every_format() -> None:
    with_suffix = {path.suffix for path in Path(str(samples())).rglob("*") if path.is_file()}

    assert with_suffix >= {".md", ".txt", ".jsonl", ".yaml", ".csv"}


@pytest.mark.parametrize("word", ["carriage", "缓存", "住所"])
def test_the_samples_speak_several_languages(word: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in Path(str(samples())).rglob("*") if path.is_file()]

    assert any(word in text for text in texts)
