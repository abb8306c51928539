"""A process that dies while it embeds loses nothing, and the next one embeds only what is missing."""

import signal
import subprocess
import sys
from pathlib import Path

import recollect

COUNT = 700
CHILD = """
import sys, time
import recollect
db = recollect.open(sys.argv[1], model="hashing")
def report(done, total, what):
    print(done, flush=True)
    time.sleep(0.2)
db.embed(report)
"""


def test_killed_in_the_middle_of_embedding_the_text_is_there_and_only_the_rest_is_embedded(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with recollect.open(path, model="hashing") as db:
        db.add_all([recollect.Memory(content=f"memory number {n} about topic{n}") for n in range(COUNT)], embed=False)

    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert child.stdout is not None
    first = int(child.stdout.readline())
    child.send_signal(signal.SIGKILL)
    child.wait()

    with recollect.open(path, model="hashing") as db:
        found = db.search("topic699", mode="keyword")
        degraded = db.search("topic699").degraded
        fingerprint = db.models.required().fingerprint
        missing = len(db.store.pending(fingerprint, after=0, limit=COUNT))
        embedded = db.embed()

        assert found.hits[0].memory.content == "memory number 699 about topic699"
        assert degraded == "vectors_pending"
        assert 0 < missing <= COUNT - first
        assert embedded == missing
        assert db.doctor().problems == ()
        assert db.search("topic699").degraded is None
