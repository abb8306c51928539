"""The second reading: who is read, what of them, what comes of it, and what stays as it was."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit import NOON, candidates_of
from recollect import Recollection, Reply
from recollect.embedders.hashing import HashingEmbedder
from recollect.embedders.models import Models
from recollect.errors import ModelError
from recollect.profile import BUILT_IN, load_profile
from recollect.records import Memory
from recollect.replies import Mode, Request, Share
from recollect.search.answer import search
from recollect.search.candidates import Candidate, Candidates
from recollect.search.rerank import RERANK_TOP_K, RERANK_WEIGHT, WINDOW_CHARS, mix_scores, window
from recollect.search.state import SearchContext
from recollect.search.why import why
from recollect.stores.choice import open_store
from recollect.stores.contract import Store
from recollect.text.analyser import analyse
from recollect.text.snippet import QueryTerms

MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")


class Judging:
    """A reranker that judges as it is told and remembers what it read."""

    def __init__(self, judge: Callable[[str, str], float]) -> None:
        self._judge = judge
        self.read: list[str] = []
        self.fingerprint = "judging"

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.read += texts
        return [self._judge(query, text) for text in texts]

    def close(self) -> None:
        pass


class Broken(Judging):
    """A reranker that was loaded and cannot do its work."""

    def __init__(self) -> None:
        super().__init__(lambda _, __: 0.0)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        raise ModelError(f"cannot read {len(texts)} texts for {query}", hint="none")


def candidates(*points: float, prior: float = 1.0) -> Candidates:
    """Return candidates 1, 2, … that the words gave these points."""
    return candidates_of(
        Candidate(
            id=row, shares=(Share(ranking="words", rank=row, points=each, native=each),), factors={"prior": prior}
        )
        for row, each in enumerate(points, start=1)
    )


def by_text(scores: dict[str, float]) -> Judging:
    return Judging(lambda _, text: scores[text])


# --- the order ------------------------------------------------------------------------------


def test_the_score_is_mixed_of_both_opinions_on_the_scale_of_the_first() -> None:
    read = mix_scores(candidates(8.0, 4.0), {1: "a", 2: "b"}, "q", by_text({"a": 0.1, "b": 0.9}))

    assert [(each.id, each.score) for each in read] == [
        (2, pytest.approx(0.5 * 4 + 0.5 * 0.9 * 8)),
        (1, pytest.approx(0.5 * 8 + 0.5 * 0.1 * 8)),
    ]


def test_ties_keep_the_former_order() -> None:
    former = candidates(1.0, 1.0, 1.0).led_by([3, 2, 1])

    read = mix_scores(former, dict.fromkeys(former.ids, "same"), "q", Judging(lambda _, __: 0.5))

    assert [each.id for each in read] == [3, 2, 1]
    assert [each.shares[-1].rank for each in read] == [1, 2, 3]


def test_factors_still_weigh_what_was_read() -> None:
    (read,) = mix_scores(candidates(1.0, prior=0.5), {1: "text"}, "q", Judging(lambda _, __: 1.0))

    assert read.score == 0.5


def test_the_share_of_the_reranker_carries_its_rank_and_its_own_score() -> None:
    read = mix_scores(candidates(1.0, 0.5), {1: "a", 2: "b"}, "q", by_text({"a": 0.1, "b": 0.9}))

    shares = {each.id: each.shares[-1] for each in read}
    assert shares[1] == Share(ranking="rerank", rank=2, points=0.05, native=0.1)
    assert shares[2] == Share(ranking="rerank", rank=1, points=0.45, native=0.9)


@given(
    points=st.lists(st.floats(-1, 30), min_size=1, max_size=12).map(lambda each: sorted(each, reverse=True)),
    scores=st.lists(st.floats(0, 1), min_size=12, max_size=12),
    top=st.integers(1, 12),
)
def test_only_the_first_change_places_and_every_score_is_explained(
    points: list[float], scores: list[float], top: int
) -> None:
    former = candidates(*points)
    texts = {row: str(row) for row in former.ids[:top]}

    read = mix_scores(former, texts, "q", Judging(lambda _, text: scores[int(text) - 1]))

    ids = [each.id for each in read]
    assert sorted(ids[:top]) == list(former.ids[:top])
    assert ids[top:] == list(former.ids[top:])
    assert all(one.score >= other.score - 1e-9 for one, other in pairwise(read[:top]))
    for each in read:
        added = sum(share.points for share in each.shares if share.ranking == "rerank")
        assert each.score == pytest.approx((1 - RERANK_WEIGHT) * former[each.id - 1].fused + added)
        assert (added > 0) <= (each.id in texts)


# --- what is read ---------------------------------------------------------------------------

FILLER = "nothing of interest stands here at all " * 30
WANTED = QueryTerms(stems=frozenset({"cat", "feed"}))


def shown(text: str, *, near: tuple[int, int] | None = None) -> str:
    return text[slice(*window(text, WANTED, near=near))]


def test_a_text_of_one_window_is_read_whole() -> None:
    assert shown("the cat sleeps") == "the cat sleeps"


def test_the_window_is_where_most_of_the_wanted_words_stand() -> None:
    text = f"a cat sleeps {FILLER} Anna feeds the cat at noon. {FILLER}"

    read = shown(text)

    assert "Anna feeds the cat at noon." in read
    assert len(read) <= WINDOW_CHARS
    assert set(read.split()) <= set(text.split()), "words stay whole"


def test_without_any_wanted_word_the_passage_nearest_in_meaning_is_read() -> None:
    text = f"{FILLER} She pours milk into the bowl. {FILLER}"
    at = text.index("She")

    assert shown(text, near=(at, at + 29)) == "She pours milk into the bowl."


def test_a_text_that_offers_nothing_is_read_from_its_beginning() -> None:
    assert shown(f"First {FILLER}").startswith("First nothing of interest")


def test_a_text_without_spaces_is_cut_where_the_window_ends() -> None:
    text = "无" * 2000 + "喂猫" + "无" * 2000

    first, last = window(text, QueryTerms(stems=frozenset({"喂猫"})), near=None)

    assert "喂猫" in text[first:last]
    assert last - first == WINDOW_CHARS


@given(text=st.text(alphabet="cat feeds\n猫", max_size=1500))
def test_a_window_lies_in_the_text_and_is_no_larger_than_allowed(text: str) -> None:
    first, last = window(text, WANTED, near=None)

    assert 0 <= first <= last <= len(text)
    assert last - first <= WINDOW_CHARS


# --- in a search ----------------------------------------------------------------------------

TEXTS = [f"The ship sails to harbour {at} with cargo {at * at}" for at in range(40)]


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    models = Models(name="hashing")
    made = open_store(":memory:", analyse)
    with Recollection(store=made, profile=load_profile("default"), models=models, clock=lambda: NOON) as db:
        voyages = [Memory(content=text, title=f"Voyage {at}", pinned=at % 7 == 0) for at, text in enumerate(TEXTS)]
        gardens = [Memory(content=f"Bed {at} of the garden holds roses") for at in range(200)]
        db.add_all([replace(each, external_id=str(at)) for at, each in enumerate((*voyages, *gardens))])
        yield made


def ask(store: Store, text: str = "ship harbour cargo", *, reader: Judging | None = None, **more: object) -> Reply:
    profile = load_profile(str(more.pop("profile", "default")))
    request = Request(text=text, **{"mode": "keyword", "limit": 100, **more})  # type: ignore[arg-type]
    context = SearchContext(store=store, profile=profile, now=NOON, embedder=HashingEmbedder(), reranker=lambda: reader)
    reply = search(request, context)
    return replace(reply, timings_ms={})


def last_first(_: str, text: str) -> float:
    """Judge the later voyages to be the better answers."""
    return int(text.split()[1]) / 100


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", BUILT_IN)
def test_the_first_are_read_again_in_every_mode_and_nobody_is_lost_or_added(
    store: Store, name: str, mode: Mode
) -> None:
    former, reader = ask(store, mode=mode, profile=name), Judging(last_first)

    reply = ask(store, mode=mode, profile=name, reader=reader)

    before, after = [hit.id for hit in former.hits], [hit.id for hit in reply.hits]
    assert len(before) > 20
    assert after != before
    assert sorted(after[:RERANK_TOP_K]) == sorted(before[:RERANK_TOP_K])
    assert after[RERANK_TOP_K:] == before[RERANK_TOP_K:]
    assert len(reader.read) == min(RERANK_TOP_K, len(before))
    assert reply.degraded == former.degraded
    for hit in reply.hits:
        product = 1.0
        for factor in hit.factors.values():
            product *= factor
        assert hit.score == pytest.approx(sum(share.points for share in hit.shares) * product)
        assert (hit.share("rerank") is not None) == (hit.id in before[:RERANK_TOP_K])


def test_the_title_is_read_before_the_text_and_the_question_without_its_filters(store: Store) -> None:
    asked: list[str] = []

    def judge(query: str, _: str) -> float:
        asked.append(query)
        return 0.0

    reader = Judging(judge)

    ask(store, "project:default cargo 1521", reader=reader)

    assert set(asked) == {"cargo 1521"}
    assert "Voyage 39\nThe ship sails to harbour 39 with cargo 1521" in reader.read


def test_a_longer_answer_begins_alike(store: Store) -> None:
    whole = ask(store, reader=Judging(last_first), limit=100)

    for limit in (1, 5, 29, 31):
        part = ask(store, reader=Judging(last_first), limit=limit)
        assert part.hits == whole.hits[:limit]


@pytest.mark.parametrize("query", ["ship OR cargo", "ship AND harbour", "(ship NOT gardens)"])
def test_operators_are_not_read_again(store: Store, query: str) -> None:
    reader = Judging(last_first)

    reply = ask(store, query, reader=reader)

    assert reply.hits
    assert reader.read == []


def test_without_hits_no_reranker_is_asked_for(store: Store) -> None:
    def loaded() -> Judging:
        raise AssertionError("it was loaded for nothing")

    request = Request(text="xylophone", mode="keyword")
    reply = search(request, SearchContext(store=store, profile=load_profile("default"), now=NOON, reranker=loaded))

    assert reply.outcome == "none"


def test_a_reranker_that_fails_leaves_the_former_order_and_the_reply_says_so(store: Store) -> None:
    reply = ask(store, reader=Broken())

    assert reply.degraded == "reranker_failed"
    assert reply == replace(ask(store), degraded="reranker_failed")


def test_why_tells_what_the_second_reading_made_of_a_memory(store: Store) -> None:
    reply = ask(store, reader=Judging(last_first), limit=None)
    hit = reply.hits[0]
    request = Request(text="ship harbour cargo", mode="keyword")
    reader = Judging(last_first)

    context = SearchContext(store=store, profile=load_profile("default"), now=NOON, reranker=lambda: reader)

    told = why(hit.id, request, context)

    share = hit.share("rerank")
    assert (told.found, told.rank, told.score) == (True, 1, hit.score)
    assert share is not None
    assert [(each.rank, each.score) for each in told.lists if each.ranking == "rerank"] == [(share.rank, share.native)]
