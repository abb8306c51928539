"""The second reading: who is read, what of them, what comes of it, and what stays as it was."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit import NOON
from recollect import Recollection, Reply
from recollect.embedders.hashing import HashingEmbedder
from recollect.embedders.models import Models
from recollect.errors import ModelError, ProfileError
from recollect.profile import BUILT_IN, Profile, Rerank, load_profile, read_profile
from recollect.records import Memory
from recollect.replies import Mode, Request, Share
from recollect.search.answer import search
from recollect.search.candidates import Candidate
from recollect.search.rerank import mix_scores, windows
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


def candidates(*points: float) -> list[Candidate]:
    """Return candidates 1, 2, … that the words gave these points."""
    return [
        Candidate(id=row, shares=(Share(ranking="words", rank=row, points=each, native=each),), factors={"prior": 1})
        for row, each in enumerate(points, start=1)
    ]


def by_text(scores: dict[str, float]) -> Judging:
    return Judging(lambda _, text: scores[text])


# --- the order ------------------------------------------------------------------------------


def test_the_score_is_mixed_of_both_opinions_on_the_scale_of_the_first() -> None:
    reader = by_text({"a": 0.1, "b": 0.9})

    read = mix_scores(candidates(8.0, 4.0), {1: ["a"], 2: ["b"]}, query="q", reranker=reader, weight=0.25)

    assert [each.id for each in read] == [1, 2]
    assert [each.score for each in read] == pytest.approx([0.75 * 8 + 0.25 * 0.1 * 8, 0.75 * 4 + 0.25 * 0.9 * 8])


@pytest.mark.parametrize(("weight", "order"), [(0.0, [1, 2]), (0.2, [1, 2]), (0.8, [2, 1]), (1.0, [2, 1])])
def test_the_weight_moves_the_order(weight: float, order: list[int]) -> None:
    reader = by_text({"a": 0.1, "b": 0.9})

    read = mix_scores(candidates(8.0, 4.0), {1: ["a"], 2: ["b"]}, query="q", reranker=reader, weight=weight)

    assert [each.id for each in read] == order


def test_the_best_window_counts() -> None:
    reader = by_text({"a": 0.5, "poor": 0.0, "rich": 0.9})

    read = mix_scores(
        candidates(1.0, 1.0), {1: ["a"], 2: ["poor", "rich", "poor"]}, query="q", reranker=reader, weight=1
    )

    assert [(each.id, each.score) for each in read] == [(2, 0.9), (1, 0.5)]


def test_ties_keep_the_former_order() -> None:
    reader = Judging(lambda _, __: 0.5)
    former = [replace(each, id=9 - each.id) for each in candidates(1.0, 1.0, 1.0)]

    read = mix_scores(former, {each.id: ["same"] for each in former}, query="q", reranker=reader, weight=0.5)

    assert [each.id for each in read] == [8, 7, 6]
    assert [each.shares[-1].rank for each in read] == [1, 2, 3]


def test_factors_still_weigh_what_was_read() -> None:
    reader = Judging(lambda _, __: 1.0)
    old = replace(candidates(1.0)[0], factors={"prior": 0.5})

    (read,) = mix_scores([old], {1: ["text"]}, query="q", reranker=reader, weight=0.5)

    assert read.score == 0.5


def test_the_share_of_the_reranker_carries_its_rank_and_its_own_score() -> None:
    reader = by_text({"a": 0.1, "b": 0.9})

    read = mix_scores(candidates(1.0, 0.5), {1: ["a"], 2: ["b"]}, query="q", reranker=reader, weight=0.5)

    shares = {each.id: each.shares[-1] for each in read}
    assert shares[1] == Share(ranking="rerank", rank=2, points=0.05, native=0.1)
    assert shares[2] == Share(ranking="rerank", rank=1, points=0.45, native=0.9)


@given(
    points=st.lists(st.floats(-1, 30), min_size=1, max_size=12).map(lambda each: sorted(each, reverse=True)),
    scores=st.lists(st.floats(0, 1), min_size=12, max_size=12),
    top=st.integers(0, 12),
    weight=st.floats(0, 1),
)
def test_only_the_first_change_places_and_every_score_is_explained(
    points: list[float], scores: list[float], top: int, weight: float
) -> None:
    former = candidates(*points)
    reader = Judging(lambda _, text: scores[int(text) - 1])
    texts = {each.id: [str(each.id)] for each in former[:top]}

    read = mix_scores(former, texts, query="q", reranker=reader, weight=weight)

    ids = [each.id for each in read]
    assert sorted(ids[:top]) == [each.id for each in former[:top]]
    assert ids[top:] == [each.id for each in former[top:]]
    assert all(one.score >= other.score - 1e-9 for one, other in pairwise(read))
    for each in read:
        given_before = (1 - weight) * former[each.id - 1].fused if texts else former[each.id - 1].fused
        added = sum(share.points for share in each.shares if share.ranking == "rerank")
        assert each.score == pytest.approx(given_before + added)
        assert (added > 0) <= (each.id in texts)


# --- what is read ---------------------------------------------------------------------------

FILLER = "nothing of interest stands here at all " * 10
WANTED = QueryTerms(stems=frozenset({"cat", "feed"}))


def shown(text: str, *, near: tuple[int, int] | None = None, **rules: int) -> list[str]:
    spans = windows(text, WANTED, near=near, rules=Rerank(**{"window_chars": 60, "max_windows": 1, **rules}))
    return [text[start:end] for start, end in spans]


def test_a_text_of_one_window_is_read_whole() -> None:
    assert shown("the cat sleeps") == ["the cat sleeps"]


def test_the_window_is_where_most_of_the_wanted_words_stand() -> None:
    text = f"a cat sleeps {FILLER} Anna feeds the cat at noon. {FILLER}"

    (window,) = shown(text)

    assert "Anna feeds the cat at noon." in window
    assert len(window) <= 60
    assert set(window.split()) <= set(text.split()), "words stay whole"


def test_further_windows_hold_other_places() -> None:
    text = f"a cat sleeps {FILLER} Anna feeds the cat at noon. {FILLER}"

    first, second = shown(text, max_windows=5)

    assert "feeds the cat" in first
    assert "a cat sleeps" in second


def test_without_any_wanted_word_the_passage_nearest_in_meaning_is_read() -> None:
    text = f"{FILLER} She pours milk into the bowl. {FILLER}"
    at = text.index("She")

    assert shown(text, near=(at, at + 29)) == ["She pours milk into the bowl."]


def test_the_passage_is_read_beside_the_words_where_two_windows_are_read() -> None:
    text = f"a cat sleeps {FILLER} She pours milk into the bowl. {FILLER} another cat"
    at = text.index("She")

    first, second = shown(text, near=(at, at + 29), max_windows=2)

    assert first.startswith("a cat sleeps")
    assert second == "She pours milk into the bowl."


def test_a_text_that_offers_nothing_is_read_from_its_beginning() -> None:
    (window,) = shown(f"First {FILLER}")

    assert window.startswith("First nothing of interest")


def test_a_text_without_spaces_is_cut_where_the_window_ends() -> None:
    text = "无" * 200 + "喂猫" + "无" * 200

    (span,) = windows(
        text, QueryTerms(stems=frozenset({"喂猫"})), near=None, rules=Rerank(window_chars=50, max_windows=1)
    )

    assert "喂猫" in text[slice(*span)]
    assert span[1] - span[0] == 50


@given(text=st.text(alphabet="cat feeds\n猫", max_size=400), window=st.integers(50, 120), most=st.integers(1, 4))
def test_windows_lie_in_the_text_and_are_no_larger_or_more_than_asked(text: str, window: int, most: int) -> None:
    spans = windows(text, WANTED, near=None, rules=Rerank(window_chars=window, max_windows=most))

    assert 1 <= len(spans) <= most
    assert all(0 <= start <= end <= len(text) and end - start <= window for start, end in spans)


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
    profile = more.pop("profile", load_profile("default"))
    request = Request(text=text, **{"mode": "keyword", "limit": 100, **more})  # type: ignore[arg-type]
    assert isinstance(profile, Profile)
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
    profile = replace(load_profile(name), rerank=Rerank(top_k=10, weight=1.0))
    former, reader = ask(store, mode=mode, profile=profile), Judging(last_first)

    reply = ask(store, mode=mode, profile=profile, reader=reader)

    before, after = [hit.id for hit in former.hits], [hit.id for hit in reply.hits]
    assert len(before) > 20
    assert after != before
    assert sorted(after[:10]) == sorted(before[:10])
    assert after[10:] == before[10:]
    assert len(reader.read) == min(10, len(before))
    assert reply.degraded == former.degraded
    for hit in reply.hits:
        product = 1.0
        for factor in hit.factors.values():
            product *= factor
        assert hit.score == pytest.approx(sum(share.points for share in hit.shares) * product)
        assert (hit.share("rerank") is not None) == (hit.id in before[:10])


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


@pytest.mark.parametrize("rules", [Rerank(top_k=0), Rerank(weight=0.0)])
def test_who_wants_nothing_of_it_pays_nothing(store: Store, rules: Rerank) -> None:
    profile, reader = replace(load_profile("default"), rerank=rules), Judging(last_first)

    reply = ask(store, profile=profile, reader=reader)

    assert reply == ask(store, profile=profile)
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


# --- the profile ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["top_k = -1", "weight = 1.5", "weight = nan", "max_windows = 0", "window_chars = 10", "top_k = 'all'"]
)
def test_a_number_that_makes_no_sense_is_refused(line: str) -> None:
    with pytest.raises(ProfileError, match=r"mine\.rerank\.") as caught:
        read_profile(f"[rerank]\n{line}", name="mine")

    assert caught.value.hint


def test_a_profile_names_only_what_differs() -> None:
    assert read_profile("[rerank]\ntop_k = 5", name="mine").rerank == Rerank(top_k=5)
    assert {load_profile(name).rerank for name in BUILT_IN} == {Rerank()}
