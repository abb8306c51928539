import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.normalise import fold, is_cjk
from recollect.text.tokenizer import (
    LONGEST,
    STOPWORDS,
    WORDS,
    QueryWord,
    TokenAnalysis,
    WordCache,
    analyse_text,
    analyse_word,
    joined,
    read_words,
    run_tokens,
    segment,
    significant,
    stem,
    word_set,
)

MIXED = st.text(
    st.characters() | st.sampled_from("aB1 .-_'+#/:@é\u0301漢字か\u3099한\u1100\u1161ｶﾞ½ﷺ\u02bc\u2019\u200d🎉\ud800\0")
)


# --- words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "compound",
    [
        "foo-bar",
        "foo-bar-baz",
        "1.0.21",
        "2026.4.10",
        "user@example.com",
        "C++",
        "C#",
        "it's",
        "don\u2019t",
        "snake_case",
        "path/to/file.py",
        "DEC-0054",
        "gpt-4",
        "a+b",
        "std::vector",
        "12:30",
        "naïve-bayes",
        "c++17",
    ],
)
def test_a_compound_is_one_word_whatever_stands_around_it(compound: str) -> None:
    assert segment(compound) == [compound]
    assert segment(f'"{compound}", ({compound}) {compound}.') == [compound] * 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the end. Next", ["the", "end", "Next"]),
        ("note: this", ["note", "this"]),
        ("wait...what", ["wait", "what"]),
        ("either--or", ["either", "or"]),
        ("'quoted' words'", ["quoted", "words"]),
        ("5+ #12 3# 5'10", ["5", "12", "3", "5", "10"]),
        ("C++/C#", ["C++", "C#"]),
        ("https://example.com/a", ["https", "example.com/a"]),
        ("_private __init__", ["private", "init"]),
        ("重跑gen-itgc后", ["重跑", "gen-itgc", "后"]),
        ("v2版本", ["v2", "版本"]),
        ("great🎉🎉", ["great", "🎉", "🎉"]),
        ("", []),
        ("!@#$% — … “”", []),
    ],
)
def test_punctuation_and_scripts_part_words(text: str, words: list[str]) -> None:
    assert segment(text) == words


@pytest.mark.case(70)
@pytest.mark.parametrize("word", ["สวัสดี", "नमस्ते", "مَرْحَبًا", "Οδυσσεύς", "שלום", "குழந்தை", "မြန်မာ"])
def test_a_word_of_any_script_is_found_with_its_marks(word: str) -> None:
    assert segment(f"{word} {word}.") == [word, word]


@given(st.text(st.characters()))
def test_each_word_stands_where_it_is_found_first_behind_the_one_before(text: str) -> None:
    end = 0
    for word in segment(text):
        start = text.index(word, end)
        assert segment(text[end:start]) == []
        end = start + len(word)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_words_are_the_same_beside_other_scripts(text: str) -> None:
    assert segment(f"{text} 漢") == [*segment(text), "漢"]


# --- stems and stop words -----------------------------------------------------------------------


@pytest.mark.req("N-10")
@pytest.mark.parametrize(
    ("word", "root"),
    [("kinases", "kinas"), ("running", "run"), ("deployment", "deploy"), ("42", "42"), ("μνημη", "μνημη")],
)
def test_a_word_is_reduced_to_what_its_forms_share(word: str, root: str) -> None:
    assert stem(word) == root


def test_threads_do_not_disturb_each_other() -> None:
    words = ["connections", "running", "deployment", "kinases"] * 500
    alone = [stem(word) for word in words]

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(stem, words))

    assert together == alone


def test_stop_words_are_folded_and_about_as_many_as_english_has() -> None:
    assert {fold(word) for word in STOPWORDS} == STOPWORDS
    assert 150 <= len(STOPWORDS) <= 200


@pytest.mark.parametrize("word", ["what", "when", "where", "who", "why", "how", "which", "did", "the", "of"])
def test_question_words_are_stop_words(word: str) -> None:
    assert word in STOPWORDS


@pytest.mark.parametrize("word", ["may", "march", "error", "don", "c", "go", "new", "work"])
def test_words_that_also_name_something_are_not(word: str) -> None:
    assert word not in STOPWORDS


# --- the analysis of a word ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "tokens", "alternatives", "stems"),
    [
        ("Deployments", ("deployments",), (), ("deploy",)),
        ("sqlite3", ("sqlite3",), (), ("sqlite3",)),
        ("foo-bar", ("foo", "bar"), ("foo-bar",), ("foo", "bar", "foo-bar")),
        ("snake_case", ("snake", "case"), ("snake_case",), ("snake", "case", "snake_case")),
        ("C++", ("c",), ("c++",), ("c", "c++")),
        ("C#", ("c",), ("c#",), ("c", "c#")),
        ("1.0.21", ("1", "0", "21"), ("1.0.21",), ("1", "0", "21", "1.0.21")),
        ("O'Brien", ("o", "brien"), ("obrien",), ("o", "brien", "obrien")),
        ("Füße-Test", ("fusse", "test"), ("fusse-test",), ("fuss", "test", "fusse-test")),
        ("½", ("1", "2"), (), ("1", "2")),
        ("🎉", ("🎉",), (), ("🎉",)),
    ],
)
def test_a_word_has_exact_forms_other_forms_and_stems(
    word: str, tokens: tuple[str, ...], alternatives: tuple[str, ...], stems: tuple[str, ...]
) -> None:
    analysis = analyse_word(word)

    assert (analysis.tokens, analysis.alternatives, analysis.stems) == (tokens, alternatives, stems)


def test_camel_case_is_one_exact_form_and_findable_by_its_parts() -> None:
    analysis = analyse_word("parseHTTPResponse")

    assert analysis.tokens == ("parsehttpresponse",)
    assert analysis.alternatives == ("parse", "http", "response")
    assert analysis.stems == ("parsehttprespons", "pars", "http", "respons")


def test_the_plural_of_an_acronym_is_no_camel_case() -> None:
    assert analyse_word("URLs").stems == ("url",)
    assert analyse_word("parseURLs").alternatives == ("parse", "urls")


def test_a_compound_inside_a_path_is_a_form_of_its_own() -> None:
    analysis = analyse_word("path/to/file.py")

    assert analysis.alternatives == ("path/to/file.py", "file.py")


def test_a_clitic_is_an_exact_form_and_no_stem() -> None:
    analysis = analyse_word("Melanie's")

    assert analysis.tokens == ("melanie", "s")
    assert analysis.stems == ("melani",)


def test_a_cjk_run_is_characters_and_pairs() -> None:
    analysis = analyse_word("人工智")

    assert analysis.tokens == ("人", "工", "智")
    assert analysis.stems == ("人", "人工", "工", "工智", "智")
    assert analysis.cjk


@pytest.mark.parametrize("word", ["\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"])
def test_hangul_written_letter_by_letter_is_analysed_like_its_syllables(word: str) -> None:
    assert analyse_word(word).tokens == ("한", "글")


def test_an_endless_run_is_cut_and_an_endless_compound_is_only_its_pieces() -> None:
    run, compound = analyse_word("x" * 5000), analyse_word("foo.bar/" * 500 + "end")

    assert run.tokens == ("x" * LONGEST,)
    assert compound.tokens == ("foo", "bar") * 500 + ("end",)
    assert set(compound.stems) == {"foo", "bar", "foo.bar", "end"}


def test_a_chain_of_hyphens_too_long_to_be_a_token_is_its_pieces() -> None:
    analysis = analyse_word("-".join(["ab"] * 300))

    assert analysis.tokens == analysis.stems == ("ab",) * 300


@pytest.mark.parametrize("word", ["the", "The", "don't", "don\u2019t", "what's", "they'll", "CANNOT"])
def test_stop_words_are_known_in_any_case_and_contraction(word: str) -> None:
    assert analyse_word(word).stop


@pytest.mark.parametrize("word", ["to-do", "and/or", "kinase", "may", "人"])
def test_compounds_and_other_words_are_no_stop_words(word: str) -> None:
    assert not analyse_word(word).stop


def test_a_full_cache_forgets_everything() -> None:
    cache = WordCache(analyse_word, max_words=2, max_length=8)

    for word in ("one", "two", "three"):
        assert cache[word] == analyse_word(word)

    assert list(cache) == ["three"]


def test_the_cache_keeps_neither_long_words_nor_cjk_runs() -> None:
    cache = WordCache(analyse_word, max_words=8, max_length=8)

    assert cache["unbelievable"].tokens == ("unbelievable",)
    assert cache["人工"].cjk
    assert not cache


def test_the_shared_cache_gives_the_analysis_of_the_word() -> None:
    assert WORDS["TEST-123"] == WORDS["TEST-123"] == analyse_word("TEST-123")


# --- the analysis of a text ---------------------------------------------------------------------


def _tokens(text: str) -> list[str]:
    return list(analyse_text(text).tokens)


def _stems(text: str) -> set[str]:
    return set(analyse_text(text).stems)


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
    assert _tokens(text) == tokens


@pytest.mark.case(52)
def test_c_plus_plus_is_a_c_in_a_phrase_and_itself_in_the_index() -> None:
    assert _tokens("C++ performance") == ["c", "performance"]
    assert "c++" in _stems("C++ performance")


@pytest.mark.case(53)
@pytest.mark.parametrize("version", ["2026.4.10", "1.0.21"])
def test_a_version_is_found_in_a_text_that_ends_with_it(version: str) -> None:
    assert version in _stems(f"We shipped {version}.")


@pytest.mark.case(56)
def test_a_plural_differs_in_exact_form_and_not_in_stem() -> None:
    assert _tokens("kinase") != _tokens("kinases")
    assert _stems("kinase") == _stems("kinases")


@pytest.mark.case(58)
@pytest.mark.parametrize(("text", "count"), [("hello, world! foo-bar", 4), ("go1.21 sqlite3", 3), ("!@#$%", 0)])
def test_letters_and_digits_stay_together_and_signs_part_them(text: str, count: int) -> None:
    assert len(_tokens(text)) == count


@pytest.mark.case(67)
@pytest.mark.parametrize("query", ["人工智能", "智能", "教程", "人"])
def test_any_part_of_a_chinese_text_is_a_run_of_its_tokens_and_a_set_of_its_stems(query: str) -> None:
    text = "人工智能教程"

    assert "".join(_tokens(query)) in "".join(_tokens(text))
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


@given(MIXED)
def test_terms_are_never_empty_and_hold_nothing_a_store_trips_over(text: str) -> None:
    for word in segment(text):
        analysis = WORDS[word]
        assert bool(analysis.tokens) == bool(analysis.stems)
        for form in (*analysis.tokens, *analysis.alternatives, *analysis.stems):
            assert form
            form.encode("utf-8")
            assert not set(form) & {'"', "'", " ", "\0"}
            assert not any(unicodedata.category(char) in {"Cc", "Cs", "Zs", "Zl", "Zp"} for char in form)


@given(MIXED)
def test_the_tokens_of_a_run_stand_in_its_order(text: str) -> None:
    for run in filter(is_cjk, segment(text)):
        found = list(run_tokens(run))

        assert tuple(token for _, _, token in found) == WORDS[run].tokens
        assert all(0 <= start < end <= len(run) for start, end, _ in found)
        assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(found))


def terms_of(read: TokenAnalysis) -> tuple[tuple[str | int, ...], ...]:
    return read.tokens, read.alternatives, read.stems, read.hashes


@given(MIXED)
def test_a_text_is_its_words(text: str) -> None:
    assert terms_of(analyse_text(text)) == terms_of(joined([analyse_word(word) for word in segment(text)]))


@given(MIXED)
def test_a_word_by_itself_is_that_word(text: str) -> None:
    assert all(segment(word) == [word] for word in segment(text))


@given(MIXED, MIXED)
def test_a_text_is_the_words_of_its_lines(one: str, other: str) -> None:
    assert terms_of(analyse_text(f"{one}\n{other}")) == terms_of(joined([analyse_text(one), analyse_text(other)]))


@pytest.mark.case(84)
@pytest.mark.parametrize(
    ("a", "b", "shared", "all_"),
    [
        ("always run ruff before pyright for linting", "always run ruff before pyright for linting checks", 7, 8),
        ("ruff linting python", "ruff pyright go", 1, 5),
        ("", "ruff", 0, 1),
        ("Ruff, RUFF!", "ruff", 1, 1),
        ("...", "!", 0, 0),
    ],
)
def test_texts_are_compared_by_their_distinct_folded_words(a: str, b: str, shared: int, all_: int) -> None:
    ours, theirs = word_set(a), word_set(b)

    assert (len(ours & theirs), len(ours | theirs)) == (shared, all_)


# --- the words of a question --------------------------------------------------------------------


@pytest.mark.case(57)
def test_a_sentence_keeps_what_it_is_about() -> None:
    words = significant(read_words("Hello, World! This is a TEST-123."))

    assert [token for word in words for token in word.tokens] == ["hello", "world", "test", "123"]


@pytest.mark.case(54)
def test_a_quotation_mark_inside_a_word_is_a_slip() -> None:
    words = read_words('he"llo wo"rld')

    assert [word.text for word in words] == ["hello", "world"]


@pytest.mark.case(69)
@pytest.mark.parametrize("query", ["金银价格", "人", "한", "ก"])
def test_a_question_in_another_script_is_a_question(query: str) -> None:
    words = significant(read_words(query))

    assert [word.text for word in words] == [query]
    assert all(word.stems for word in words)


def test_a_cjk_run_is_one_word_of_characters_and_pairs() -> None:
    (word,) = read_words("金银价")

    assert word == QueryWord(
        text="金银价", tokens=("金", "银", "价"), stems=("金", "金银", "银", "银价", "价"), stop=False, cjk=True
    )


def test_scripts_written_together_are_words_apart() -> None:
    words = read_words("重跑gen-itgc后")

    assert [(word.text, word.cjk) for word in words] == [("重跑", True), ("gen-itgc", False), ("后", True)]


@pytest.mark.parametrize("text", ["", "   ", "!@#$%", "\0\0", "\ud800", "\u02bc"])
def test_a_text_without_words_is_no_words(text: str) -> None:
    assert read_words(text) == ()
    assert significant(read_words(text)) == ()


def test_a_question_of_stop_words_only_keeps_them() -> None:
    words = read_words("to be or not to be")

    assert significant(words) == words
    assert len(words) == 6


def test_a_hundred_thousand_characters_are_read() -> None:
    words = read_words("word 检索-" * 12_500)

    assert len(words) == 25_000


@given(st.text(st.characters() | st.sampled_from("\"' aé漢-_")))
def test_words_come_in_order_and_significant_ones_are_some_of_them(text: str) -> None:
    words = read_words(text)

    kept = significant(words)

    assert bool(kept) == bool(words)
    assert [word for word in words if word in kept] == list(kept)
    assert all(word.tokens and word.stems for word in words)
