"""What is installed is whole: wheel and sdist are built here, and the wheel runs where the repository is not.

Nothing is fetched: the clean environment finds the libraries that recollect needs in the one that runs the tests.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from kit import installed_models
from recollect.profile import BUILT_IN
from socket_guard import CUSTOM

ROOT = Path(__file__).parent.parent.parent
MOST_BYTES = 2_000_000
"""How large a wheel may be; models are no part of it."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build the wheel, from the sdist as everybody does, and return both."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a new environment and return that."""
    place = tmp_path_factory.mktemp("clean") / "env"
    venv.create(place)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "libraries.pth").write_text("".join(f"{each}\n" for each in sorted(here)), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--quiet"]
    options = ["--no-deps", "--no-index", "--disable-pip-version-check", "--ignore-installed"]
    done = subprocess.run([*pip, *options, str(built[0])], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    return place


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program of the new environment, far from the repository and without a network."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("RECOLLECT_", "PYTHON"))}
    ours = {"RECOLLECT_DB": str(tmp_path / "notes.db"), "RECOLLECT_CONFIG": "", "RECOLLECT_OFFLINE": "1"}
    ours |= {"RECOLLECT_MODELS": str(installed_models().absolute()), "PYTHONPATH": str(CUSTOM), "HOME": str(tmp_path)}

    def ran(program: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(installed / "bin" / program), *words]
        return subprocess.run(  # noqa: S603
            command, cwd=tmp_path, env={**others, **ours}, capture_output=True, text=True, check=False
        )

    return ran


def test_the_wheel_holds_what_runs_and_nothing_else(
    built: tuple[Path, Path], record_property: Callable[[str, object], None]
) -> None:
    wheel, _ = built
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    record_property("wheel bytes", wheel.stat().st_size)
    record_property("wheel files", len(names))
    sources = {path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts}

    assert {path.relative_to(ROOT / "src").as_posix() for path in sources} <= names
    assert {f"recollect/profiles/{name}.toml" for name in BUILT_IN} <= names
    assert {"recollect/py.typed", "recollect/schemas/answers.json", "recollect/stores/sqlite/schema.sql"} <= names
    assert [name for name in names if name.endswith(".data/data/share/man/man1/recollect.1")]
    assert {PurePosixPath(name).parts[0].partition("-")[0] for name in names} == {"recollect"}
    assert not [name for name in names if "test" in PurePosixPath(name).parts[0:2]]
    assert wheel.stat().st_size < MOST_BYTES


def test_the_sdist_can_be_built_from_and_holds_no_tests(built: tuple[Path, Path]) -> None:
    _, sdist = built
    with tarfile.open(sdist) as archive:
        tops = {PurePosixPath(name).parts[1] for name in archive.getnames() if "/" in name}

    assert {"src", "share", "pyproject.toml", "README.md", "LICENSE"} <= tops
    assert "tests" not in tops


def test_the_installed_wheel_remembers_and_finds_by_meaning_without_a_network(
    run: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    added = run("recollect", "add", "The database listens on port 5432", "--json")
    found = run("recollect", "search", "where is Postgres reachable", "--json")

    assert (added.returncode, added.stderr) == (0, "")
    assert (found.returncode, found.stderr) == (0, "")
    reply = json.loads(found.stdout)
    assert reply["degraded"] is None
    assert reply["hits"][0]["semantic_score"] > 0.2


def test_the_installed_package_is_the_one_that_runs(
    installed: Path, run: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    places = run("python", "-c", "import recollect, click; print(recollect.__file__)")
    version = run("python", "-m", "recollect", "--version")
    profile = run("recollect", "--profile", "oro", "--model", "none", "search", "anything")

    assert places.stdout.startswith(str(installed)), places.stderr
    assert re.search(r"\d+\.\d+", version.stdout)
    assert profile.returncode == 1, profile.stderr
    assert (installed / "share" / "man" / "man1" / "recollect.1").is_file()


def test_all_holds_every_other_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]

    named = set(everything.removeprefix("recollect[").removesuffix("]").split(","))

    assert named == set(extras) - {"all"}
