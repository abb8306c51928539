"""Which texts tell only of how something was."""

import pytest

from recollect.text.changes import calls_itself_past


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("We previously used Express for the API.", True),
        ("The office used to be in Riga.", True),
        ("Chose Mongo, later replaced by Postgres.", True),
        ("We previously used Express, now Fastify.", False),
        ("We use Fastify for the API.", False),
        ("We no longer use Redis.", False),
    ],
)
def test_a_text_calls_itself_past_where_it_does_not_say_how_it_is_now(text: str, past: bool) -> None:  # noqa: FBT001
    assert calls_itself_past(text) is past
