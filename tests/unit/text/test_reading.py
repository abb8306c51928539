import pytest

from recollect.text.tokenizer import ANALYSES, LONGEST, Memo, read_word


@pytest.mark.parametrize(
    ("word", "tokens", "parts", "stems"),
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
    word: str, tokens: tuple[str, ...], parts: tuple[str, ...], stems: tuple[str, ...]
) -> None:
    reading = read_word(word)

    assert (reading.tokens, reading.parts, reading.stems) == (tokens, parts, stems)


def test_camel_case_is_one_exact_form_and_findable_by_its_parts() -> None:
    reading = read_word("parseHTTPResponse")

    assert reading.tokens == ("parsehttpresponse",)
    assert reading.parts == ("parse", "http", "response")
    assert reading.stems == ("parsehttprespons", "pars", "http", "respons")


def test_the_plural_of_an_acronym_is_no_camel_case() -> None:
    assert read_word("URLs").stems == ("url",)
    assert read_word("parseURLs").parts == ("parse", "urls")


def test_a_compound_inside_a_path_is_a_form_of_its_own() -> None:
    reading = read_word("path/to/file.py")

    assert reading.parts == ("path/to/file.py", "file.py")


def test_a_clitic_is_an_exact_form_and_no_stem() -> None:
    reading = read_word("Melanie's")

    assert reading.tokens == ("melanie", "s")
    assert reading.stems == ("melani",)


def test_a_cjk_run_is_characters_and_pairs() -> None:
    reading = read_word("人工智")

    assert reading.tokens == ("人", "工", "智")
    assert reading.stems == ("人", "人工", "工", "工智", "智")
    assert reading.cjk


@pytest.mark.parametrize("word", ["\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"])
def test_hangul_written_letter_by_letter_reads_like_its_syllables(word: str) -> None:
    assert read_word(word).tokens == ("한", "글")


def test_an_endless_run_is_cut_and_an_endless_compound_is_only_its_pieces() -> None:
    run, compound = read_word("x" * 5000), read_word("foo.bar/" * 500 + "end")

    assert run.tokens == ("x" * LONGEST,)
    assert compound.tokens == ("foo", "bar") * 500 + ("end",)
    assert set(compound.stems) == {"foo", "bar", "foo.bar", "end"}


def test_a_chain_of_hyphens_too_long_to_be_a_token_is_its_pieces() -> None:
    reading = read_word("-".join(["ab"] * 300))

    assert reading.tokens == reading.stems == ("ab",) * 300


@pytest.mark.parametrize("word", ["the", "The", "don't", "don\u2019t", "what's", "they'll", "CANNOT"])
def test_stop_words_are_known_in_any_case_and_contraction(word: str) -> None:
    assert read_word(word).stop


@pytest.mark.parametrize("word", ["to-do", "and/or", "kinase", "may", "人"])
def test_compounds_and_other_words_are_no_stop_words(word: str) -> None:
    assert not read_word(word).stop


def test_a_memo_forgets_everything_when_it_is_full() -> None:
    memo = Memo(read_word, most=2, longest=8)

    for word in ("one", "two", "three"):
        assert memo[word] == read_word(word)

    assert list(memo) == ["three"]


def test_a_memo_keeps_neither_long_words_nor_cjk_runs() -> None:
    memo = Memo(read_word, most=8, longest=8)

    assert memo["unbelievable"].tokens == ("unbelievable",)
    assert memo["人工"].cjk
    assert not memo


def test_the_shared_memo_reads_like_anyone() -> None:
    assert ANALYSES["TEST-123"] == ANALYSES["TEST-123"] == read_word("TEST-123")
