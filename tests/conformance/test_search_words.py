"""Searching by word: what a question finds, in which order, on every store."""

from datetime import timedelta
from pathlib import Path

import pytest

import recollect
from kit import NOON
from recollect import Filter, Memory, Recollection
from recollect.profile import BUILT_IN
from recollect.replies import Mode

TEN = (
    "Trading rule: cut a losing position at two percent and never average down",
    "Crypto wallets are backed up on paper, with the seed words in two places",
    "Go is a typed language that compiles quickly",
    "Python is loved for notebooks and quick scripts",
    "Rust keeps programs safe without garbage collection or a virtual machine",
    "Deploy the service with Docker; a deployment takes five minutes",
    "The deployment process runs every Tuesday after the tests are green",
    "JavaScript code running in the browser needs small bundles",
    "The collector of Go frees memory while the program works, so pauses stay short",
    "Cortex is written in Go and keeps each memory as a row in SQLite beside its facts and their sources",
)
USER = "ann"
NOISE = ("a bird", "the cow", "some fish", "one horse", "two mice", "many bees")


def crowd(size: int) -> list[Memory]:
    """Return memories about something else: what is rare among many weighs as it does in a real store."""
    return [Memory(content=f"entry {n} of the ledger", external_id=f"crowd-{n}") for n in range(size)]


def remember(db: Recollection, *texts: str) -> list[int]:
    return [kept.id for kept in db.add_all([Memory(content=text) for text in texts])]


def found(db: Recollection, query: str, *, profile: str = "default", **options: object) -> list[int]:
    return [hit.id for hit in db.search(query, profile=profile, **options).hits]  # type: ignore[arg-type]


# --- ten memories, as Cortex asks them ------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("Go", [3, 9, 10], marks=[pytest.mark.case(36), pytest.mark.req("C-01", "C-07")]),
        pytest.param("memory Go", [9, 10], marks=[pytest.mark.case(37), pytest.mark.req("C-02")]),
        pytest.param("deployment process", [7], marks=pytest.mark.req("C-02")),
        pytest.param("trading OR crypto", [1, 2], marks=[pytest.mark.case(38), pytest.mark.req("C-03")]),
        pytest.param("deployment NOT Docker", [7], marks=[pytest.mark.case(39), pytest.mark.req("C-04")]),
        pytest.param('"garbage collection"', [5], marks=[pytest.mark.case(40), pytest.mark.req("C-05", "N-12")]),
        pytest.param("deploy*", [6, 7], marks=[pytest.mark.case(41), pytest.mark.req("C-06")]),
        pytest.param("run", [7, 8], marks=[pytest.mark.case(42), pytest.mark.req("N-10")]),
        pytest.param('"run"', [], marks=pytest.mark.case(42)),
        pytest.param("xylophone", [], marks=[pytest.mark.case(43), pytest.mark.req("C-11")]),
        pytest.param("", [], marks=pytest.mark.case(44)),
        pytest.param(" \t\n ", [], marks=pytest.mark.case(44)),
        pytest.param("deployment NOT Docker deploy*", [7], marks=pytest.mark.case(47)),
    ],
)
def test_ten_memories_answer_as_cortex_does(db: Recollection, query: str, expected: list[int]) -> None:
    remember(db, *TEN)

    assert found(db, query, profile="cortex", mode="keyword") == expected


@pytest.mark.req("C-11")
@pytest.mark.case(43)
def test_nothing_found_is_an_empty_answer_with_a_reason_and_no_error(db: Recollection) -> None:
    remember(db, *TEN)

    reply = db.search("xylophone")

    assert (reply.hits, reply.outcome, reply.total) == ((), "none", 0)
    assert reply.reason is not None
    assert reply.reason.code == "no_match"


@pytest.mark.req("C-07")
@pytest.mark.parametrize("profile", BUILT_IN)
def test_scores_never_rise_down_the_list_and_ranks_count_from_one(db: Recollection, profile: str) -> None:
    remember(db, *TEN, *NOISE)

    hits = db.search("the memory of Go programs", profile=profile).hits

    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


# --- plain words ----------------------------------------------------------------------------


@pytest.mark.req("O-01")
def test_plain_words_are_joined_by_or_and_words_without_meaning_are_left_out(db: Recollection) -> None:
    tuesday, docker, _ = remember(db, "We ship on Tuesday", "Docker builds the image", "what do we do and how is it so")

    ids = found(db, "how do we do it on Tuesday with Docker")

    assert set(ids) == {tuesday, docker}


@pytest.mark.req("O-01")
def test_a_question_of_nothing_but_small_words_is_asked_all_the_same(db: Recollection) -> None:
    (row,) = remember(db, "to be or not to be")

    assert found(db, "to be") == [row]


@pytest.mark.req("N-10", "C-06")
@pytest.mark.parametrize(
    ("query", "text"),
    [("retry", "three retries"), ("retries", "one retry"), ("deploy", "the deployment"), ("ship", "we shipped it")],
)
def test_a_plain_word_finds_its_other_forms(db: Recollection, query: str, text: str) -> None:
    (row,) = remember(db, text)

    assert found(db, query) == [row]


@pytest.mark.req("C-06")
@pytest.mark.parametrize("profile", BUILT_IN)
def test_a_prefix_finds_every_word_that_begins_like_it(db: Recollection, profile: str) -> None:
    one, two, _ = remember(db, "a deployment took long", "deployed at noon", "employed since May")
    db.add_all(crowd(60))

    assert set(found(db, "deploy*", profile=profile)) == {one, two}


@pytest.mark.case(56)
def test_a_word_in_quotes_is_exact_and_a_plain_one_is_not(db: Recollection) -> None:
    (row,) = remember(db, "Several kinases were inhibited")

    assert found(db, '"kinase"') == []
    assert found(db, "kinase") == [row]


@pytest.mark.case(55)
def test_accents_and_case_do_not_matter(db: Recollection) -> None:
    (row,) = remember(db, "Meet at the CAFÉ")

    assert found(db, "cafe\u0301") == found(db, "cafe") == found(db, "Café") == [row]


@pytest.mark.case(59)
def test_the_memory_with_all_the_words_comes_before_those_with_some(db: Recollection) -> None:
    deep, learning, query, _ = remember(
        db,
        "Deep learning needs many examples",
        "Learning a language takes years",
        "The database answers a query in a millisecond",
        "Lakes are deep and cold, databases are not",
    )

    assert found(db, "deep learning")[0] == deep
    assert set(found(db, "deep learning")) >= {deep, learning}
    assert found(db, "database query")[0] == query


# --- phrases and operators ------------------------------------------------------------------


@pytest.mark.req("C-05", "N-12")
@pytest.mark.case(60)
def test_a_phrase_needs_its_words_side_by_side_in_order(db: Recollection) -> None:
    row, *_ = remember(db, "The quick brown fox jumps", "The brown fox is quick", "quick, then brown")

    assert found(db, '"quick brown"') == [row]


@pytest.mark.case(45)
def test_a_phrase_inside_a_question_is_kept_and_the_rest_are_plain_words(db: Recollection) -> None:
    both, words, _ = remember(
        db,
        "Melanie reads: nothing is impossible, a book about climbing",
        "Melanie wrote another book",
        "it is nothing, impossible to say",
    )
    remember(db, *NOISE)

    ids = found(db, 'When did Melanie read the book "nothing is impossible"?')

    assert ids == [both, words]


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [('"blue whale"', [1]), ('"whale blue"', []), ('"purple elephant"', []), ('"blue whale" docker', [1])],
)
def test_a_quoted_phrase_is_exact_in_every_mode(query: str, expected: list[int], mode: Mode) -> None:
    db = recollect.open(":memory:", model="hashing")
    remember(db, "The blue whale eats krill", "The whale is blue", "Docker images are built nightly", *NOISE)

    assert found(db, query, mode=mode) == expected


@pytest.mark.case(46)
def test_a_quote_that_never_closes_is_no_phrase(db: Recollection) -> None:
    both, one = remember(db, "an unclosed quote", "a quote of the day")

    assert found(db, '"unclosed quote?') == [both, one]


@pytest.mark.req("C-04")
@pytest.mark.case(50)
def test_a_minus_leaves_a_word_out(db: Recollection) -> None:
    row, *_ = remember(db, "performance of the index", "sports performance", "the athlete and his performance")

    assert found(db, "performance -sports -athlete") == [row]


@pytest.mark.case(51)
def test_nothing_but_exclusions_finds_nothing(db: Recollection) -> None:
    remember(db, *NOISE)

    reply = db.search("-sports -athlete")

    assert reply.hits == ()
    assert reply.reason is not None
    assert reply.reason.code == "blank_query"


@pytest.mark.req("C-03", "C-04")
def test_operators_find_word_forms_in_cortex_as_its_tokenizer_does(db: Recollection) -> None:
    expected = {
        "deployment OR shipping": [1, 2, 3],
        "deployment AND friday": [1],
        "deployment NOT fridays": [3],
        "(shipping OR deploying) NOT friday": [2, 3],
    }
    remember(db, "we deployed it on Friday", "the parcel was shipped", "who deploys today")
    db.add_all(crowd(20))

    assert {query: sorted(found(db, query, profile="cortex")) for query in expected} == expected
    assert found(db, "deployment OR shipping") == []  # elsewhere operators ask for exact words


@pytest.mark.req("C-03", "C-04")
def test_operators_are_upper_case_and_group(db: Recollection) -> None:
    expected = {
        "fox AND dog": {3},
        "fox OR dog": {1, 2, 3},
        "(fox OR dog) NOT cat": {1, 3},
        "fox OR (dog AND cat)": {1, 2, 3},
        "(fox OR cat) AND dog": {2, 3},
        '"a fox" OR ca*': {1, 2, 3},
        "fox -dog": {1},
        "fox and dog": {1, 2, 3},
        "fox not dog": {1, 2, 3},
    }
    remember(db, "a fox", "dog with cat", "a fox with a dog")
    db.add_all(crowd(20))

    assert {query: set(found(db, query)) for query in expected} == expected


@pytest.mark.case(49)
@pytest.mark.parametrize(
    ("query", "text", "apart"),
    [
        ("multi-agent", "a multi agent system", "an agent with multi tasks"),
        ("DEC-0054", "see dec 0054", "0054 is not in dec"),
        ("gpt-4", "GPT-4 answered", "4 models of gpt"),
        ("foo-bar-baz", "call foo_bar_baz", "baz bar foo"),
    ],
)
def test_a_word_with_hyphens_is_its_parts_side_by_side(db: Recollection, query: str, text: str, apart: str) -> None:
    row, other, *_ = remember(db, text, apart, *NOISE)

    assert found(db, query, profile="cortex") == found(db, f'"{query}"') == [row]
    assert set(found(db, query)) == {row, other}


def test_a_word_written_with_hyphens_is_found_first_where_it_is_written_so(db: Recollection) -> None:
    apart, row = remember(db, "a baz and a bar beside some foo", "call foo-bar-baz with care")
    db.add_all(crowd(60))

    assert found(db, "foo-bar-baz") == [row, apart]


@pytest.mark.case(52)
def test_a_phrase_may_hold_a_name_with_signs(db: Recollection) -> None:
    row, *_ = remember(db, "Notes on C++ performance", "performance in C, C++ and others", *NOISE)

    assert found(db, '"C++ performance"') == [row]


@pytest.mark.case(53)
@pytest.mark.parametrize("version", ["2026.4.10", "1.0.21"])
def test_a_version_is_found_whole(db: Recollection, version: str) -> None:
    row, *_ = remember(db, f"Release {version} is out", "Release 10.4 of 2026", "see 1.0 and 21 others", *NOISE)

    assert found(db, version)[0] == row
    assert found(db, version, profile="cortex") == [row]


@pytest.mark.case(54)
def test_quotes_inside_words_are_slips(db: Recollection) -> None:
    one, two = remember(db, "hello there", "a whole world")

    assert set(found(db, 'he"llo wo"rld')) == {one, two}


# --- fields ---------------------------------------------------------------------------------


@pytest.mark.req("N-11")
@pytest.mark.case(61)
def test_a_word_in_the_title_counts_more_than_one_in_the_body(db: Recollection) -> None:
    body = db.add("The walrus is a sea mammal", title="Animals of the sea").id
    title = db.add("An animal of the sea", title="The walrus is a mammal").id
    remember(db, *NOISE)

    assert found(db, "walrus") == [title, body]


@pytest.mark.req("N-01")
@pytest.mark.parametrize(
    "about",
    [
        {"title": "zebrafish"},
        {"name": "zebrafish"},
        {"description": "about a zebrafish"},
        {"path": "src/zebrafish/main.go"},
        {"worker_role": "zebrafish"},
        {"requirements": ["must keep the zebrafish"]},
        {"metadata": {"text": "zebrafish"}},
        {"metadata": {"team": {"pets": ["zebrafish"]}}},
        {"tags": ["zebrafish"]},
        {"section": "Lab > Zebrafish"},
        {"source": "lab/zebrafish.md"},
    ],
)
def test_every_field_is_searched_together_with_the_text(db: Recollection, about: dict[str, object]) -> None:
    kept = db.add("a plain sentence", **about)  # type: ignore[arg-type]
    remember(db, *NOISE)

    assert found(db, "zebrafish") == [kept.id]
    assert found(db, "zebrafish sentence")[0] == kept.id


@pytest.mark.req("C-08")
def test_a_snippet_shows_the_text_as_written_with_the_matches_marked(db: Recollection) -> None:
    remember(db, "Deploys: we RETRIED twice — “then” gave up. " + "filler words follow here. " * 30)

    (hit,) = db.search("retry").hits

    assert "we [RETRIED] twice — “then” gave up" in hit.snippet
    assert len(hit.snippet) < 300


# --- limits and order -----------------------------------------------------------------------


@pytest.mark.req("C-09")
@pytest.mark.case(62)
def test_a_limit_is_kept_and_without_one_twenty_come_back(db: Recollection) -> None:
    remember(db, *(f"cat number {word} {'x ' * n}" for n, word in enumerate("abcdefghijklmnopqrstuvwxy")))

    assert len(found(db, "cat", limit=5)) == 5
    assert len(found(db, "cat")) == 20
    assert db.search("cat", limit=5).total == 25


@pytest.mark.req("E-10")
@pytest.mark.case(104)
@pytest.mark.parametrize(("limit", "shown"), [(None, 20), (0, 20), (-5, 20), (50, 50), (200, 100), (2**62, 100)])
def test_a_limit_out_of_bounds_is_brought_into_them(db: Recollection, limit: int | None, shown: int) -> None:
    db.add_all([Memory(content=f"cat {n}", external_id=str(n)) for n in range(130)])

    assert len(found(db, "cat", profile="engram", limit=limit)) == shown
    assert len(found(db, "", profile="engram", limit=limit)) == shown


@pytest.mark.case(65)
@pytest.mark.parametrize("profile", BUILT_IN)
def test_a_longer_answer_begins_like_a_shorter_one(db: Recollection, profile: str) -> None:
    words = [f"{first}{last}" for first in ("ab", "de", "gu", "mo") for last in ("ra", "lin", "to", "sek", "vi", "pon")]
    texts = (f"{'cat ' * (n % 4)} dog {' '.join(words[n * k % 23] for k in range(3, 3 + n % 6))}" for n in range(60))
    db.add_all([*(Memory(content=text, external_id=str(n)) for n, text in enumerate(texts)), *crowd(300)])

    answers = {limit: found(db, "cat dog", profile=profile, limit=limit) for limit in (1, 3, 10, 25, 60)}

    assert answers[60]
    for limit, ids in answers.items():
        assert ids == answers[60][: len(ids)]
        # Where a seed fetches a multiple of the limit, near-repeats can leave fewer than were asked for.
        assert len(ids) == min(limit, len(answers[60])) or profile in ("cortex", "oro", "boocode")


@pytest.mark.case(66)
def test_equal_scores_come_in_the_order_of_their_ids(db: Recollection) -> None:
    remember(db, *(f"{word} cat" for word in ("red", "blue", "green", "white", "black", "small", "old", "wild", "shy")))
    remember(db, *NOISE, *(f"more {noise}" for noise in NOISE))

    assert found(db, "cat") == list(range(1, 10))


@pytest.mark.case(63)
def test_what_is_under_the_floor_of_the_profile_is_not_shown_and_the_answer_says_so(
    db: Recollection, tmp_path: Path
) -> None:
    remember(db, *TEN)
    profile = tmp_path / "strict.toml"
    profile.write_text('[fuse]\nmethod = "sum"\nnormalize = { words = "saturate" }\n[floor]\nkeyword = 0.99\n')

    reply = db.search("Go", profile=str(profile))

    assert reply.hits == ()
    assert reply.reason is not None
    assert (reply.reason.code, reply.reason.hidden) == ("below_threshold", 3)
    assert 0 < (reply.reason.best_score or 0) < 0.99


# --- blank questions and filters ------------------------------------------------------------


@pytest.mark.req("E-15")
@pytest.mark.parametrize("profile", ["default", "oro", "boocode", "nornicdb", "engram"])
def test_a_blank_question_lists_the_newest_first(db: Recollection, profile: str) -> None:
    old = db.add("long ago", observed_at=NOON - timedelta(days=90)).id
    new = db.add("just now").id
    middle = db.add("last week", observed_at=NOON - timedelta(days=7)).id

    assert found(db, "  ", profile=profile) == [new, middle, old]


@pytest.mark.req("E-15", "E-19")
def test_a_question_of_nothing_but_filters_lists_what_they_admit(db: Recollection) -> None:
    one = db.add("Use SQLite", type="decision", tags=["storage"]).id
    db.add("Use tabs", type="preference")

    assert found(db, "type:decision") == found(db, "", where=Filter(tags=("storage",))) == [one]


@pytest.mark.req("O-06", "E-19")
def test_filters_narrow_a_search(db: Recollection) -> None:
    asked = [
        ("cat type:decision", Filter()),
        ("cat tag:pets", Filter()),
        ('cat tag:"house pets"', Filter()),
        ("cat source:notes/a.md", Filter()),
        ("cat kind:observation", Filter()),
        ("cat project:home", Filter()),
        ("cat since:2026-04-01 until:2026-04-30", Filter()),
        ("cat on:2026-04-10", Filter()),
        ("cat", Filter(types=("decision",))),
        ("cat", Filter(tags=("pets", "none such"))),
        ("cat", Filter(kinds=("observation",))),
        ("cat", Filter(sources=("notes",))),
        ("cat", Filter(since=NOON - timedelta(days=40), until=NOON - timedelta(days=10))),
        ("cat type:decision", Filter(tags=("pets",))),
    ]
    wanted = db.add(
        "the cat sleeps",
        type="decision",
        tags=["pets", "house pets"],
        source="notes/a.md",
        kind="observation",
        project="home",
        observed_at=NOON - timedelta(days=24),
    ).id
    db.add("another cat", tags=["dogs"], source="other/b.md")

    assert [pair for pair in asked if found(db, pair[0], where=pair[1]) != [wanted]] == []


@pytest.mark.req("E-19")
def test_a_recollection_of_one_project_sees_that_project_only(db: Recollection) -> None:
    mine = db.add("the cat sleeps", project="mine").id
    theirs = db.add("the cat sleeps", project="theirs").id
    db.project = "mine"

    assert found(db, "cat") == found(db, "") == [mine]
    assert found(db, "cat project:theirs") == []
    assert [memory.id for memory in db.list().memories] == [mine]
    db.project = None
    assert found(db, "cat project:theirs") == [theirs]


def test_a_filter_that_hides_every_match_is_named_as_the_reason(db: Recollection) -> None:
    remember(db, "one cat", "cat two", *NOISE)

    reply = db.search("cat type:decision")

    assert reply.reason is not None
    assert (reply.reason.code, reply.reason.hidden) == ("filtered_out", 2)


def test_an_empty_store_says_that_it_is_empty(db: Recollection) -> None:
    for query in ("cat", ""):
        reason = db.search(query).reason

        assert reason is not None
        assert reason.code == "empty_store"


# --- what comes and goes --------------------------------------------------------------------


@pytest.mark.req("C-10")
def test_a_forgotten_memory_never_comes_back_until_it_is_restored(db: Recollection) -> None:
    gone, stays = remember(db, "the red cat", "a blue cat")

    db.forget(gone)
    hidden = [found(db, query) for query in ("cat", "red", "", '"red cat"', "re*")]
    db.restore(gone)

    assert hidden == [[stays], [], [stays], [], []]
    assert set(found(db, "cat")) == {gone, stays}


@pytest.mark.req("C-18", "B-02")
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("profile", BUILT_IN)
def test_words_are_always_searched_and_what_could_not_run_is_named(db: Recollection, mode: str, profile: str) -> None:
    (row,) = remember(db, "the cat sleeps")
    db.add_all(crowd(60))

    reply = db.search("cat", mode=mode, profile=profile)  # type: ignore[arg-type]

    assert [(hit.id, hit.match_type) for hit in reply.hits] == [(row, "bm25")]
    assert reply.mode == mode
    assert reply.degraded == (None if mode == "keyword" else "no_model")


# --- words next to each other ---------------------------------------------------------------


def test_words_next_to_each_other_count_for_more_than_the_same_words_apart(db: Recollection) -> None:
    db.add_all(crowd(20))
    apart, together, turned = remember(
        db,
        "the cache of our server was cold and slow",
        "the server cache was cold and slow and ours",
        "the cold cache server was ours and slow and",
    )

    assert found(db, "the server cache")[0] == together
    assert found(db, "server for the cache")[0] == together
    assert set(found(db, "server cache")) == {apart, together, turned}


def test_a_pair_is_a_bonus_that_the_share_of_words_held_does_not_know(db: Recollection) -> None:
    remember(db, "server cache", "cache and server", *NOISE)

    first, second = db.search("server cache").hits

    assert first.score > second.score
    assert db.search("server cache").outcome == "answered"


# --- metadata and paths ---------------------------------------------------------------------


def test_a_value_in_the_metadata_is_found_and_shown(db: Recollection) -> None:
    bill = Memory(
        content="Monthly bill", metadata={"vendor": "Backblaze", "amount": 12.5, "lines": [{"item": "tapes"}]}
    )
    db.add_all([bill, *crowd(5)])

    snippets = [db.search(query, mode="keyword").hits[0].snippet for query in ("backblaze bill", "tapes", "bill")]

    assert snippets == ["Monthly [bill] · vendor: [Backblaze]", "Monthly bill · lines: [tapes]", "Monthly [bill]"]


def test_a_value_that_the_text_holds_too_is_not_shown_twice(db: Recollection) -> None:
    db.add("Backblaze sent the bill", metadata={"vendor": "Backblaze"})

    assert db.search("backblaze", mode="keyword").hits[0].snippet == "[Backblaze] sent the bill"


@pytest.mark.parametrize(("query", "expected"), [("ann", []), ("home", []), ("money", [1]), ("rent.md", [1])])
def test_a_memory_is_found_by_its_file_and_folders_but_not_by_the_users(
    db: Recollection, query: str, expected: list[int]
) -> None:
    db.add("Due on the first", source=f"/home/{USER}/vault/areas/money/rent.md")

    assert found(db, query, mode="keyword") == expected


def test_what_stands_in_the_path_alone_is_no_answer(db: Recollection) -> None:
    db.add("Due on the first", source="/srv/notes/rent.md")
    db.add("The garden needs water", source="/srv/notes/water.md")
    db.add_all(crowd(50))

    placed, told = (db.search(query, mode="keyword") for query in ("rent", "water"))

    assert ([hit.id for hit in placed.hits[:1]], placed.outcome) == ([1], "weak")
    assert ([hit.id for hit in told.hits[:1]], told.outcome) == ([2], "answered")
