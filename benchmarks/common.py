"""What the benchmarks share: tables, progress, made-up memories, commands run and measured as processes."""

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from recollect.embedders.cached import CachedEmbedder

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
"""The judged collections, which lie beside the repository."""

Item = TypeVar("Item")


def cached_embedder(model: str = "minilm") -> "CachedEmbedder":
    """Return the embedder *model* with its vectors kept in build/vectors from one run to the next."""
    # A benchmark that measures the memory of processes must hold little itself.
    from recollect.embedders.cached import CachedEmbedder  # noqa: PLC0415
    from recollect.embedders.models import load  # noqa: PLC0415
    from recollect.evaluate.cache import DiskCachedEmbedder  # noqa: PLC0415
    from recollect.settings import models_folder, read_settings  # noqa: PLC0415

    return CachedEmbedder(DiskCachedEmbedder(load(model, models_folder(read_settings())), ROOT / "build" / "vectors"))


# --- what a reader sees ---------------------------------------------------------------------


def print_table(rows: Sequence[Mapping[str, str]]) -> None:
    """Print *rows* under the names of their columns, words to the left and figures to the right."""
    columns = list(rows[0])
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in columns}
    print("  ".join(_aligned(name, widths[name], rows[0][name]) for name in columns).rstrip())
    for row in rows:
        print("  ".join(_aligned(row[name], widths[name], row[name]) for name in columns).rstrip())


def _aligned(text: str, width: int, like: str) -> str:
    return text.rjust(width) if like[:1].isdigit() or like[:1] in ".+" else text.ljust(width)


def watched(items: Iterable[Item], *, of: int, what: str) -> Iterator[Item]:
    """Yield *items* and count them on the terminal, if there is one."""
    shown = sys.stderr.isatty()
    for number, item in enumerate(items, start=1):
        if shown:
            sys.stderr.write(f"\r\x1b[K{what} {number}/{of}")
            sys.stderr.flush()
        yield item
    if shown:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def verdict(*, held: bool) -> str:
    """Return one word for a mark that was reached or not."""
    return "PASS" if held else "MISS"


# --- made-up memories -----------------------------------------------------------------------

_CONSONANTS = (*"bcdfglmnprstv", "br", "ch", "dr", "gr", "pr", "st", "tr")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_ENDINGS = ("", "", "", "s", "ed", "ing", "er", "ly", "tion", "ment", "able", "ness")
_COMMON = """
the of and to in a is that for it was on are as with be at by this have from or had not but what all were when we
there can an your which their said if do will each about how up out them then she many some so these would other
"""


def vocabulary(size: int, *, seed: int, function_words: bool = True) -> list[str]:
    """Return *size* different words: real function words first, if wanted, then made-up ones with English endings."""
    chance = random.Random(seed)
    words = dict.fromkeys(_COMMON.split() if function_words else ())
    while len(words) < size:
        syllables = "".join(
            chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(chance.choice((1, 2, 2, 3)))
        )
        words[syllables + chance.choice(_CONSONANTS) + chance.choice(_ENDINGS)] = None
    return list(words)


def made_up_texts(count: int, *, words: int = 40, seed: int = 7, function_words: bool = True) -> list[str]:
    """Return *count* texts of about *words* words, which fall off in use as those of a language do (Zipf).

    A few texts hold what notes hold beside words: a path, a version, a date, an identifier.
    """
    chance = random.Random(seed)
    known = vocabulary(30_000, seed=seed, function_words=function_words)
    weights = list(_summed(1 / (rank + 2.7) for rank in range(1, len(known) + 1)))
    return [_text(chance, known, weights, chance.randint(words - 10, words + 10)) for _ in range(count)]


def _summed(values: Iterable[float]) -> Iterator[float]:
    total = 0.0
    for value in values:
        total += value
        yield total


def _text(chance: random.Random, known: Sequence[str], weights: Sequence[float], length: int) -> str:
    words = chance.choices(known, cum_weights=weights, k=length)
    if chance.random() < 0.3:
        words[chance.randrange(length)] = chance.choice(_THINGS)(chance, known)
    words[0] = words[0].capitalize()
    for place in range(9, length - 1, 11):
        words[place] += chance.choice((",", ".", ";"))
    return " ".join(words) + "."


_THINGS = (
    lambda chance, known: f"src/{chance.choice(known)}/{chance.choice(known)}.py",
    lambda chance, _: f"v{chance.randint(0, 9)}.{chance.randint(0, 20)}.{chance.randint(0, 40)}",
    lambda chance, _: f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
    lambda chance, known: f"{chance.choice(known)}_{chance.choice(known)}",
    lambda chance, _: str(chance.randint(2, 5000)),
)


# --- commands as processes ------------------------------------------------------------------


COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""Modules are compiled once and kept, as they are for every user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a command took: seconds on the clock, seconds of computing, the most memory it held.

    The system counts no less memory than the benchmark itself holds when it starts the command, some 30 MB.
    """

    seconds: float
    computed: float
    megabytes: float
    output: str


def run(command: Sequence[str], *, environment: Mapping[str, str] | None = None, accepted: Sequence[int] = (0,)) -> Ran:
    """Run *command* to its end and return what it took; one that fails ends the benchmark with its words."""
    started = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **COMPILED, **(environment or {})}
    ) as process:
        output = process.stdout.read().decode("utf-8", "replace") if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in accepted:
        sys.exit(f"{' '.join(command)} failed with {process.returncode}:\n{output}")
    return Ran(
        seconds=seconds,
        computed=usage.ru_utime + usage.ru_stime,
        megabytes=usage.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024),
        output=output,
    )


def recollect(*words: str) -> list[str]:
    """Return the command that runs `recollect` as its users do."""
    return [str(Path(sys.executable).with_name("recollect")), *words]


def stay_on_one_core() -> str:
    """Keep this process and those it starts on one core, where the system can; say what was done."""
    if not hasattr(os, "sched_setaffinity"):
        return "on any core"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return "on one core"


def median(values: Iterable[float]) -> float:
    """Return the middle of *values*."""
    return statistics.median(values)
