"""What every test may lean on: no way to another machine, the requirement ledger, Hypothesis profiles, shared data."""

import json
import os
import tempfile
import tomllib
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from socket_guard import guard_processes

os.environ["RECOLLECT_OFFLINE"] = "1"  # no test fetches a model, except those that say so, and those from this machine
HOME = tempfile.TemporaryDirectory(prefix="recollect-tests-", ignore_cleanup_errors=True)
os.environ["XDG_DATA_HOME"] = HOME.name  # no test reads or writes the data folder of its user
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # a test may load the runtime before recollect does
HERE = Path(__file__).resolve().parent
LEDGER = frozenset(tomllib.loads((HERE / "requirements.toml").read_text(encoding="utf-8")))

# Equal runs give equal results, on a laptop and on a slow machine; "search" looks further by hand.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("default", settings.get_profile("ci"))
settings.register_profile("search", deadline=None, max_examples=5000, print_blob=True)
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--requirements", metavar="FILE", help="write requirement id -> passing tests as JSON to FILE")


# --- requirement ids ------------------------------------------------------------------------


def ids_of(item: pytest.Item) -> Iterator[object]:
    """Yield the ids of the item's req markers; a marker without ids yields None."""
    for mark in item.iter_markers("req"):
        yield from mark.args or (None,)


def complaints(item: pytest.Item) -> list[str]:
    wrong = [name for name in ids_of(item) if name not in LEDGER]
    return [f"{item.nodeid}: unknown requirement {name!r}; tests/requirements.toml lists the ids" for name in wrong]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail the collection of a file whose tests claim ids that do not exist."""
    report = yield
    items = [node for node in report.result or () if isinstance(node, pytest.Item)]
    wrong = [line for item in items for line in complaints(item)]
    if wrong:
        report.outcome, report.longrepr, report.result = "failed", "\n".join(wrong), []
    return report


def pytest_itemcollected(item: pytest.Item) -> None:
    """Send the ids along with the reports, the only thing that reaches us from another process."""
    item.user_properties.extend(("req", name) for name in ids_of(item))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Ledger(), "requirement-ledger")


class Ledger:
    """Notes which tests passed, and writes them down by id when the run is over."""

    def __init__(self) -> None:
        self.ids: dict[str, set[str]] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test as passing when its call passed and neither its setup nor its teardown failed."""
        if report.failed:
            self.failed.add(report.nodeid)
        if report.when == "call" and report.passed:
            self.ids[report.nodeid] = {str(value) for key, value in report.user_properties if key == "req"}

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write when the suite ran to its end, from the one process that heard every report."""
        target = session.config.getoption("--requirements")
        ran = exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
        if target and ran and not hasattr(session.config, "workerinput"):
            Path(target).write_text(json.dumps(self.proven(), indent=1) + "\n", encoding="utf-8")

    def proven(self) -> dict[str, list[str]]:
        """Return every id of the ledger with the tests that passed for it, by name."""
        passed = sorted(self.ids.keys() - self.failed)
        return {name: [test for test in passed if name in self.ids[test]] for name in sorted(LEDGER)}


# --- what needs more than a clone and pip ---------------------------------------------------

FULL_FOLDERS = ("browser", "postgres")
FULL_FIXTURES = frozenset({"shared_data"})
FULL_STORES = ("memory", "postgres")
"""Stores that `make test` leaves out: a SQLite store in memory runs the same code as one in a file."""


def needs_more(item: pytest.Item) -> bool:
    """Say whether a test needs Chromium, a PostgreSQL server or the judged sets next to the repository."""
    parameters = getattr(item, "callspec", None)
    return (
        item.path.parent.name in FULL_FOLDERS
        or bool(FULL_FIXTURES & set(getattr(item, "fixturenames", ())))
        or (parameters is not None and any(store in parameters.params.values() for store in FULL_STORES))
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark these tests `full`: `make test` leaves them to `make test-all`."""
    for item in items:
        if needs_more(item):
            item.add_marker("full")


# --- no way to another machine --------------------------------------------------------------

ATTEMPTS = Path(tempfile.gettempdir(), f"recollect-tests-sockets-{os.getpid()}")
ATTEMPTS.unlink(missing_ok=True)
guard_processes(ATTEMPTS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Fail a test that tried to open a socket to another machine, whoever took the error."""
    yield
    if ATTEMPTS.exists():
        told = ATTEMPTS.read_text(encoding="utf-8")
        ATTEMPTS.unlink()
        pytest.fail(f"sockets to other machines:\n{told}")


# --- data -----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of judged collections beside the repository; a test that needs it fails without it."""
    folder = HERE.parents[1] / "shared" / "data"
    if not folder.is_dir():
        pytest.fail(f"the judged collections are missing: {folder}")
    return folder
