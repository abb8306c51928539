"""Measure what a command costs with a warm process, and what thirty MCP fronts hold together.

Beside each stands a Python that does nothing, in the same run; the commands take turns, so that whatever else the
machine does falls on all alike. Every round asks something else; only what is asked again comes from the cache.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common import COMPILED, made_up_texts, median, print_table, verdict, watched

SCRIPT = """#!{python}
import sys
from recollect.surfaces.front import main
if __name__ == '__main__':
    sys.argv[0] = sys.argv[0].removesuffix('.exe')
    sys.exit(main())
"""
"""What pip writes for a command since version 25, and uv as well."""
BEFORE = SCRIPT.replace("import sys", "import re\nimport sys", 1)
"""What pip wrote before: it loads the regular expressions first."""
SEARCH_AIM, HOOK_AIM, MEGABYTES_AIM = 5.0, 3.0, 500.0
FRONTS = 30
PYTHON, SERVED, AGAIN = "python -c pass", "recollect search, served", "the same again"
OLDER, HOOK = "the same by a script of pip before 25", "recollect hook, served"
BY_WORDS, HYBRID = "recollect search, alone by words", "recollect search, alone"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """What a command took: seconds on the clock, and seconds of computing in its own process."""

    seconds: float
    computed: float


def timed(command: Sequence[str], environment: Mapping[str, str], given: bytes = b"") -> Took:
    """Run *command* to its end with *given* on standard input; one that fails ends the benchmark."""
    started = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(environment)
    ) as process:
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(given)
        process.stdin.close()
        output = process.stdout.read().decode("utf-8", "replace")
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} failed with {process.returncode}:\n{output}")
    return Took(seconds=seconds, computed=usage.ru_utime + usage.ru_stime)


def rounds(program: str, environment: Mapping[str, str], texts: Sequence[str], times: int) -> dict[str, list[Took]]:
    """Run every command once to warm the disk, then *times* times in turn."""
    alone = {**environment, "RECOLLECT_DAEMON": "off"}
    took: dict[str, list[Took]] = {name: [] for name in (PYTHON, SERVED, AGAIN, OLDER, HOOK, BY_WORDS, HYBRID)}
    for number in watched(range(times + 1), of=times + 1, what="round"):
        words = [each for each in texts[number].split() if each.isalpha()][-3:]
        event = {"hook_event_name": "UserPromptSubmit", "session_id": str(number), "prompt": " ".join(words)}
        ran = {
            PYTHON: timed([sys.executable, "-c", "pass"], environment),
            SERVED: timed([program, "search", *words], environment),
            AGAIN: timed([program, "search", *words], environment),
            OLDER: timed([f"{program}-before", "search", *words], environment),
            HOOK: timed([program, "hook"], environment, json.dumps(event).encode()),
            BY_WORDS: timed([program, "search", "--mode", "keyword", *words], alone),
            HYBRID: timed([program, "search", *words], alone),
        }
        for name, each in ran.items() if number else ():
            took[name].append(each)
    return took


def memory_of_fronts(program: str, environment: Mapping[str, str]) -> tuple[float, float]:
    """Return the megabytes that thirty MCP fronts hold: all of them counted, and what they share counted once."""
    fronts = [
        subprocess.Popen([program, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(environment))
        for _ in range(FRONTS)
    ]
    try:
        for each in fronts:
            assert each.stdin is not None  # noqa: S101
            assert each.stdout is not None  # noqa: S101
            each.stdin.write(f"{json.dumps(HELLO)}\n".encode())
            each.stdin.flush()
            assert b"serverInfo" in each.stdout.readline()  # noqa: S101
        held = [_held(each.pid) for each in fronts]
    finally:
        for each in fronts:
            each.kill()
            each.communicate()
    return sum(rss for rss, _ in held), sum(pss for _, pss in held)


def _held(pid: int) -> tuple[float, float]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    values = {name: int(rest.split()[0]) / 1024 for name, _, rest in (line.partition(":") for line in lines)}
    return values["Rss"], values["Pss"]


def rows(took: dict[str, list[Took]]) -> list[dict[str, str]]:
    return [
        {
            "": name,
            "milliseconds": f"{1000 * median(each.seconds for each in times):.0f}",
            "of computing": f"{1000 * median(each.computed for each in times):.0f}",
            "times python": f"{ratio(times, took[PYTHON]):.2f}",
        }
        for name, times in took.items()
    ]


def ratio(ours: Sequence[Took], theirs: Sequence[Took]) -> float:
    return median(each.seconds for each in ours) / median(each.seconds for each in theirs)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    texts = made_up_texts(max(options.memories, options.rounds + 1))
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, **COMPILED, "RECOLLECT_DB": str(Path(home, "notes.db")), "RECOLLECT_CONFIG": ""}
        program, source = Path(home, "recollect"), Path(home, "notes.jsonl")
        for path, script in ((program, SCRIPT), (Path(home, "recollect-before"), BEFORE)):
            path.write_text(script.format(python=sys.executable), encoding="utf-8")
            path.chmod(0o755)
        source.write_text("".join(f"{json.dumps({'content': each})}\n" for each in texts), encoding="utf-8")
        timed([str(program), "import", str(source)], environment)
        timed([str(program), "daemon", "start", "--idle", "600s"], environment)
        try:
            took = rounds(str(program), environment, texts, options.rounds)
            rss, pss = memory_of_fronts(str(program), environment)
        finally:
            timed([str(program), "daemon", "stop"], environment)
    print(f"A store of {len(texts):,} memories, median of {options.rounds}\n")
    print_table(rows(took))
    search, hook = ratio(took[SERVED], took[PYTHON]), ratio(took[HOOK], took[SERVED])
    print(f"\nsearch at most {SEARCH_AIM:.0f} times Python: {verdict(held=search <= SEARCH_AIM)} ({search:.2f})")
    print(f"hook at most {HOOK_AIM:.0f} times that: {verdict(held=hook <= HOOK_AIM)} ({hook:.2f})")
    held = verdict(held=rss < MEGABYTES_AIM)
    shared = f"{rss:.0f} MB, {pss:.0f} MB when what they share counts once"
    print(f"{FRONTS} MCP fronts under {MEGABYTES_AIM:.0f} MB: {held} ({shared})")


if __name__ == "__main__":
    main()
