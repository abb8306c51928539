"""What everyone is measured on: texts, vectors and questions in a folder, the same for every tool.

usage: python -m benchmarks.speed.material TEXT SIZE FOLDER
A process of its own makes them, so that the one that measures stays small. Vectors are MiniLM's, of a sample of real
texts; beyond the sample they are jittered copies. The words of a text and its vector have nothing to do with each
other: nobody's speed depends on that.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import DATA, ROOT, cached_embedder, made_up_texts

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float32]]

HOME = ROOT / "build" / "speed"
SAMPLE = 12_288
"""How many real texts are embedded."""
WIDTH = 384
JITTER = 0.02
"""How far a copy of a vector is moved along each axis; a vector has length one."""
QUESTIONS = 240
WORDS = 8
SETS = ("locomo", "code_cosqa", "cranfield", "scifact")
ABSTRACTS = "scifact"
PIECE = 50_000
"""How many copies are made at a time."""
_WORD = re.compile(r"[a-z]{3,}")
_STOP_WORDS = """about after all also and any are because been but can could did does each for from had has have her him
his how its into just like may more most not now one only other our out over said same she should some such than that
the their them then there these they this those through too under use used was were what when where which while who why
will with would you your package packages provides contains using"""
_STOP = frozenset(_STOP_WORDS.split())


def folder_of(text: str, size: int) -> Path:
    """Return where the material of this *text* and *size* lies, made first where it is missing."""
    folder = HOME / f"{text}-{size}"
    if not (folder / "questions.json").exists():
        subprocess.run(
            [sys.executable, "-m", "benchmarks.speed.material", text, str(size), str(folder)],
            cwd=ROOT,
            env={**os.environ, "RECOLLECT_MODELS": os.environ.get("RECOLLECT_MODELS") or str(ROOT / ".models")},
            check=True,
        )
    return folder


def read_texts(folder: Path) -> Iterator[str]:
    """Yield the texts in order."""
    with (folder / "texts.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["content"]


def read_questions(folder: Path) -> list[str]:
    """Return the questions: eight words each."""
    found: list[str] = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    return found


def read_vectors(folder: Path, name: str = "vectors") -> "Array":
    """Return the *vectors* of the texts, or those of the "questions", mapped."""
    import numpy as np  # noqa: PLC0415 - the process that measures others has no need of it

    mapped: Array = np.load(folder / f"{name}.npy", mmap_mode="r")
    return mapped


# --- texts ----------------------------------------------------------------------------------


def zipf(size: int) -> list[str]:
    """Return made-up texts of about 40 words without function words: the frequent ones are asked for as well."""
    return made_up_texts(size, function_words=False)


def notes(size: int) -> list[str]:
    """Return made-up texts of about 40 words, function words among them."""
    return made_up_texts(size)


def debian(size: int) -> list[str]:
    """Return what Debian says of its packages: name, description, section and tags."""
    if shutil.which("apt-cache") is None:
        return []
    done = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)  # noqa: S607
    return [_described(block) for block in done.stdout.split("\n\n")[:size] if block.strip()]


def _described(block: str) -> str:
    fields = dict(re.findall(r"^(\w[\w-]*): (.*(?:\n .*)*)", block, flags=re.MULTILINE))
    told = (fields.get(name, "") for name in ("Package", "Description", "Section", "Tag"))
    return ". ".join(" ".join(each.split()) for each in told if each)


def judged(size: int) -> list[str]:
    """Return the documents of the judged sets in English."""
    return list(_documents(SETS))[:size]


def _documents(sets: Iterable[str]) -> Iterator[str]:
    for name in sets:
        for path in sorted((DATA / name).glob("corpus*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                yield "\n".join(filter(None, (record.get("title"), record.get("text") or record.get("content"))))


def abstracts(size: int) -> list[str]:
    """Return abstracts of papers, about 200 words each."""
    return list(_documents((ABSTRACTS,)))[:size]


TEXTS: dict[str, Callable[[int], list[str]]] = {
    "zipf": zipf,
    "notes": notes,
    "debian": debian,
    "sets": judged,
    "abstracts": abstracts,
}


def questions_of(texts: Sequence[str], *, seed: int = 11) -> list[str]:
    """Return questions of eight different words, each question from one or more of *texts*, with no stop words."""
    chance = random.Random(seed)
    found = []
    for _ in range(QUESTIONS):
        words: dict[str, None] = {}
        while len(words) < WORDS:
            held = [word for word in _WORD.findall(chance.choice(texts).lower()) if word not in _STOP]
            words.update(dict.fromkeys(chance.sample(held, min(len(held), WORDS - len(words)))))
        found.append(" ".join(words))
    return found


# --- vectors --------------------------------------------------------------------------------


def sample() -> tuple["Array", "Array"]:
    """Return the vectors of real texts and of real questions, embedded once and kept."""
    import numpy as np  # noqa: PLC0415

    kept = HOME / "sample.npz"
    if not kept.exists():
        if not (DATA / SETS[0]).is_dir():
            sys.exit("the judged sets are not beside the repository, in ../shared/data: there are no texts to embed")
        embedder = cached_embedder()
        texts = [text[:300] for text in _documents(SETS) if text.strip()][:SAMPLE]
        asked = [json.loads(line)["text"] for name in SETS for line in _queries(name)]
        chosen = random.Random(3).sample(asked, QUESTIONS)
        HOME.mkdir(parents=True, exist_ok=True)
        np.savez(
            kept,
            texts=np.array(embedder.embed_passages(texts), dtype=np.float32),
            questions=np.array(embedder.embed_queries(chosen), dtype=np.float32),
        )
    with np.load(kept) as found:
        return found["texts"], found["questions"]


def _queries(name: str) -> list[str]:
    return (DATA / name / "queries.jsonl").read_text(encoding="utf-8").splitlines()


def write_vectors(path: Path, size: int) -> None:
    """Write *size* vectors: the sample, then copies of it that are moved a little."""
    import numpy as np  # noqa: PLC0415

    texts, _ = sample()
    chance = np.random.default_rng(5)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(size, WIDTH))
    for start in range(0, size, PIECE):
        rows = np.arange(start, min(size, start + PIECE))
        piece = texts[rows % len(texts)].copy()
        copies = rows >= len(texts)
        piece[copies] += chance.normal(0, JITTER, (int(copies.sum()), WIDTH)).astype(np.float32)
        out[rows] = piece / np.linalg.norm(piece, axis=1, keepdims=True)
    out.flush()


def make(text: str, size: int, folder: Path) -> None:
    """Write the material into *folder*; the questions last, so that what is cut short is made again."""
    import numpy as np  # noqa: PLC0415

    texts = TEXTS[text](size)
    if not texts:
        sys.exit(f"there are no texts of {text} on this machine")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as out:
        out.writelines(json.dumps({"id": f"d-{at}", "content": each}) + "\n" for at, each in enumerate(texts))
    write_vectors(folder / "vectors.npy", len(texts))
    np.save(folder / "questions.npy", sample()[1])
    (folder / "questions.json").write_text(json.dumps(questions_of(texts)), encoding="utf-8")


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
