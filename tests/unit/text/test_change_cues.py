"""Cues of a change or a report match what they mean, and not every sentence with the same letters."""

import pytest

from recollect.text.changes import announces_change, is_report, states_change


@pytest.mark.parametrize(
    "text",
    [
        "The lighthouse stands on a rock and its keeper counts the ships",
        "We have a new puppy",
        "The bakery is left of the station",
        "We meet again on Mondays",
        "The server has been up since March",
    ],
)
def test_plain_sentences_are_neither_reports_nor_changes(text: str) -> None:
    assert (is_report(text), announces_change(text), states_change(text)) == (False, False, None)


@pytest.mark.parametrize("text", ["Anna counts 14 chairs", "she counts the chairs", "Ida counts only twelve"])
def test_who_counts_a_number_reports(text: str) -> None:
    assert is_report(text)


@pytest.mark.parametrize("text", ["Paul left the team", "He smokes again", "Closed since March", "Our new office"])
def test_narrower_cues_still_announce_a_change(text: str) -> None:
    assert announces_change(text)
