from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from recollect.records import Memory
from recollect.remember.dedup import DedupResult, DuplicateCandidate, Existing, decide, decide_oro
from recollect.text.differences import OPPOSITES
from recollect.text.wording import says_the_same

MERGING = {"identical", "restates"}


def candidate(content: str, **about: Any) -> DuplicateCandidate:
    return DuplicateCandidate(memory=Memory(**{"content": content, "id": 7, **about}))


def judged(new: str, old: str) -> DedupResult:
    return decide(Memory(content=new), [candidate(old)])


@pytest.mark.case(82)
def test_a_longer_wording_of_the_same_rule_restates_it() -> None:
    result = judged("always run ruff before pyright for linting checks", "always run ruff before pyright for linting")

    assert result.decision == "restates"
    assert result.of == Existing(7)
    assert result.evidence == {"jaccard": 0.875, "differs": []}


@pytest.mark.case(83)
def test_two_unrelated_memories_are_distinct() -> None:
    result = judged("the cafeteria closes at two", "always run ruff before pyright")

    assert result == DedupResult(decision="distinct")


@pytest.mark.parametrize(
    "new", ["we deploy on fridays", "We deploy on Fridays!", "We  deploy\non Fridays.", "  We deploy, on Fridays"]
)
def test_case_spacing_and_punctuation_leave_a_text_identical(new: str) -> None:
    result = judged(new, "We deploy on Fridays.")

    assert (result.decision, result.of) == ("identical", Existing(7))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("In CI we cache wheels.", "We cache wheels in CI."),
        ("Do not commit generated files.", "Don't commit generated files."),
        ("Keep 12 copies of the index.", "Keep twelve copies of the indexes."),
        ("Please delete the temporary folder.", "Remove the temporary folder."),
        ("Remember that the sandbox has no network.", "The sandbox has no network."),
        ("The team meets on Monday at 10:00.", "On Monday at 10:00 the team meets."),
    ],
)
def test_another_wording_without_another_meaning_restates(new: str, old: str) -> None:
    assert judged(new, old).decision == "restates"
    assert judged(old, new).decision == "restates"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Ben told Ann about the outage.", "Ann told Ben about the outage."),
        ("Copy the backup and stop the service.", "Stop the service and copy the backup."),
        ("Before you deploy, migrate.", "Deploy before you migrate."),
        ("Is the build broken?", "The build is broken."),
        ("The build is broken?", "The build is broken."),
        ("use memcached for the session cache in the api", "use redis for the session cache in the api"),
        ("Few users complained about the export.", "A few users complained about the export."),
        ("The build is too slow today.", "The build is slow today."),
        ("The news feed is broken.", "The new feed is broken."),
        ("The flag is !enabled.", "The flag is enabled."),
        ("The build is ❌.", "The build is ✅."),
        ("It is written in C#.", "It is written in C."),
        ("Open ports 10-20.", "Open ports 10, 20."),
    ],
)
def test_a_change_of_order_mood_or_one_small_word_is_never_merged(new: str, old: str) -> None:
    result = judged(new, old)

    assert result.decision == "distinct"
    assert result.proposes == Existing(7)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The retry limit is 5.", "The retry limit is 3."),
        ("Retry limit changed from 3 to 5.", "Retry limit is 3."),
        ("The API now uses PostgreSQL 16.", "The API uses PostgreSQL 15."),
        ("We use Valkey instead of Redis for sessions.", "We use Redis for sessions."),
        ("We no longer deploy on Fridays.", "We deploy on Fridays."),
        ("Alice lives in Rome.", "Alice lives in Paris."),
        ("Q timezone is EST", "Q timezone is PST"),
    ],
)
def test_another_value_for_the_same_slot_updates(new: str, old: str) -> None:
    result = judged(new, old)

    assert (result.decision, result.of) == ("updates", Existing(7))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Compression is disabled on the gateway.", "Compression is enabled on the gateway."),
        ("The importer does not follow symlinks.", "The importer follows symlinks."),
        ("We never squash commits.", "We always squash commits."),
        ("The flag is unsupported on macOS.", "The flag is supported on macOS."),
    ],
)
def test_the_opposite_conflicts(new: str, old: str) -> None:
    result = judged(new, old)

    assert (result.decision, result.of) == ("conflicts", Existing(7))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Ticket 4513 is now fixed.", "Ticket 4512 is fixed."),
        ("Bob likes tea.", "Alice likes tea."),
        ("The outage on May 4 is now resolved.", "The outage on May 3 is resolved."),
        ("The audit took place on 15 February 2026.", "The audit took place on 14 February 2026."),
        ("Port: 9090", "Port: 8080"),
        ("Trial users are denied exports in the portal.", "Premium users are allowed exports in the portal."),
    ],
)
def test_near_twins_about_different_things_stay_distinct(new: str, old: str) -> None:
    assert judged(new, old).decision == "distinct"


def test_an_older_record_updates_nothing() -> None:
    old = candidate("The retry limit is 3.", observed_at=datetime(2026, 5, 1, tzinfo=UTC))
    late = Memory(content="The retry limit is 5.", observed_at=datetime(2026, 4, 1, tzinfo=UTC))

    assert decide(late, [old]).decision == "distinct"


def test_the_same_words_under_another_heading_update_nothing() -> None:
    old = candidate("The retry limit is 3.", section="Mail")
    new = Memory(content="The retry limit is 5.", section="Billing")

    assert decide(new, [old]).decision == "distinct"


@pytest.mark.req("O-09")
def test_a_cosine_only_ever_proposes_a_link() -> None:
    near = replace(candidate("Deploys happen at the end of the week."), cosine=0.99)

    result = decide(Memory(content="We ship on Fridays."), [near])

    assert (result.decision, result.of) == ("distinct", None)
    assert result.proposes == Existing(7)


def test_a_low_cosine_proposes_nothing() -> None:
    far = replace(candidate("Deploys happen at the end of the week."), cosine=0.5)

    assert decide(Memory(content="We ship on Fridays."), [far]) == DedupResult(decision="distinct")


def test_a_record_with_its_own_id_stays_by_itself() -> None:
    result = decide(Memory(content="We ship.", external_id="a-1"), [candidate("We ship.", id=7)])

    assert (result.decision, result.of) == ("distinct", None)


def test_another_wording_counts_like_the_content() -> None:
    old = replace(candidate("Do not ship on a Friday."), variants=("Friday is no day for shipping.",))

    assert decide(Memory(content="friday is no day for shipping"), [old]).decision == "identical"


def test_the_strongest_decision_wins_then_the_lowest_id() -> None:
    rivals = [
        candidate("The retry limit is 3.", id=9),
        candidate("The retry limit is five.", id=8),
        candidate("The retry limit is 5", id=6),
        candidate("the retry limit is 5", id=7),
    ]

    result = decide(Memory(content="The retry limit is 5."), rivals)

    assert (result.decision, result.of) == ("identical", Existing(6))


@pytest.mark.req("O-08", "O-09")
@pytest.mark.parametrize(
    ("bm25", "cosine", "decision"),
    [
        (0.71, None, "restates"),
        (0.7, None, "distinct"),
        (None, 0.86, "restates"),
        (None, 0.85, "distinct"),
        (0.1, 0.9, "restates"),
        (None, None, "distinct"),
    ],
)
def test_oro_calls_a_memory_near_by_either_score_a_duplicate(
    bm25: float | None, cosine: float | None, decision: str
) -> None:
    near = replace(candidate("anything"), bm25=bm25, cosine=cosine)

    result = decide_oro(Memory(content="something else"), [near])

    assert (result.decision, result.of) == (decision, Existing(7) if decision == "restates" else None)


@pytest.mark.req("O-09")
def test_oro_takes_the_nearest_by_cosine_before_the_nearest_by_words() -> None:
    by_words = replace(candidate("one", id=3), bm25=0.9, cosine=0.1)
    by_cosine = replace(candidate("two", id=4), bm25=0.2, cosine=0.9)

    result = decide_oro(Memory(content="new"), [by_words, by_cosine])

    assert (result.of, result.evidence) == (Existing(4), {"bm25": 0.9, "cosine": 0.9})


_WORDS = st.sampled_from(
    "cache server deploy test index token queue worker branch schema build report release folder client".split()  # noqa: SIM905
)


@given(st.lists(_WORDS, min_size=1, max_size=12))
def test_a_text_is_identical_to_itself(words: list[str]) -> None:
    text = " ".join(words)

    assert judged(text, text).decision == "identical"


@given(st.lists(_WORDS, min_size=2, max_size=20), st.data())
def test_one_other_word_is_never_merged(words: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(words) - 1))
    other = data.draw(_WORDS.filter(lambda word: word != words[place]))
    changed = [*words[:place], other, *words[place + 1 :]]

    assert judged(" ".join(changed), " ".join(words)).decision not in MERGING


@given(st.lists(_WORDS, min_size=1, max_size=12), st.lists(_WORDS, min_size=1, max_size=12))
def test_saying_the_same_is_mutual(a: list[str], b: list[str]) -> None:
    assert says_the_same(" ".join(a), " ".join(b)) == says_the_same(" ".join(b), " ".join(a))


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_is_too_odd_to_be_judged(a: str, b: str) -> None:
    assert judged(a, b).decision in {"identical", "restates", "updates", "conflicts", "distinct"}


@pytest.mark.parametrize("frame", ["We meet on {} in the office.", "We met last {}.", "{} is the day of the review."])
def test_two_weekdays_are_never_merged(frame: str) -> None:
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

    assert [pair for pair in combinations(days, 2) if _merges(frame, *pair)] == []


@pytest.mark.parametrize("frame", ["It ends in {} for the vendor.", "Due 5 {} 2026 at noon.", "Signed on {} 5 by Ann."])
def test_two_months_are_never_merged(frame: str) -> None:
    months = "January February March April May June July August September October November December"

    assert [pair for pair in combinations(months.split(), 2) if _merges(frame, *pair)] == []


def test_two_units_are_never_merged() -> None:
    units = (
        "ns us ms s min h days weeks B kB KiB MB Mb MiB GB Gb TB px % m km cm mm mi ft kg g lb oz l ml C F W kW Wh V Hz"
    )

    assert [pair for pair in combinations(units.split(), 2) if _merges("The limit is 1.5 {} per run.", *pair)] == []


def test_two_opposites_are_never_merged() -> None:
    assert [pair for pair in OPPOSITES if _merges("They {} the new rule for the shared server.", *pair)] == []


def test_two_modal_verbs_and_two_quantities_are_never_merged() -> None:
    verbs, amounts = "must should may might can could will would", "all some any most many few both no only"

    assert [pair for pair in combinations(verbs.split(), 2) if _merges("Clients {} retry the upload.", *pair)] == []
    assert [pair for pair in combinations(amounts.split(), 2) if _merges("{} users see the billing page.", *pair)] == []


def _merges(frame: str, one: str, other: str) -> bool:
    return judged(frame.format(one), frame.format(other)).decision in MERGING
