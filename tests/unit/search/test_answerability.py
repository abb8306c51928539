"""When the first hits are an answer, and how likely that is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit import NOON, candidates_of
from recollect.profile import BUILT_IN, Answerability, VectorModel, WordModel, load_profile
from recollect.records import ALL_PROJECTS, EXTERNAL, IndexHit, Memory
from recollect.replies import Evidence, Mode, Outcome, Request, Share
from recollect.search.answerability import judge, length_adjusted, log_odds, logistic
from recollect.search.candidates import Candidate
from recollect.search.parse import Query, parse, query_length
from recollect.search.state import Ranking, State
from recollect.vectors import RAW

RULES = Answerability(
    threshold=0.5,
    top_k=3,
    length_pivot=6,
    length_exponent=0.5,
    words=WordModel(intercept=-3, coverage=10),
    hybrid=VectorModel(intercept=-6, coverage=6, cosine=12),
    semantic=VectorModel(intercept=-4, cosine=10),
)
WORDS = Ranking(name="words", hits=tuple(IndexHit(id=row, score=2.0, coverage=0.6) for row in (1, 2, 3, 4)))
SHORT = parse("gardener salary", now=NOON)
MODEL = "toy-1-256"
SHARES = st.floats(min_value=0, max_value=1)
COSINES = st.floats(min_value=-1, max_value=1)
SLOPES = st.floats(min_value=0, max_value=50)


def probability(model: WordModel | VectorModel, *, coverage: float, cosine: float = 0.0) -> float:
    return logistic(log_odds(model, coverage=coverage, cosine=cosine))


def hit(row: int, cosine: float | None = None) -> Candidate:
    words = Share(ranking="words", rank=row, points=0.3, native=2.0)
    near = () if cosine is None else (Share(ranking="vector", rank=None, points=0.1, native=cosine),)
    return Candidate(id=row, shares=(words, *near))


def judged(
    hits: list[Candidate], rankings: list[Ranking], *, query: Query, mode: Mode, model: str, rules: Answerability
) -> tuple[Outcome, Evidence | None]:
    state = State(
        request=Request(text=query.text),
        query=query,
        scope=ALL_PROJECTS,
        now=NOON,
        mode=mode,
        generations={model: RAW} if model else {},
        rankings=tuple(rankings),
        candidates=candidates_of(hits),
    )
    told = judge(state, rules=rules)
    return told.outcome, told.evidence


def asking(text: str) -> Query:
    return parse(text, now=NOON)


# --- what speaks for a hit ------------------------------------------------------------------


def test_words_and_meaning_together_make_an_answer() -> None:
    outcome, evidence = judged([hit(1, 0.5)], [WORDS], query=SHORT, mode="hybrid", model=MODEL, rules=RULES)

    assert evidence is not None
    assert (outcome, evidence.id, evidence.coverage, evidence.cosine, evidence.threshold) == (
        "answered",
        1,
        0.6,
        0.5,
        0.5,
    )
    assert evidence.probability == probability(RULES.hybrid, coverage=0.6, cosine=0.5) > 0.9


def test_a_reply_is_judged_with_the_question_it_answers() -> None:
    asked = Memory(id=1, content="What is the salary of the gardener?", thread="home", turn=1)
    reply = Memory(id=9, content="Nine hundred a month.", thread="home", turn=2)
    state = State(
        request=Request(text=SHORT.text),
        query=SHORT,
        scope=ALL_PROJECTS,
        now=NOON,
        mode="keyword",
        rankings=(WORDS,),
        candidates=candidates_of([hit(9), hit(1)]),
        outlines={1: asked, 9: reply},
        exchanges={1: (1, 9), 9: (1, 9)},
        memories={1: asked, 9: reply},
    )

    told = judge(state, rules=replace(RULES, top_k=1))

    assert told.outcome == "answered"
    assert told.evidence is not None
    assert (told.evidence.id, told.evidence.coverage) == (9, 0.6)


def test_a_far_vector_speaks_against_a_hit() -> None:
    outcome, _ = judged([hit(1, 0.05)], [WORDS], query=SHORT, mode="hybrid", model=MODEL, rules=RULES)

    assert outcome == "weak"


def test_a_vector_that_is_not_there_yet_does_not() -> None:
    outcome, evidence = judged([hit(1)], [WORDS], query=SHORT, mode="hybrid", model=MODEL, rules=RULES)

    assert outcome == "answered"
    assert evidence is not None
    assert evidence.cosine is None
    assert evidence.probability == probability(RULES.words, coverage=0.6)


def test_a_word_that_only_an_expansion_asked_for_is_no_evidence() -> None:
    other = replace(WORDS, kind="expansion")

    outcome, evidence = judged([hit(1)], [other], query=SHORT, mode="keyword", model="", rules=RULES)

    assert outcome == "weak"
    assert evidence is not None
    assert evidence.coverage == 0.0


def test_the_likeliest_of_the_first_hits_speaks_and_later_ones_are_not_heard() -> None:
    hits = [hit(1, 0.0), hit(2, 0.3), hit(3, 0.1), hit(4, 0.9)]

    outcome, evidence = judged(hits, [WORDS], query=SHORT, mode="hybrid", model=MODEL, rules=RULES)
    alone, _ = judged(hits[:1], [WORDS], query=SHORT, mode="hybrid", model=MODEL, rules=RULES)

    assert evidence is not None
    assert (outcome, evidence.id, alone) == ("answered", 2, "weak")


# --- models ---------------------------------------------------------------------------------


def test_vectors_that_a_caller_brought_neither_help_nor_harm() -> None:
    told = [
        judged([hit(1, cosine)], [WORDS], query=SHORT, mode="hybrid", model=f"{EXTERNAL}8", rules=RULES)
        for cosine in (0.0, 1.0)
    ]

    assert told[0] == told[1]
    assert told[0] == judged([hit(1)], [WORDS], query=SHORT, mode="keyword", model="", rules=RULES)


def test_by_meaning_alone_such_vectors_never_answer() -> None:
    known, _ = judged([hit(1, 0.9)], [], query=SHORT, mode="semantic", model=MODEL, rules=RULES)
    unknown = judged([hit(1, 1.0)], [], query=SHORT, mode="semantic", model=f"{EXTERNAL}256", rules=RULES)

    assert known == "answered"
    assert unknown == ("weak", None)


def test_what_the_default_profile_says_grows_with_what_speaks_for_a_hit() -> None:
    rules = load_profile("default").answerability

    assert [name for name in BUILT_IN if load_profile(name).answerability is not None] == ["default"]
    assert rules is not None
    assert rules.words.coverage > 0
    assert min(rules.hybrid.coverage, rules.hybrid.cosine, rules.semantic.cosine) > 0 == rules.semantic.coverage


# --- long questions -------------------------------------------------------------------------


def test_of_a_long_question_less_needs_to_be_held() -> None:
    rules, few = replace(RULES, words=WordModel(intercept=-5, coverage=10)), WORDS.hits[0]._replace(coverage=0.3)
    words = Ranking(name="words", hits=(few,))
    long = asking("gardener " + " ".join(f"word{number}" for number in range(23)))

    short_outcome, _ = judged([hit(1)], [words], query=SHORT, mode="keyword", model="", rules=rules)
    long_outcome, evidence = judged([hit(1)], [words], query=long, mode="keyword", model="", rules=rules)

    assert (short_outcome, long_outcome) == ("weak", "answered")
    assert evidence is not None
    assert evidence.coverage == 0.3
    assert query_length(long) == 24


@pytest.mark.parametrize(
    ("text", "length"),
    [("", 0), ("What is the salary?", 1), ("salary salaries SALARY", 1), ("園丁的薪水是多少", 4), ("薪水 salary", 2)],
)
def test_a_question_is_as_long_as_its_different_words(text: str, length: float) -> None:
    assert query_length(asking(text)) == length


@given(coverage=SHARES, length=st.floats(0, 500), more=st.floats(0, 500))
def test_a_longer_question_never_lowers_what_is_held_nor_raises_it_above_all(
    coverage: float, length: float, more: float
) -> None:
    held = length_adjusted(coverage, length=length, rules=RULES)

    assert coverage <= held <= length_adjusted(coverage, length=length + more, rules=RULES) <= 1
    assert length_adjusted(coverage, length=length, rules=replace(RULES, length_exponent=0.0)) == coverage


# --- the chance -----------------------------------------------------------------------------


@given(intercept=st.floats(-100, 100), slopes=st.tuples(SLOPES, SLOPES), coverage=SHARES, cosine=COSINES, more=SHARES)
def test_the_chance_lies_between_none_and_all_and_never_falls_with_more_evidence(
    *, intercept: float, slopes: tuple[float, float], coverage: float, cosine: float, more: float
) -> None:
    model = VectorModel(intercept=intercept, coverage=slopes[0], cosine=slopes[1])

    likely = probability(model, coverage=coverage, cosine=cosine)

    assert 0 <= likely <= probability(model, coverage=coverage + more, cosine=cosine) <= 1
    assert likely <= probability(model, coverage=coverage, cosine=cosine + more)


# --- what speaks against it -----------------------------------------------------------------

STRICT = replace(RULES, ceiling=4, absent=8, lacking=8, turn_share=0.25, max_gap=1.5)


def telling(*memories: Memory, question: str, cosines: tuple[float, ...] = (0.5, 0.5, 0.5)) -> State:
    query = parse(question, now=NOON)
    state = State(
        request=Request(text=question),
        query=query,
        scope=ALL_PROJECTS,
        now=NOON,
        mode="hybrid",
        generations={MODEL: RAW},
        rankings=(WORDS,),
        candidates=candidates_of(hit(row, cosines[row - 1]) for row in range(1, len(memories) + 1)),
        outlines=dict(enumerate(memories, start=1)),
        memories=dict(enumerate(memories, start=1)),
    )
    return judge(state, rules=STRICT)


def test_a_name_that_the_hit_does_not_hold_speaks_against_it_and_the_evidence_says_so() -> None:
    state = telling(Memory(content="The salary of Marta"), question="where is the gardener Jonas")

    assert state.outcome == "weak"
    assert state.evidence is not None
    assert state.evidence.against == ("Jonas is not in it",)


def test_so_does_a_value_of_the_kind_asked_for_that_is_not_there() -> None:
    state = telling(Memory(content="The gardener is Marta"), question="how much is the gardener")

    assert state.outcome == "weak"
    assert state.evidence is not None
    assert state.evidence.against == ("asks for an amount; it has none",)


def test_another_hit_that_has_the_value_is_heard_only_where_it_is_nearly_as_much_about_it() -> None:
    memories = (Memory(content="The gardener is Marta"), Memory(content="The gardener gets 120 a week"))

    near = telling(*memories, question="how much is the gardener", cosines=(0.5, 0.45))
    far = telling(*memories, question="how much is the gardener", cosines=(0.5, 0.3))

    assert (near.outcome, far.outcome) == ("answered", "weak")


def test_a_turn_of_a_conversation_need_not_say_everything_itself() -> None:
    turn = Memory(content="The gardener is Marta", thread="t", turn=1)

    assert telling(turn, question="how much is the gardener").outcome == "answered"


def test_in_a_long_question_a_detail_counts_less() -> None:
    long = "please tell me again how much the gardener wanted for the hedge the lawn the roses and the old pear tree"

    short = telling(Memory(content="The gardener is Marta"), question="how much is the gardener").evidence
    longer = telling(Memory(content="The gardener is Marta"), question=long).evidence

    assert short is not None
    assert longer is not None
    assert longer.lacks
    assert longer.probability > short.probability


def test_the_same_cosine_says_less_among_more_memories() -> None:
    model = VectorModel(intercept=-2, cosine=10, size=-0.4)

    few, many = (log_odds(model, coverage=0.0, cosine=0.4, searched=count) for count in (10, 10_000))

    assert few > many


def test_letters_that_are_no_words_find_nothing() -> None:
    state = replace(telling(Memory(content="The gardener"), question="asdkjh"), gibberish=True, rankings=())

    told = judge(state, rules=STRICT)

    assert (told.outcome, told.kept) == ("none", ())


def test_a_model_that_does_not_know_the_script_judges_nothing() -> None:
    state = replace(telling(Memory(content="The gardener"), question="園丁"), mode="semantic", foreign=True)

    told = judge(state, rules=STRICT)

    assert (told.outcome, told.evidence) == ("weak", None)
