from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import NOON
from recollect.records import AllOf, AndNot, AnyOf, Expression, Filter, Phrase, Prefix, Word
from recollect.search.parse import MAX_NESTING, Query, parse


def read(text: str, where: Filter | None = None) -> Query:
    return parse(text, now=NOON, where=where or Filter())


def exact(text: str) -> Word:
    return Word(text=text, form="exact")


def words(query: Query) -> list[str]:
    return [word.text for word in query.words]


# --- plain ----------------------------------------------------------------------------------


@pytest.mark.case(45)
def test_a_phrase_is_kept_and_the_question_mark_is_no_word() -> None:
    query = read('When did Melanie read the book "nothing is impossible"?')

    assert words(query) == ["When", "did", "Melanie", "read", "the", "book"]
    assert query.exact == (Phrase(texts=("nothing", "is", "impossible")),)
    assert query.tree is None


@pytest.mark.case(46)
def test_a_quote_that_never_closes_leaves_plain_words() -> None:
    query = read('"unclosed quote?')

    assert (words(query), query.exact) == (["unclosed", "quote"], ())


@pytest.mark.case(52)
def test_a_phrase_is_made_of_exact_forms() -> None:
    assert read('"C++ performance"').exact == (Phrase(texts=("c", "performance")),)
    assert read('"Retries"').exact == (exact("retries"),)
    assert read('"C++"').exact == (exact("c++"),)


def test_a_prefix_is_folded_and_one_with_signs_inside_is_a_phrase() -> None:
    assert read("DEPLOY*").exact == (Prefix(text="deploy"),)
    assert read("foo-bar*").exact == (Phrase(texts=("foo", "bar")),)


@pytest.mark.case(50)
def test_exclusions_stand_beside_the_words() -> None:
    query = read('performance -sports -"red fox"')

    assert words(query) == ["performance"]
    assert query.unwanted == (exact("sports"), Phrase(texts=("red", "fox")))


@pytest.mark.case(51)
def test_nothing_but_exclusions_asks_nothing_though_it_is_not_blank() -> None:
    query = read("-sports -athlete")

    assert (query.asks_nothing, query.is_blank) == (True, False)


@pytest.mark.parametrize("text", ["", "   ", "type:note", 'tag:"a b" since:3d'])
def test_a_query_without_words_is_blank(text: str) -> None:
    assert read(text).is_blank


# --- operators ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a OR b", AnyOf(parts=(exact("a"), exact("b")))),
        ("a AND b", AllOf(parts=(exact("a"), exact("b")))),
        ("a b OR c", AnyOf(parts=(AllOf(parts=(exact("a"), exact("b"))), exact("c")))),
        ("a NOT b", AndNot(wanted=exact("a"), unwanted=AnyOf(parts=(exact("b"),)))),
        ("a AND NOT b", AndNot(wanted=exact("a"), unwanted=AnyOf(parts=(exact("b"),)))),
        ("a AND -b", AndNot(wanted=exact("a"), unwanted=AnyOf(parts=(exact("b"),)))),
        ("a AND (b OR c*)", AllOf(parts=(exact("a"), AnyOf(parts=(exact("b"), Prefix(text="c")))))),
        ('"a b" OR c', AnyOf(parts=(Phrase(texts=("a", "b")), exact("c")))),
        ("a OR a OR b", AnyOf(parts=(exact("a"), exact("b")))),
        ("a AND b ?", AllOf(parts=(exact("a"), exact("b")))),
    ],
)
def test_operators_make_a_tree_of_exact_forms(text: str, tree: Expression) -> None:
    assert read(text).tree == tree


@pytest.mark.case(47)
def test_operators_and_a_prefix_may_stand_in_one_query() -> None:
    wanted = AllOf(parts=(exact("deployment"), Prefix(text="deploy")))

    assert read("deployment NOT Docker deploy*").tree == AndNot(wanted=wanted, unwanted=AnyOf(parts=(exact("docker"),)))


@pytest.mark.parametrize(
    "text",
    ["AND", "a OR", "OR a", "NOT a", "a AND (b OR", "(a OR b", "a OR b)", "a OR (NOT b)", "() OR", "a AND AND b"],
)
def test_operators_that_make_no_sense_are_words(text: str) -> None:
    query = read(text)

    assert query.tree is None
    assert words(query)


def test_brackets_may_nest_but_not_without_end() -> None:
    fine, deep = MAX_NESTING - 1, MAX_NESTING * 3

    assert read("(" * fine + "a OR b" + ")" * fine).tree == AnyOf(parts=(exact("a"), exact("b")))
    assert read("(" * deep + "a OR b" + ")" * deep).tree is None


# --- filters --------------------------------------------------------------------------------


def test_filters_leave_the_words_and_join_what_the_caller_wants() -> None:
    query = read("fox type:note type:gotcha tag:x source:a.md kind:turn project:p", Filter(types=("decision",)))

    assert words(query) == ["fox"]
    assert query.where == Filter(types=("decision", "note", "gotcha"), tags=("x",), sources=("a.md",), kinds=("turn",))
    assert query.projects == frozenset({"p"})


@pytest.mark.case(112)
def test_a_list_of_the_caller_that_admits_nothing_is_not_opened_by_the_query() -> None:
    assert read("fox type:note", Filter(types=())).where.types == ()


def test_dates_bound_the_search_and_the_narrower_bound_wins() -> None:
    day = datetime(2026, 4, 10, tzinfo=UTC)
    month = read("fox since:2026-04 until:2026-04", Filter(since=day))

    assert read("fox on:2026-04-10").where == Filter(since=day, until=day + timedelta(days=1))
    assert (month.where.since, month.where.until) == (day, datetime(2026, 5, 1, tzinfo=UTC))


@pytest.mark.parametrize("text", ["since:banana", "col:val", "xtype:a", "TYPE:a"])
def test_a_filter_without_a_meaning_is_a_word(text: str) -> None:
    assert words(read(text)) == [text]


def test_a_sign_without_a_meaning_is_left_out() -> None:
    assert [words(read(text)) for text in ("type:", "a*b", "*", "-5")] == [["type"], ["a", "b"], [], ["5"]]


@given(st.text(st.characters()))
def test_any_text_is_a_query(text: str) -> None:
    query = read(text)

    assert query.tree is None or query.exact == ()


@pytest.mark.parametrize(
    "text", ["I do NOT want to use Express", "do NOT use Express", "to be OR NOT to be", "must we use tabs AND spaces"]
)
def test_operators_in_a_sentence_are_words(text: str) -> None:
    assert parse(text, now=NOON).tree is None
    assert [word.text for word in parse(text, now=NOON).words] == text.split()


@pytest.mark.parametrize("text", ["tea OR coffee", "connection pool size NOT redis", '"the end" AND garden'])
def test_short_operands_are_an_expression(text: str) -> None:
    assert parse(text, now=NOON).tree is not None
