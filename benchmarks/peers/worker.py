"""The other end of serve.py: a tool as a process that is asked one question at a time."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[1] / "build" / "peers"
PYTHON = HOME / "venv" / "bin" / "python"
"""The interpreter that has the peers; recollect runs in the one that runs the benchmark."""
OURS = ("recollect", "seeds")
TOOLS = (*OURS, "sqlite", "lancedb", "txtai", "bm25s", "chromadb", "cosine")

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "RAYON_NUM_THREADS",
        "TOKIO_WORKER_THREADS",
        "LANCE_CPU_THREADS",
        "CHROMA_SERVER_THREAD_POOL_SIZE",
    ),
    "1",
)
OFFLINE = {"HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "TOKENIZERS_PARALLELISM": "false"}


class ToolFailed(Exception):
    """A tool ended before it answered; its last words say why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Ids, best first, and how long they took."""

    ids: tuple[str, ...]
    milliseconds: float


class Worker:
    """A tool that has indexed its material; a context manager, so that its process ends."""

    def __init__(self, tool: str, material: Path) -> None:
        self.tool = tool
        self._log = HOME / "logs" / f"{material.name}-{tool}.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable if tool in OURS else str(PYTHON), str(HERE / "serve.py"), tool, str(material)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log.open("w", encoding="utf-8"),
            env={**os.environ, **ONE_THREAD, **OFFLINE},
            text=True,
        )
        try:
            facts = self._read()
        except ToolFailed:
            self.close()
            raise
        self.version: str = facts["version"]
        self.rows: tuple[str, ...] = tuple(facts["rows"])
        self.seconds: float = facts["seconds"]

    def ask(self, row: str, number: int) -> Answer:
        """Return what the tool finds for the question of that *number*, as *row* of the table."""
        print(json.dumps([row, number]), file=self._process.stdin, flush=True)
        ids, milliseconds = self._read()
        return Answer(ids=tuple(ids), milliseconds=milliseconds)

    def _read(self) -> "dict | list":
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            said = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise ToolFailed(said[-1][:200] if said else "it ended without a word")
        return json.loads(line)

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
