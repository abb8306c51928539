from recollect.text.snippet import QueryTerms, match_spans


def _found(text: str, wanted: QueryTerms) -> list[str]:
    return [text[spot.start : spot.end] for spot in match_spans(text, wanted)]


def test_a_word_is_found_by_stem_exact_form_and_beginning() -> None:
    text = "Deployed kinases deprecate foo-bar"

    assert _found(text, QueryTerms(stems=frozenset({"deploy"}))) == ["Deployed"]
    assert _found(text, QueryTerms(tokens=frozenset({"kinases", "bar"}))) == ["kinases", "foo-bar"]
    assert _found(text, QueryTerms(prefixes=("dep",))) == ["Deployed", "deprecate"]
    assert _found(text, QueryTerms(prefixes=("foo-b",))) == ["foo-bar"]


def test_an_empty_beginning_is_nothing_wanted() -> None:
    assert _found("some words", QueryTerms(prefixes=("",))) == []


def test_a_spot_says_what_it_holds() -> None:
    (spot,) = match_spans("a foo-bar", QueryTerms(stems=frozenset({"foo", "bar", "baz"})))

    assert spot.found == {"foo", "bar"}


def test_characters_of_a_wanted_pair_count_together() -> None:
    wanted = QueryTerms(stems=frozenset({"检", "检索", "索"}))

    assert _found("检查检索索引", wanted) == ["检索"]


def test_characters_count_alone_when_there_is_nothing_better() -> None:
    wanted = QueryTerms(stems=frozenset({"检", "检索", "索"}))

    assert _found("检查索引", wanted) == ["检", "索"]


def test_a_pair_is_found_in_halfwidth_and_decomposed_writing() -> None:
    assert _found("ｶﾞｷ", QueryTerms(stems=frozenset({"ガキ"}))) == ["ｶﾞｷ"]
    assert _found("か\u3099き", QueryTerms(stems=frozenset({"がき"}))) == ["か\u3099き"]
