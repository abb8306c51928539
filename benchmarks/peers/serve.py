"""One tool in a process of its own: indexes the material, then answers questions as they are named to it.

usage: python benchmarks/peers/serve.py TOOL FOLDER
In: lines of [row, number of the question]. Out: one line of facts, then for each question [ids, milliseconds].
"""

import json
import os
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import TextIO

from material import load

SETTLED = 3
"""So many questions are asked before the first answer counts, so that nothing is loaded for the first time."""


def main(tool: str, folder: str) -> None:
    """Serve *tool* over the material in *folder* until the input ends."""
    # What a library prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    material, engine = load(Path(folder)), import_module(f"engines.{tool}")
    with tempfile.TemporaryDirectory() as home:
        started = time.perf_counter()
        searches = engine.build(material, Path(home))
        seconds = time.perf_counter() - started - getattr(engine, "embedding_seconds", float)()
        for search in searches.values():
            for question in material.questions[:SETTLED]:
                search(question)
        tell(answers, {"version": engine.VERSION, "rows": list(searches), "seconds": seconds})
        for line in sys.stdin:
            row, number = json.loads(line)
            started = time.perf_counter()
            ids = searches[row](material.questions[number])
            tell(answers, [list(ids), (time.perf_counter() - started) * 1000])


def tell(answers: TextIO, value: object) -> None:
    """Write *value* on a line."""
    print(json.dumps(value), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
