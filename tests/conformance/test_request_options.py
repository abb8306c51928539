"""What one search may set for itself, what may stop it, and what it costs the store; on every store."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from kit import NOON, STORES
from recollect import Filter, Memory, Recollection, Reply
from recollect.embedders.hashing import HashingEmbedder
from recollect.embedders.models import Models
from recollect.errors import ModelError, SearchCancelled, SearchTimeout, WordIndexUnavailable
from recollect.profile import BUILT_IN, load_profile
from recollect.recall.lens import Lens
from recollect.records import ALL_PROJECTS, EmbeddedMemory, Generation, Passage, SubstringQuery, WordQuery
from recollect.stores.contract import Store
from recollect.text.analyser import analyse
from recollect.vectors import pack

DAY = timedelta(days=1)
TEXTS = (
    "Deploy the service with Docker on Fridays",
    "The deployment process needs two reviewers",
    "Docker images are built every night",
    "Lunch is served at noon in the garden",
    "The garden has apple trees and a bench",
    "Server status: broken since the outage",
)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=sorted(STORES))
def db(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Recollection]:
    store, models = STORES[request.param](tmp_path, analyse), Models(name="hashing")
    with Recollection(store=store, profile=load_profile("default"), models=models, clock=clock) as made:
        made.add_all([Memory(content=text) for text in TEXTS])
        yield made


def ids(reply: Reply) -> list[int]:
    return [hit.id for hit in reply.hits]


def scores(reply: Reply) -> dict[int, float]:
    return {hit.id: hit.score for hit in reply.hits}


# --- alpha ----------------------------------------------------------------------------------


@pytest.mark.case(16)
@pytest.mark.req("C-16")
@pytest.mark.parametrize("profile", BUILT_IN)
@pytest.mark.parametrize(("alpha", "mode"), [(0.0, "keyword"), (1.0, "semantic")])
def test_alpha_at_either_end_is_the_mode_of_that_list_to_the_score(
    db: Recollection, clock: Clock, *, profile: str, alpha: float, mode: Any
) -> None:
    clock.now += 40 * DAY
    db.add("Docker status: fine again")
    db.add("docker docker garden", confidence=0.3)

    for query in ("docker", "docker garden server status"):
        ended, alone = (db.search(query, profile=profile, **how) for how in ({"alpha": alpha}, {"mode": mode}))

        assert [(hit.id, hit.score, hit.factors) for hit in ended.hits] == [
            (hit.id, hit.score, hit.factors) for hit in alone.hits
        ]


# --- numbers of the profile, for one search -------------------------------------------------


@pytest.mark.req("N-05", "C-14")
def test_a_least_similarity_of_the_request_cuts_the_list_of_vectors(db: Recollection) -> None:
    loose = db.search("docker deployment", mode="semantic", min_similarity=-1.0)
    cut = sorted(hit.semantic_score or 0.0 for hit in loose.hits)[-2]

    strict = db.search("docker deployment", mode="semantic", min_similarity=cut)

    assert ids(strict) == ids(loose)[:2]


@pytest.mark.req("N-05", "C-15", "B-03")
def test_k_and_weights_of_the_request_make_the_score_of_a_fusion_by_ranks(db: Recollection) -> None:
    reply = db.search("docker", profile="nornicdb", rrf_k=9.0, weights={"words": 3.0, "vector": 2.0}, min_similarity=0)

    assert reply.hits
    for hit in reply.hits:
        expected = 3.0 / (9 + hit.bm25_rank) if hit.bm25_rank else 0.0
        expected += 2.0 / (9 + hit.vector_rank) if hit.vector_rank else 0.0
        assert hit.score == pytest.approx(expected)


@pytest.mark.req("N-05")
@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_a_least_score_of_the_request_cuts_the_answer(db: Recollection, mode: Any) -> None:
    whole = db.search("docker garden", mode=mode)

    part = db.search("docker garden", mode=mode, min_score=whole.hits[1].score)
    none = db.search("docker garden", mode=mode, min_score=1000.0)

    assert ids(part) == ids(whole)[:2]
    assert none.reason is not None
    assert none.reason.code == "below_threshold"


@pytest.mark.req("C-22", "C-33")
@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
@pytest.mark.parametrize("profile", ["default", "cortex"])
def test_a_least_confidence_holds_in_every_mode_and_for_one_search(
    db: Recollection, clock: Clock, profile: str, mode: Any
) -> None:
    clock.now += 10 * DAY
    worth = db.search("server status", mode=mode, profile=profile).hits[0].effective_confidence

    kept = db.search("server status", mode=mode, profile=profile, min_confidence=worth)
    gone = db.search("server status", mode=mode, profile=profile, min_confidence=worth + 0.01)

    assert 6 in ids(kept)
    assert 6 not in ids(gone)
    assert (
        db.why(6, "server status", mode=mode, profile=profile, min_confidence=worth + 0.01).blocked_by == "confidence"
    )


@pytest.mark.req("C-33", "C-20")
@pytest.mark.parametrize("profile", BUILT_IN)
def test_a_recency_weight_of_the_request_weighs_in_every_profile(db: Recollection, clock: Clock, profile: str) -> None:
    clock.now += 3 * DAY

    (hit, *_) = db.search("docker images are built every night", profile=profile, recency_weight=0.8).hits

    assert hit.factors["recency"] == pytest.approx(1 + 0.8 / (1 + 3))


@pytest.mark.req("C-31")
def test_without_its_facts_a_hit_still_says_what_they_are_worth(db: Recollection, clock: Clock) -> None:
    clock.now += 10 * DAY

    for profile in ("default", "cortex"):
        whole = db.search("server status", profile=profile).hits[0]
        bare = db.search("server status", profile=profile, include_facts=False).hits[0]

        assert whole.facts
        assert bare.facts == ()
        assert bare.effective_confidence == whole.effective_confidence < 0.9


# --- a vector of the caller's own -----------------------------------------------------------


def put_vectors(db: Recollection, fingerprint: str, vectors: dict[int, tuple[float, ...]]) -> None:
    memories = db.store.load(list(vectors), scope=ALL_PROJECTS)
    width = len(next(iter(vectors.values())))
    db.store.put_vectors(
        Generation(fingerprint=fingerprint, dimensions=width, model="external"),
        [
            EmbeddedMemory(
                memory_id=row,
                meaning=memories[row].meaning,
                passages=(Passage(start=0, stop=len(memories[row].content), vector=pack(vector)),),
            )
            for row, vector in vectors.items()
        ],
    )


@pytest.mark.req("N-15", "N-13")
@pytest.mark.parametrize("model", ["hashing", "none"])
def test_a_vector_of_another_width_is_compared_with_those_of_its_width(db: Recollection, model: str) -> None:
    put_vectors(db, "external-3", {1: (0.6, 0.8, 0.0), 4: (1.0, 0.0, 0.0), 5: (0.0, 0.0, 1.0)})
    db.models = Models(name=model)

    near = db.search("", embedding=(2.0, 0.0, 0.0), mode="semantic", profile="oro")
    both = db.search("docker alpha omega", embedding=(1.0, 0.0, 0.0), profile="nornicdb")

    assert [(hit.id, hit.semantic_score) for hit in near.hits] == [
        (4, pytest.approx(1.0)),
        (1, pytest.approx(0.6)),
        (5, pytest.approx(0.0)),
    ]
    assert {hit.id: hit.vector_rank for hit in both.hits if hit.vector_rank} == {4: 1, 1: 2}
    assert {hit.id for hit in both.hits if hit.bm25_rank} == {1, 3}


@pytest.mark.req("N-15")
def test_a_vector_as_wide_as_the_model_s_is_compared_with_those_of_the_model(db: Recollection) -> None:
    (vector,) = HashingEmbedder().embed_queries(["docker deployment"])

    asked, given = db.search("docker deployment"), db.search("docker deployment", embedding=tuple(vector))
    blank = db.search("", embedding=tuple(vector))

    assert scores(given) == pytest.approx(scores(asked))
    assert ids(blank) == ids(db.search("docker deployment", mode="semantic"))


@pytest.mark.req("N-15")
def test_a_given_vector_needs_no_model(db: Recollection) -> None:
    db.models = Models(name="none")

    reply = db.search("docker", embedding=(1.0,) * 256, without_model="fail")

    assert reply.hits
    with pytest.raises(ModelError):
        db.search("docker", without_model="fail")


# --- stopping -------------------------------------------------------------------------------


@pytest.mark.req("C-34")
def test_a_search_that_has_no_time_is_given_up_with_a_clear_error(db: Recollection) -> None:
    with pytest.raises(SearchTimeout, match="longer") as stopped:
        db.search("docker", timeout=0.0)

    assert (stopped.value.code, bool(stopped.value.hint)) == ("timeout", True)
    assert ids(db.search("docker", timeout=60.0)) == ids(db.search("docker"))


@pytest.mark.req("C-34")
@pytest.mark.parametrize("query", ["docker", "dockre", "", "docker -night", "docker OR garden", "xylophone"])
def test_a_search_can_be_cancelled_before_every_question_to_the_store(db: Recollection, query: str) -> None:
    counting = Counting(db.store)
    db.store = counting  # type: ignore[assignment]
    checks: list[int] = []
    db.search(query, facets=True)
    counting.calls.clear()
    db.search(query, cancelled=lambda: bool(checks.append(1)), facets=True)
    asked, calls = len(checks), sum(counting.calls.values()) - counting.calls["notes"]

    for number in range(asked):
        left = iter(range(number))
        with pytest.raises(SearchCancelled) as stopped:
            db.search(query, cancelled=lambda left=left: next(left, None) is None, facets=True)
        assert stopped.value.code == "cancelled"

    assert asked > calls > 0


# --- what it costs --------------------------------------------------------------------------


class Counting:
    """A store that counts what it is asked: what is handed on without being called is no question."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)

        def asked(*given: Any, **options: Any) -> Any:
            self.calls[name] += 1
            return found(*given, **options)

        return asked if callable(found) else found


ALWAYS = ("reading", "version", "nearest", "vectors", "traits", "outlines", "load_with_events", "facts")


@pytest.mark.parametrize(
    ("query", "questions"),
    [
        ("docker deployment", ("match_words", "match_words")),
        ("docker deploymant", ("match_words", "match_words", "match_words", "near_words")),
    ],
)
def test_a_hybrid_search_asks_few_questions_and_a_mistyped_one_two_more(
    db: Recollection, query: str, questions: Sequence[str]
) -> None:
    counting = Counting(db.store)
    db.store = counting  # type: ignore[assignment]
    db.search(query)
    counting.calls.clear()

    reply = db.search(query)

    assert reply.hits
    assert counting.calls == Counter((*ALWAYS, *questions))


class Listening(Counting):
    """A store that remembers what its word index was asked."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.asked: list[WordQuery] = []

    def match_words(self, query: Any, **asked: Any) -> Any:
        self.asked.append(query)
        return self._store.match_words(query, **asked)


def test_every_question_to_the_word_index_has_the_numbers_of_the_profile(db: Recollection) -> None:
    rules = replace(load_profile("engram").words, idf="lucene", k1=1.5, b=0.6)
    db.profile = replace(load_profile("engram"), words=rules)
    db.store = listening = Listening(db.store)  # type: ignore[assignment]

    db.search("how does the deployment work? -lunch", intent="work")
    db.models = Models()
    db.related(1)

    assert len(listening.asked) >= 4
    assert {(each.idf, each.k1, each.b, *each.weights) for each in listening.asked} == {
        ("lucene", 1.5, 0.6, *rules.fields)
    }


# --- without the word index -----------------------------------------------------------------


class WithoutWords(Counting):
    """A store whose word index cannot be used."""

    def match_words(self, query: Any, **asked: Any) -> Any:
        if not isinstance(query, SubstringQuery):
            raise WordIndexUnavailable("the word index cannot be read", hint="run: recollect doctor")
        return self._store.match_words(query, **asked)


@pytest.mark.req("B-08")
@pytest.mark.parametrize("profile", BUILT_IN)
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_where_the_word_index_cannot_be_used_the_text_is_searched_and_the_reply_says_so(
    db: Recollection, profile: str, mode: Any
) -> None:
    db.store = WithoutWords(db.store)  # type: ignore[assignment]

    reply = db.search("docker garden", profile=profile, mode=mode, facets=True)

    assert {1, 3, 4, 5} <= set(ids(reply))
    assert reply.degraded == "fts_unavailable"
    assert "[Docker]" in reply.hits[0].snippet or "[garden]" in reply.hits[0].snippet


@pytest.mark.req("B-08")
@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_what_a_query_excludes_stays_out_without_the_word_index_too(db: Recollection, mode: Any) -> None:
    db.store = WithoutWords(db.store)  # type: ignore[assignment]

    assert 4 not in ids(db.search("garden -lunch", mode=mode))
    assert 5 not in ids(db.search('garden -"apple trees"', mode=mode))
    assert 5 in ids(db.search("garden -lunch", mode=mode))


@pytest.mark.req("B-08")
def test_the_text_is_searched_for_words_of_three_letters_and_runs_of_one_character(db: Recollection) -> None:
    row = db.add("人工智能教程").id
    db.store = WithoutWords(db.store)  # type: ignore[assignment]

    assert ids(db.search("智", mode="keyword")) == [row]
    assert ids(db.search("is the garden", mode="keyword"))[:1] == [4]
    assert ids(db.search("is at", mode="keyword")) == []


@pytest.mark.req("B-08")
def test_a_file_with_a_broken_word_index_that_cannot_be_written_to_still_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notes.db"
    with Recollection(store=STORES["sqlite"](tmp_path, analyse), profile=load_profile("default")) as db:
        db.add_all([Memory(content=text) for text in TEXTS])
    with apsw.Connection(str(path)) as damaged:
        damaged.execute("update tokens set stem = x'00'")
    monkeypatch.setattr(apsw, "connection_hooks", [lambda made: made.pragma("query_only", True)])

    with Recollection(store=STORES["sqlite"](tmp_path, analyse), profile=load_profile("default")) as db:
        reply = db.search("docker images", mode="keyword")

    assert ids(reply)[0] == 3
    assert reply.degraded == "fts_unavailable"


# --- why ------------------------------------------------------------------------------------


def blocked(db: Recollection, row: int, query: str, **how: Any) -> str | None:
    explained = db.why(row, query, **how)

    assert explained.found == (row in ids(db.search(query, **how)))
    return explained.blocked_by


def test_why_tells_how_far_below_the_floor_a_memory_lies(db: Recollection) -> None:
    row = ids(db.search("deploy docker service", mode="keyword"))[-1]

    told = db.why(row, "deploy docker service", mode="keyword", min_score=1000.0)

    assert told.surfaces_if == f"the floor is at most {told.score:.4g} (it is 1000)"


def test_why_names_the_stage_at_which_a_memory_left(db: Recollection) -> None:
    repeat = db.add("deploy the SERVICE, with docker, on fridays!", external_id="again").id
    db.lenses.keep(Lens(name="decided", types=("decision",)))
    far = replace(db.profile.retrieve, depth=1)

    assert blocked(db, repeat, "deploy docker service", limit=10) == "near_repeat"
    assert f"#{1}" in (db.why(repeat, "deploy docker service", limit=10).surfaces_if or "")
    assert blocked(db, repeat, "deploy docker service", limit=11) is None
    assert blocked(db, 1, "docker", lens="decided") == "lens"
    assert blocked(db, 1, "docker", where=Filter(types=("decision",)), lens="decided") == "filter"
    assert blocked(db, 4, "docker garden", mode="semantic", min_similarity=0.9) == "similarity"
    assert blocked(db, 3, "docker", weights={"words": 0.0}, mode="hybrid", min_similarity=1.0) == "weight"
    assert blocked(db, 4, "garden -lunch") == "excluded"
    assert blocked(db, 4, "garden", mode="keyword", min_score=100.0) == "floor"
    assert blocked(db, 1, "", limit=1) == "limit"
    db.profile = replace(db.profile, retrieve=far)
    assert blocked(db, 2, "docker deployment garden night", mode="keyword", limit=1) == "depth"
