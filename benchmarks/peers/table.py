"""What everyone found, as one page: quality, how far apart and how surely, time, versions, and how each was used."""

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from peers.kept import Ranked, Timed
from recollect.evaluate.compare import Interval, bootstrap
from recollect.evaluate.datasets import Judgements, split_of
from recollect.evaluate.measures import MEASURES, mean, score

OUR_ROW = "recollect, hybrid"
SHOWN = ("ndcg@10", "recall@10")
NONE = "-"

INTRODUCTION = """# Peers on the same work

Written by `make bench-peers` (`benchmarks/peers.py`). Every tool gets the same texts (title, new line, body), the same
questions and, where it takes vectors, the same vectors: MiniLM in fp32, for a document of several passages that of the
first (256 pieces). Each is asked for 100 hits and runs in a process of its own, on one core with one thread. recollect
imports the sets as a user would: turns come with their session, their neighbours and their date, which the other tools
have no place for, and long documents with a vector for each passage. *test* are the questions whose id has an odd
CRC-32, *all* are both halves; of the Chinese and the Japanese set the first 400. nDCG with linear gains.
"""

USED = """## How each was used

Defaults, unless said. `locomo` is searched within the conversation of the question.

| row | how | conversation |
|---|---|---|
| recollect, keyword / semantic / hybrid | default profile, SQLite store, 100 hits | scope |
| profile …, hybrid | the profile of that seed, same store | scope |
| FTS5 | `porter unicode61`, OR of the distinct words, `bm25()`; `trigram` for Chinese and Japanese | column, filtered |
| FTS5 + sqlite-vec, RRF 60 | the row above and `vec0`, first 100 of each, reciprocal rank fusion | partition key too |
| lancedb, RRF | native full-text index, exact vectors, `RRFReranker()`; bigrams for Chinese and Japanese | prefilter |
| lancedb, linear .7/.3 | the same with `LinearCombinationReranker()` | prefilter |
| txtai, hybrid | `hybrid=True`, vectors from outside, exact; bigrams for Chinese and Japanese | an index each |
| bm25s | k1 1.5, b .75, Snowball, English stop words; bigrams for Chinese and Japanese | mask |
| chromadb, vectors | default HNSW; a local Chroma ranks by vectors only | `where` filter |
| MiniLM, cosine | NumPy, exact | rows of the conversation |

Where a default loses, the better documented setting was taken: txtai's own choice above 5,000 documents is an index by
clusters, with which its hybrid falls from .711 to .643 on scifact; and no default but txtai's tells words apart in
Chinese and Japanese (lancedb's gives its hybrid .298 instead of .624 on the first 100 questions in Chinese).

The vector of a question is at hand for everyone, so its embedding is in no figure. recollect answers with whole
memories, the reasons for their place and an outcome; the others with ids.
"""


@dataclass(frozen=True)
class Outcome:
    """What everyone found on one set."""

    name: str
    documents: int
    judgements: Judgements
    ranked: Mapping[str, Ranked]
    timed: Timed | None

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
        """Row -> measure -> query -> value."""
        measures = {name: MEASURES[name] for name in SHOWN}
        return {
            row: score(found, self.judgements, measures=measures)
            for ranked in self.ranked.values()
            for row, found in ranked.rankings.items()
        }

    def mean(self, row: str, measure: str, half: str) -> float | None:
        """Return the mean of *measure* over one half of the questions, or all."""
        if row not in self.scores:
            return None
        values = self.scores[row][measure]
        return mean(value for query, value in values.items() if half in ("all", split_of(query)))

    def lead(self, row: str, half: str) -> tuple[float, Interval] | None:
        """Return how far our hybrid stands above *row* in nDCG@10, with the 95% interval of a paired bootstrap."""
        if row not in self.scores or OUR_ROW not in self.scores:
            return None
        ours, theirs = self.scores[OUR_ROW]["ndcg@10"], self.scores[row]["ndcg@10"]
        gaps = [ours[query] - theirs[query] for query in sorted(ours) if half in ("all", split_of(query))]
        return mean(gaps), bootstrap([gaps])


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    """Return the page."""
    rows = list(dict.fromkeys(row for outcome in outcomes for row in outcome.scores))
    rivals = [row for row in rows if row != OUR_ROW]
    parts = (
        INTRODUCTION,
        _sets(outcomes),
        "## nDCG@10, test / all\n\n" + _quality(outcomes, rows, "ndcg@10"),
        "## recall@10, test / all\n\n" + _quality(outcomes, rows, "recall@10"),
        _leads(outcomes, rivals),
        _times(outcomes),
        USED,
        _facts(outcomes),
    )
    return "\n".join(filter(None, parts))


def _sets(outcomes: Sequence[Outcome]) -> str:
    return _grid(
        ["set", "documents", "questions", "of them test"],
        (
            [
                outcome.name,
                f"{outcome.documents:,}",
                f"{len(outcome.judgements):,}",
                f"{sum(split_of(query) == 'test' for query in outcome.judgements):,}",
            ]
            for outcome in outcomes
        ),
    )


def _quality(outcomes: Sequence[Outcome], rows: Sequence[str], measure: str) -> str:
    """Return rows x sets; the best of a set on test is bold."""
    best = {
        outcome.name: max(filter(None, (outcome.mean(row, measure, "test") for row in rows)), default=0.0)
        for outcome in outcomes
    }

    def cell(outcome: Outcome, row: str) -> str:
        test, every = outcome.mean(row, measure, "test"), outcome.mean(row, measure, "all")
        if test is None or every is None:
            return NONE
        shown = f"**{_three(test)}**" if test == best[outcome.name] else _three(test)
        return f"{shown} / {_three(every)}"

    return _by_set(outcomes, rows, cell)


def _leads(outcomes: Sequence[Outcome], rivals: Sequence[str]) -> str:
    """Return how far our hybrid is ahead of each row, and where it is not."""
    halves = ("test", "all")
    leads = {
        (row, outcome.name, half): lead
        for row in rivals
        for outcome in outcomes
        for half in halves
        if (lead := outcome.lead(row, half)) is not None
    }
    if not leads:
        return ""

    def cell(outcome: Outcome, row: str) -> str:
        lead = leads.get((row, outcome.name, "test"))
        return NONE if lead is None else _signed(*lead)

    behind = "; ".join(
        f"{row} on {name} ({half}) {_signed(gap, interval)}"
        for (row, name, half), (gap, interval) in leads.items()
        if gap < 0
    )
    return (
        f"## {OUR_ROW} minus the row, nDCG@10 on test\n\n"
        "95% intervals of a paired bootstrap over questions (10,000 resamples).\n\n"
        + _by_set(outcomes, rivals, cell)
        + f"\n{OUR_ROW} stands below: {behind or 'none of them on any set'}.\n"
    )


def _times(outcomes: Sequence[Outcome]) -> str:
    """Return how long everyone took, side by side."""
    timed = [outcome for outcome in outcomes if outcome.timed is not None]
    if not timed:
        return ""
    turns = sorted({outcome.timed.turns for outcome in timed if outcome.timed})
    rows = list(dict.fromkeys(row for outcome in timed if outcome.timed for row in outcome.timed.milliseconds))
    tools = list(dict.fromkeys(tool for outcome in timed if outcome.timed for tool in outcome.timed.seconds))

    def took(outcome: Outcome, row: str) -> str:
        found = outcome.timed.milliseconds.get(row) if outcome.timed else None
        return NONE if found is None else f"{found:.2f}" if found < 10 else f"{found:.1f}"

    def indexed(outcome: Outcome, tool: str) -> str:
        found = outcome.timed.seconds.get(tool) if outcome.timed else None
        return NONE if found is None else f"{found:.1f}"

    return (
        "## A question, median in ms\n\n"
        f"{' or '.join(map(str, turns))} questions of each set, everyone in turn in one run.\n\n"
        + _by_set(timed, rows, took)
        + "\n## Indexing a set, in seconds\n\nEmbedding apart; FTS5 and sqlite-vec together.\n\n"
        + _by_set(timed, tools, indexed)
    )


def _facts(outcomes: Sequence[Outcome]) -> str:
    versions = sorted({ranked.version for each in outcomes for ranked in each.ranked.values() if ranked.version})
    failed = sorted(
        {
            f"{tool} on {each.name}: {ranked.failed}"
            for each in outcomes
            for tool, ranked in each.ranked.items()
            if ranked.failed
        }
    )
    lines = (
        f"- Versions: {', '.join(versions)}.",
        f"- Machine: {_machine()}.",
        *(f"- Did not run: {reason}" for reason in failed),
    )
    return "## Versions and machine\n\n" + "\n".join(lines) + "\n"


def _machine() -> str:
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.is_file() else []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    cpu = next(names, platform.processor() or platform.machine())
    return f"{cpu}, {os.cpu_count()} cores (one used), {platform.system()}, Python {platform.python_version()}"


def _by_set(outcomes: Sequence[Outcome], rows: Iterable[str], cell: Callable[[Outcome, str], str]) -> str:
    return _grid(
        ["", *(outcome.name for outcome in outcomes)],
        ([row, *(cell(outcome, row) for outcome in outcomes)] for row in rows),
    )


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _signed(gap: float, interval: Interval) -> str:
    """Return "+.123 [+.100, +.146]"; what is surely below 0 is bold."""
    text = f"{_plus(gap)} [{_plus(interval.low)}, {_plus(interval.high)}]"
    return f"**{text}**" if interval.high < 0 else text


def _plus(number: float) -> str:
    return f"{number:+.3f}".replace("0.", ".", 1)


def _three(number: float) -> str:
    return f"{number:.3f}".removeprefix("0")
