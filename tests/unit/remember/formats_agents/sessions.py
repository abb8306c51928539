"""Small made-up sessions in the structure of their makers."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Lines = list[dict[str, Any]]
SESSION = "5f0d7a52-8a61-4d1c-9a39-0d7b3c1f2e10"


def written(path: Path, lines: Iterable[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def claude_line(number: int, role: str, content: object, **more: object) -> dict[str, Any]:
    message = {"role": role, "content": content, **({"model": "claude-opus-4"} if role == "assistant" else {})}
    return {
        "parentUuid": f"u-{number - 1}" if number > 1 else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/srv/shop",
        "sessionId": SESSION,
        "version": "2.1.0",
        "gitBranch": "fix/checkout",
        "type": role,
        "message": message,
        "uuid": f"u-{number}",
        "timestamp": f"2026-03-0{min(number, 9)}T10:00:00.000Z",
        **more,
    }


def claude_session() -> Lines:
    return [
        {"type": "file-history-snapshot", "messageId": "u-1", "snapshot": {"trackedFileBackups": {}}},
        {"type": "summary", "summary": "Another session about invoices", "leafUuid": "elsewhere"},
        {"type": "summary", "summary": "Flaky checkout test", "leafUuid": "u-6"},
        claude_line(1, "user", "Why is the checkout test flaky?"),
        claude_line(2, "assistant", [{"type": "thinking", "thinking": "Perhaps the clock.", "signature": "x"}]),
        claude_line(3, "assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest"}}]),
        claude_line(4, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "3 failed, 9 passed"}]),
        claude_line(5, "user", "Caveat: local", isMeta=True),
        claude_line(
            6, "assistant", [{"type": "text", "text": "Two workers share the Redis key cart:1, so they race."}]
        ),
        claude_line(7, "user", [{"type": "text", "text": "Give each worker a key of its own."}]),
        claude_line(8, "assistant", "A subagent looked at the fixtures.", isSidechain=True),
        {"type": "system", "content": "Conversation compacted", "uuid": "s-1", "sessionId": SESSION},
    ]


def codex_item(number: int, payload: dict[str, Any], kind: str = "response_item") -> dict[str, Any]:
    return {"timestamp": f"2026-04-0{min(number, 9)}T08:00:00.000Z", "type": kind, "payload": payload}


def codex_message(number: int, role: str, text: str) -> dict[str, Any]:
    block = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return codex_item(number, {"type": "message", "role": role, "content": [block]})


def codex_session() -> Lines:
    meta = {"id": "019a-7c", "cwd": "/srv/mailer", "cli_version": "0.65.0", "git": {"branch": "main"}, "source": "cli"}
    return [
        codex_item(1, meta, "session_meta"),
        codex_message(1, "developer", "<permissions instructions>Be careful</permissions instructions>"),
        codex_message(1, "user", "<environment_context>\n  <cwd>/srv/mailer</cwd>\n</environment_context>"),
        codex_item(1, {"cwd": "/srv/mailer", "model": "gpt-5-codex"}, "turn_context"),
        codex_message(2, "user", "Which port does the mail relay listen on?"),
        codex_item(2, {"type": "user_message", "message": "Which port does the mail relay listen on?"}, "event_msg"),
        codex_item(3, {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}),
        codex_item(3, {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"}),
        codex_item(3, {"type": "function_call_output", "call_id": "c1", "output": "listen 2525"}),
        codex_message(4, "assistant", "The relay listens on port 2525, not on 25."),
        codex_item(4, {"type": "agent_message", "message": "The relay listens on port 2525, not on 25."}, "event_msg"),
    ]


def gemini_message(number: int, kind: str, content: object, **more: object) -> dict[str, Any]:
    return {"id": f"m{number}", "timestamp": f"2026-05-0{number}T09:00:00Z", "type": kind, "content": content, **more}


def gemini_session() -> Lines:
    return [
        {"sessionId": "gem-1", "projectHash": "ab12", "startTime": "2026-05-01T09:00:00Z", "messages": []},
        gemini_message(1, "user", [{"text": "Where do the nightly backups go?"}]),
        gemini_message(2, "gemini", "Let me", model="gemini-3-pro", toolCalls=[{"id": "t", "name": "read_file"}]),
        gemini_message(2, "gemini", "The nightly backups go to the bucket frost.", model="gemini-3-pro"),
        gemini_message(3, "user", "Delete the bucket"),
        gemini_message(4, "gemini", "I would rather not."),
        {"$rewindTo": "m3"},
        gemini_message(5, "user", "And how long are they kept?"),
        gemini_message(6, "gemini", "They are kept for thirty days."),
        gemini_message(7, "info", "Update available"),
        {"$set": {"summary": "Nightly backups", "lastUpdated": "2026-05-06T09:00:00Z"}},
    ]


def cursor_session() -> Lines:
    def turn(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
        return {"role": role, "message": {"content": list(blocks)}}

    return [
        turn("user", {"type": "text", "text": "<user_query>\nWhich colour has the save button?\n</user_query>"}),
        turn("assistant", {"type": "tool_use", "name": "Read", "input": {}}, {"type": "text", "text": "[REDACTED]"}),
        turn("assistant", {"type": "text", "text": "The save button is teal."}),
        {"type": "turn_ended", "status": "success"},
    ]


def chatgpt_node(own: str, parent: str | None, role: str, parts: list[Any], **more: Any) -> dict[str, Any]:
    at = more.pop("at", None)
    metadata = more.pop("metadata", {})
    message = {
        "id": f"msg-{own}",
        "author": {"role": role},
        "create_time": at,
        "content": {"content_type": more.pop("content_type", "text"), "parts": parts},
        "metadata": metadata,
        "recipient": more.pop("recipient", "all"),
    }
    return {"id": own, "message": message, "parent": parent, "children": more.pop("children", [])}


def chatgpt_export() -> Lines:
    march = 1772445600.0  # 2026-03-02 10:00 UTC
    nodes = [
        {"id": "root", "message": None, "parent": None, "children": ["sys"]},
        chatgpt_node("sys", "root", "system", [""], metadata={"is_visually_hidden_from_conversation": True}),
        chatgpt_node("ctx", "sys", "user", ["about me"], content_type="user_editable_context"),
        chatgpt_node("q", "ctx", "user", ["How long does sourdough rise in the fridge?"], at=march),
        chatgpt_node("old", "q", "assistant", ["Two hours."], at=march + 5),
        chatgpt_node("code", "q", "assistant", ["search()"], content_type="code", recipient="web.run", at=march + 6),
        chatgpt_node("res", "code", "tool", ["a page about bread"], at=march + 7),
        chatgpt_node(
            "a",
            "res",
            "assistant",
            ["Sourdough rises twelve hours in the fridge\ue200cite\ue202turn0search1\ue201."],
            at=march + 8,
            metadata={"model_slug": "gpt-5"},
        ),
        chatgpt_node(
            "q2",
            "a",
            "user",
            [
                {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
                "Does this crumb look done?",
            ],
            content_type="multimodal_text",
            at=march + 86400,
        ),
    ]
    return [
        {
            "title": "Sourdough in the fridge",
            "create_time": march,
            "update_time": march + 9,
            "mapping": {node["id"]: node for node in nodes},
            "current_node": "q2",
            "conversation_id": "conv-1",
        }
    ]


def claude_ai_export() -> Lines:
    def message(own: str, sender: str, text: str, *content: dict[str, Any], **more: Any) -> dict[str, Any]:
        blocks = content or ({"type": "text", "text": text},)
        day = {"created_at": f"2026-02-0{own[-1]}T12:00:00.000000Z", "updated_at": "2026-02-09T12:00:00Z"}
        return {"uuid": own, "text": text, "content": list(blocks), "sender": sender, **day, "attachments": [], **more}

    attachment = {"file_name": "lease.txt", "file_type": "txt", "extracted_content": "The notice period is 3 months."}
    return [
        {
            "uuid": "c-1",
            "name": "Moving out",
            "summary": "",
            "created_at": "2026-02-01T12:00:00Z",
            "updated_at": "2026-02-03T12:00:00Z",
            "account": {"uuid": "a-1"},
            "chat_messages": [
                message("m-1", "human", "When must I give notice?", attachments=[attachment], files=[]),
                message(
                    "m-2",
                    "assistant",
                    "flat",
                    {"type": "thinking", "thinking": "Three months back."},
                    {"type": "tool_use", "name": "calendar", "input": {}},
                    {"type": "text", "text": "You must give notice by the end of May."},
                ),
                message("m-3", "human", "Then I leave the flat in August."),
            ],
        }
    ]
