"""The first answer of an MCP session, before anything heavy is loaded: clients give a server little time for it."""

import json
from typing import Any

from recollect import __version__

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of the protocol that begin with a handshake, oldest first."""
INSTRUCTIONS = (
    "recollect is the long-term memory of this user and their agents: decisions, preferences, gotchas, facts, past "
    "conversations. Search it before you answer what may depend on earlier work or on the user; an empty or weak "
    "answer means that nothing is known, so say so. Remember what was decided or learned, in one plain sentence each. "
    "Say by feedback whether a memory was used, useful or wrong."
)
CAPABILITIES = {
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}


def greet(line: str) -> str | None:
    """Return the answer to *line* if it opens a session, as the server itself would give it; None for any other."""
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(asked, dict) or asked.get("method") != "initialize" or "id" not in asked:
        return None
    params = asked.get("params")
    wanted = params.get("protocolVersion") if isinstance(params, dict) else None
    result: dict[str, Any] = {
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[-1],
        "serverInfo": {"name": "recollect", "title": "recollect", "version": __version__},
    }
    return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}, separators=(",", ":"))
