"""What the recall log costs a search: with a session against without, in one run, alternating.

usage: python benchmarks/recall_log.py [--memories 5000] [--rounds 400]
"""

import argparse
import random
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import recollect

STEMS = ("deploy", "cache", "queue", "retry", "index", "token", "shard", "build")
WORDS = [f"{stem}{number}" for stem in STEMS for number in range(60)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=400)
    given = parser.parse_args()
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as folder, recollect.open(Path(folder) / "log.db", model="none") as db:
        texts = (f"Owner{n}: {' '.join(chance.choices(WORDS, k=30))}" for n in range(given.memories))
        db.add_all([recollect.Memory(content=text) for text in texts])
        plain, logged = [], []
        for number in range(given.rounds):
            query = " ".join(chance.choices(WORDS, k=4))
            sides = [(plain, None), (logged, "bench")]
            for times, session in sides if number % 2 else reversed(sides):
                started = perf_counter()
                db.search(query, session=session)
                times.append(perf_counter() - started)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{number + 1}/{given.rounds}")
        without, with_log = statistics.median(plain) * 1000, statistics.median(logged) * 1000
        ratio = with_log / without
        print(f"without a session {without:.2f} ms, with one {with_log:.2f} ms: {ratio:.2f}x (at most 1.10x)")


if __name__ == "__main__":
    main()
