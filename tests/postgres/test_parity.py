"""PostgreSQL answers judged questions as SQLite does, to the last bit: by words, and by words and vectors."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from postgres_server import open_lent
from recollect.embedders.hashing import HashingEmbedder
from recollect.evaluate.corpus import Corpus, EvalResources, clock_of, imported, request_for
from recollect.evaluate.corpus import _import as write_into
from recollect.evaluate.datasets import EvalQuery, read_dataset, select
from recollect.profile import load_profile
from recollect.replies import Mode, Reply
from recollect.text.analyser import analyse

ASKED = 24
MODES: tuple[Mode, ...] = ("keyword", "hybrid")


@pytest.mark.parametrize("collection", ["everyday", "zh_cmrc2018"])
@pytest.mark.req("E-01")
def test_judged_questions_are_answered_by_both_alike_to_the_last_bit(collection: str, shared_data: Path) -> None:
    dataset = read_dataset(shared_data / collection)
    resources = EvalResources(embedder=HashingEmbedder(), model="hashing")
    dev = select(dataset.queries, "dev")
    asked = dev[:: max(1, len(dev) // ASKED)][:ASKED]
    server = open_lent(analyse)
    write_into(dataset, server, resources)

    def answered(corpus: Corpus, query: EvalQuery, mode: Mode) -> Reply:
        request = replace(request_for(query, mode), limit=10, snippets=True)
        reply = corpus.search(request, load_profile("default"), now=query.asked_at or clock_of(dataset))
        return replace(reply, timings_ms={}, version=0)

    with imported(dataset, resources) as file:
        both = (file, Corpus(store=server, resources=resources))
        answers = [[answered(each, query, mode) for each in both] for query in asked for mode in MODES]
    server.close()

    assert sum(bool(one.hits) for one, _ in answers) > ASKED
    assert [number for number, (one, other) in enumerate(answers) if one != other] == []
