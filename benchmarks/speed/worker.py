"""The other end of serve.py: tools as processes, their indexes kept between runs, and questions in turns."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from benchmarks.common import ROOT
from benchmarks.speed.material import HOME

PYTHON = ROOT / "build" / "peers" / "venv" / "bin" / "python"
"""The interpreter that has the peers; recollect runs in the one that runs the benchmark."""
OURS = ("recollect", "recollect_model", "recollect_empty")
PEERS = ("tantivy", "sqlite", "lancedb", "chromadb", "bm25s", "numpy", "txtai")
FEW = ("tantivy", "numpy")
"""Those measured at the largest size too; the others would take an hour to index it."""
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "RAYON_NUM_THREADS",
        "TOKIO_WORKER_THREADS",
        "LANCE_CPU_THREADS",
        "CHROMA_SERVER_THREAD_POOL_SIZE",
    ),
    "1",
)
OFFLINE = {"HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "TOKENIZERS_PARALLELISM": "false"}
TXTAI = {"ALLOW_RESOLVE_TRANSFORM": "True"}
"""txtai calls a function that brings vectors only where it is told that it may."""

PLAIN = {
    "RECOLLECT_CONFIG": "",
    "RECOLLECT_PROFILE": "default",
    "RECOLLECT_PROJECT": "",
    "RECOLLECT_MODEL": "none",
    "RECOLLECT_DAEMON": "off",
}
"""So that the user's own settings do not count, words alone are at work, and no warm process helps."""


class ToolFailed(Exception):
    """A tool ended before it answered; its last words say why."""


@cache
def source_mark() -> str:
    """Return what the code of recollect is known by: other code builds and measures anew."""
    mark = hashlib.blake2b(digest_size=6)
    known = find_spec("recollect")
    home = Path(known.origin).parent if known and known.origin else ROOT / "src"
    for path in sorted(home.rglob("*")):
        if path.is_file() and path.suffix in (".py", ".sql", ".toml"):
            mark.update(path.relative_to(home).as_posix().encode() + path.read_bytes())
    return mark.hexdigest()


def _mark_of(engine: str) -> str:
    """Return what an index of *engine* depends on: how it is built, and for ours the code."""
    how = hashlib.blake2b((ROOT / "benchmarks" / "speed" / "engines" / f"{engine}.py").read_bytes(), digest_size=6)
    return how.hexdigest() + (source_mark() if engine in OURS else "")


def _command(verb: str, engine: str, material: Path, home: Path) -> list[str]:
    python = sys.executable if engine in OURS else str(PYTHON)
    return [python, "-m", "benchmarks.speed.serve", verb, engine, str(material), str(home)]


def _environment(*, threads: bool) -> dict[str, str]:
    models = os.environ.get("RECOLLECT_MODELS") or str(ROOT / ".models")
    return {**os.environ, **({} if threads else ONE_THREAD), **OFFLINE, **TXTAI, "RECOLLECT_MODELS": models}


def _log(engine: str, material: Path) -> Path:
    log = HOME / "logs" / f"{material.name}-{engine}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    return log


def index_of(engine: str, material: Path) -> tuple[Path, dict[str, Any]]:
    """Return where *engine* has its index of *material* and what it took; it is built first where it is missing."""
    home = material / "indexes" / engine
    facts = home.with_suffix(".json")
    mark = _mark_of(engine)
    if facts.exists():
        known = json.loads(facts.read_text(encoding="utf-8"))
        if known["mark"] == mark or os.environ.get("KEEP_STORES"):
            return home, known
    shutil.rmtree(home, ignore_errors=True)
    with _log(engine, material).open("w", encoding="utf-8") as log:
        done = subprocess.run(
            _command("build", engine, material, home),
            stdout=subprocess.PIPE,
            stderr=log,
            env=_environment(threads=False),
            cwd=ROOT,
            text=True,
            check=False,
        )
    if done.returncode:
        raise ToolFailed(_last_words(engine, material))
    told = {**json.loads(done.stdout.splitlines()[-1]), "mark": mark}
    facts.write_text(json.dumps(told), encoding="utf-8")
    return home, told


def _last_words(engine: str, material: Path) -> str:
    said = _log(engine, material).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f"{engine}: {said[-1][:200] if said else 'it ended without a word'}"


class Worker:
    """A tool that has its index open; a context manager, so that its process ends."""

    def __init__(self, engine: str, material: Path, *, threads: bool = False, cores: Sequence[int] = ()) -> None:
        """Start it, with its own threads or one, on these *cores*, or any."""
        self.engine, self._material = engine, material
        home, self.built = index_of(engine, material)
        self._process = subprocess.Popen(
            _command("ask", engine, material, home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=_log(engine, material).open("w", encoding="utf-8"),
            env=_environment(threads=threads),
            cwd=ROOT,
            text=True,
        )
        if cores and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self._process.pid, cores)
        try:
            self.facts = self.read()
        except ToolFailed:
            self.close()
            raise

    def send(self, **asked: Any) -> None:
        """Ask without waiting."""
        print(json.dumps(asked), file=self._process.stdin, flush=True)

    def read(self) -> dict[str, Any]:
        """Return the next answer."""
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise ToolFailed(_last_words(self.engine, self._material))
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Ask and return the answer."""
        self.send(**asked)
        return self.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
