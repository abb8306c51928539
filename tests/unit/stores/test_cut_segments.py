"""Segments that are cut short or replaced while a process has them mapped: it reads the rows and lives on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

WORDS = 2_400
ASK = """
import os, sys
from pathlib import Path
import numpy as np
from kit import NOON, plain
from recollect.records import ALL_PROJECTS, EmbeddedMemory, Filter, Generation, Insert, Memory, Passage
from recollect.stores.sqlite import open_sqlite
from kit import asking

path, how = Path(sys.argv[1]), sys.argv[2]
store = open_sqlite(path, plain)
store.apply([Insert(memory=Memory(content=f"note{n} cat")) for n in range(2_400)], at=NOON)
draw = np.random.default_rng(1).normal(size=(2_400, 64)).astype("f4")
draw /= np.linalg.norm(draw, axis=1, keepdims=True)
held = store.load(range(1, 2_401), scope=ALL_PROJECTS)
one = Generation(fingerprint="f", dimensions=64, model="m")
store.put_vectors(one, [
    EmbeddedMemory(memory_id=row, meaning=memory.meaning,
                   passages=(Passage(start=0, stop=1, vector=draw[row - 1].tobytes()),))
    for row, memory in held.items()])
store.settle()

def ask(store):
    words = store.match_words(asking("note7", "cat"), scope=ALL_PROJECTS, where=Filter(), limit=5)
    near = store.nearest("f", draw[6].tobytes(), scope=ALL_PROJECTS, where=Filter(), limit=5)
    return [hit.id for hit in words.top], [hit.id for hit in near.top]

before = ask(store)
folder = path.with_name(path.name + "-segments")
files = [each for each in folder.rglob("*") if each.is_file() and each.name not in ("lock", "header")]
assert len(files) == 2, files
for each in files:
    if how == "cut":
        os.truncate(each, 10)
    else:
        each.unlink()
        os.mkfifo(each)
if how == "pipe":
    store.close()
    store = open_sqlite(path, plain)
after = ask(store)
assert before == after and before[0][0] == 8 and before[1][0] == 7, (before, after)
print("alive")
"""


@pytest.mark.parametrize("how", ["cut", "pipe"])
def test_a_process_outlives_segments_that_are_cut_short_or_become_pipes(tmp_path: Path, how: str) -> None:
    tests = Path(__file__).parents[2]

    done = subprocess.run(  # noqa: S603  (this very interpreter)
        [sys.executable, "-c", ASK, str(tmp_path / "a.db"), how],
        env={**os.environ, "PYTHONPATH": str(tests)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode != -signal.SIGBUS
    assert (done.stdout, done.returncode) == ("alive\n", 0), done.stderr
