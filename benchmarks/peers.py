"""Peers on the same work: the same texts, vectors and questions, on one core, each tool in a process of its own.

usage: make bench-peers, or python benchmarks/peers.py [--sets locomo,scifact] [--only recollect] [--fresh]
Rankings are kept in build/peers/runs and asked for again only with --fresh, or with --only for the tools it names.
Whenever something was ranked anew, everyone is timed again, in turns: figures from different runs are not compared.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from common import DATA, cached_embedder, median, stay_on_one_core, watched
from peers.kept import Kept, Ranked, Timed
from peers.material import Material, Question, Text, save
from peers.table import Outcome, as_markdown
from peers.worker import HOME, PYTHON, TOOLS, ToolFailed, Worker
from recollect.embedders.contract import Embedder
from recollect.evaluate.datasets import Dataset, EvalQuery, as_memories, read_dataset

SETS = ("locomo", "scifact", "cranfield", "code_cosqa", "zh_cmrc2018", "ja_jsquad", "locomo_typo", "scifact_typo")
MOST_CJK = 400
"""So many questions are asked in Chinese and in Japanese."""
SHORT = 200
"""So many characters are one passage."""
TURNS = 100
"""So many questions of each set are timed."""

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


def main() -> None:
    """Rank and time what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--only", default="", help=f"rank anew, and only these: {','.join(TOOLS)}")
    parser.add_argument("--fresh", action="store_true", help="rank anew")
    parser.add_argument("--table", action="store_true", help="ask no one, only write the table of what is kept")
    parser.add_argument("--turns", type=int, default=TURNS, help="questions of a set to time everyone by; 0 for none")
    parser.add_argument("--most", type=int, default=0, help="at most so many questions of a set, to try it out")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of judged collections")
    parser.add_argument("--output", type=Path, help="where to write the table; printed when not given")
    given = parser.parse_args()
    if not PYTHON.exists():
        sys.exit("the peers are not installed: run `make bench-peers`")
    stay_on_one_core()
    embedder = cached_embedder()
    try:
        outcomes = [one_set(name, embedder, given) for name in given.sets.split(",")]
    except ToolFailed as reason:
        sys.exit(f"a tool ended amid its questions: {reason}")
    text = as_markdown(outcomes)
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    else:
        print(text)


def one_set(name: str, embedder: Embedder, given: argparse.Namespace) -> Outcome:
    """Return what everyone found on the set *name*, asking those who have to be asked."""
    dataset = read_dataset(given.data / name)
    cjk = unspaced(dataset)
    judged = [query for query in dataset.queries if query.id in dataset.judgements]
    queries = judged[: given.most or (MOST_CJK if cjk else None)]
    kept = Kept(HOME / (f"runs-{given.most}" if given.most else "runs") / name)
    asked = whom_to_ask(given, kept.missing(TOOLS, sha256=dataset.sha256, queries=len(queries)))
    timing = given.turns > 0 and not given.table and (asked or kept.read_timed() is None)
    if asked or timing:
        material = gather(dataset, queries, embedder, source=given.data / name, cjk=cjk)
        with at_work(material, TOOLS if timing else asked, name) as (workers, failed):
            for tool, ranked in rank(workers, failed, asked, dataset, queries).items():
                kept.write(tool, ranked)
            if timing:
                kept.write_timed(time_all(workers, len(queries), given.turns, name))
    ranked = {tool: found for tool in TOOLS if (found := kept.read(tool)) is not None}
    return Outcome(
        name=name,
        documents=len(dataset.documents),
        judgements={query.id: dataset.judgements[query.id] for query in queries},
        ranked=ranked,
        timed=kept.read_timed(),
    )


def whom_to_ask(given: argparse.Namespace, missing: Sequence[str]) -> Sequence[str]:
    """Return the tools whose rankings are wanted anew, or are *missing*."""
    if given.table:
        return ()
    only = tuple(filter(None, given.only.split(",")))
    return only or (TOOLS if given.fresh else missing)


def unspaced(dataset: Dataset) -> bool:
    """Say whether the texts are in a script that does not set words apart."""
    letters = "".join(document.text for document in dataset.documents[:200])
    return 2 * len(_CJK.findall(letters)) > len(letters)


def gather(dataset: Dataset, queries: Sequence[EvalQuery], embedder: Embedder, *, source: Path, cjk: bool) -> Material:
    """Return the set as every tool gets it: a document's vector is that of its first passage."""
    groups = {document.id: document.group or "" for document in dataset.documents}
    memories = as_memories(dataset)
    texts = [memory.heading + memory.content for memory in memories]
    firsts = [text if len(text) <= SHORT else text[: embedder.passages(text)[0][1]] for text in texts]
    asked = embedder.embed_queries([query.text for query in queries])
    return Material(
        source=str(source),
        cjk=cjk,
        documents=tuple(
            Text(id=memory.external_id or "", text=text, group=groups[memory.external_id or ""])
            for memory, text in zip(memories, texts, strict=True)
        ),
        vectors=np.array(embedder.embed_passages(firsts), dtype=np.float32),
        questions=tuple(
            Question(id=query.id, text=query.text, group=query.group or "", vector=np.array(vector, dtype=np.float32))
            for query, vector in zip(queries, asked, strict=True)
        ),
    )


@contextmanager
def at_work(
    material: Material, tools: Sequence[str], name: str
) -> Iterator[tuple[Mapping[str, Worker], Mapping[str, str]]]:
    """Yield *tools* as processes that have indexed *material*, one after the other, and why some could not."""
    workers: dict[str, Worker] = {}
    failed: dict[str, str] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()), name)
        save(material, folder)
        for tool in watched(tools, of=len(tools), what=f"{name}: indexing"):
            try:
                workers[tool] = stack.enter_context(Worker(tool, folder))
            except ToolFailed as reason:
                failed[tool] = str(reason)
        yield workers, failed


def rank(
    workers: Mapping[str, Worker],
    failed: Mapping[str, str],
    asked: Sequence[str],
    dataset: Dataset,
    queries: Sequence[EvalQuery],
) -> Mapping[str, Ranked]:
    """Put every question to each tool that is *asked*."""
    able = [workers[tool] for tool in asked if tool in workers]
    found = {worker.tool: {row: {} for row in worker.rows} for worker in able}
    for number, query in enumerate(watched(queries, of=len(queries), what=f"{dataset.name}: ranking")):
        for worker in able:
            for row in worker.rows:
                found[worker.tool][row][query.id] = worker.ask(row, number).ids
    known = {"sha256": dataset.sha256, "queries": len(queries)}
    return {
        **{worker.tool: Ranked(version=worker.version, rankings=found[worker.tool], **known) for worker in able},
        **{tool: Ranked(failed=reason, **known) for tool, reason in failed.items() if tool in asked},
    }


def time_all(workers: Mapping[str, Worker], questions: int, turns: int, name: str) -> Timed:
    """Ask *turns* questions spread over the set, everyone in turn, each time beginning with another one."""
    everyone = [(worker, row) for worker in workers.values() for row in worker.rows]
    took: dict[str, list[float]] = {row: [] for _, row in everyone}
    turns = min(turns, questions)
    numbers = [turn * questions // turns for turn in range(turns)]
    for turn, number in enumerate(watched(numbers, of=len(numbers), what=f"{name}: timing")):
        first = turn % len(everyone)
        for worker, row in (*everyone[first:], *everyone[:first]):
            took[row].append(worker.ask(row, number).milliseconds)
    return Timed(
        turns=turns,
        milliseconds={row: median(values) for row, values in took.items()},
        seconds={tool: worker.seconds for tool, worker in workers.items()},
    )


if __name__ == "__main__":
    main()
