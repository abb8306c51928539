"""A Slack export: names, threads, days, the zip of it."""

import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from trial import changes, contents, first, store, survives, taken, written

from recollect.remember.formats import read_file

USERS = [
    {"id": "U01ANN", "team_id": "T1", "name": "ann", "profile": {"real_name": "Ann Meyer", "display_name": "annie"}},
    {"id": "U02BEN", "team_id": "T1", "name": "ben", "real_name": "Ben Okafor", "profile": {"display_name": "ben"}},
    {"id": "U03CID", "team_id": "T1", "name": "cid", "profile": {"display_name": "Cid"}},
]
CHANNELS = [{"id": "C0OPS", "name": "ops", "members": ["U01ANN", "U02BEN"], "purpose": {"value": "Operations"}}]


def message(ts: str, user: str, text: str, **more: object) -> dict[str, object]:
    return {"type": "message", "ts": ts, "user": user, "text": text, "client_msg_id": f"id-{ts}", **more}


QUESTION = message(
    "1715500800.000100",
    "U01ANN",
    "Who renews the staging certificate?",
    thread_ts="1715500800.000100",
    reply_count=2,
    replies=[{"user": "U02BEN", "ts": "1715504400.000200"}, {"user": "U03CID", "ts": "1715590800.000300"}],
)
SUNDAY = [
    {"type": "message", "subtype": "channel_join", "ts": "1715500000.000001", "user": "U02BEN", "text": "has joined"},
    QUESTION,
    message("1715501000.000100", "U03CID", "Lunch is at <https://tasty.example/menu|the noodle place> &amp; on me"),
    message("1715504400.000200", "U02BEN", "I will", thread_ts="1715500800.000100"),
    message("1715505000.000100", "U02BEN", "<@U01ANN> see <#C0OPS|ops>, 3 &lt; 4, <!here> <https://x.example/a>"),
    message("1715505100.000100", "U03CID", "", files=[{"name": "budget-2024.xlsx", "title": "Budget"}]),
    {"type": "message", "subtype": "bot_message", "ts": "1715506000.000001", "username": "CI", "text": "build green"},
    message("1715506100.000001", "U09APP", "deploy finished", bot_id="B01"),
]
MONDAY = [message("1715590800.000300", "U03CID", "Thanks, mind the wildcard", thread_ts="1715500800.000100")]


def export(folder: Path) -> Path:
    written(folder / "users.json", USERS)
    written(folder / "channels.json", CHANNELS)
    written(folder / "ops" / "2024-05-12.json", SUNDAY)
    return folder


def test_a_threaded_reply_is_found_with_its_question(tmp_path: Path) -> None:
    folder = export(tmp_path / "export")

    with store() as db:
        db.import_(folder)
        found = contents(db, "who renews the staging certificate", most=2)
        reply = next(hit.memory for hit in db.search("who renews the staging certificate").hits if hit.rank <= 2)

    assert sorted(found) == ["Ann Meyer: Who renews the staging certificate?", "Ben Okafor: I will"]
    assert reply.title == "#ops: Who renews the staging certificate?"


def test_questions_find_the_message_with_its_speaker_and_moment(tmp_path: Path) -> None:
    folder = export(tmp_path / "export")

    with store() as db:
        db.import_(folder)
        lunch, mention, budget = (first(db, each) for each in ("noodle place", "see ops here", "budget xlsx"))

    assert lunch.content == "Cid: Lunch is at the noodle place (https://tasty.example/menu) & on me"
    assert lunch.observed_at == datetime(2024, 5, 12, 8, 3, 20, 100, tzinfo=UTC)
    assert mention.content == "Ben Okafor: @Ann Meyer see #ops, 3 < 4, @here https://x.example/a"
    assert (budget.content, budget.title, budget.metadata) == (
        "Cid: File: budget-2024.xlsx",
        "#ops",
        {"channel": "#ops"},
    )


def test_lists_of_names_joins_and_bots_give_no_memories_and_are_counted(tmp_path: Path) -> None:
    folder = export(tmp_path / "export")

    day, users = read_file(folder / "ops" / "2024-05-12.json"), read_file(folder / "users.json")

    assert day.skipped == {"notice: channel join": 1, "message of a bot": 2}
    assert (users.memories, users.skipped) == ((), {"list of names": 1})
    assert not any("U0" in memory.content for memory in day.memories)


def test_a_reply_of_a_later_day_follows_the_message_it_answers(tmp_path: Path) -> None:
    folder = export(tmp_path / "export")
    written(folder / "ops" / "2024-05-13.json", MONDAY)

    (late,) = read_file(folder / "ops" / "2024-05-13.json").memories
    thread = [each for each in read_file(folder / "ops" / "2024-05-12.json").memories if each.thread == late.thread]

    assert [each.content for each in thread] == ["Ann Meyer: Who renews the staging certificate?", "Ben Okafor: I will"]
    assert [each.turn for each in (*thread, late)] == [1, 2, 3]
    assert late.context.before == "Ann Meyer: Who renews the staging certificate?"
    assert late.title == thread[0].title


def test_a_second_import_changes_nothing_and_a_new_day_adds_its_own(tmp_path: Path) -> None:
    folder = export(tmp_path / "export")

    with store() as db:
        once = changes(db, folder)
        again = changes(db, folder)
        written(folder / "ops" / "2024-05-13.json", MONDAY)
        grown = changes(db, folder)

    assert (once, again, grown) == ({"new": 5}, {}, {"new": 1})


def test_a_zip_of_an_export_gives_the_same_memories(tmp_path: Path) -> None:
    folder = export(tmp_path / "export")
    written(folder / "ops" / "2024-05-13.json", MONDAY)
    packed = tmp_path / "Acme Slack export.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*.json")):
            archive.write(path, path.relative_to(folder).as_posix())

    memories = read_file(packed).memories
    days = [read_file(path).memories for path in sorted((folder / "ops").iterdir())]

    assert taken(packed) == "slack"
    assert [(each.content, each.external_id) for each in memories] == [
        (each.content, each.external_id) for day in days for each in day
    ]


def test_a_day_that_would_become_huge_is_a_problem_of_that_day_alone(tmp_path: Path) -> None:
    packed = tmp_path / "bomb.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("users.json", "[]")
        archive.writestr("channels.json", "[]")
        archive.writestr("ops/2024-05-11.json", "[" + " " * 20_000_000 + "]")
        archive.writestr("ops/2024-05-12.json", '[{"type":"message","ts":"1715500800.000100","user":"U1","text":"hi"}]')

    parsed = read_file(packed)

    assert [each.content for each in parsed.memories] == ["U1: hi"]
    assert parsed.problems == ("ops/2024-05-11.json unpacks to more than 10 MB",)


@pytest.mark.parametrize("folder", ["D0ANNBEN", "mpdm-ann--ben-1"])
def test_messages_between_people_are_named_by_them(tmp_path: Path, folder: str) -> None:
    written(tmp_path / "users.json", USERS)
    written(tmp_path / "channels.json", [])
    written(tmp_path / "dms.json", [{"id": "D0ANNBEN", "members": ["U01ANN", "U02BEN"]}])
    written(tmp_path / "mpims.json", [{"id": "G1", "name": "mpdm-ann--ben-1", "members": ["U01ANN", "U02BEN"]}])
    path = written(tmp_path / folder / "2024-05-12.json", [message("1715500800.000100", "U01ANN", "hello")])

    (memory,) = read_file(path).memories

    assert memory.title == "Ann Meyer, Ben Okafor"


@pytest.mark.parametrize(
    "text", ["[]", '[{"id": 1, "text": "no message"}]', '{"2024": "a day"}', '[{"ts": "17", "type": "message"}]']
)
def test_another_json_file_named_by_a_day_stays_general(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "notes" / "2024-05-12.json", text)

    assert taken(path) == "json"


def test_no_damaged_day_makes_the_reader_raise_anything_but_a_file_error(tmp_path: Path) -> None:
    path = export(tmp_path) / "ops" / "2024-05-12.json"
    sample = path.read_bytes()

    assert all(survives(path, sample, form="slack", seed=seed) for seed in range(60))
