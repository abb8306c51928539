"""Sessions of agents and exports of assistants go in, and each turn is found with its speaker and its date."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import (
    SESSION,
    chatgpt_export,
    claude_ai_export,
    claude_line,
    claude_session,
    codex_item,
    codex_message,
    codex_session,
    cursor_session,
    gemini_message,
    gemini_session,
    written,
)

import recollect
from recollect.errors import FileError
from recollect.recollection import Recollection
from recollect.remember.clean import clean
from recollect.remember.formats import BY_NAME, format_of, read_file
from recollect.remember.formats.record import Origin
from recollect.text.firewall import closing, opening


@pytest.fixture
def db() -> Iterator[Recollection]:
    with recollect.open(":memory:", model="none") as store:
        yield store


def exported(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def packed(path: Path, member: str, value: object) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("chat.html", "<html></html>")
        archive.writestr(member, json.dumps(value))
    return path


def compressed(path: Path, lines: list[object]) -> Path:
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    path.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))
    return path


SAMPLES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "claude-code": ("claude-code", lambda folder: written(folder / f"{SESSION}.jsonl", claude_session())),
    "codex": ("codex", lambda folder: written(folder / "rollout-2026-04-01T08-00-00-019a.jsonl", codex_session())),
    "codex packed": ("codex", lambda folder: compressed(folder / "rollout-019a.jsonl.zst", codex_session())),
    "gemini": ("gemini", lambda folder: written(folder / "session-2026-05-01.jsonl", gemini_session())),
    "gemini whole": (
        "gemini",
        lambda folder: exported(
            folder / "session-old.json",
            {**gemini_session()[0], "messages": [gemini_session()[at] for at in (1, 3, 7, 8)], "summary": "Backups"},
        ),
    ),
    "cursor": ("cursor", lambda folder: written(folder / "agent-transcripts" / "c1" / "c1.jsonl", cursor_session())),
    "chatgpt": ("chatgpt", lambda folder: exported(folder / "conversations.json", chatgpt_export())),
    "chatgpt split": ("chatgpt", lambda folder: exported(folder / "conversations-003.json", chatgpt_export())),
    "chatgpt packed": ("chatgpt", lambda folder: packed(folder / "e.zip", "conversations.json", chatgpt_export())),
    "claude-ai": ("claude-ai", lambda folder: exported(folder / "conversations.json", claude_ai_export())),
    "claude-ai packed": (
        "claude-ai",
        lambda folder: packed(folder / "data.zip", "conversations.json", claude_ai_export()),
    ),
}
QUESTIONS = [
    ("claude-code", "which Redis key do the workers share", "assistant: Two workers share", "2026-03-06"),
    ("claude-code", "why is the checkout test flaky", "assistant: Two workers share", "2026-03-06"),
    ("claude-code", "a key of its own for each worker", "user: Give each worker", "2026-03-07"),
    ("codex", "relay listens on port 2525", "assistant: The relay listens on port 2525", "2026-04-04"),
    ("codex", "which port does the mail relay listen on", "assistant: The relay listens", "2026-04-04"),
    ("codex packed", "mail relay 2525", "assistant: The relay listens", "2026-04-04"),
    ("gemini", "bucket frost", "assistant: The nightly backups go to the bucket frost.", "2026-05-02"),
    ("gemini", "kept for thirty days", "assistant: They are kept for thirty days.", "2026-05-06"),
    ("gemini", "where do nightly backups go", "assistant: The nightly backups go", "2026-05-02"),
    ("gemini whole", "kept for thirty days", "assistant: They are kept for thirty days.", "2026-05-06"),
    ("chatgpt", "sourdough twelve hours in the fridge", "assistant: Sourdough rises twelve hours", "2026-03-02"),
    ("chatgpt", "how long does sourdough rise", "assistant: Sourdough rises twelve", "2026-03-02"),
    ("chatgpt packed", "does the crumb look done", "user: Does this crumb", "2026-03-03"),
    ("chatgpt split", "crumb done", "user: Does this crumb", "2026-03-03"),
    ("claude-ai", "notice by the end of May", "assistant: You must give notice", "2026-02-02"),
    ("claude-ai", "leave the flat in August", "user: Then I leave", "2026-02-03"),
    ("claude-ai", "notice period 3 months lease", "user: lease.txt\nThe notice period", "2026-02-01"),
    ("claude-ai packed", "when must I give notice", "assistant: You must give notice", "2026-02-02"),
]


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_file_is_known_by_its_contents_and_a_second_import_changes_nothing(
    db: Recollection, tmp_path: Path, sample: str
) -> None:
    name, make = SAMPLES[sample]
    path = make(tmp_path)

    first, second = db.import_(tmp_path), db.import_(tmp_path)
    path.touch()
    path.write_bytes(path.read_bytes() + b"\n" * (path.suffix in (".json", ".jsonl")))
    third = db.import_(tmp_path)

    assert (found := format_of(path)) is not None
    assert found.name == name
    assert first.memories["new"] >= 2
    assert first.errors == []
    assert [report.memories["new"] + report.memories["updated"] for report in (second, third)] == [0, 0]
    assert first.secrets == []
    assert {memory.tags for memory in db.list().memories} == {(name,)}


@pytest.mark.parametrize(("sample", "question", "turn", "day"), QUESTIONS)
def test_a_question_finds_the_turn_with_its_speaker_and_its_date(
    db: Recollection, tmp_path: Path, sample: str, question: str, turn: str, day: str
) -> None:
    db.import_(SAMPLES[sample][1](tmp_path))

    hits = db.search(question, type="note").hits
    found = hits[0].memory

    assert found.content.startswith(turn)
    assert found.observed_at is not None
    assert found.observed_at.date().isoformat() == day


def test_a_turn_without_a_date_is_found_all_the_same(db: Recollection, tmp_path: Path) -> None:
    db.import_(SAMPLES["cursor"][1](tmp_path))

    found = db.search("which colour has the save button").hits

    assert [hit.memory.content for hit in found[:2]] == [
        "assistant: The save button is teal.",
        "user: Which colour has the save button?",
    ]


def test_an_older_transcript_of_cursor_is_text(tmp_path: Path) -> None:
    path = tmp_path / "agent-transcripts" / "c0.txt"
    path.parent.mkdir()
    path.write_text(
        "user:\n<user_query>\nWhich colour has the save button?\n</user_query>\n\n"
        "assistant:\n[Thinking] It may be in the theme.\nI look at the theme.\n[Tool call] Read\n  path: theme.css\n\n"
        "[Tool result] Read\nteal\n\nassistant:\nThe save button is teal.\n",
        encoding="utf-8",
    )

    parsed = read_file(path)

    assert [(memory.content, memory.line) for memory in parsed.memories] == [
        ("user: Which colour has the save button?", 1),
        ("assistant: I look at the theme.", 6),
        ("assistant: The save button is teal.", 15),
    ]
    assert parsed.skipped == {"thought": 1, "tool call": 1, "tool result": 1}


# --- Claude Code ----------------------------------------------------------------------------


def test_a_transcript_keeps_what_was_said_and_counts_the_rest(tmp_path: Path) -> None:
    path = SAMPLES["claude-code"][1](tmp_path)

    parsed = read_file(path)

    assert [memory.content.split(" ")[0:2] for memory in parsed.memories] == [
        ["user:", "Why"],
        ["assistant:", "Two"],
        ["user:", "Give"],
    ]
    assert {memory.title for memory in parsed.memories} == {"Flaky checkout test"}
    assert {memory.thread for memory in parsed.memories} == {f"claude-code:{SESSION}"}
    assert parsed.memories[1].metadata == {
        "cwd": "/srv/shop",
        "branch": "fix/checkout",
        "model": "claude-opus-4",
    }
    assert parsed.skipped == {
        "file-history-snapshot line": 1,
        "thought": 1,
        "tool call": 1,
        "tool result": 1,
        "meta line": 1,
        "turn of a subagent": 1,
        "system line": 1,
    }


def test_a_session_that_goes_on_adds_only_its_new_turns(db: Recollection, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    db.import_(written(path, claude_session()))

    report = db.import_(written(path, [*claude_session(), claude_line(9, "assistant", "Done: the test is steady.")]))

    assert (report.memories["new"], report.memories["updated"], report.memories["removed"]) == (1, 0, 0)
    assert db.search("steady").hits[0].memory.content == "assistant: Done: the test is steady."


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ([{"type": "custom-title", "customTitle": "Mine"}, {"type": "ai-title", "aiTitle": "Its"}], "Mine"),
        ([{"type": "ai-title", "aiTitle": "First"}, {"type": "ai-title", "aiTitle": "Second"}], "Second"),
        ([{"type": "summary", "summary": "Old form"}], "Old form"),
        ([{"type": "summary", "summary": "Of another", "leafUuid": "nowhere"}], ""),
        ([], ""),
    ],
)
def test_the_name_of_a_session_is_its_title_and_no_memory(tmp_path: Path, lines: list[object], title: str) -> None:
    path = written(tmp_path / "s.jsonl", [claude_line(1, "user", "Hello there"), *lines])

    memories = read_file(path).memories

    assert [(memory.content, memory.title) for memory in memories] == [("user: Hello there", title)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<command-name>/plan</command-name><command-args>move it</command-args>", ["user: /plan move it"]),
        ("<command-name>/clear</command-name><command-args></command-args>", []),
        ("<local-command-stdout>ok</local-command-stdout>", []),
        ("[Request interrupted by user]", []),
        ("<system-reminder>Use the to-do list.</system-reminder>\nUse tabs.", ["user: Use tabs."]),
        ([{"type": "image", "source": {}}, {"type": "text", "text": "See this"}], ["user: See this"]),
        ([{"type": "hologram"}, 7, None], []),
    ],
)
def test_what_the_program_writes_in_the_users_place_is_left_out(
    tmp_path: Path, content: object, said: list[str]
) -> None:
    path = written(tmp_path / "s.jsonl", [claude_line(1, "user", content)])

    memories = read_file(path).memories

    assert [memory.content for memory in memories] == said


@pytest.mark.parametrize(
    ("attachment", "said"),
    [
        (
            {"type": "queued_command", "commandMode": "prompt", "prompt": "Also fix the docs"},
            ["user: Also fix the docs"],
        ),
        ({"type": "queued_command", "commandMode": "prompt", "prompt": "x", "origin": {"kind": "hook"}}, []),
        ({"type": "queued_command", "commandMode": "task-notification", "prompt": "x"}, []),
        ({"type": "hook_success", "content": "x"}, []),
    ],
)
def test_what_was_typed_while_the_agent_was_at_work_is_a_turn(
    tmp_path: Path, attachment: dict[str, object], said: list[str]
) -> None:
    line = {key: value for key, value in claude_line(2, "user", "").items() if key != "message"}
    queued = {**line, "type": "attachment", "attachment": attachment}
    path = written(tmp_path / "s.jsonl", [claude_line(1, "user", "Fix the code"), queued])

    parsed = read_file(path)

    assert [memory.content for memory in parsed.memories] == ["user: Fix the code", *said]
    assert parsed.skipped["attachment line"] == 1 - len(said)


def test_what_recollect_recalled_is_not_read_again(tmp_path: Path) -> None:
    body = "- [decision] We ship on Tuesdays (confidence: 0.90, age: 3d)"
    recalled = f"## Relevant Memories\n{opening(body)}\n{body}\n{closing(body)}\n\nWhen do we ship?"
    path = written(tmp_path / "s.jsonl", [claude_line(1, "user", recalled)])

    parsed = read_file(path)

    assert [memory.content for memory in parsed.memories] == ["user: When do we ship?"]
    assert parsed.skipped == {"recalled memory": 1}


def test_a_very_long_answer_is_cut_and_each_piece_has_an_id(tmp_path: Path) -> None:
    answer = "\n\n".join(f"Step {number}: {'do it well ' * 20}" for number in range(40))
    path = written(tmp_path / "s.jsonl", [claude_line(1, "assistant", answer), claude_line(2, "user", "Thanks")])

    memories = read_file(path).memories

    assert len(memories) > 3
    assert all(len(memory.content) < 2100 for memory in memories)
    assert [memory.external_id for memory in memories[:3]] == ["u-1", "u-1#2", "u-1#3"]
    assert memories[-1].content == "user: Thanks"


def test_a_line_that_is_being_written_is_no_error_and_a_broken_one_is(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", [claude_line(1, "user", "Hello there")])
    path.write_text(path.read_text() + '{"type": broken}\n[1]\n{"type":"assistant","mess', encoding="utf-8")

    parsed = read_file(path)

    assert parsed.problems == ("line 2: not JSON (Expecting value)",)
    assert parsed.skipped == {"unknown line": 1, "unfinished line": 1}


def test_a_long_session_comes_in_parts(tmp_path: Path) -> None:
    lines = [claude_line(1, "user", f"Remark number {number}") | {"uuid": f"r-{number}"} for number in range(1000)]
    path = written(tmp_path / "s.jsonl", lines)

    parts = list(BY_NAME["claude-code"].read(path, Origin(source=path.as_posix())))

    assert [len(part.memories) for part in parts] == [400, 400, 200]
    assert parts[1].memories[0].turn == 401
    assert parts[1].memories[0].context.before == "user: Remark number 399"


# --- Codex ----------------------------------------------------------------------------------


def test_a_rollout_keeps_messages_once_and_counts_the_rest(tmp_path: Path) -> None:
    parsed = read_file(SAMPLES["codex"][1](tmp_path))

    assert [memory.content for memory in parsed.memories] == [
        "user: Which port does the mail relay listen on?",
        "assistant: The relay listens on port 2525, not on 25.",
        "The relay listens on port 2525, not on 25.",
    ]
    assert [memory.type for memory in parsed.memories] == ["note", "note", "fact"]
    assert parsed.memories[1].metadata == {
        "cwd": "/srv/mailer",
        "branch": "main",
        "model": "gpt-5-codex",
    }
    assert parsed.skipped == {"instruction": 2, "event": 2, "thought": 1, "tool call": 1, "tool result": 1}


def test_the_same_rollout_plain_and_packed_is_the_same_memories(db: Recollection, tmp_path: Path) -> None:
    db.import_(SAMPLES["codex"][1](tmp_path))

    report = db.import_(SAMPLES["codex packed"][1](tmp_path))

    assert report.memories["new"] == 0
    assert len(db.list().memories) == 3


def test_the_first_form_of_rollouts_and_the_request_behind_an_editors_context_are_read(tmp_path: Path) -> None:
    asked = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nRename the flag\n"
    old = [
        {"id": "s-1", "timestamp": "2026-01-01T00:00:00Z", "instructions": None, "git": {"branch": "dev"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": asked}]},
    ]

    memories = read_file(written(tmp_path / "rollout-1.jsonl", old)).memories

    assert [(memory.content, memory.thread) for memory in memories] == [("user: Rename the flag", "codex:s-1")]


def test_a_subagents_rollout_is_left_out(tmp_path: Path) -> None:
    meta = codex_item(1, {"id": "x", "source": {"subagent": "review"}}, "session_meta")
    path = written(tmp_path / "rollout-2.jsonl", [meta, codex_message(2, "assistant", "I looked.")])

    parsed = read_file(path)

    assert parsed.memories == ()
    assert parsed.skipped == {"turn of a subagent": 1}


def test_a_packed_rollout_that_is_broken_off_is_told(tmp_path: Path) -> None:
    path = compressed(tmp_path / "rollout-3.jsonl.zst", codex_session())
    path.write_bytes(path.read_bytes()[:60])

    parsed = read_file(path)

    assert parsed.problems == ("it is broken off",)


def test_a_damaged_packed_rollout_is_one_line(tmp_path: Path) -> None:
    path = compressed(tmp_path / "rollout-3.jsonl.zst", codex_session())
    path.write_bytes(path.read_bytes()[:4] + b"\xff" * 40)

    with pytest.raises(FileError) as caught:
        read_file(path)

    assert "cannot be unpacked" in str(caught.value)
    assert caught.value.hint


# --- Gemini ---------------------------------------------------------------------------------


def test_what_was_taken_back_is_gone_and_what_was_compressed_stays(tmp_path: Path) -> None:
    compression = {"$set": {"messages": [gemini_message(9, "user", "<state_snapshot>all of it</state_snapshot>")]}}
    parsed = read_file(written(tmp_path / "session-1.jsonl", [*gemini_session(), compression]))

    assert [memory.external_id for memory in parsed.memories] == ["m1", "m2", "m5", "m6"]
    assert {memory.title for memory in parsed.memories} == {"Nightly backups"}
    assert parsed.skipped["withdrawn message"] == 2
    assert parsed.skipped["notice"] == 1
    assert parsed.skipped["instruction"] == 1


# --- ChatGPT and Claude.ai ------------------------------------------------------------------


def test_only_the_branch_that_was_last_shown_is_read(tmp_path: Path) -> None:
    parsed = read_file(SAMPLES["chatgpt"][1](tmp_path))

    assert [memory.content for memory in parsed.memories] == [
        "user: How long does sourdough rise in the fridge?",
        "assistant: Sourdough rises twelve hours in the fridge.",
        "user: Does this crumb look done?",
    ]
    assert parsed.memories[1].observed_at == datetime(2026, 3, 2, 10, 0, 8, tzinfo=UTC)
    assert parsed.memories[1].metadata == {"model": "gpt-5"}
    assert {(memory.title, memory.thread) for memory in parsed.memories} == {
        ("Sourdough in the fridge", "chatgpt:conv-1")
    }
    assert parsed.skipped == {
        "message of another branch": 1,
        "instruction": 1,
        "tool call": 1,
        "tool result": 1,
        "attached file": 1,
    }


def test_a_circle_of_messages_ends(tmp_path: Path) -> None:
    conversation = chatgpt_export()[0]
    conversation["mapping"]["q"]["parent"] = "q2"

    memories = read_file(exported(tmp_path / "conversations.json", [conversation])).memories

    assert len(memories) == 3


def test_what_stands_before_the_place_where_an_export_breaks_off_is_read(tmp_path: Path) -> None:
    text = json.dumps([*chatgpt_export(), *chatgpt_export()])
    path = tmp_path / "conversations.json"
    path.write_text(text[:-200], encoding="utf-8")

    parsed = read_file(path)

    assert len(parsed.memories) == 3
    assert len(parsed.problems) == 1
    assert parsed.problems[0].startswith("it is broken off or damaged")


def test_an_export_of_many_conversations_comes_in_parts(tmp_path: Path) -> None:
    many = [chatgpt_export()[0] | {"conversation_id": f"c-{number}"} for number in range(250)]
    path = exported(tmp_path / "conversations.json", many)

    parts = list(BY_NAME["chatgpt"].read(path, Origin(source=path.as_posix())))

    assert sum(len(part.memories) for part in parts) == 750
    assert all(len(part.memories) <= 303 for part in parts)


def test_an_archive_that_would_become_huge_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps(chatgpt_export())[:-1] + " " * 50_000_000 + "]")

    with pytest.raises(FileError) as caught:
        read_file(path, BY_NAME["chatgpt"])

    assert "unpacks to too much: conversations.json has 48 MB" in str(caught.value)


def test_a_new_turn_of_a_conversation_is_all_that_a_new_export_adds(db: Recollection, tmp_path: Path) -> None:
    export = claude_ai_export()
    db.import_(exported(tmp_path / "conversations.json", export))
    more = {"uuid": "m-4", "sender": "assistant", "text": "Good luck.", "content": [], "created_at": "2026-02-04"}
    export[0]["chat_messages"].append(more)

    report = db.import_(exported(tmp_path / "conversations.json", export))

    assert (report.memories["new"], report.memories["updated"]) == (1, 0)


# --- agents' own files ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "tags"),
    [
        (".claude/projects/-srv-shop/memory/MEMORY.md", ("claude-code", "agent-memory")),
        (".codex/memories/memory_summary.md", ("codex", "agent-memory")),
        (".openclaw/workspace/MEMORY.md", ("openclaw", "agent-memory")),
        (".openclaw/workspace/memory/2026-05-01-deploy.md", ("openclaw", "agent-memory")),
        ("shop/GEMINI.md", ("gemini", "instructions")),
        ("shop/CLAUDE.md", ("claude-code", "instructions")),
    ],
)
def test_an_agents_own_file_is_marked_with_the_agent(tmp_path: Path, place: str, tags: tuple[str, ...]) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text("# Deploying\n\nDeploy only from main.\n", encoding="utf-8")

    memories = read_file(path).memories

    assert [(memory.content, memory.title, memory.tags) for memory in memories] == [
        ("Deploy only from main.", "Deploying", tags)
    ]


@pytest.mark.parametrize("place", ["notes/MEMORY.md", "memory/x.md", "notes/USER.md"])
def test_a_file_that_only_has_such_a_name_is_markdown(tmp_path: Path, place: str) -> None:
    path = tmp_path / place

    found = format_of(path)

    assert found is not None
    assert found.name == "markdown"


# --- signs and laws -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"role": "user", "content": "hi"}\n'),
        ("a.jsonl", '{"timestamp": "2026-01-01", "type": "order", "payload": {"id": 1}}\n'),
        ("a.jsonl", '{"text": "{\\"sessionId\\": 1, \\"parentUuid\\": 2, \\"isSidechain\\": 0}"}\n'),
        ("a.json", '[{"text": "\\"mapping\\": {}, \\"create_time\\": 1, \\"children\\": []"}]'),
        ("a.json", '{"sessionId": "x", "messages": []}'),
        ("a.json", '[{"uuid": "1", "created_at": "2026-01-01", "text": "hi"}]'),
        ("rollout-1.jsonl.zst", "not packed"),
        ("a.zip", "PK\x03\x04 broken"),
    ],
)
def test_what_is_not_the_makers_stays_what_it_is(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")

    found = format_of(path)

    assert found is None or found.name in ("json", "jsonl")


LINES = st.sampled_from([*claude_session(), *codex_session(), *gemini_session(), *cursor_session()])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def mutated(value: object, draw: st.DrawFn) -> object:
    """Return *value* with some of its parts taken out or made something else."""
    if draw(st.integers(0, 12)) == 0:
        return draw(JUNK)
    if isinstance(value, dict):
        return {key: mutated(each, draw) for key, each in value.items() if draw(st.integers(0, 15))}
    if isinstance(value, list):
        return [mutated(each, draw) for each in value if draw(st.integers(0, 15))]
    return value


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini", "cursor"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_whatever_a_session_holds_it_is_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    @st.composite
    def lines(draw: st.DrawFn) -> list[object]:
        return [mutated(each, draw) for each in draw(st.lists(LINES, max_size=5))]

    path = written(tmp_path_factory.mktemp("law") / "a.jsonl", data.draw(lines()))
    raw = path.read_bytes()
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))] + data.draw(st.binary(max_size=4)))

    cleaned = [clean(memory) for memory in read_file(path, BY_NAME[name]).memories]

    assert all(memory.content for memory in cleaned)
    assert isinstance(format_of(path), type(BY_NAME[name]) | None)


@pytest.mark.parametrize("sample", ["chatgpt packed", "claude-ai packed", "codex packed"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_a_packed_file_holds_it_is_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, sample: str, data: st.DataObject
) -> None:
    name, make = SAMPLES[sample]
    path = make(tmp_path_factory.mktemp("law"))
    raw = bytearray(path.read_bytes())
    for at in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=6)):
        raw[at] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)) | st.just(len(raw)))])

    with suppress(FileError):
        read_file(path, BY_NAME[name])

    assert isinstance(format_of(path), type(BY_NAME[name]) | None)


@pytest.mark.parametrize(("name", "export"), [("chatgpt", chatgpt_export()), ("claude-ai", claude_ai_export())])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_whatever_an_export_holds_it_is_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, name: str, export: object, data: st.DataObject
) -> None:
    @st.composite
    def value(draw: st.DrawFn) -> object:
        return mutated(export, draw)

    path = exported(tmp_path_factory.mktemp("law") / "conversations.json", data.draw(value()))
    raw = path.read_bytes()
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))] + data.draw(st.binary(max_size=4)))

    cleaned = [clean(memory) for memory in read_file(path, BY_NAME[name]).memories]

    assert all(memory.content for memory in cleaned)
