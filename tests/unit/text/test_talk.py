"""Sessions that a question counts, and questions that ask for nothing but a time."""

import pytest

from recollect.text.talk import asks_only_when, find_sessions


@pytest.mark.parametrize(
    ("text", "first", "last", "from_latest"),
    [
        ("What did we discuss in our third session?", 3, 3, False),
        ("the 3rd conversation", 3, 3, False),
        ("our twenty-first discussion", 21, 21, False),
        ("over sessions 1 through 3", 1, 3, False),
        ("from the ninth through eleventh sessions", 9, 11, False),
        ("our first two chats", 1, 2, False),
        ("session #7", 7, 7, False),
        ("4 sessions ago", 4, 4, True),
        ("a session ago", 1, 1, True),
        ("three discussions ago", 3, 3, True),
        ("our last session", 1, 1, True),
        ("the session before last", 2, 2, True),
        ("the second to last conversation", 2, 2, True),
        ("our last two conversations", 1, 2, True),
        ("last time we spoke", 1, 1, True),
    ],
)
def test_sessions_are_counted_from_either_end(text: str, first: int, last: int, *, from_latest: bool) -> None:
    (found,) = find_sessions(text)

    assert (found.first, found.last, found.from_latest) == (first, last, from_latest)


@pytest.mark.parametrize(
    "text",
    [
        "the session timed out",
        "a talk about boats",
        "the third session of the course",
        "two conversations with Ada",
        "sessions 3 through 1",
        "the 0th session",
    ],
)
def test_what_counts_no_session_is_none(text: str) -> None:
    assert find_sessions(text) == ()


def test_the_last_session_about_something_is_not_counted() -> None:
    assert [found.counted for found in find_sessions("our last session, and 2 sessions ago")] == [False, True]


@pytest.mark.parametrize(
    ("text", "time", "only"),
    [
        ("What did we discuss in May?", "May", True),
        ("Tell me the sorts of things we talked about 4 sessions ago.", "4 sessions ago", True),
        ("Please summarize last week's notes", "last week", True),
        ("What did Ada say in May?", "May", False),
        ("Which boat did we buy in May?", "May", False),
        ("Ada: We talked in May. Ben: Yes, we did. Ada: Can you summarize what we discussed?", "May", True),
        ("Ada: We talked in May. Ben: About boats?", "May", False),
        ("May", "May", False),
    ],
)
def test_only_a_time_is_asked_for_where_all_other_words_are_talk(text: str, time: str, *, only: bool) -> None:
    at = text.index(time)

    assert asks_only_when(text, [(at, at + len(time))]) is only
