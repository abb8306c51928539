import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.snippet import QueryTerms, marked_snippet, match_spans
from recollect.text.tokenizer import read_words, significant

FILLER = "lorem ipsum dolor sit amet "
TEXTS = st.text(st.sampled_from("ab é\u0301漢字\n\t-.'ｶﾞ한\u1100\u1161🎉\ud800\0"), max_size=80) | st.text(
    st.characters()
)


def _wanted(question: str) -> QueryTerms:
    return QueryTerms(stems=frozenset(stem for word in significant(read_words(question)) for stem in word.stems))


def snippet(text: str, wanted: QueryTerms, *, width: int = 160) -> str:
    return marked_snippet(text, wanted, width=width).text


def _bare(shown: str) -> str:
    return shown.replace("[", "").replace("]", "").strip("…")


@pytest.mark.req("C-08")
def test_found_words_are_marked_as_they_are_written() -> None:
    shown = snippet("We Deploy with blue-green releases.", _wanted("deployment release green"))

    assert shown == "We [Deploy] with [blue-green] [releases]."


def test_a_short_text_is_shown_whole_on_one_line() -> None:
    shown = snippet("one\n\n  two\tthree\0four\r\n", _wanted("three"))

    assert shown == "one two [three] four"


def test_without_a_find_the_beginning_is_shown() -> None:
    shown = snippet(FILLER * 10, _wanted("xylophone"), width=30)

    assert shown == "lorem ipsum dolor sit amet…"


def test_the_stretch_with_the_most_distinct_finds_wins() -> None:
    text = f"{FILLER}kinase kinase kinase {FILLER * 5}kinase in cache {FILLER * 5}cache"

    shown = snippet(text, _wanted("kinase cache"), width=50)

    assert "[kinase] in [cache]" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")


def test_of_equal_stretches_the_earliest_wins() -> None:
    text = f"early kinase {FILLER * 10} late kinase"

    assert snippet(text, _wanted("kinase"), width=40).startswith("early [kinase]")


def test_of_stretches_with_one_find_each_the_earliest_wins() -> None:
    text = f"early cache {FILLER * 10} late kinase"

    assert snippet(text, _wanted("kinase cache"), width=40).startswith("early [cache]")


def test_finds_of_two_scripts_that_touch_are_two_marks() -> None:
    assert snippet("检索gen检索", _wanted("gen 检索")) == "[检索][gen][检索]"


def test_finds_at_the_end_are_shown_with_what_leads_to_them() -> None:
    shown = snippet(f"{FILLER * 10}the kinase", _wanted("kinase"), width=30)

    assert shown == "…dolor sit amet the [kinase]"


@pytest.mark.case(68)
def test_touching_cjk_finds_are_one_mark() -> None:
    shown = snippet("这里介绍 vector 数据库和关键词检索。", _wanted("vector 关键词检索"))

    assert shown == "这里介绍 [vector] 数据库和[关键词检索]。"


def test_a_cjk_text_without_spaces_is_cut_between_characters() -> None:
    shown = snippet("数" * 100 + "检索" + "据" * 100, _wanted("检索"), width=20)

    assert shown == "…" + "数" * 9 + "[检索]" + "据" * 9 + "…"


def test_a_syllable_of_hangul_letters_is_not_cut() -> None:
    syllable = "\u1112\u1161\u11ab"

    shown = snippet(syllable * 10, _wanted("x"), width=8)

    assert shown == syllable * 2 + "…"


def test_an_endless_word_is_cut_but_not_from_its_accents() -> None:
    assert snippet("e\u0301" * 50, _wanted("x"), width=5) == "e\u0301e\u0301…"
    assert snippet("a" * 50, _wanted("a" * 50), width=5) == "[aaaaa]…"


def test_halves_of_surrogate_pairs_are_replaced() -> None:
    shown = snippet("broken \ud83d text", _wanted("text"))

    assert shown == "broken \ufffd [text]"


@pytest.mark.parametrize(
    "text", [FILLER * 10_000, "x" * 1_000_000, "检索" * 40_000, "foo-bar/" * 30_000, "\n" * 1_000_000]
)
def test_a_very_long_text_is_no_trouble(text: str) -> None:
    shown = snippet(text, _wanted("ipsum 检索 foo"))

    assert len(_bare(shown)) <= 160


@given(TEXTS, st.text(st.sampled_from("ab é漢字-한 "), max_size=10), st.integers(min_value=-1, max_value=60))
def test_a_snippet_without_its_marks_is_a_piece_of_the_text(text: str, question: str, width: int) -> None:
    text = text.translate(dict.fromkeys(map(ord, "[]…")))

    shown = snippet(text, _wanted(question), width=width)

    assert len(_bare(shown)) <= max(width, 1)
    assert _bare(shown) in snippet(text, QueryTerms(), width=len(text) + 1)
    assert shown.count("[") == shown.count("]")
    assert "[]" not in shown
    shown.encode("utf-8")


@given(TEXTS, st.integers(min_value=20, max_value=60))
def test_every_word_of_a_text_is_marked_when_asked_for(text: str, width: int) -> None:
    text = text.translate(dict.fromkeys(map(ord, '[]…"')))

    for word in read_words(text)[:3]:
        shown = snippet(text, QueryTerms(stems=frozenset(word.stems)), width=width)

        assert "[" in shown


# --- where the words stand -------------------------------------------------------------------


def _found(text: str, wanted: QueryTerms) -> list[str]:
    return [text[span.start : span.end] for span in match_spans(text, wanted)]


def test_a_word_is_found_by_stem_exact_form_and_beginning() -> None:
    text = "Deployed kinases deprecate foo-bar"

    assert _found(text, QueryTerms(stems=frozenset({"deploy"}))) == ["Deployed"]
    assert _found(text, QueryTerms(tokens=frozenset({"kinases", "bar"}))) == ["kinases", "foo-bar"]
    assert _found(text, QueryTerms(prefixes=("dep",))) == ["Deployed", "deprecate"]
    assert _found(text, QueryTerms(prefixes=("foo-b",))) == ["foo-bar"]


def test_an_empty_beginning_is_nothing_wanted() -> None:
    assert _found("some words", QueryTerms(prefixes=("",))) == []


def test_a_match_says_what_it_holds() -> None:
    (span,) = match_spans("a foo-bar", QueryTerms(stems=frozenset({"foo", "bar", "baz"})))

    assert span.found == {"foo", "bar"}


def test_characters_of_a_wanted_pair_count_together() -> None:
    wanted = QueryTerms(stems=frozenset({"检", "检索", "索"}))

    assert _found("检查检索索引", wanted) == ["检索"]


def test_characters_count_alone_when_there_is_nothing_better() -> None:
    wanted = QueryTerms(stems=frozenset({"检", "检索", "索"}))

    assert _found("检查索引", wanted) == ["检", "索"]


def test_a_pair_is_found_in_halfwidth_and_decomposed_writing() -> None:
    assert _found("ｶﾞｷ", QueryTerms(stems=frozenset({"ガキ"}))) == ["ｶﾞｷ"]
    assert _found("か\u3099き", QueryTerms(stems=frozenset({"がき"}))) == ["か\u3099き"]
