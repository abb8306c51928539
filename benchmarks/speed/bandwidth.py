"""Section bandwidth: how fast one core reads memory, which is the roof of every scan."""

import json
import os
import sys

from benchmarks.common import run
from benchmarks.speed.results import Result
from benchmarks.speed.worker import ONE_THREAD

CODE = """
import json, time
import numpy as np
numbers = np.ones(64_000_000, dtype=np.float32)
best = float("inf")
for _ in range(9):
    started = time.perf_counter()
    np.dot(numbers, numbers)
    best = min(best, time.perf_counter() - started)
# A dot product of an array with itself reads it once.
print(json.dumps(numbers.nbytes / best / 1e9))
"""


def bandwidth() -> list[Result]:
    """Return the gigabytes a second that one thread reads."""
    ran = run([sys.executable, "-c", CODE], environment={**os.environ, **ONE_THREAD})
    return [Result(section="bandwidth", row="GB/s", engine="NumPy", value=json.loads(ran.output))]
