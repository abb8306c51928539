import unicodedata
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.records import Memory
from recollect.text.analyser import SENTINEL, analyse
from recollect.text.tokenizer import Token, tokenise

MIXED = st.text(
    st.characters() | st.sampled_from("aB1 .-_'+#/:@é\u0301漢字か\u3099한\u1100\u1161ｶﾞ½ﷺ\u02bc\u2019\u200d🎉\ud800\0")
)


def _atoms(text: str) -> list[str]:
    return [form for token in tokenise(text) for form in token.tokens]


def _stems(text: str) -> set[str]:
    return {stem for token in tokenise(text) for stem in token.stems}


@pytest.mark.case(49)
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("multi-agent", ["multi", "agent"]),
        ("DEC-0054", ["dec", "0054"]),
        ("gpt-4", ["gpt", "4"]),
        ("foo-bar-baz", ["foo", "bar", "baz"]),
    ],
)
def test_the_exact_forms_of_a_compound_are_its_words_in_order(text: str, tokens: list[str]) -> None:
    assert _atoms(text) == tokens


@pytest.mark.case(52)
def test_c_plus_plus_is_a_c_in_a_phrase_and_itself_in_the_index() -> None:
    assert _atoms("C++ performance") == ["c", "performance"]
    assert "c++" in _stems("C++ performance")


@pytest.mark.case(53)
@pytest.mark.parametrize("version", ["2026.4.10", "1.0.21"])
def test_a_version_is_found_in_a_text_that_ends_with_it(version: str) -> None:
    assert version in _stems(f"We shipped {version}.")


@pytest.mark.case(56)
def test_a_plural_differs_in_exact_form_and_not_in_stem() -> None:
    assert _atoms("kinase") != _atoms("kinases")
    assert _stems("kinase") == _stems("kinases")


@pytest.mark.case(58)
@pytest.mark.parametrize(("text", "count"), [("hello, world! foo-bar", 4), ("go1.21 sqlite3", 3), ("!@#$%", 0)])
def test_letters_and_digits_stay_together_and_signs_part_them(text: str, count: int) -> None:
    assert len(_atoms(text)) == count


@pytest.mark.case(67)
@pytest.mark.parametrize("query", ["人工智能", "智能", "教程", "人"])
def test_any_part_of_a_chinese_text_is_a_run_of_its_atoms_and_a_set_of_its_stems(query: str) -> None:
    text = "人工智能教程"

    assert "".join(_atoms(query)) in "".join(_atoms(text))
    assert _stems(query) <= _stems(text)


@pytest.mark.case(68)
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("关键词检索", "这里介绍 vector 数据库和关键词检索。"),
        ("vector 关键词", "这里介绍 vector 数据库和关键词检索。"),
        ("検索品質", "この文書は検索品質とトークン化について説明します。"),
        ("검색 품질", "이 문서는 검색 품질과 토큰화 문제를 설명합니다."),
    ],
)
def test_cjk_words_are_found_inside_sentences(query: str, text: str) -> None:
    assert _stems(query) <= _stems(text)


def test_a_token_knows_its_place() -> None:
    tokens = tokenise("See foo-bar, 检索")

    assert tokens == [
        Token(0, 3, "See", ("see",), (), ("see",), cjk=False),
        Token(4, 11, "foo-bar", ("foo", "bar"), ("foo-bar",), ("foo", "bar", "foo-bar"), cjk=False),
        Token(13, 14, "检", ("检",), (), ("检", "检索"), cjk=True),
        Token(14, 15, "索", ("索",), (), ("索",), cjk=True),
    ]


@given(MIXED)
def test_spans_index_the_original_text_in_order(text: str) -> None:
    tokens = tokenise(text)

    assert all(text[token.start : token.end] == token.text for token in tokens)
    assert all(a.start <= b.start and a.end <= b.end for a, b in pairwise(tokens))


@given(MIXED)
def test_tokens_are_never_empty_and_hold_nothing_a_store_trips_over(text: str) -> None:
    for token in tokenise(text):
        assert token.tokens
        assert token.stems
        for form in (*token.tokens, *token.parts, *token.stems):
            assert form
            form.encode("utf-8")
            assert not set(form) & {'"', "'", " ", "\0", SENTINEL}
            assert not any(unicodedata.category(char) in {"Cc", "Cs", "Zs", "Zl", "Zp"} for char in form)


@given(MIXED)
def test_the_index_holds_exactly_the_tokens_of_the_text(text: str) -> None:
    tokens = tokenise(text)

    terms = analyse(Memory(content=text, created_at=datetime(2024, 1, 1, tzinfo=UTC)), ())

    exact = tuple(form for token in tokens for form in token.tokens)
    assert terms.stem.get("body", ()) == tuple(stem for token in tokens for stem in token.stems)
    assert terms.exact.get("body", ())[: len(exact)] == exact
