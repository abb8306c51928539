"""Understanding the question: typos, facets, other ways to ask, boosters, related memories, dates; on every store."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import recollect
from kit import NOON, STORES, answered, candidates_of
from recollect.embedders.hashing import HashingEmbedder
from recollect.embedders.models import Models
from recollect.errors import UnknownMemory
from recollect.operations import OPERATIONS
from recollect.profile import DateBoost, load_profile
from recollect.recollection import Recollection
from recollect.records import ALL_PROJECTS, Filter, Memory
from recollect.replies import Listing, Reply, Request, Share
from recollect.search.candidates import Candidate
from recollect.search.parse import Query
from recollect.search.state import State
from recollect.search.weigh import boost_dates
from recollect.text.analyser import analyse
from recollect.text.dates import find_dates

DAY = timedelta(days=1)
TEXTS = (
    "The deployment of the service takes four minutes",
    "Authentication uses short tokens",
    "Lunch is served in the garden",
    "The garden has apple trees and a bench",
    "Backups run every night on the second server",
)


KNOWN = ("deployment", "service", "garden", "apple", "bench", "backups", "server", "night")


class Hashing(Models):
    """The hashing model, whatever it is called."""

    def named(self, name: str) -> HashingEmbedder | None:
        return None if name == "none" else HashingEmbedder(dimensions=256)


def opened(kind: str, folder: Path, *, profile: str = "default", model: str = "none") -> Recollection:
    store = STORES[kind](folder, analyse)
    db = Recollection(store=store, profile=load_profile(profile), models=Hashing(name=model), clock=lambda: NOON)
    for text in TEXTS:
        db.add(text)
    return db


@pytest.fixture(params=sorted(STORES))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def db(kind: str, tmp_path: Path) -> Iterator[Recollection]:
    with opened(kind, tmp_path) as made:
        yield made


@pytest.fixture
def engram(kind: str, tmp_path: Path) -> Iterator[Recollection]:
    with opened(kind, tmp_path, profile="engram") as made:
        yield made


def texts(reply: recollect.Reply) -> list[str]:
    return [hit.memory.content for hit in reply.hits]


def lists(reply: recollect.Reply) -> set[str]:
    return {share.ranking for hit in reply.hits for share in hit.shares}


def exact(db: Recollection) -> Recollection:
    db.profile = replace(db.profile, typos=None)
    return db


# --- typos ----------------------------------------------------------------------------------


@pytest.mark.req("C-28")
@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("athentication", "authentication"),
        ("gardne", "garden"),
        ("the bakcups", "the backups"),
        ("type:note bnech", "type:note bench"),
    ],
)
def test_a_question_without_an_answer_is_suggested_in_the_words_of_the_store(
    db: Recollection, query: str, meant: str
) -> None:
    reply = exact(db).search(query)

    assert reply.outcome == "none"
    assert reply.suggestions[0] == meant


@pytest.mark.req("C-28")
def test_every_unknown_word_is_replaced_in_a_suggestion(db: Recollection) -> None:
    reply = exact(db).search("aple benhc")

    assert reply.suggestions[0] == "apple bench"
    assert len(reply.suggestions) <= 3


@pytest.mark.req("C-28")
@pytest.mark.parametrize("query", ["garden", "gardens", "deployments", "xylophone", "", "b2", "花园"])
def test_nothing_is_suggested_for_known_words_or_for_words_near_to_none(db: Recollection, query: str) -> None:
    assert db.search(query).suggestions == ()


def test_a_suggestion_never_names_a_word_of_another_project(kind: str, tmp_path: Path) -> None:
    with Recollection(store=STORES[kind](tmp_path, analyse), profile=load_profile("default")) as db:
        db.add("A secret zeppelin", project="theirs")
        db.add("Nothing to see", project="mine")
        db.project = "mine"

        assert db.search("zepelin").suggestions == ()
        assert db.search("zepelin").hits == ()


@pytest.mark.req("C-28")
def test_a_mistyped_word_finds_what_it_means_with_less_weight(db: Recollection) -> None:
    right, wrong = db.search("authentication", mode="keyword"), db.search("authentcation", mode="keyword")

    assert texts(wrong) == texts(right) == ["Authentication uses short tokens"]
    assert 0 < wrong.hits[0].score < right.hits[0].score
    assert "[Authentication]" in wrong.hits[0].snippet
    assert (right.suggestions, wrong.suggestions) == ((), ("authentication",))


def test_tolerance_can_be_turned_off(db: Recollection) -> None:
    assert exact(db).search("authentcation").hits == ()


@pytest.mark.parametrize("query", ['"authentcation"', "authentcation AND tokens", "authentcation*"])
def test_operators_are_taken_as_they_are_typed(db: Recollection, query: str) -> None:
    assert db.search(query).hits == ()


def test_a_word_that_became_known_is_no_longer_corrected(db: Recollection) -> None:
    before = texts(db.search("gardan"))
    db.add("Gardan is a name")

    assert len(before) == 2
    assert texts(db.search("gardan")) == ["Gardan is a name"]


def test_one_who_mistypes_often_is_answered_as_one_who_does_not(db: Recollection) -> None:
    first = db.search("gardem", mode="keyword")
    for number in range(16):
        db.search(f"xylo{'abcdefghijklmnopqrst'[number] * 3}", mode="keyword")

    later = db.search("gardwn", mode="keyword")

    assert texts(first) == texts(later)
    assert first.suggestions == later.suggestions == ("garden",)


@settings(max_examples=25, deadline=None)
@given(
    words=st.lists(
        st.sampled_from(["deployment", "service", "garden", "apple", "bench", "backups", "server", "night"]), min_size=1
    )
)
@pytest.mark.parametrize("kind", sorted(STORES))
def test_questions_in_known_words_are_answered_as_without_tolerance(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], kind: str
) -> None:
    with opened(kind, tmp_path_factory.mktemp("asking")) as db:
        tolerant = db.search(" ".join(words))

        assert replace(exact(db).search(" ".join(words)), timings_ms={}) == replace(tolerant, timings_ms={})


# --- facets ---------------------------------------------------------------------------------


@pytest.mark.req("C-27")
def test_facets_count_the_whole_match_set_and_not_only_the_page(db: Recollection) -> None:
    for number in range(7):
        db.add(f"Lighthouse number {number}", type="decision" if number % 2 else "note", tags=("sea",))

    reply = db.search("lighthouse", limit=2, facets=True)

    assert len(reply.hits) == 2
    assert reply.facets["type"] == {"note": 4, "decision": 3}
    assert reply.facets["tag"] == {"sea": 7}
    assert reply.facets["month"] == {"2026-05": 7}


@pytest.mark.req("C-27")
def test_facets_and_filters_combine(db: Recollection) -> None:
    db.add("Database: PostgreSQL", source="notes/a.md", observed_at=NOON - 40 * DAY)
    db.add("Database backups are weekly", source="notes/b.md")

    by_fact = db.search("database", facets=True, where=Filter(fact_types=("kv",)))
    by_query = db.search("database fact_type:kv", facets=True)
    by_date = db.search("database", facets=True, where=Filter(since=NOON - DAY))

    assert by_fact.facets["source"] == {"notes/a.md": 1}
    assert by_fact.facets["fact_type"] == {"kv": 1}
    assert by_query.facets == by_fact.facets
    assert by_date.facets["source"] == {"notes/b.md": 1}


@pytest.mark.req("C-27")
def test_a_blank_question_counts_all_that_the_filters_admit(db: Recollection) -> None:
    everything, nothing = db.search("", facets=True), db.search("", facets=True, where=Filter(types=()))

    assert everything.facets["kind"] == {"memory": len(TEXTS)}
    assert not any(nothing.facets.values())


def test_nobody_counts_unless_asked(db: Recollection) -> None:
    assert db.search("garden").facets == {}


# --- other ways to ask ----------------------------------------------------------------------


@pytest.mark.req("E-12")
def test_a_question_is_asked_in_other_ways_that_weigh_less(engram: Recollection) -> None:
    engram.add("Design decision: tokens are rotated")

    reply = engram.search("how does the authentication work?", mode="keyword")

    assert "words" in lists(reply)
    assert 1 <= sum(name.startswith("expansion") for name in lists(reply)) <= 4
    assert texts(reply)[0] == "Authentication uses short tokens"
    assert "Design decision: tokens are rotated" in texts(reply)


@pytest.mark.req("E-12")
@pytest.mark.parametrize("query", ["authentication", "garden AND bench", "认证怎么用?"])
def test_a_general_question_is_asked_as_it_stands(engram: Recollection, query: str) -> None:
    assert lists(engram.search(query, mode="keyword")) <= {"words"}


@pytest.mark.req("E-12")
def test_the_default_profile_asks_the_question_alone(db: Recollection) -> None:
    assert lists(db.search("how does the authentication work?")) == {"words"}


@pytest.mark.case(106)
def test_a_strong_signal_is_enough_unless_an_intent_is_given(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path, profile="engram", model="hashing") as db:
        for number in range(60):
            db.add(f"Filler about subject{number} and design decisions")
        db.add("Zeppelin mooring")

        plain = db.search("what is zeppelin mooring?")
        insisting = db.search("what is zeppelin mooring?", intent="airships")

    assert lists(plain) == {"words"}
    assert {"words", "vector", "expansion 1"} <= lists(insisting)


@pytest.mark.req("E-13")
def test_words_of_the_store_near_in_meaning_are_asked_for_too(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path, profile="engram", model="hashing") as db:
        db.add("Reauthentications are logged")  # hashed parts of words: near, and yet another stem

        found = db.search("authentications", mode="hybrid", intent="logs")
        without = db.search("authentications", mode="keyword", intent="logs")

    assert "expansion 1" in lists(found)
    assert any(hit.share("expansion 1") and "Reauth" in hit.memory.content for hit in found.hits)
    assert lists(without) == {"words"}


# --- boosters -------------------------------------------------------------------------------


@pytest.mark.req("E-14")
@pytest.mark.case(103)
@pytest.mark.parametrize(
    ("verb", "text"),
    [
        ("decisions", "We chose the cache for its architecture"),
        ("changes", "The cache was refactored and changed"),
        ("how_it_works", "The cache implements a write-through design"),
    ],
)
def test_a_booster_leans_towards_its_kind_on_every_surface(db: Recollection, verb: str, text: str) -> None:
    db.add("The cache is on the second floor of the cache building")
    db.add(text)

    said: Reply = answered(OPERATIONS[verb.replace("_", "-")], db, {"query": "cache", "limit": 1}).value

    assert texts(getattr(db, verb)("cache", limit=1)) == [text]
    assert texts(said) == [text]


def test_a_blank_booster_browses(db: Recollection) -> None:
    assert [hit.match_type for hit in db.decisions("", limit=1).hits] == ["browse"]


# --- related --------------------------------------------------------------------------------


@pytest.mark.req("C-29")
def test_what_belongs_to_a_memory_is_near_in_words_or_states_about_the_same(db: Recollection) -> None:
    one = db.add("Database: PostgreSQL on the blue machine").id
    near = db.add("The blue machine needs a new fan").id
    same = db.add("database: vacuumed on Sundays").id

    found = {each.id: each.reasons for each in db.related(one)}

    assert set(found) == {near, same}
    assert found[near][0].startswith("words 0.")
    assert found[same][-1] == "fact: Database"


@pytest.mark.req("C-29")
def test_with_a_model_the_nearest_in_meaning_come_first_and_say_so(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path, model="hashing") as db:
        one = db.add("Zeppelin mooring mast beside the old harbour").id
        near = db.add("Zeppelin mooring mast wants some paint").id

        found = db.related(one)

    assert found[0].id == near
    assert found[0].reasons[0].startswith("meaning 0.")
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert one not in {each.id for each in found}


@pytest.mark.req("C-29")
def test_near_repeats_and_what_is_forgotten_are_not_related(db: Recollection) -> None:
    long = "The quarterly report lists every open risk of the harbour project with its owner and the day"
    one = db.add(long, external_id="a").id
    db.add(long + " again", external_id="b")
    gone = db.add("The harbour project has a risk").id
    db.forget(gone)

    assert db.related(one) == ()


def test_related_takes_a_limit_and_refuses_an_unknown_id(db: Recollection) -> None:
    for number in range(15):
        db.add(f"Lighthouse keeper {number} saw ship {number * 7}")

    assert len(db.related(6)) == 10
    assert len(db.related(6, limit=3)) == 3
    with pytest.raises(UnknownMemory):
        db.related(999)


# --- dates ----------------------------------------------------------------------------------


def test_a_date_in_a_plain_question_leans_towards_its_memories(db: Recollection) -> None:
    for days in (40, 1, 80):
        db.add(f"Standup notes of team {'abcdefghijklmnop'[days % 16]}", observed_at=NOON - days * DAY)

    plain, dated = db.search("standup notes"), db.search("standup notes yesterday")

    assert len(dated.hits) == len(plain.hits) == 3
    assert dated.hits[0].memory.when == NOON - DAY
    assert dated.hits[0].factors["date_boost"] == pytest.approx(1.95, abs=0.01)
    assert "date_boost" not in plain.hits[0].factors


@settings(max_examples=150, deadline=None)
@given(
    scores=st.lists(st.floats(0.01, 10.0), min_size=1, max_size=60),
    inside=st.lists(st.booleans(), min_size=60, max_size=60),
    boost=st.floats(0.0, 3.0),
)
def test_a_date_never_takes_the_best_hit_out_of_the_first_ten(
    scores: list[float], inside: list[bool], boost: float
) -> None:
    dates = find_dates("what happened yesterday", now=NOON)
    share = [(Share(ranking="words", rank=None, points=score),) for score in scores]
    found = candidates_of(Candidate(id=row, shares=given) for row, given in enumerate(share)).by_score()
    memories = {
        row: Memory(id=row, content="x", created_at=NOON - (DAY if inside[row] else 9 * DAY))
        for row in range(len(scores))
    }

    query = Query(text="x", dates=dates)
    state = State(
        request=Request(text="x"), query=query, scope=ALL_PROJECTS, now=NOON, candidates=found, outlines=memories
    )

    boosted = boost_dates(state, rules=DateBoost(boost=boost, margin_days=4.0)).candidates

    assert set(boosted.ids) == set(found.ids)
    assert found.ids[0] in boosted.ids[:10]


def test_a_memory_that_names_the_date_counts_as_one_of_it(db: Recollection) -> None:
    for number, text in enumerate(("Trip to Husum, 17.–19. November", "Trip to Bremen", "Trip to Kiel")):  # noqa: RUF001
        db.add(text, observed_at=NOON - (60 + number) * DAY)

    found = db.search("trip on 18 November", mode="keyword")

    assert found.hits[0].memory.content.startswith("Trip to Husum")
    assert found.hits[0].factors["date_boost"] > 1


def test_the_words_of_a_date_are_not_looked_for_where_memories_are_of_it(db: Recollection) -> None:
    db.add("The heating is serviced every week", observed_at=NOON - 90 * DAY)
    db.add("The heating failed and was repaired", observed_at=NOON - 7 * DAY)

    found = db.search("heating last week", mode="keyword")

    assert texts(found)[0] == "The heating failed and was repaired"
    assert "[week]" not in " ".join(hit.snippet for hit in found.hits)


def test_words_of_a_date_of_which_no_memory_is_stay_words(db: Recollection) -> None:
    db.add("Max and I camped by the lake last winter", observed_at=NOON - 900 * DAY)
    db.add("Max and I cooked", observed_at=NOON - 900 * DAY)

    found = db.search("Max three years ago last winter", mode="keyword")

    assert "[winter]" in found.hits[0].snippet


def test_a_question_about_a_time_is_answered_by_what_was_said_before_its_end(db: Recollection) -> None:
    db.add("Cleaning pay of Lata is 6500 a month", observed_at=NOON - 300 * DAY)
    db.add("Cleaning pay of Lata a month is now 7200", observed_at=NOON - 20 * DAY)

    before, today = db.search("cleaning pay of Lata 60 days ago"), db.search("cleaning pay of Lata")

    assert "6500" in before.hits[0].memory.content
    assert "7200" in today.hits[0].memory.content


def test_capitals_in_a_sentence_are_no_operators(db: Recollection) -> None:
    db.add("Express is used for the web server")

    found = db.search("I do NOT want to use Express", mode="keyword")

    assert texts(found)[0] == "Express is used for the web server"


def test_a_day_can_be_listed_and_searched(db: Recollection) -> None:
    db.add("Yesterday's standup in the garden", observed_at=NOON - DAY)

    listed: Listing = answered(OPERATIONS["list"], db, {"on": "yesterday"}).value
    searched: Reply = answered(OPERATIONS["search"], db, {"query": "garden", "on": "yesterday"}).value

    assert [each.content for each in listed.memories] == ["Yesterday's standup in the garden"]
    assert texts(searched) == ["Yesterday's standup in the garden"]


def test_people_read_what_was_meant_and_how_many_there_are(db: Recollection) -> None:
    said = answered(OPERATIONS["search"], db, {"query": "gardne", "facets": True}).text()

    assert "Did you mean: garden" in said
    assert "by type: note 2" in said
