"""The clients that recollect can be installed into: where their configuration is, and what goes into it."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from recollect.surfaces.front import START_SERVER

NAME: Final = "recollect"
HOOK_SECONDS: Final = 10
EVENTS: Final[Mapping[str, str]] = {
    "SessionStart": "startup|resume|clear|compact",
    "UserPromptSubmit": "",
    "PreCompact": "",
    "Stop": "",
    "SessionEnd": "",
}
"""The events of Claude Code and Codex, with what they are narrowed to."""
GEMINI_EVENTS: Final = ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd")


class Place(Struct, frozen=True, kw_only=True):
    """Where things are on this machine: the user's home, and how recollect is started."""

    home: Path
    command: tuple[str, ...]
    environment: Mapping[str, str]
    options: tuple[str, ...] = ()
    """What hooks and the server are called with: --project NAME, or --scope all."""
    platform: str = sys.platform

    def config(self) -> Path:
        """Return the folder of the configuration of desktop programs."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return Path(self.environment.get("APPDATA") or self.home / "AppData" / "Roaming")
        return Path(self.environment.get("XDG_CONFIG_HOME") or self.home / ".config")

    def from_environment(self, name: str, default: str) -> Path:
        """Return the folder that the variable *name* names, or the usual one below home."""
        return Path(os.path.expanduser(self.environment.get(name) or str(self.home / default)))  # noqa: PTH111


class Entry(Struct, frozen=True, kw_only=True):
    """One value in a JSON file: at a path of keys, or as a member of the list at that path."""

    keys: tuple[str, ...]
    value: Any
    member: bool = False


class Change(Struct, frozen=True, kw_only=True):
    """What one file gets: entries in JSON, or a table of TOML."""

    path: Path
    entries: tuple[Entry, ...] = ()
    table: str = ""
    """The text of a TOML table, with its header on the first line."""


Plan = Callable[[Place], Sequence[Change]]


def _stdio(place: Place, **more: Any) -> dict[str, Any]:
    return {**more, "command": place.command[0], "args": [*place.command[1:], "mcp", *place.options]}


def _server(path: Path, key: str, value: Any) -> Change:
    return Change(path=path, entries=(Entry(keys=(key, NAME), value=value),))


def _hooks(place: Place, events: Mapping[str, str], *, seconds: float | None) -> tuple[Entry, ...]:
    """Return the entries that call `recollect hook` at each of *events*, for *seconds* at most where they are told."""
    command = {
        "type": "command",
        "command": " ".join(_quoted(each) for each in (*place.command, "hook", START_SERVER, *place.options)),
    }
    entries = []
    for event, matcher in events.items():
        group: dict[str, Any] = {"matcher": matcher} if matcher else {}
        group["hooks"] = [command if seconds is None else {**command, "timeout": seconds}]
        entries.append(Entry(keys=("hooks", event), value=group, member=True))
    return tuple(entries)


def _quoted(word: str) -> str:
    return word if word.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum() else f'"{word}"'


def _claude_code(place: Place) -> Sequence[Change]:
    folder = place.from_environment("CLAUDE_CONFIG_DIR", ".claude")
    own = place.environment.get("CLAUDE_CONFIG_DIR")
    main = (folder if own else place.home) / ".claude.json"
    return (
        _server(main, "mcpServers", _stdio(place, type="stdio")),
        Change(path=folder / "settings.json", entries=_hooks(place, EVENTS, seconds=HOOK_SECONDS)),
    )


def _codex(place: Place) -> Sequence[Change]:
    folder = place.from_environment("CODEX_HOME", ".codex")
    words = ", ".join(_toml(each) for each in (*place.command[1:], "mcp", *place.options))
    table = f"[mcp_servers.{NAME}]\ncommand = {_toml(place.command[0])}\nargs = [{words}]\n"
    return (
        Change(path=folder / "config.toml", table=table),
        Change(path=folder / "hooks.json", entries=_hooks(place, EVENTS, seconds=HOOK_SECONDS)),
    )


def _toml(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _gemini(place: Place) -> Sequence[Change]:
    path = place.home / ".gemini" / "settings.json"
    hooks = _hooks(place, dict.fromkeys(GEMINI_EVENTS, ""), seconds=HOOK_SECONDS * 1000)
    return (Change(path=path, entries=(Entry(keys=("mcpServers", NAME), value=_stdio(place)), *hooks)),)


def _qwen(place: Place) -> Sequence[Change]:
    """Return the change for Qwen Code; its versions do not agree on the unit of a timeout, so it has its own."""
    hooks = _hooks(place, EVENTS, seconds=None)
    server = Entry(keys=("mcpServers", NAME), value=_stdio(place))
    return (Change(path=place.home / ".qwen" / "settings.json", entries=(server, *hooks)),)


def _opencode(place: Place) -> Sequence[Change]:
    path = Path(place.environment.get("XDG_CONFIG_HOME") or place.home / ".config") / "opencode" / "opencode.json"
    value = {"type": "local", "command": [*place.command, "mcp", *place.options], "enabled": True}
    return (_server(path, "mcp", value),)


def _zed(place: Place) -> Sequence[Change]:
    folder = place.home / ".config" / "zed" if place.platform != "win32" else place.config() / "Zed"
    return (_server(folder / "settings.json", "context_servers", _stdio(place)),)


class Client(Struct, frozen=True, kw_only=True):
    """An agent or editor: its name, what it gets, and how."""

    name: str
    title: str
    plan: Plan
    after: str = ""
    """What is left to do."""


CLIENTS: Final = (
    Client(name="claude-code", title="Claude Code", plan=_claude_code, after="start a new session"),
    Client(name="codex", title="Codex", plan=_codex, after="start codex and trust the hooks when it asks"),
    Client(
        name="cursor",
        title="Cursor",
        plan=lambda place: (_server(place.home / ".cursor" / "mcp.json", "mcpServers", _stdio(place)),),
        after="switch it on in the settings, under MCP",
    ),
    Client(
        name="vscode",
        title="VS Code",
        plan=lambda place: (
            _server(place.config() / "Code" / "User" / "mcp.json", "servers", _stdio(place, type="stdio")),
        ),
        after="start the server when the editor asks",
    ),
    Client(name="gemini", title="Gemini CLI", plan=_gemini, after="start a new session"),
    Client(name="qwen", title="Qwen Code", plan=_qwen, after="start a new session"),
    Client(name="opencode", title="opencode", plan=_opencode, after="start a new session"),
    Client(name="zed", title="Zed", plan=_zed, after="it starts by itself"),
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        plan=lambda place: (
            _server(place.config() / "Claude" / "claude_desktop_config.json", "mcpServers", _stdio(place)),
        ),
        after="quit the program and start it again",
    ),
)
BY_NAME: Final[Mapping[str, Client]] = {each.name: each for each in CLIENTS}
