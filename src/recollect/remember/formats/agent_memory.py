"""Read the memory files of agents: Markdown, tagged with the agent and the kind of file."""

from pathlib import PurePath
from typing import Final

from msgspec.structs import replace

from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.markdown import read_markdown
from recollect.remember.formats.record import Origin, Parsed

_INSTRUCTIONS: Final = {
    "claude.md": "claude-code",
    "claude.local.md": "claude-code",
    "gemini.md": "gemini",
}
"""The agent whose instructions are in a file of this name, in any folder."""
_OPENCLAW: Final = frozenset({"memory.md", "user.md", "dreams.md", "soul.md", "identity.md"})


def is_agent_memory(glimpse: Glimpse) -> bool:
    """Tell by its place whether a file is an agent's own."""
    return bool(marks_of(glimpse.path))


def read_agent_memory(text: str, origin: Origin) -> Parsed:
    """Return the memories of an agent's file as those of any Markdown, with the agent's name among the tags."""
    parsed, marks = read_markdown(text, origin), marks_of(PurePath(origin.source))
    marked = (replace(each, tags=tuple(dict.fromkeys((*each.tags, *marks)))) for each in parsed.memories)
    return replace(parsed, memories=tuple(marked))


def marks_of(path: PurePath) -> tuple[str, ...]:
    """Return the agent of a file and the kind of file, as tags; none if no agent owns it."""
    name, above = path.name.lower(), [part.lower() for part in path.parts[:-1]]
    if name in _INSTRUCTIONS:
        return _INSTRUCTIONS[name], "instructions"
    if above[-1:] == ["memory"] and above[-3:-2] == ["projects"]:
        return "claude-code", "agent-memory"
    if above[-1:] == ["memories"] and (".codex" in above or name in ("memory.md", "memory_summary.md")):
        return "codex", "agent-memory"
    if ".openclaw" in above and (name in _OPENCLAW or above[-1] == "memory"):
        return "openclaw", "agent-memory"
    if ".hermes" in above and name in ("memory.md", "user.md"):
        return "hermes", "agent-memory"
    return ()
