"""The five seed profiles as they ship, or as files of the same names in the folder that SEED_PROFILES names."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from seedkit import NOW, Bench, serve_vectors

import recollect

SHIPPED = Path(recollect.__file__).parent / "profiles"


@pytest.fixture(scope="session")
def served() -> Iterator[tuple[str, dict[str, list[float]]]]:
    """Serve vectors; the dictionary says which."""
    known: dict[str, list[float]] = {}
    with serve_vectors(known) as model:
        yield model, known


@pytest.fixture
def profile(request: pytest.FixtureRequest) -> str:
    """Return the path of the profile that the test's file is named by."""
    folder = Path(os.environ.get("SEED_PROFILES") or SHIPPED)
    return str(folder / f"{request.module.__name__.removeprefix('test_')}.toml")


@pytest.fixture
def bench(profile: str, tmp_path: Path, served: tuple[str, dict[str, list[float]]]) -> Iterator[Bench]:
    """A store of its own, under the profile, with vectors chosen by hand."""
    model, vectors = served
    vectors.clear()
    made = Bench(path=tmp_path / "notes.db", profile=profile, model=model, vectors=vectors)
    yield made
    made.close()


@pytest.fixture(scope="session")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[recollect.Recollection]:
    """1,001 memories that all hold the word "entry": more than any profile shows."""
    folder = tmp_path_factory.mktemp("crowd")
    table = folder / "crowd.csv"
    table.write_text("about\n" + "".join(f"entry {number}\n" for number in range(1001)), encoding="utf-8")
    with recollect.open(folder / "notes.db", model="none", clock=lambda: NOW) as db:
        db.import_(table)
        yield db
