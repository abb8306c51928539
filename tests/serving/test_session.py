"""A whole pretended session of a coding agent, with a real transcript: what it decided is known to the next one."""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from served import process, surroundings, wait_for_line

import recollect
from recollect import Recollection
from recollect.records import DISTILLED
from recollect.surfaces.hook import answer, read_event

SAID = (
    ("user", "Which queue shall the shop use for its mail?"),
    (
        "assistant",
        "I looked at both. We decided to send the mail of the shop through Postmark, because bounces are told.",
    ),
    ("user", "Good. And the retries?"),
    ("assistant", "The retries of the mail worker stay at five, with a pause of two minutes."),
)


def transcript(path: Path, folder: Path, said: tuple[tuple[str, str], ...] = SAID) -> Path:
    """Write a transcript of Claude Code: each turn, a tool call with its result, a thought, a notice."""
    lines: list[dict[str, Any]] = [{"type": "summary", "summary": "Mail of the shop", "leafUuid": "u-0"}]
    for number, (role, text) in enumerate(said):
        content = [{"type": "text", "text": text}] if role == "assistant" else text
        lines.append(_line(number, role, {"role": role, "content": content}, folder))
    call = {"type": "tool_use", "id": "t-1", "name": "Bash", "input": {"command": "cat marzipan.txt"}}
    result = {"type": "tool_result", "tool_use_id": "t-1", "content": "marzipan marzipan"}
    lines.append(_line(90, "assistant", {"role": "assistant", "content": [call]}, folder))
    lines.append(_line(91, "user", {"role": "user", "content": [result]}, folder))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return path


def _line(number: int, kind: str, message: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": f"u-{number}",
        "parentUuid": f"u-{number - 1}" if number else None,
        "sessionId": "0b9e8f7a",
        "timestamp": f"2026-11-02T10:{number % 60:02}:00.000Z",
        "cwd": str(folder),
        "version": "2.3.0",
        "gitBranch": "main",
        "isSidechain": False,
        "message": message,
    }


def hooked(env: dict[str, str], *words: str, **event: Any) -> str:
    """Call the hook as an agent does."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "recollect", "hook", *words],
        env=env,
        input=json.dumps(event) if event else "",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def contents(env: dict[str, str]) -> list[tuple[str, str | None]]:
    with recollect.open(env["RECOLLECT_DB"], model="none") as db:
        return sorted(
            (each.content, each.project) for each in db.list(limit=100).memories if DISTILLED not in each.metadata
        )


def wait_until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 300
    while not done():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.2)


def readers(path: Path) -> list[str]:
    """Return the command lines of the processes that read the transcript at *path* in the background."""
    lines = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(each.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in lines if str(path) in line]


@contextmanager
def perhaps_served(env: dict[str, str], *, warm: bool) -> Iterator[None]:
    if not warm:
        yield
        return
    with process("serve", "--no-http", env=env) as started:
        wait_for_line(started, "serving")
        yield


@pytest.mark.parametrize("warm", [False, True], ids=["alone", "served"])
def test_what_a_session_decided_is_told_to_the_next_one(tmp_path: Path, *, warm: bool) -> None:
    env = surroundings(tmp_path)
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    path = transcript(tmp_path / "projects" / "0b9e8f7a.jsonl", shop)
    first = {"session_id": "0b9e8f7a", "cwd": str(shop), "transcript_path": str(path)}
    second = {**first, "session_id": "second", "transcript_path": ""}

    with perhaps_served(env, warm=warm):
        quiet = [
            hooked(env, hook_event_name="SessionStart", source="startup", **first),
            hooked(env, hook_event_name="UserPromptSubmit", prompt=SAID[0][1], **first),
            hooked(env, hook_event_name="PostToolUse", tool_name="Bash", tool_input={}, tool_response={}, **first),
            hooked(env, hook_event_name="PreCompact", trigger="auto", custom_instructions="", **first),
            hooked(env, hook_event_name="Stop", stop_hook_active=False, last_assistant_message=SAID[3][1], **first),
            hooked(env, hook_event_name="SessionEnd", reason="exit", **first),
        ]
        wait_until(lambda: len(contents(env)) >= len(SAID))
        asked = hooked(env, hook_event_name="UserPromptSubmit", prompt="why is mail sent through Postmark?", **second)
        hooked(env, hook_event_name="SessionEnd", reason="exit", **first)
        wait_until(lambda: not readers(path))

    assert quiet == [""] * 6
    kept = contents(env)
    assert len(kept) == len(SAID)
    assert {project for _, project in kept} == {"shop"}
    assert not any("marzipan" in content for content, _ in kept)
    told = json.loads(asked)["hookSpecificOutput"]
    assert told["hookEventName"] == "UserPromptSubmit"
    assert "Postmark" in told["additionalContext"]
    assert len(told["additionalContext"]) <= 10_000


def test_the_end_of_a_session_does_not_wait_for_the_import(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    shop = tmp_path / "shop"
    shop.mkdir()
    path = transcript(tmp_path / "a.jsonl", shop)
    with recollect.open(env["RECOLLECT_DB"], model="none") as db:
        db.add("Something that is there already")

    held = sqlite3.connect(env["RECOLLECT_DB"], isolation_level=None)
    held.execute("BEGIN IMMEDIATE")  # nobody can write now, so no import can end
    hooked(env, hook_event_name="SessionEnd", reason="exit", cwd=str(shop), session_id="s", transcript_path=str(path))
    written = held.execute("SELECT count(*) FROM memory").fetchone()[0]
    held.execute("ROLLBACK")
    held.close()
    wait_until(lambda: len(contents(env)) == 1 + len(SAID))

    assert written == 1


def test_of_many_imports_of_a_transcript_one_waits_and_the_others_leave(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    path = transcript(tmp_path / "a.jsonl", tmp_path)
    words = [sys.executable, "-m", "recollect.surfaces.keeping", str(path), "shop"]

    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", HOLDER, env["RECOLLECT_DB"]], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdout.readline()
        others = [subprocess.Popen(words, env=env) for _ in range(4)]  # noqa: S603
        wait_until(lambda: sum(each.poll() is not None for each in others) == 3)
        waiting = [each for each in others if each.poll() is None]
        holder.stdin.close()
        codes = [each.wait(300) for each in others]

    assert len(waiting) == 1
    assert codes == [0] * 4
    assert len(contents(env)) == len(SAID)


HOLDER = """
import sys
from recollect.surfaces.keeping import take_turn
print(take_turn(sys.argv[1], "another"), flush=True)
sys.stdin.read()
"""


def test_what_was_injected_does_not_come_back_with_the_transcript(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    with recollect.open(env["RECOLLECT_DB"], model="none") as db:
        db.add("The payment dispatcher talks to Stripe through a queue", type="decision")
        block = db.inject("what talks to Stripe, the payment dispatcher?").text
    said = (
        ("user", f"<user-prompt-submit-hook>\n{block}\n</user-prompt-submit-hook>"),
        ("user", f"What talks to Stripe?\n{block}"),
        ("assistant", "The payment dispatcher does."),
    )
    path = transcript(tmp_path / "a.jsonl", tmp_path, said)

    with recollect.open(env["RECOLLECT_DB"], model="none") as db:
        db.import_(str(path), trust="agent")

    assert len([content for content, _ in contents(env) if "through a queue" in content]) == 1


# --- the events of each agent ---------------------------------------------------------------


def test_codex_tells_the_end_of_a_turn_in_the_last_word(tmp_path: Path) -> None:
    env = surroundings(tmp_path)
    shop = tmp_path / "shop"
    shop.mkdir()
    event = {
        "type": "agent-turn-complete",
        "thread-id": "b5f6c1c2",
        "turn-id": "12345",
        "cwd": str(shop),
        "input-messages": ["Rename it"],
        "last-assistant-message": "Done.\n[MEMORY] type=decision: The shop calls its worker Hermes",
    }

    output = hooked(env, json.dumps(event))

    assert output == ""
    assert contents(env) == [("The shop calls its worker Hermes", "shop")]


COMMON = {"session_id": "0b9e", "transcript_path": "", "cwd": "/nowhere/shop"}
PROMPTS = {
    "claude-code": {**COMMON, "prompt_id": "p", "permission_mode": "default", "hook_event_name": "UserPromptSubmit"},
    "codex": {**COMMON, "turn_id": "7", "model": "gpt-6", "hook_event_name": "UserPromptSubmit"},
    "vscode": {**COMMON, "timestamp": "2026-11-01T10:00:00Z", "hook_event_name": "UserPromptSubmit"},
    "qwen": {**COMMON, "timestamp": "2026-11-01T10:00:00Z", "hook_event_name": "UserPromptSubmit"},
    "gemini": {**COMMON, "timestamp": "2026-11-01T10:00:00Z", "hook_event_name": "BeforeAgent"},
}


@pytest.fixture
def db() -> Iterator[Recollection]:
    with recollect.open(":memory:", model="none", project="shop") as store:
        store.add("The payment dispatcher talks to Stripe through a queue", type="decision")
        yield store


@pytest.mark.parametrize("agent", PROMPTS)
def test_each_agent_is_answered_in_its_published_form(db: Recollection, agent: str) -> None:
    event = {**PROMPTS[agent], "prompt": "what talks to Stripe, the payment dispatcher?"}

    told = json.loads(answer(read_event(json.dumps(event)), db).output)

    context = told["hookSpecificOutput"].pop("additionalContext")
    assert told == {"hookSpecificOutput": {"hookEventName": event["hook_event_name"]}}
    assert "through a queue" in context


@pytest.mark.parametrize("agent", PROMPTS)
@pytest.mark.parametrize("source", ["system", "loop_wakeup", "schedule_wakeup", "poll_event"])
def test_prompts_that_nobody_wrote_are_not_answered(db: Recollection, agent: str, source: str) -> None:
    event = {**PROMPTS[agent], "prompt": "what talks to Stripe, the payment dispatcher?", "source": source}

    assert answer(event, db).output == ""


@pytest.mark.parametrize("name", ["PreCompact", "PreCompress", "SessionEnd", "PostToolUse", "Notification"])
def test_events_that_take_no_context_get_none(db: Recollection, name: str) -> None:
    event = {**COMMON, "hook_event_name": name, "trigger": "auto", "prompt": "what talks to Stripe?"}

    assert answer(event, db).output == ""


@pytest.mark.full
def test_the_context_never_has_more_characters_than_agents_take(db: Recollection) -> None:
    for number in range(8):
        db.add(f"Always write the Stripe adapter number {number} by hand", type="preference")
        db.add(f"Preference {number}: " + "the kettle in the kitchen whistles. " * 400, type="preference")

    prompt = "always write the Stripe adapter by hand"

    start = answer({**COMMON, "hook_event_name": "SessionStart", "source": "startup"}, db)
    asked = answer({**COMMON, "session_id": "b", "hook_event_name": "UserPromptSubmit", "prompt": prompt}, db)

    for output in (start.output, asked.output):
        assert 0 < len(json.loads(output)["hookSpecificOutput"]["additionalContext"]) <= 10_000
