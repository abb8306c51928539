"""A set is imported and asked through the paths that every user's memories take, by the clock of the set."""

from datetime import UTC, datetime

from msgspec.structs import replace
from talk import JUNE, MAY, TALK

from recollect.embedders.hashing import HashingEmbedder
from recollect.evaluate.corpus import DEPTH, UNDATED, EvalResources, clock_of, imported, request_for
from recollect.evaluate.datasets import Dataset, Document, EvalQuery
from recollect.evaluate.evaluate import EvalSet, ranking, search_all
from recollect.profile import load_profile
from recollect.records import ALL_PROJECTS, Scope

DEFAULT = load_profile("default")


def test_a_question_is_asked_within_its_conversation_or_everywhere() -> None:
    inside, _, everywhere = (request_for(query, "keyword").scope for query in TALK.queries)

    assert inside == Scope(projects=frozenset({"a"}))
    assert everywhere == ALL_PROJECTS


def test_only_the_order_is_asked_for_and_it_is_that_of_every_search() -> None:
    query = TALK.queries[0]
    bare = request_for(query, "keyword")

    with imported(TALK, EvalResources()) as corpus:
        order = corpus.search(bare, DEFAULT, now=JUNE)
        whole = corpus.search(replace(bare, snippets=True, include_facts=True), DEFAULT, now=JUNE)

    assert [(hit.id, hit.score) for hit in order.hits] == [(hit.id, hit.score) for hit in whole.hits]
    assert bare.limit == DEPTH
    assert [hit.snippet for hit in order.hits] == [""] * len(whole.hits)
    assert "[bike]" in whole.hits[0].snippet


def test_turns_come_with_their_neighbours_and_documents_with_their_ids() -> None:
    with imported(TALK, EvalResources()) as corpus:
        reply = corpus.search(request_for(TALK.queries[0], "keyword"), DEFAULT, now=JUNE)

    first = reply.hits[0].memory
    assert (first.external_id, first.thread, first.turn) == ("a1", "a/1", 1)
    assert first.context.after == "Then I will walk."


def test_every_document_has_a_vector_where_there_is_an_embedder() -> None:
    told: list[str] = []
    resources = EvalResources(
        embedder=HashingEmbedder(),
        model="hashing",
        progress=lambda done, total, what: told.append(f"{done}/{total} {what}"),
    )

    with imported(TALK, resources) as corpus:
        (generation,) = corpus.store.generations(scope=ALL_PROJECTS)

    assert (generation.memories, generation.pending, generation.model) == (3, 0, "hashing")
    assert told == ["3/3 talk: documents", "3/3 talk: meaning"]


def test_the_clock_stands_at_the_last_thing_said_and_for_undated_sets_at_one_moment() -> None:
    undated = replace(TALK, documents=tuple(replace(each, said_at=None) for each in TALK.documents))

    assert clock_of(TALK) == JUNE
    assert clock_of(undated) == UNDATED


def test_a_question_with_a_date_is_asked_on_that_date() -> None:
    dated = Dataset(
        name="dated",
        documents=(
            Document(id="d1", text="We met for lunch at the harbour.", said_at=MAY),
            Document(id="d2", text="We met for lunch at the harbour cafe.", said_at=JUNE),
        ),
        queries=(
            _on("may", datetime(2023, 5, 9, 12, tzinfo=UTC)),
            _on("june", datetime(2023, 6, 2, 12, tzinfo=UTC)),
        ),
        judgements={},
    )

    with imported(dated, EvalResources()) as corpus:
        found = search_all(EvalSet(dataset=dated, queries=dated.queries), DEFAULT, "keyword", corpus)

    assert [ranking(found[name][0])[0].id for name in ("may", "june")] == ["d1", "d2"]


def _on(name: str, day: datetime) -> EvalQuery:
    return EvalQuery(id=name, text="where did we meet for lunch yesterday?", asked_at=day)
