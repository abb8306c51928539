"""A value in a column is found and shown; a passage of release notes knows its version."""

from pathlib import Path

import pytest

from kit import read_csv
from recollect import open as open_store
from recollect.remember.formats.markdown import read_markdown
from recollect.remember.formats.record import Origin
from recollect.render.layout import plain
from recollect.render.pages import reply_page

SUBSCRIPTIONS = """vendor,purpose,monthly cost,note
Hetzner,two servers,38 EUR,invoice by mail
Backblaze,offsite backup of the photos,7 USD,renews in May
Fastmail,mail for the family,9 USD,three boxes
"""
COSTS = """text,vendor,amount,period
Domain of the shop,Porkbun,11 USD,yearly
Insurance of the van,Allianz,940 EUR,yearly
Parking at the station,Contipark,55 EUR,monthly
"""
NOTES = """# Changelog of Harbor

## 4.2.0

### Added

- Webhooks can be signed with Ed25519 keys.

### Fixed

- Paging of long lists.

## 4.1.0

### Added

- Dark mode for the dashboard.

## 4.0.0

### Added

- Passkeys replace passwords at sign-in.
"""


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("how much do we pay for Backblaze", "7 USD"),
        ("which vendor costs 38 EUR", "Hetzner"),
        ("when does Backblaze renew", "in May"),
        ("what do we pay Allianz", "940 EUR"),
        ("how much is parking at the station", "55 EUR"),
    ],
)
def test_a_value_in_a_column_is_found_and_shown(tmp_path: Path, question: str, value: str) -> None:
    (tmp_path / "subscriptions.csv").write_text(SUBSCRIPTIONS, encoding="utf-8")
    (tmp_path / "costs.csv").write_text(COSTS, encoding="utf-8")

    with open_store(tmp_path / "notes.db", model="none") as db:
        db.import_(tmp_path)
        reply = db.search(question, limit=1)

    assert value in plain(reply_page(reply))


def test_a_note_beside_columns_of_their_own_is_a_remark_and_the_row_is_the_memory() -> None:
    rows = read_csv(SUBSCRIPTIONS, Origin(source="/a.csv")).memories

    assert rows[0].content == "vendor: Hetzner\npurpose: two servers\nmonthly cost: 38 EUR\nnote: invoice by mail"


def test_a_note_beside_a_date_is_the_memory() -> None:
    (row,) = read_csv("date,note\n2024-05-06,The meter was read.\n", Origin(source="/a.csv")).memories

    assert row.content == "The meter was read."


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("which version of Harbor added passkeys", "4.0.0: Added"),
        ("in which Harbor release came dark mode", "4.1.0: Added"),
        ("since when can webhooks be signed", "4.2.0: Added"),
        ("what was fixed in 4.2.0", "4.2.0: Fixed"),
    ],
)
def test_a_passage_of_release_notes_is_told_with_its_version(tmp_path: Path, question: str, title: str) -> None:
    (tmp_path / "CHANGELOG.md").write_text(NOTES, encoding="utf-8")

    with open_store(tmp_path / "notes.db", model="none") as db:
        db.import_(tmp_path)
        best = db.search(question).hits[0].memory

    assert best.title == title


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("# Tool v2.23 Notes\n\n## New\n\na\n\n### In v3.0\n\nb", ["Tool v2.23 Notes: New", "In v3.0"]),
        ("# Plan\n\n## Costs\n\na", ["Costs"]),
        ("# 10.0.0.1.5 is no version\n\n## Next\n\na", ["Next"]),
        ("# 1.0\n\n## 1.1\n\n### Fixed\n\na", ["1.1: Fixed"]),
    ],
)
def test_a_version_above_stands_in_front_of_a_title_without_one(text: str, titles: list[str]) -> None:
    memories = read_markdown(text, Origin(source="/a.md")).memories

    assert [each.title for each in memories] == titles
