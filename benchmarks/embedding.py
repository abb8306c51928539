"""Measure the embedder: texts a second beside the bare runtime, time to the first vector, memory over many texts.

The bare runtime is an onnxruntime session with as many threads that is handed the same batches as finished arrays.
Both take many short turns in one process; the share is the median over the turns of the two times of a turn, so that
what else the machine does in the meantime weighs little.
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from common import ROOT, made_up_texts, median, print_table, run, verdict, watched
from recollect.embedders.install import install
from recollect.embedders.models import load
from recollect.embedders.onnx import MOST_TEXTS, ROOM
from recollect.embedders.passages import batches

SHARE, MEMORY, GROWTH = 0.9, 600, 1.1
"""Marks: of the bare runtime's speed; megabytes at most; the last sample over the one after a fifth of the way."""

Batch = dict[str, np.ndarray]


# --- speed ----------------------------------------------------------------------------------


def texts_of(pieces: int, count: int, tokenizer: Tokenizer, *, seed: int) -> list[str]:
    """Return *count* texts of about *pieces* word pieces, a fifth more or less."""
    chance = random.Random(seed)
    found = []
    for text in made_up_texts(count, words=pieces + 20, seed=seed):
        wanted = min(256, round(pieces * chance.uniform(0.8, 1.2))) - 2
        offsets = tokenizer.encode(text, add_special_tokens=False).offsets
        found.append(text[: offsets[min(wanted, len(offsets)) - 1][1]])
    return found


def finished(texts: Sequence[str], tokenizer: Tokenizer) -> list[Batch]:
    """Return the batches our embedder makes of *texts*, as arrays that only have to be run."""
    rows = [tokenizer.encode(text).ids[:256] for text in texts]
    made = []
    for group in batches([len(row) for row in rows], room=ROOM, most=MOST_TEXTS):
        ids = np.zeros((len(group), max(len(rows[at]) for at in group)), dtype=np.int64)
        mask = np.zeros_like(ids)
        for line, at in enumerate(group):
            ids[line, : len(rows[at])], mask[line, : len(rows[at])] = rows[at], 1
        made.append({"input_ids": ids, "attention_mask": mask})
    return made


def bare_session(graph: Path, threads: int) -> onnxruntime.InferenceSession:
    """Return a session with the runtime's own defaults, but for the threads: as many as ours, and not spinning.

    Spinning makes batches no faster on a quiet machine, and on any machine it goes on into the next one's turn.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(graph), options)


def compare(pieces: int, *, count: int, turns: int, threads: int, folder: Path) -> dict[str, str]:
    """Take turns with the bare runtime over the same texts and return a row of the table."""
    tokenizer = Tokenizer.from_file(str(folder / "minilm" / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    texts = texts_of(pieces, count, tokenizer, seed=pieces)
    made = finished(texts, tokenizer)
    ours, bare = load("minilm", folder, threads=threads), bare_session(folder / "minilm" / "model.onnx", threads)
    took = turns_of(
        {"ours": lambda: ours.embed_passages(texts), "bare": lambda: run_all(bare, made)},
        turns,
        what=f"{pieces} pieces, turn",
    )
    shares = sorted(bare / ours for bare, ours in zip(took["bare"], took["ours"], strict=True))
    return {
        "pieces": f"{pieces}",
        "recollect texts/s": f"{count / median(took['ours']):.1f}",
        "bare onnxruntime": f"{count / median(took['bare']):.1f}",
        "share": f"{median(shares):.2f}",
        "half of the turns": f"{shares[turns // 4]:.2f} to {shares[-1 - turns // 4]:.2f}",
        "": verdict(held=median(shares) >= SHARE),
    }


def turns_of(runners: Mapping[str, Callable[[], object]], turns: int, *, what: str) -> dict[str, list[float]]:
    """Return the seconds each runner took in each turn; chance says who begins a turn."""
    chance = random.Random(5)
    took: dict[str, list[float]] = {name: [] for name in runners}
    for turn in watched(range(turns + 1), of=turns + 1, what=what):
        for name in chance.sample(sorted(runners), len(runners)):
            started = time.perf_counter()
            runners[name]()
            if turn:  # the first turn warms up
                took[name].append(time.perf_counter() - started)
    return took


def run_all(session: onnxruntime.InferenceSession, made: Sequence[Batch]) -> None:
    for batch in made:
        session.run(None, batch)


# --- loading and memory, each in a process of its own ----------------------------------------

COLD = """
import json, sys, time
started = time.perf_counter()
from pathlib import Path
from recollect.embedders.models import load
embedder = load("minilm", Path(sys.argv[1]), threads=int(sys.argv[2]))
loaded = time.perf_counter()
embedder.embed_queries(["how do we ship?"])
first = time.perf_counter()
for _ in range(20):
    embedder.embed_queries(["where does the log of the night watch go?"])
print(json.dumps([loaded - started, first - started, (time.perf_counter() - first) / 20]))
"""

MANY = """
import json, re, resource, sys
from pathlib import Path
from recollect.embedders.models import load

def held():
    # Not ru_maxrss where it can be helped: a child inherits there what its parent held.
    if Path("/proc/self/status").exists():
        status = Path("/proc/self/status").read_text()
        return [int(re.search(f"{name}:\\s*(\\d+)", status)[1]) / 1024 for name in ("VmRSS", "VmHWM")]
    return [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2] * 2

texts = json.loads(Path(sys.argv[3]).read_text("utf-8"))
embedder = load("minilm", Path(sys.argv[1]), threads=int(sys.argv[2]))
samples = []
for start in range(0, len(texts), 128):
    embedder.embed_passages(texts[start : start + 128])
    samples.append(held())
print(json.dumps(samples))
"""


def cold(folder: Path, threads: int, times: int) -> None:
    command = [sys.executable, "-c", COLD, str(folder), str(threads)]
    ran = [json.loads(run(command).output) for _ in watched(range(times), of=times, what="cold start")]
    loaded, first, query = (median(each[at] for each in ran) for at in range(3))
    print(f"\ncold: libraries and model loaded after {loaded:.2f} s, first vector after {first:.2f} s")
    print(f"warm: a short query takes {query * 1000:.1f} ms")


def memory(folder: Path, threads: int, count: int, scratch: Path) -> None:
    """Embed *count* texts of mixed length and say how much memory the process held."""
    chance = random.Random(11)
    texts = [text[: round(20 * 50 ** chance.random())] for text in made_up_texts(count, words=160, seed=11)]
    scratch.write_text(json.dumps(texts), "utf-8")
    ran = run([sys.executable, "-c", MANY, str(folder), str(threads), str(scratch)])
    scratch.unlink()
    samples = json.loads(ran.output)
    (early, _), (last, most) = samples[len(samples) // 5], samples[-1]
    print(
        f"\nmemory over {count:,} texts of {min(map(len, texts))} to {max(map(len, texts)):,} characters"
        f" ({count / ran.seconds:.0f} texts/s): {early:.0f} MB after a fifth, {last:.0f} MB at the end,"
        f" {most:.0f} MB at most"
    )
    print(f"under {MEMORY} MB: {verdict(held=most < MEMORY)}; flat: {verdict(held=last <= early * GROWTH)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few texts and turns")
    parser.add_argument("--threads", type=int, default=min(os.cpu_count() or 1, 4))
    options = parser.parse_args()
    turns, many = (15, 500) if options.quick else (60, 10_000)
    folder = Path(os.environ.get("RECOLLECT_MODELS") or ROOT / ".models")
    install("minilm", folder)
    print(f"all-MiniLM-L6-v2, float32, {options.threads} threads, median of {turns} turns\n")
    print_table(
        [
            compare(pieces, count=count, turns=turns, threads=options.threads, folder=folder)
            for pieces, count in ((30, 64), (128, 16), (256, 8))
        ]
    )
    cold(folder, options.threads, 5)
    memory(folder, options.threads, many, folder / ".benchmark.json")


if __name__ == "__main__":
    main()
