"""Who may touch the world outside: the environment, the clock, the drivers, a concrete store."""

import ast
from collections.abc import Iterable, Mapping

import pytest
from sourcetree import Module, imports, modules, parse, uses

ENVIRONMENT = ("os.environ", "os.environb", "os.getenv", "os.getenvb")
CLOCK = (
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "time.gmtime",
    "time.localtime",
    "time.time",
    "time.time_ns",
)
# Reading any of these names is reading the world; only these places may.
READERS = {
    # The thin front loads no settings, installing asks where others keep theirs, spans have variables of their own.
    **dict.fromkeys(
        ENVIRONMENT,
        ("settings.py", "surfaces/front.py", "surfaces/install/commands.py", "surfaces/serve/tracing.py"),
    ),
    **dict.fromkeys(CLOCK, ("workspace.py", "surfaces/")),
}
# Starting a process is safe only with a command and a folder that no caller chooses; `python_command` makes ours.
STARTERS = {
    "sys.executable": ("files.py",),
    **dict.fromkeys(
        ("subprocess.Popen", "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output"),
        (
            "surfaces/children.py",
            "embedders/install.py",
            "remember/formats/git_log.py",
            "remember/formats/isolated.py",
            "surfaces/editing.py",
        ),
    ),
    **dict.fromkeys(
        ("os.execv", "os.execve", "os.execvp", "os.execvpe", "os.execl", "os.execle", "os.execlp", "os.execlpe"),
        ("surfaces/children.py",),
    ),
    **dict.fromkeys(("os.system", "os.popen", "os.posix_spawn", "os.posix_spawnp", "os.spawnv", "os.startfile"), ()),
    **dict.fromkeys(("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "multiprocessing"), ()),
}
DRIVERS = {
    "apsw": ("stores/sqlite/", "remember/formats/sqlite_file.py"),
    "click": ("surfaces/",),
    "mcp": ("surfaces/",),
    "onnx": ("embedders/",),
    "onnxruntime": ("embedders/", "rerankers/"),
    "sqlite3": ("stores/sqlite/", "evaluate/cache.py"),
    "starlette": ("surfaces/",),
    "tokenizers": ("embedders/", "rerankers/"),
    "uvicorn": ("surfaces/",),
}
# A library that may be missing is fetched by its name, so names count too; the machine's report only says a version.
NAMED = {**DRIVERS, "apsw": (*DRIVERS["apsw"], "evaluate/report.py")}
ROOMS = ("recollect.stores", "recollect.embedders", "recollect.rerankers")
CONTRACTS = tuple(f"{room}.contract" for room in ROOMS)
PURE = ("remember/", "search/")


def lies_in(path: str, places: Iterable[str]) -> bool:
    return any(path == place or (place.endswith("/") and path.startswith(place)) for place in places)


def trespasses(
    module: Module, mentioned: Iterable[tuple[int, str]], allowed: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """Return each name mentioned outside the places it is allowed in."""
    return [
        f"{module.path}:{line} {name}"
        for line, name in mentioned
        if name in allowed and not lies_in(module.path, allowed[name])
    ]


def world_read(module: Module) -> list[str]:
    return trespasses(module, uses(module), READERS)


def processes_started(module: Module) -> list[str]:
    return trespasses(module, uses(module), STARTERS)


def drivers_imported(module: Module) -> list[str]:
    roots = [(line, name.partition(".")[0]) for line, name in imports(module)]
    return trespasses(module, roots, DRIVERS)


def drivers_named(module: Module) -> list[str]:
    texts = (node for node in ast.walk(module.tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return trespasses(module, [(node.lineno, node.value) for node in texts], NAMED)


def rooms_bypassed(module: Module) -> list[str]:
    """Return where a pure path imports a store, an embedder or a reranker by name and not by its contract."""
    if not lies_in(module.path, PURE):
        return []
    return [
        f"{module.path}:{line} {name}"
        for line, name in imports(module)
        if name.startswith(ROOMS) and not name.startswith(CONTRACTS)
    ]


def test_only_the_settings_read_the_environment_and_only_the_facade_reads_the_clock() -> None:
    found = [line for module in modules() for line in world_read(module)]

    assert found == []


def test_only_one_module_starts_this_python_and_few_start_another_program() -> None:
    found = [line for module in modules() for line in processes_started(module)]

    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "import sys\ncommand = [sys.executable, '-m', 'recollect']",
        "import subprocess\nsubprocess.Popen(['python'])",
        "from subprocess import run as do\ndo(['python'])",
        "import os\nos.execv('/usr/bin/python', [])",
    ],
)
def test_a_process_started_elsewhere_is_seen(text: str) -> None:
    assert len(processes_started(parse(text, path="surfaces/front.py"))) == 1


def test_each_driver_stays_in_its_room() -> None:
    found = [line for module in modules() for line in (*drivers_imported(module), *drivers_named(module))]

    assert found == []


def test_the_two_paths_know_stores_embedders_and_rerankers_by_contract_only() -> None:
    found = [line for module in modules() for line in rooms_bypassed(module)]

    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.environ['X']",
        "from os import getenv as env\nenv('X')",
        "import time\ntime.time()",
        "from datetime import datetime\ndatetime.now()",
        "import datetime as dt\nclock = dt.datetime.now",
        "def f():\n    from time import time_ns\n    return time_ns()",
    ],
)
def test_a_read_of_the_world_is_seen_under_any_name(text: str) -> None:
    assert len(world_read(parse(text, path="search/fit.py"))) == 1


@pytest.mark.parametrize("path", ["workspace.py", "surfaces/cli.py"])
def test_the_facade_and_the_surfaces_may_read_the_clock(path: str) -> None:
    module = parse("import time\ntime.time()", path=path)

    assert world_read(module) == []


@pytest.mark.parametrize("text", ["import time\ntime.perf_counter()", "import os\nos.fspath('x')", "now = time = 1"])
def test_measuring_a_duration_is_not_reading_the_clock(text: str) -> None:
    assert world_read(parse(text, path="search/fit.py")) == []


def test_a_driver_in_the_wrong_room_is_seen() -> None:
    text = "def f():\n    import apsw"

    assert drivers_imported(parse(text, path="search/fit.py")) == ["search/fit.py:2 apsw"]
    assert drivers_imported(parse(text, path="stores/sqlite/store.py")) == []


def test_a_driver_fetched_by_its_name_is_seen() -> None:
    text = "from importlib import import_module\nimport_module('onnxruntime')"

    assert drivers_named(parse(text, path="search/rerank.py")) == ["search/rerank.py:2 onnxruntime"]
    assert drivers_named(parse(text, path="rerankers/onnx.py")) == []


@pytest.mark.parametrize(
    ("bypass", "proper"),
    [
        ("recollect.stores.sqlite.SqliteStore", "recollect.stores.contract.Store"),
        ("recollect.embedders.onnx.OnnxEmbedder", "recollect.embedders.contract.Embedder"),
        ("recollect.rerankers.onnx.OnnxReranker", "recollect.rerankers.contract.Reranker"),
    ],
)
def test_a_room_entered_past_its_contract_is_seen(bypass: str, proper: str) -> None:
    def importing(name: str) -> Module:
        room, _, thing = name.rpartition(".")
        return parse(f"from {room} import {thing}", path="search/fit.py")

    assert rooms_bypassed(importing(bypass)) == [f"search/fit.py:1 {bypass}"]
    assert rooms_bypassed(importing(proper)) == []
