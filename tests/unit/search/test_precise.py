"""Only what answers: how likely each hit is to answer, and which are shown."""

from msgspec.structs import replace

from kit import NOON, candidates_of
from recollect.profile import Precise
from recollect.records import ALL_PROJECTS, Memory
from recollect.replies import Request, Share
from recollect.search.candidates import Candidate, Drop
from recollect.search.parse import parse
from recollect.search.precise import clauses_of, hit_chances, keep_answers
from recollect.search.state import Ranking, State

RULES = Precise(cut=0.1, top_k=4, steepness=5, details=1, intercept=2.3, slope=1.8, clause=0.5)


def found(*scores: float, question: str = "the boiler", texts: tuple[str, ...] = ()) -> State:
    said = (*texts, *("nothing much",) * len(scores))
    held = {row: Memory(id=row, content=said[row - 1]) for row in range(1, len(scores) + 1)}
    return State(
        request=Request(text=question, precise=True),
        query=parse(question, now=NOON),
        scope=ALL_PROJECTS,
        now=NOON,
        outcome="answered",
        candidates=candidates_of(
            Candidate(id=row, shares=(Share(ranking="words", rank=row, points=score),))
            for row, score in enumerate(scores, start=1)
        ),
        outlines=held,
        memories=held,
    )


def shown(state: State, rules: Precise = RULES) -> list[int]:
    return [each.id for each in keep_answers(state, rules=rules).kept]


def test_one_far_ahead_stands_alone_and_near_ones_stay() -> None:
    assert shown(found(1.0, 0.3, 0.2)) == [1]
    assert shown(found(1.0, 0.95, 0.2)) == [1, 2]


def test_what_was_cut_says_how_likely_it_was_to_answer() -> None:
    state = keep_answers(found(1.0, 0.3), rules=RULES)

    drop = state.candidates[1].drop
    assert drop is not None
    assert drop.code == "imprecise"
    assert f"{state.chances[2]:.2g}" in drop.surfaces_if


def test_chances_are_the_same_whatever_the_limit() -> None:
    whole = found(1.0, 0.9, 0.8)
    last = replace(whole.candidates[2], drop=Drop(code="limit", surfaces_if="the limit is higher than 2"))
    short = replace(whole, candidates=candidates_of((*whole.candidates[:2], last)))

    assert hit_chances(short, RULES) == hit_chances(whole, RULES)


def test_a_hit_without_the_value_asked_for_gives_way_to_one_that_has_it() -> None:
    texts = ("Rent is high.", "Rent 380.", "Rent is due.")
    state = found(1.0, 0.9, 0.9, question="how much is the rent", texts=texts)

    chances = hit_chances(state, RULES)

    assert chances[2] > chances[1] > chances[3]


def test_each_clause_of_a_question_keeps_its_answer() -> None:
    question = "how is the boiler repaired and where is the ferry harbour?"
    texts = ("The boiler is repaired by Marta.", "The ferry leaves from the old harbour.", "Tea is fine.")

    assert shown(found(1.0, 0.2, 0.2, question=question, texts=texts)) == [1, 2]


def test_salt_and_pepper_are_no_clauses() -> None:
    assert len(clauses_of("where do we keep salt and pepper")) == 1
    assert len(clauses_of("where is the salt kept and who grinds the pepper")) == 2


def test_without_a_cut_and_with_operators_all_hits_stay() -> None:
    assert shown(found(1.0, 0.1), replace(RULES, cut=0.0)) == [1, 2]
    assert shown(found(1.0, 0.1, question="boiler OR ferry")) == [1, 2]


def test_no_score_at_all_is_no_error() -> None:
    assert shown(found(0.0, 0.0)) == [1, 2]


def test_a_near_name_is_not_shown_where_another_memory_holds_the_name_itself() -> None:
    texts = ("mongodb runs on port 27017.", "mongod is the daemon.", "Mongod logs lie in the log folder.")

    assert shown(found(1.0, 0.95, 0.9, question="where are the logs of mongod", texts=texts)) == [2, 3]


def test_a_near_name_is_shown_where_none_holds_the_name_itself() -> None:
    texts = ("mongodb runs on port 27017.", "Tea is fine.")

    assert shown(found(1.0, 0.3, question="port of mongod", texts=texts)) == [1]


def test_what_lacks_the_name_that_was_mistyped_gives_way_to_what_holds_it() -> None:
    state = found(
        1.0,
        0.9,
        0.9,
        question="typsecript rules",
        texts=("Rules for all.", "TypeScript rules are strict.", "JavaScript rules are loose."),
    )
    known = Ranking(name="words", document_frequencies={"typsecript": 0, "rule": 3})

    chances = hit_chances(replace(state, rankings=(known,)), RULES)

    assert chances[2] > chances[1] > chances[3]
