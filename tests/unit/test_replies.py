"""What a request may ask, and what a cache knows it by."""

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from recollect.errors import QueryError
from recollect.records import Filter, Memory, Scope
from recollect.replies import Hit, Reply, Request

PLAIN = Request(text="how do we ship")
OTHERS: dict[str, Any] = {
    "text": "how do we sail",
    "mode": "keyword",
    "limit": 3,
    "alpha": 0.25,
    "embedding": (1.0, 0.0),
    "min_confidence": 0.5,
    "recency_weight": 0.2,
    "min_similarity": 0.4,
    "rrf_k": 10.0,
    "weights": {"words": 2.0},
    "min_score": 0.1,
    "scope": Scope(projects=frozenset({"a", "b"})),
    "where": Filter(types=("decision",), since=datetime(2026, 5, 4, tzinfo=UTC)),
    "include_facts": False,
    "snippets": False,
    "session": "monday",
    "lens": "work",
    "without_model": "fail",
    "facets": True,
    "precise": True,
    "intent": "ships",
}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("alpha", value) for value in (-0.1, 1.1, 2, math.nan)),
        *(("min_confidence", value) for value in (-0.1, 1.5, math.nan)),
        *(("min_similarity", value) for value in (-1.1, 1.1, math.nan)),
        *(("recency_weight", value) for value in (-1, math.inf)),
        *(("rrf_k", value) for value in (-1, math.nan)),
        *(("min_score", value) for value in (-1, math.inf)),
        ("timeout", -1),
    ],
)
@pytest.mark.req("C-16", "C-33", "N-05")
def test_an_option_without_a_meaning_is_refused_by_its_name(option: str, value: float) -> None:
    with pytest.raises(QueryError, match=option) as refused:
        replace(PLAIN, **{option: value})

    assert "give a number" in refused.value.hint


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"mode": "magic"}, "magic"),
        ({"weights": {"rerank": 1.0}}, "rerank"),
        ({"weights": {"words": -1.0}}, "words"),
        ({"weights": {"words": math.nan}}, "words"),
        ({"embedding": ()}, "embedding"),
        ({"embedding": (0.0, 0.0)}, "embedding"),
        ({"embedding": (1.0, math.inf)}, "embedding"),
    ],
)
def test_a_mode_a_weight_and_a_vector_that_cannot_be_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(QueryError, match=told):
        replace(PLAIN, **options)


@pytest.mark.req("C-16")
@pytest.mark.parametrize(
    ("mode", "alpha", "asked"),
    [
        ("hybrid", None, "hybrid"),
        ("hybrid", 0.5, "hybrid"),
        ("hybrid", 0.0, "keyword"),
        ("hybrid", 1.0, "semantic"),
        ("keyword", 1.0, "keyword"),
        ("semantic", 0.0, "semantic"),
    ],
)
def test_an_alpha_at_either_end_asks_for_one_list(mode: Any, alpha: float | None, asked: str) -> None:
    assert Request(text="x", mode=mode, alpha=alpha).asked_mode == asked


@pytest.mark.req("E-04", "E-21")
def test_requests_that_differ_in_any_field_have_different_keys() -> None:
    keys = {replace(PLAIN, **{name: value}).key() for name, value in OTHERS.items()}

    assert len(keys | {PLAIN.key()}) == len(OTHERS) + 1


@pytest.mark.req("E-21")
@pytest.mark.parametrize("text", ["how do we ship", "  how do  we\tship\n", "how\u3000do we ship"])
def test_white_space_is_collapsed_before_a_query_keys_a_cache(text: str) -> None:
    assert Request(text=text).key() == PLAIN.key()
    assert Request(text="How do we ship").key() != PLAIN.key()


@pytest.mark.req("E-21")
def test_equal_requests_have_equal_keys_and_how_long_they_may_take_is_no_part_of_it() -> None:
    one = Request(text="x", scope=Scope(projects=frozenset({"a", "b", "c"})), weights={"words": 1.0, "vector": 2.0})
    other = Request(text="x", scope=Scope(projects=frozenset({"c", "b", "a"})), weights={"vector": 2.0, "words": 1.0})

    assert one.key() == other.key() == replace(one, timeout=3.0, cancelled=lambda: False).key()


@pytest.mark.req("E-04", "E-21")
def test_a_field_added_later_is_in_the_key_without_anybody_thinking_of_it() -> None:
    class Later(Request, frozen=True, kw_only=True):
        rerank_only: bool = False

    assert Later(text="x").key() != Later(text="x", rerank_only=True).key()


def _reply() -> Reply:
    memory = Memory(id=7, content="The <b>port</b> is 5432")
    hit = Hit(rank=1, memory=memory, score=0.5, match_type="bm25", snippet="The <b>[port]</b> is 5432")
    return Reply(query="port & pier", mode="keyword", profile="default", outcome="answered", hits=(hit,))


def test_a_reply_is_a_sequence_of_its_hits_and_always_true() -> None:
    reply = _reply()

    assert [hit.id for hit in reply] == [7]
    assert len(reply) == 1
    assert bool(replace(reply, hits=()))


def test_a_reply_becomes_plain_values() -> None:
    values = _reply().to_dict()

    assert values["query"] == "port & pier"
    assert values["hits"][0]["memory"]["content"] == "The <b>port</b> is 5432"
    assert json.loads(json.dumps(values)) == values


def test_a_notebook_shows_the_hits_and_runs_nothing_of_their_text() -> None:
    shown = _reply()._repr_html_()

    assert "<p>port &amp; pier: answered</p>" in shown
    assert "The &lt;b&gt;[port]&lt;/b&gt; is 5432" in shown
    assert "<b>" not in shown
