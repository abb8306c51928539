from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.tokenizer import places, segment


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
def test_places_and_words_agree_and_lie_in_order(text: str) -> None:
    found = list(places(text))

    assert [place[0] for place in found] == segment(text)
    assert all(a.end() <= b.start() for a, b in pairwise(found))


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_words_are_the_same_beside_other_scripts(text: str) -> None:
    assert segment(f"{text} 漢") == [*segment(text), "漢"]
