"""Measure how fast recollect is, beside other tools in the same run, and write what came of it.

usage: make bench, make bench-1m, make bench-check, or
       python -m benchmarks.speed [--only words,hybrid] [--sizes 10000,100000] [--texts zipf] [--peers tantivy,numpy]
What is measured is kept in build/speed/results.jsonl, so that a run that was cut goes on where it was; --fresh
measures again. Stores are built anew for other code of recollect, unless KEEP_STORES is set. The page
docs/performance.md is made from that file: --report does nothing else. --check measures anew and compares with the
ratios of docs/performance.json instead of writing them; with --report it measures nothing.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.speed import answers, bandwidth, bars, check, latency, processes, results, store
from benchmarks.speed.headline import MEMORIES, NODES, headline
from benchmarks.speed.progress import clear
from benchmarks.speed.report import RATIOS, write_page
from benchmarks.speed.results import Result
from benchmarks.speed.worker import FEW, PEERS, PYTHON, ToolFailed

LATENCY = tuple(latency.ROWS)
SECTIONS = ("bandwidth", *LATENCY, "model", "load", "start", "import", "folder", "headline", "answers", "add")
MANY = 500_000
"""From here on only a few peers are measured."""
REAL = {"debian": 60_000, "sets": 18_000}
"""Real texts, and how many of them are taken beside the largest size."""
ON_REAL = ("tantivy", "sqlite", "bm25s", "numpy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One group of things that are measured in turns."""

    sections: tuple[str, ...]
    text: str
    size: int
    work: Callable[[], list[Result]]

    def is_done(self, known: Sequence[Result]) -> bool:
        """Tell whether *known* has figures of each of its sections."""
        had = {(each.section, each.text, each.size) for each in known if not each.failed}
        return all((section, self.text, self.size) in had for section in self.sections)


def jobs(given: argparse.Namespace) -> Iterator[Job]:
    """Yield what is to be measured, in order: what writes to a store comes last."""
    only = given.only.split(",") if given.only else [*SECTIONS]
    sizes = [int(size) for size in given.sizes.split(",")]
    yield from (job for job in _single(sizes) if job.sections[0] in only)
    for text in given.texts.split(","):
        for size in sizes if text == "zipf" else [min(max(sizes), REAL[text])]:
            timed = tuple(section for section in LATENCY if section in only)
            if timed:
                yield _latency(timed, text, size, given)
    for size in sizes:
        yield from (job for job in _of_store(size, largest=size == max(sizes)) if job.sections[0] in only)


def _single(sizes: Sequence[int]) -> Iterator[Job]:
    """Yield what does not depend on the size of a store."""
    small = max(sizes) < MEMORIES
    memories, nodes = (max(sizes), max(sizes)) if small else (MEMORIES, NODES)
    files = max(sizes) if small else processes.FILES
    yield Job(sections=("bandwidth",), text="", size=0, work=bandwidth.bandwidth)
    yield Job(sections=("headline",), text="zipf", size=memories, work=lambda: headline(memories, nodes))
    yield Job(sections=("import",), text="", size=0, work=processes.imports)
    yield Job(sections=("folder",), text="", size=files, work=lambda: processes.folder(files))
    yield Job(sections=("answers",), text="", size=0, work=answers.compare)


def _of_store(size: int, *, largest: bool) -> Iterator[Job]:
    """Yield what only ours is measured by."""
    if size < MANY:
        yield Job(sections=("model",), text="zipf", size=size, work=lambda: store.model("zipf", size))
    if largest:
        yield Job(sections=("load",), text="zipf", size=size, work=lambda: store.load("zipf", size))
    yield Job(sections=("start",), text="zipf", size=size, work=lambda: processes.start("zipf", size))
    yield Job(sections=("add",), text="zipf", size=size, work=lambda: store.add("zipf", size))


def _latency(sections: tuple[str, ...], text: str, size: int, given: argparse.Namespace) -> Job:
    usual = FEW if size >= MANY else PEERS if text == "zipf" else ON_REAL
    peers = usual if given.peers is None else tuple(filter(None, given.peers.split(",")))
    able = peers if PYTHON.exists() else ()
    engines = ("recollect", *able)
    return Job(sections=sections, text=text, size=size, work=lambda: latency.measure(sections, text, size, engines))


def run(given: argparse.Namespace) -> None:
    """Do the jobs that are not done; a tool that fails ends its own job only."""
    for job in jobs(given):
        what = f"{'/'.join(job.sections)} {job.text} {job.size or ''}".strip()
        if not given.fresh and job.is_done(results.read(path=given.results)):
            continue
        started = time.perf_counter()
        try:
            results.write(job.work(), path=given.results)
        except (ToolFailed, RuntimeError, SystemExit, subprocess.CalledProcessError) as reason:
            clear()
            print(f"{what}: FAILED: {reason}", file=sys.stderr)
            continue
        clear()
        print(f"{what}: measured in {time.perf_counter() - started:.0f} s", flush=True)


def main() -> None:
    """Measure what is missing, print the table, and write the page or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"these sections: {','.join(SECTIONS)}")
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--texts", default="zipf,debian,sets")
    parser.add_argument("--peers", help=f"these peers, or none at all when empty: {','.join(PEERS)}")
    parser.add_argument("--fresh", action="store_true", help="measure again what is already known")
    parser.add_argument("--by", choices=("wall", "cpu"), default="wall", help="what bars and ratios are taken of")
    parser.add_argument("--report", action="store_true", help="measure nothing, only write the page")
    parser.add_argument(
        "--any-code", action="store_true", help="show what was measured with other code of recollect too"
    )
    parser.add_argument("--print", action="store_true", help="print the tables and write no page")
    parser.add_argument("--check", action="store_true", help="compare with the ratios of docs/performance.json")
    parser.add_argument("--results", type=Path, default=results.FILE, help="where what is measured is kept")
    parser.add_argument("--ratios", type=Path, default=RATIOS, help="what --check compares with")
    given = parser.parse_args()
    unknown = {*(given.only or "").split(",")} - {*SECTIONS, ""}
    if unknown:
        parser.error(f"there is no section {', '.join(sorted(unknown))}: choose of {', '.join(SECTIONS)}")
    given.fresh |= given.check
    if not PYTHON.exists() and not given.report and given.peers != "":
        print("the peers are not installed (make bench does that): measuring ours alone", file=sys.stderr)
    if not given.report:
        run(given)
    known = results.read(path=given.results, of_any_code=given.any_code)
    print(bars.as_text(known, given.by))
    if given.check:
        sys.exit(check.compare(known, given.ratios))
    if not given.print:
        write_page(known, results.last_run(given.results), given.by)


if __name__ == "__main__":
    main()
