"""Read an export of ChatGPT: of each conversation the branch that was last shown, from its end backwards."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recollect.lazy import regex
from recollect.remember.formats.exported import begins_with, read_conversations
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.record import Origin, Parsed, Record
from recollect.remember.formats.transcript import Session, filled, joined, text_of
from recollect.remember.formats.turns import Said
from recollect.text.dates import as_moment

AGENT: Final = "chatgpt"
_LEFT_OUT: Final = {
    "code": "tool call",
    "execution_output": "tool result",
    "tether_quote": "tool result",
    "tether_browsing_display": "tool result",
    "tether_browsing_code": "tool call",
    "system_error": "tool result",
    "thoughts": "thought",
    "reasoning_recap": "thought",
    "user_editable_context": "instruction",
    "model_editable_context": "instruction",
}
# Marks of citations, which only the page of the maker turns into links.
_CITATIONS: Final = regex("\ue200[^\ue200\ue201]{0,500}\ue201|\u3010\\d{1,4}\u2020[^\u3010\u3011]{0,200}\u3011")


def is_chatgpt(glimpse: Glimpse) -> bool:
    """Tell whether a file is an export of ChatGPT, or the archive with one."""
    return begins_with(glimpse, "mapping", "create_time", "children")


def read_chatgpt(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield a memory for each message of user and assistant on the branch that was last shown."""
    return read_conversations(path, origin, _fill, agent=AGENT)


def _fill(record: Record, session: Session) -> bool:
    nodes = record.get("mapping")
    if not isinstance(nodes, dict):
        return False
    session.id = text_of(record.get("conversation_id")) or text_of(record.get("id"))
    session.title = " ".join(text_of(record.get("title")).split())
    shown = _branch(nodes, record.get("current_node"))
    others = sum(bool(isinstance(node, dict) and node.get("message")) for node in nodes.values())
    session.skipped["message of another branch"] += others - sum(bool(node.get("message")) for node in shown)
    at = as_moment(record.get("create_time"))
    for node in shown:
        message = node.get("message")
        if isinstance(message, dict):
            at = as_moment(message.get("create_time")) or at
            words = _words(message, session)
            if words:
                own = text_of(message.get("id")) or text_of(node.get("id")) or None
                about = filled(model=_metadata(message).get("model_slug"))
                session.say(Said(speaker=_role(message), words=words, at=at, id=own, about=about))
    return True


def _branch(nodes: Record, current: object) -> list[Record]:
    """Return the nodes from the first to the *current* one; where none is named, to the last that nothing follows."""
    if not isinstance(current, str) or current not in nodes:
        ends = [key for key, node in nodes.items() if isinstance(node, dict) and not node.get("children")]
        current = ends[-1] if ends else None
    branch: list[Record] = []
    seen: set[object] = set()
    while isinstance(current, str) and current not in seen:
        seen.add(current)
        node = nodes.get(current)
        if not isinstance(node, dict):
            break
        branch.append(node)
        current = node.get("parent")
    return branch[::-1]


def _metadata(message: Record) -> Record:
    found = message.get("metadata")
    return found if isinstance(found, dict) else {}


def _role(message: Record) -> str:
    author = message.get("author")
    return text_of(author.get("role")) if isinstance(author, dict) else ""


def _words(message: Record, session: Session) -> str:
    """Return the words of a message; count it if it is skipped."""
    content, role = message.get("content"), _role(message)
    if not isinstance(content, dict):
        return ""
    words = joined(_part(part, session) for part in _parts(content))
    left_out = _left_out(message, content, role)
    if left_out and (words or left_out != "hidden message"):
        session.skipped[left_out] += 1
    return "" if left_out else _CITATIONS.sub("", words).strip()


def _left_out(message: Record, content: Record, role: str) -> str:
    if _metadata(message).get("is_visually_hidden_from_conversation") is True or role == "system":
        return "hidden message"
    if role == "tool":
        return "tool result"
    if role not in ("user", "assistant"):
        return "unknown message"
    if role == "assistant" and message.get("recipient", "all") not in ("all", None):
        return "tool call"
    return _LEFT_OUT.get(text_of(content.get("content_type")), "")


def _parts(content: Record) -> list[object]:
    parts = content.get("parts")
    return parts if isinstance(parts, list) else [content.get("text")]


def _part(part: object, session: Session) -> str:
    """Return the words of a part: text or a transcript; pictures and files have none."""
    if isinstance(part, dict):
        words = text_of(part.get("text"))
        if not words:
            session.skipped["attached file"] += 1
        return words
    return text_of(part)
