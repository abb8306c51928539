"""Slow cases and waits: what hostile queries and long memories cost, and how long a writer waits beside upkeep.

    python benchmarks/bounds.py [--memories 10000] [--part queries|long|waits]

Queries and long memories are counted in CPU seconds, waits by the clock. Queries are asked of 400 memories and of as
many as told; a long memory is of unique words. A writer adds short memories, one after another, while another process
runs `embed`, `consolidate` or `reindex` over the same file.
"""

import argparse
import bisect
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

import recollect
from recollect.records import Memory

LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOCABULARY = 20_000
LENGTH = 60
LARGE = 9_000_000
SECONDS = 12.0


def random_word(chance: random.Random, length: int = 8) -> str:
    """Return a word that hardly any text holds."""
    return "".join(chance.choices(LETTERS, k=length))


def texts(count: int) -> Iterator[str]:
    """Yield texts whose words are as frequent as words are."""
    chance = random.Random(1)
    vocabulary = [random_word(chance, chance.randrange(4, 11)) for _ in range(VOCABULARY)]
    shares = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    for _ in range(count):
        places = (bisect.bisect(shares, chance.random() * shares[-1]) for _ in range(LENGTH))
        yield " ".join(vocabulary[min(place, VOCABULARY - 1)] for place in places)


def queries(known: list[str]) -> dict[str, str]:
    """Return queries that ask for much, by what they ask."""
    chance = random.Random(2)
    return {
        "1,000 unknown words": " ".join(random_word(chance) for _ in range(1000)),
        "4,000 unknown words": " ".join(random_word(chance) for _ in range(4000)),
        "26 prefixes": " ".join(f"{letter}*" for letter in LETTERS),
        "676 prefixes": " ".join(f"{one}{other}*" for one in LETTERS for other in LETTERS),
        "26 prefixes joined by AND": " AND ".join(f"{letter}*" for letter in LETTERS),
        "1,000 words joined by OR": " OR ".join(known[:1000]),
        "4,000 known words": " ".join(known[:4000]),
        "1,000 exclusions": " ".join([known[0], *(f"-{word}" for word in known[:1000])]),
        "30 phrases of 100 words": " ".join(f'"{" ".join(known[at : at + 100])}"' for at in range(30)),
    }


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Return how long *work* takes by *clock*."""
    started = clock()
    work()
    return clock() - started


def time_queries(folder: Path, count: int) -> None:
    """Print what each query costs on a store of *count* memories."""
    held = list(texts(count))
    known = list(dict.fromkeys(word for text in held for word in text.split()))
    with recollect.open(folder / f"{count}.db", model="none") as db:
        db.add_all([Memory(content=text) for text in held])
        for name, query in queries(known).items():
            took = seconds(lambda asked=query: db.search(asked, mode="keyword"))  # type: ignore[misc]
            print(f"{name:28} {count:7,} memories {took:8.2f} s")


def time_long_memory(folder: Path) -> None:
    """Print what a long memory of unique words costs, and the next one that is nearly the same."""
    chance = random.Random(3)
    text = " ".join(random_word(chance) for _ in range(LARGE // 9))
    with recollect.open(folder / "long.db", model="none") as db:
        print(f"9 MB of unique words         {seconds(lambda: db.add(text)):8.2f} s")
        print(f"nearly the same once more    {seconds(lambda: db.add(text + ' again')):8.2f} s")


WORK: dict[str, Callable[[recollect.Recollection], object]] = {
    "nothing": lambda _: time.sleep(0.1),
    "embed": lambda db: db.embed(),
    "consolidate": lambda db: db.consolidate(apply=True, floor=0.5, limit=500),
    "reindex": lambda db: db.reindex(),
}


def work_beside(path: Path, verb: str, until: float) -> None:
    """Run *verb* over and over."""
    with recollect.open(path, model="hashing") as db:
        while time.time() < until:
            WORK[verb](db)


def longest_wait(path: Path, verb: str) -> tuple[float, int]:
    """Return how long the longest of many short writes beside *verb* took, and how many there were."""
    until, waits = time.time() + SECONDS, [0.0]
    other = multiprocessing.get_context("spawn").Process(target=work_beside, args=(path, verb, until))
    other.start()
    with recollect.open(path, model="none") as db:
        while time.time() < until:
            number = len(waits)
            text = f"{verb} note{number} of writer{number}"
            waits.append(seconds(lambda said=text: db.add(said), time.perf_counter))  # type: ignore[misc]
    other.join()
    return max(waits), len(waits) - 1


def time_waits(folder: Path, count: int) -> None:
    """Print how long a writer waits beside each verb, and how that compares with a writer that is alone."""
    path = folder / "waits.db"
    with recollect.open(path, model="hashing") as db:
        old = [Memory(content=text, confidence=0.1 + 0.8 * (at % 2)) for at, text in enumerate(texts(count))]
        db.add_all(old, embed=False)
    alone = 0.0
    for verb in WORK:
        wait, writes = longest_wait(path, verb)
        alone = alone or wait
        print(f"beside {verb:12} the longest of {writes:6,} writes {wait:7.3f} s, {wait / alone:6.1f} x alone")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--part", choices=("queries", "long", "waits"))
    given = parser.parse_args()
    count: int = given.memories
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.part in (None, "queries"):
            time_queries(folder, 400)
            time_queries(folder, count)
        if given.part in (None, "long"):
            time_long_memory(folder)
        if given.part in (None, "waits"):
            time_waits(folder, count)


if __name__ == "__main__":
    main()
