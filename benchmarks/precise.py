"""Only what answers: how precise a precise search is, and how often what answers is among what it shows, by cut.

usage: python benchmarks/precise.py [--set everyday] [--half test]
Precision is the share of what is shown that helps or answers, of each question with an answer, on average; recall is
the share of these questions for which something that answers is shown. The last columns tell what comes of it where
nothing is shown unless the outcome is "answered", as `inject` does; precision counts questions without an answer there.
"""

import argparse
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from msgspec.structs import replace

from common import DATA, cached_embedder, print_table
from recollect.evaluate.corpus import Corpus, EvalResources, clock_of, imported, request_for
from recollect.evaluate.datasets import Dataset, read_dataset
from recollect.profile import load_profile
from recollect.replies import Reply

CUTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
LIMIT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What one question got: how much was shown, how much of that is relevant, and whether it can be answered."""

    count: int
    relevant: int
    answerable: bool
    answered: bool

    @property
    def precision(self) -> float:
        """The share of what is shown that is relevant."""
        return self.relevant / self.count if self.count else 0.0


def ask_all(dataset: Dataset, corpus: Corpus, *, cut: float, dev: bool) -> list[Shown]:
    """Ask every question of one half, with this *cut*."""
    profile, clock = load_profile("default"), clock_of(dataset)
    assert profile.precise is not None  # noqa: S101
    sharp = replace(profile, precise=replace(profile.precise, cut=cut))
    found = []
    for query in dataset.queries:
        if (crc32(query.id.encode()) % 2 == 0) != dev:
            continue
        request = replace(request_for(query, "hybrid"), limit=LIMIT, precise=True)
        reply = corpus.search(request, sharp, now=query.asked_at or clock)
        found.append(_shown(reply, dataset.judgements.get(query.id, {})))
    return found


def _shown(reply: Reply, gains: Mapping[str, int]) -> Shown:
    return Shown(
        count=len(reply.hits),
        relevant=sum(gains.get(str(hit.memory.external_id), 0) > 0 for hit in reply.hits),
        answerable=any(gain > 0 for gain in gains.values()),
        answered=reply.outcome == "answered",
    )


def figures(found: Sequence[Shown]) -> dict[str, str]:
    """Return what comes of it, with and without showing anything where the outcome is not "answered"."""
    true = [each for each in found if each.answerable]
    told = [each for each in found if each.answered and each.count]
    return {
        "hits, median": f"{statistics.median(each.count for each in true):g}",
        "hits, mean": f"{statistics.mean(each.count for each in true):.1f}",
        "precision": f"{statistics.mean(each.precision for each in true):.3f}",
        "recall": f"{statistics.mean(each.relevant > 0 for each in true):.3f}",
        "precision, silent": f"{statistics.mean(each.precision for each in told):.3f}",
        "recall, silent": f"{statistics.mean(each.relevant > 0 and each.answered for each in true):.3f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="everyday")
    parser.add_argument("--half", choices=("dev", "test"), default="test")
    given = parser.parse_args()
    dataset = read_dataset(DATA / given.set)
    with imported(dataset, EvalResources(embedder=cached_embedder(), model="minilm")) as corpus:
        rows = [(cut, ask_all(dataset, corpus, cut=cut, dev=given.half == "dev")) for cut in CUTS]
    print_table([{"cut": f"{cut:.2f}", **figures(found)} for cut, found in rows])


if __name__ == "__main__":
    main()
