"""Search by meaning, by both, and what happens when there is no model: on every store."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import recollect
from kit import NOON, STORES
from recollect.embedders.hashing import HashingEmbedder
from recollect.embedders.models import Models
from recollect.errors import InputError, ModelError
from recollect.profile import BUILT_IN, load_profile
from recollect.recollection import Recollection
from recollect.records import ALL_PROJECTS, Filter
from recollect.text.analyser import analyse
from recollect.vectors import Vector

TEXTS = (
    "Deploy the service with Docker on Fridays",
    "The deployment process needs two reviewers",
    "Docker images are built every night",
    "Tabs or spaces: use two-space indentation",
    "SQLite lock contention shows up as a timeout",
    "Lunch is served at noon in the garden",
    "The garden has apple trees and a bench",
    "Rust avoids garbage collection",
)


class Both(Models):
    """Two hashing models of different width, by name."""

    def named(self, name: str) -> HashingEmbedder | None:
        return {"wide": HashingEmbedder(dimensions=256), "narrow": HashingEmbedder(dimensions=128)}.get(name)


class Fixed(Models):
    """One model, already made."""

    def __init__(self, model: HashingEmbedder) -> None:
        super().__init__(name="fixed")
        self._model = model

    def named(self, name: str) -> HashingEmbedder | None:
        return self._model if name == self.name else None


def opened(kind: str, folder: Path, *, model: str = "wide", texts: tuple[str, ...] = TEXTS) -> Recollection:
    store = STORES[kind](folder, analyse)
    db = Recollection(store=store, profile=load_profile("default"), models=Both(name=model), clock=lambda: NOON)
    for text in texts:
        db.add(text)
    return db


@pytest.fixture(params=sorted(STORES))
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recollection]:
    with opened(request.param, tmp_path) as made:
        yield made


def ids(reply: recollect.Reply) -> list[int]:
    return [hit.id for hit in reply.hits]


@pytest.mark.req("C-18", "C-19")
@pytest.mark.parametrize(("mode", "kinds"), [("keyword", {"bm25"}), ("semantic", {"semantic"})])
def test_each_mode_finds_in_its_own_way(db: Recollection, mode: str, kinds: set[str]) -> None:
    reply = db.search("docker deployment", mode=mode)

    assert reply.hits
    assert {hit.match_type for hit in reply.hits} == kinds


@pytest.mark.req("C-15", "C-17", "C-19")
def test_hybrid_is_the_default_and_shows_each_memory_once_with_both_scores(db: Recollection) -> None:
    reply = db.search("docker deployment")

    assert reply.mode == "hybrid"
    assert len(ids(reply)) == len(set(ids(reply)))
    best = reply.hits[0]
    assert best.match_type == "hybrid"
    assert best.bm25_score is not None
    assert best.semantic_score is not None
    assert (best.effective_confidence, best.facts) == (1.0, ())
    assert "[" in best.snippet


@pytest.mark.req("C-14", "N-05")
def test_a_minimum_similarity_cuts_the_list_by_meaning(db: Recollection) -> None:
    loose = db.search("docker deployment", mode="semantic", profile="oro")
    strict = db.search("docker deployment", mode="semantic", profile="nornicdb")

    assert all(hit.semantic_score >= 0.5 for hit in strict.hits if hit.semantic_score is not None)
    assert len(strict.hits) < len(loose.hits)


@pytest.mark.case(79)
@pytest.mark.req("C-32", "B-01", "B-02")
def test_without_a_model_words_answer_and_it_is_said(tmp_path: Path) -> None:
    with opened("memory", tmp_path, model="none") as db:
        hybrid, semantic = db.search("docker"), db.search("docker", mode="semantic")
        plain = db.search("docker", mode="keyword")

        assert hybrid.degraded == semantic.degraded == "no_model"
        assert plain.degraded is None
        assert ids(hybrid) == ids(semantic) == ids(plain)
        with pytest.raises(ModelError, match="no embedding model"):
            db.search("docker", mode="semantic", without_model="fail")


@pytest.mark.req("N-06")
def test_a_model_that_fails_leaves_the_words_to_answer(db: Recollection, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ModelError("gone")

    monkeypatch.setattr(HashingEmbedder, "embed_queries", fail)

    reply = db.search("docker")

    assert reply.hits
    assert reply.degraded == "model_failed"


def test_memories_without_vectors_are_found_by_word_and_said_to_be_pending(db: Recollection) -> None:
    added = db.add("An orchestra rehearses on Tuesdays", embed=False)

    reply = db.search("orchestra rehearsal")

    assert reply.hits[0].id == added.id
    assert reply.degraded == "vectors_pending"
    assert db.embed() == 1
    assert db.search("orchestra rehearsal").degraded is None


def test_only_what_is_missing_is_embedded(db: Recollection) -> None:
    assert db.embed() == 0
    added = db.add("Something new", embed=False)

    assert db.embed() == 1
    assert db.store.pending(db.models.required().fingerprint, after=0, limit=9) == ()
    assert added.id in ids(db.search("something new", mode="semantic"))


@pytest.mark.parametrize("kind", sorted(STORES))
def test_a_change_of_model_keeps_the_old_vectors_serving_until_the_new_are_there(kind: str, tmp_path: Path) -> None:
    db = opened(kind, tmp_path, model="wide")
    db.profile = replace(db.profile, floor=None)
    before = ids(db.search("docker deployment", mode="semantic"))
    changed = Recollection(store=db.store, profile=db.profile, models=Both(name="narrow"), clock=lambda: NOON)

    untouched = changed.search("docker deployment", mode="semantic")
    changed.add("Docker deployment by night")
    mixed = changed.search("docker deployment", mode="semantic")

    changed.embed()

    assert ids(untouched) == before
    assert set(before) <= {*ids(mixed)}
    generations = {each.model: (each.memories, each.pending) for each in db.store.generations(scope=ALL_PROJECTS)}
    assert generations == {"wide": (8, 1), "narrow": (9, 0)}


def test_operators_bind_the_vectors_too(db: Recollection) -> None:
    assert 1 not in ids(db.search("deployment NOT Docker"))
    assert ids(db.search("deployment NOT Docker", mode="semantic")) == [2]
    assert 3 not in ids(db.search("docker -nightly -night"))
    assert 3 not in ids(db.search("docker -night", mode="semantic"))


def test_filters_bind_both_legs(db: Recollection) -> None:
    db.add("Docker policy", type="decision")

    reply = db.search("docker", where=Filter(types=("decision",)))

    assert [hit.memory.type for hit in reply.hits] == ["decision"]


@pytest.mark.case(65)
@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_a_longer_answer_begins_like_the_shorter_one(db: Recollection, mode: str) -> None:
    longest = ids(db.search("docker garden timeout", mode=mode, limit=8))

    for limit in range(1, 8):
        assert ids(db.search("docker garden timeout", mode=mode, limit=limit)) == longest[:limit]


@pytest.mark.req("E-07")
def test_engram_skips_the_vectors_when_the_words_are_sure(tmp_path: Path) -> None:
    noise = tuple(f"filler text number {number} about nothing at all" for number in range(200))
    with opened("sqlite", tmp_path, texts=(*noise, "zebra crossing")) as db:
        sure = db.search("zebra crossing", profile="engram")
        unsure = db.search("filler text", profile="engram")

        assert {hit.match_type for hit in sure.hits} == {"bm25"}
        assert any(hit.vector_rank for hit in unsure.hits)


@pytest.mark.req("B-11")
def test_boocode_drops_what_scores_under_a_tenth(db: Recollection) -> None:
    reply = db.search("docker deployment", profile="boocode")

    assert reply.hits
    assert all(hit.score >= 0.1 for hit in reply.hits)
    assert len(reply.hits) <= 10


@pytest.mark.req("O-14")
def test_oro_says_so_when_everything_is_below_its_floor(tmp_path: Path) -> None:
    with opened("memory", tmp_path, texts=("one cat", "two cats")) as db:
        reply = db.search("cat", mode="keyword", profile="oro")

        assert reply.outcome == "none"
        assert reply.reason is not None
        assert reply.reason.code == "below_threshold"
        assert reply.reason.best_score is not None


@pytest.mark.req("N-04")
@pytest.mark.parametrize("profile", BUILT_IN)
@settings(max_examples=25)
@given(query=st.lists(st.sampled_from(" ".join(TEXTS).lower().split()), min_size=1, max_size=5).map(" ".join))
def test_the_explanation_adds_up_to_the_score(profile: str, query: str) -> None:
    db = _shared(profile)

    for mode in ("keyword", "semantic", "hybrid"):
        for hit in db.search(query, mode=mode).hits:
            total = math.fsum(share.points for share in hit.shares) * math.prod(hit.factors.values())
            assert hit.score == pytest.approx(total, abs=1e-12)


_OPEN: dict[str, Recollection] = {}


def _shared(profile: str) -> Recollection:
    if profile not in _OPEN:
        _OPEN[profile] = opened("memory", Path())
        _OPEN[profile].profile = load_profile(profile)
    return _OPEN[profile]


def test_why_tells_the_rank_in_each_list(db: Recollection) -> None:
    explained = db.why(1, "docker deployment")

    assert explained.found
    assert {each.ranking for each in explained.lists} == {"words", "vector"}
    assert explained.blocked_by is None


@pytest.mark.parametrize(
    ("row", "query", "how", "blocked"),
    [
        (6, "docker", {"mode": "keyword"}, "no_match"),
        (3, "docker deployment", {"mode": "keyword", "limit": 1}, "limit"),
        (1, "docker type:decision", {}, "filter"),
    ],
)
def test_why_tells_what_keeps_a_memory_out_and_what_would_help(
    db: Recollection, row: int, query: str, how: dict[str, object], blocked: str
) -> None:
    explained = db.why(row, query, **how)

    assert not explained.found
    assert explained.blocked_by == blocked
    assert explained.surfaces_if


def test_why_tells_of_forgotten_superseded_and_floored_memories(db: Recollection) -> None:
    db.forget(1)
    memory = db.show(2).memory
    new = db.add("The deployment process needs one reviewer now")
    db.store.apply([recollect_revise(memory, new.id)], at=NOON)

    assert db.why(1, "docker").blocked_by == "forgotten"
    assert db.why(2, "deployment").blocked_by == "superseded"
    assert db.why(3, "docker night", mode="keyword", profile="oro", min_score=0.9).blocked_by == "floor"


def recollect_revise(memory: recollect.Memory, by: int):  # noqa: ANN201
    from recollect.records import Revise  # noqa: PLC0415

    return Revise(memory=replace(memory, superseded_by=by))


def test_every_memory_that_operators_admit_is_shown_however_small_the_store(tmp_path: Path) -> None:
    with opened("memory", tmp_path, texts=("a fox", "dog with cat", "a fox with a dog")) as db:
        reply = db.search("fox OR (dog AND cat)")

        assert set(ids(reply)) == {1, 2, 3}
        assert reply.total == 3


def test_a_mode_nobody_knows_is_refused(db: Recollection) -> None:
    with pytest.raises(InputError, match="banana"):
        db.search("docker", mode="banana")  # type: ignore[arg-type]


def test_dates_without_a_zone_are_read_as_utc(db: Recollection) -> None:
    assert db.search("docker", where=Filter(since=NOON.replace(tzinfo=None))).hits


@pytest.mark.case(6)
@pytest.mark.req("E-09")
def test_memories_of_different_kinds_are_two_results_though_they_say_the_same(db: Recollection) -> None:
    one = db.add("zebra crossing", kind="observation", external_id="1")
    two = db.add("zebra crossing ahead", kind="session_summary", external_id="2")

    found = {(hit.kind, hit.id) for hit in db.search("zebra crossing").hits if "zebra" in hit.memory.content}

    assert found == {("observation", one.id), ("session_summary", two.id)}


@pytest.mark.case(91)
def test_a_text_that_fits_is_one_passage_a_longer_one_several_and_a_blank_one_none() -> None:
    embedder = HashingEmbedder(dimensions=16)
    word = "word "
    fits = next(count for count in range(1, 2000) if len(embedder.passages(word * (count + 1))) > 1)

    assert len(embedder.passages(word * fits)) == 1
    assert len(embedder.passages(word * (fits + 1))) == 2
    assert embedder.passages("  ") == []


def test_in_the_background_a_memory_is_there_at_once_and_gets_its_vector_from_a_thread(tmp_path: Path) -> None:
    store = STORES["sqlite"](tmp_path, analyse)
    db = Recollection(
        store=store, profile=load_profile("default"), models=Both(name="wide"), clock=lambda: NOON, background=True
    )
    added = db.add("An orchestra rehearses on Tuesdays")
    found = ids(db.search("orchestra", mode="keyword"))
    db.flush()

    assert found == [added.id]
    assert store.pending(db.models.required().fingerprint, after=0, limit=9) == ()
    db.close()


class Counting(HashingEmbedder):
    """A hashing model that remembers which questions it was asked for."""

    asked: list[str]

    def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        self.asked = [*getattr(self, "asked", ()), *texts]
        return super().embed_queries(texts)


def test_a_mistyped_question_is_compared_by_what_was_meant_as_well(db: Recollection) -> None:
    model = Counting(dimensions=256)
    db.models.close()
    db.models = Fixed(model)

    clean, typed = db.search("docker images"), db.search("docker imgaes")
    operators = db.search("docker AND imgaes")

    assert model.asked[:1] == ["docker images"]
    assert "docker images" in model.asked[model.asked.index("docker imgaes") :]
    assert model.asked.count("docker AND imgaes") >= 1
    assert not any("images" in text for text in model.asked[model.asked.index("docker AND imgaes") :])
    assert ids(typed)[0] == ids(clean)[0]
    assert not operators.hits


def test_a_question_whose_words_are_known_is_embedded_as_it_is(db: Recollection) -> None:
    model = Counting(dimensions=256)
    db.models.close()
    db.models = Fixed(model)

    db.search("docker images are built")

    assert set(model.asked) == {"docker images are built"}
