import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.search.parse import MAX_TOKENS, Token, lex


def tokens(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in lex(text)[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("red fox", [("word", "red"), ("word", "fox")]),
        ('"red fox" den', [("phrase", "red fox"), ("word", "den")]),
        ('the "red fox"?', [("word", "the"), ("phrase", "red fox"), ("word", "?")]),
        ('"red fox', [("word", "red"), ("word", "fox")]),
        ('he"llo wo"rld', [("word", "hello"), ("word", "world")]),
        ("deploy*", [("prefix", "deploy")]),
        ("a*b", [("word", "a*b")]),
        ("*", [("word", "*")]),
        ("-sports", [("exclude", "sports")]),
        ('-"red fox"', [("exclude", "red fox")]),
        ("a-b", [("word", "a-b")]),
        ("-5", [("word", "-5")]),
        (
            "a AND b OR NOT c",
            [("word", "a"), ("and", "AND"), ("word", "b"), ("or", "OR"), ("not", "NOT"), ("word", "c")],
        ),
        ("and or not", [("word", "and"), ("word", "or"), ("word", "not")]),
        ("(a)", [("open", "("), ("word", "a"), ("close", ")")]),
        ("type:decision", [("filter", "decision")]),
        ('tag:"two words"', [("filter", "two words")]),
        ("col:val", [("word", "col:val")]),
        ("xtype:a", [("word", "xtype:a")]),
        ("TYPE:a", [("word", "TYPE:a")]),
        ("type:", [("word", "type:")]),
        ("", []),
        (" \t\n", []),
    ],
)
def test_a_text_is_read_as_its_tokens(text: str, expected: list[tuple[str, str]]) -> None:
    assert tokens(text) == expected


def test_a_filter_knows_its_key() -> None:
    assert lex("since:2026-01-02")[0] == [Token(kind="filter", text="2026-01-02", key="since")]


@given(st.text(st.characters()))
def test_any_text_has_tokens_and_none_of_them_is_empty_but_a_lone_quote(text: str) -> None:
    assert all(token.text or '"' in text for token in lex(text)[0])


@given(st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), max_size=9))
def test_plain_words_come_back_as_they_are(words: list[str]) -> None:
    assert tokens(" ".join(words)) == [("word", word) for word in words]


def test_a_very_long_text_is_read_from_its_beginning() -> None:
    read, _ = lex("first " + "x " * 2 * MAX_TOKENS)

    assert (len(read), read[0].text) == (MAX_TOKENS, "first")
