"""Channels of Discord, exported by DiscordChatExporter or sent by Discord."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from trial import changes, contents, first, store, survives, taken, written

from recollect.errors import FileError
from recollect.remember.formats import named, read_file


def message(key: int, name: str, content: str, **more: object) -> dict[str, object]:
    return {
        "id": str(key),
        "type": "Default",
        "timestamp": f"2024-05-12T10:{key % 60:02}:00.5+02:00",
        "timestampEdited": None,
        "isPinned": False,
        "content": content,
        "author": {"id": f"9{name}", "name": name, "nickname": name.title(), "isBot": False, "roles": []},
        "attachments": [],
        "embeds": [],
        "reactions": [],
        "mentions": [],
        **more,
    }


BOT = {"id": "7", "name": "MEE6", "isBot": True}
MESSAGES = [
    message(100, "ann", "Which shader compiles on the old laptop?"),
    message(101, "cid", "", type="GuildMemberJoin"),
    message(102, "dan", "Good morning all"),
    message(103, "mee6", "You reached level 3", author=BOT),
    message(
        104, "ann", "Here is the log", attachments=[{"id": "1", "fileName": "crash.log", "url": "https://x.example"}]
    ),
    message(105, "eve", "see you tomorrow"),
    message(106, "ben", "the 3.1 one", type="Reply", reference={"messageId": "100", "channelId": "55"}),
]


def exported(messages: list[dict[str, object]]) -> dict[str, object]:
    return {
        "guild": {"id": "44", "name": "Makers", "iconUrl": ""},
        "channel": {
            "id": "55",
            "type": "GuildTextChat",
            "category": "Text",
            "name": "graphics",
            "topic": 'a "messages": [] b',
        },
        "dateRange": {"after": None, "before": None},
        "exportedAt": "2024-06-01T00:00:00+00:00",
        "messages": messages,
        "messageCount": len(messages),
    }


def test_questions_find_the_message_with_its_speaker_and_moment(tmp_path: Path) -> None:
    path = written(tmp_path / "Makers - graphics [55].json", exported(MESSAGES))

    with store() as db:
        db.import_(path)
        answers = contents(db, "which shader compiles on the old laptop")
        log, morning = first(db, "crash log"), first(db, "good morning")

    assert "Ben: the 3.1 one" in answers
    assert (log.content, log.title) == ("Ann: Here is the log\nFile: crash.log", "#graphics (Makers)")
    assert (morning.content, morning.observed_at) == (
        "Dan: Good morning all",
        datetime(2024, 5, 12, 8, 42, 0, 500_000, tzinfo=UTC),
    )


def test_bots_and_notices_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "graphics.json", exported([*MESSAGES, {"id": "1"}]))

    parsed = read_file(path)

    assert taken(path) == "discord"
    assert parsed.skipped == {"notice": 1, "message of a bot": 1, "unknown record": 1}


def test_a_second_import_changes_nothing_and_a_longer_export_adds_its_end(tmp_path: Path) -> None:
    path = written(tmp_path / "graphics.json", exported(MESSAGES[:-1]))

    with store() as db:
        once, again = changes(db, path), changes(db, path)
        written(path, exported(MESSAGES))
        grown = changes(db, path)

    assert (once, again, grown) == ({"new": 4}, {}, {"new": 1})


def test_a_channel_of_any_length_is_read_in_portions(tmp_path: Path) -> None:
    many = [message(1000 + number, "ann", f"words {number} " + "x" * 5000) for number in range(2500)]
    path = written(tmp_path / "graphics.json", exported(many))

    parsed = read_file(path)

    assert path.stat().st_size > 12_000_000
    assert [each.turn for each in parsed.memories] == list(range(1, 2501))


@pytest.mark.parametrize("form", ["json", "csv"])
def test_the_package_gives_ones_own_messages_oldest_first(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "messages" / "c555555"
    written(tmp_path / "account" / "user.json", {"username": "ann", "global_name": "Ann"})
    written(tmp_path / "messages" / "index.json", {"555555": "graphics in Makers"})
    written(
        folder / "channel.json", {"id": "555555", "type": 0, "name": "graphics", "guild": {"id": "4", "name": "Makers"}}
    )
    rows = [
        {"ID": 1002, "Timestamp": "2024-05-12 10:01:00", "Contents": 'second, "quoted"', "Attachments": ""},
        {
            "ID": 998,
            "Timestamp": "2024-05-12 10:00:00",
            "Contents": "first",
            "Attachments": "https://x.example/a/b.png?ex=1",
        },
    ]
    quoted = 'ID,Timestamp,Contents,Attachments\n1002,2024-05-12 10:01:00,"second, ""quoted""",\n'
    table = f"{quoted}998,2024-05-12 10:00:00,first,https://x.example/a/b.png?ex=1\n"
    path = written(folder / f"messages.{form}", rows if form == "json" else table)

    with store() as db:
        report = changes(db, tmp_path / "messages")
        found = first(db, "quoted")
    memories = read_file(path).memories

    assert [each.content for each in memories] == ["Ann: first\nFile: b.png", 'Ann: second, "quoted"']
    assert [each.title for each in memories] == ["#graphics (Makers)"] * 2
    assert (report, found.observed_at) == ({"new": 2}, datetime(2024, 5, 12, 10, 1, tzinfo=UTC))


def test_other_json_with_messages_stays_general(tmp_path: Path) -> None:
    path = written(tmp_path / "log.json", {"messages": [{"role": "user", "content": "hi"}]})

    assert taken(path) == "json"


@pytest.mark.parametrize(
    "text", ["", "{", '{"messages": [', '{"messages": [{"id": ', '[{"messages": 1}]', "[" * 100_000]
)
def test_what_is_no_whole_export_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "a.json", text)

    with pytest.raises(FileError, match=r"not (whole )?JSON"):
        read_file(path, named("discord"))


def test_no_damaged_channel_makes_the_reader_raise_anything_but_a_file_error(tmp_path: Path) -> None:
    path, sample = tmp_path / "a.json", json.dumps(exported(MESSAGES)).encode()

    assert all(survives(path, sample, form="discord", seed=seed) for seed in range(60))
