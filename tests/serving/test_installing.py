"""Putting recollect into clients' configuration: once, with what was there, and out again to the byte."""

import json
import tomllib
from pathlib import Path

import pytest

from recollect.errors import RecollectError
from recollect.surfaces.install.clients import BY_NAME, CLIENTS, Place
from recollect.surfaces.install.edit import backup_of, put_in, take_out, write

HELD = '{\n    "theme": "dark",\n    "mcpServers": {"other": {"command": "x"}},\n    "hooks": {"Stop": []}\n}'


def at(folder: Path, platform: str = "linux") -> Place:
    return Place(home=folder, command=("/opt/bin/recollect",), environment={}, platform=platform)


def install(client: str, folder: Path) -> list[Path]:
    edits = [put_in(each) for each in BY_NAME[client].plan(at(folder))]
    for edit in edits:
        write(edit)
    return [each.path for each in edits]


def uninstall(client: str, folder: Path) -> None:
    for change in BY_NAME[client].plan(at(folder)):
        write(take_out(change))


def files(folder: Path) -> dict[str, bytes]:
    return {
        each.relative_to(folder).as_posix(): each.read_bytes()
        for each in folder.rglob("*")
        if each.is_file() and not each.name.endswith(".before-recollect")
    }


@pytest.mark.parametrize("client", [each.name for each in CLIENTS])
def test_what_is_installed_twice_is_there_once_and_goes_without_a_trace(tmp_path: Path, client: str) -> None:
    paths = install(client, tmp_path)
    once = files(tmp_path)
    install(client, tmp_path)
    twice = files(tmp_path)
    uninstall(client, tmp_path)

    assert all(b"/opt/bin/recollect" in each for each in once.values())
    assert len(once) == len(paths)
    assert twice == once
    assert files(tmp_path) == {}


@pytest.mark.parametrize("client", [each.name for each in CLIENTS if each.name != "codex"])
def test_what_was_there_stays_and_comes_back_to_the_byte(tmp_path: Path, client: str) -> None:
    for change in BY_NAME[client].plan(at(tmp_path)):
        change.path.parent.mkdir(parents=True, exist_ok=True)
        change.path.write_text(HELD)
    before = files(tmp_path)

    paths = install(client, tmp_path)
    held = [json.loads(path.read_text()) for path in paths]
    kept = [backup_of(path).read_text() for path in paths]
    uninstall(client, tmp_path)

    assert all(each["theme"] == "dark" and each["mcpServers"]["other"] == {"command": "x"} for each in held)
    assert set(kept) == {HELD}
    assert files(tmp_path) == before


def test_what_others_changed_since_then_is_kept_when_it_is_taken_out(tmp_path: Path) -> None:
    (path,) = install("cursor", tmp_path)
    value = json.loads(path.read_text())
    value["mcpServers"]["new"] = {"command": "y"}
    path.write_text(json.dumps(value))

    uninstall("cursor", tmp_path)

    assert json.loads(path.read_text()) == {"mcpServers": {"new": {"command": "y"}}}


def test_toml_keeps_its_comments_and_its_other_tables(tmp_path: Path) -> None:
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    text = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "z"  # theirs\n\n[tui]\na = 1\n'
    path.write_text(text)

    install("codex", tmp_path)
    value, written = tomllib.loads(path.read_text()), path.read_text()
    uninstall("codex", tmp_path)

    assert value["mcp_servers"]["recollect"] == {"command": "/opt/bin/recollect", "args": ["mcp"]}
    assert value["mcp_servers"]["other"] == {"command": "z"}
    assert written.startswith(text)
    assert path.read_text() == text


def test_an_older_entry_of_ours_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('[mcp_servers.recollect]\ncommand = "/old/recollect"\nargs = ["mcp"]\n\n[tui]\na = 1\n')

    install("codex", tmp_path)

    value = tomllib.loads(path.read_text())
    assert value["mcp_servers"]["recollect"]["command"] == "/opt/bin/recollect"
    assert value["tui"] == {"a": 1}


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}', '{"a": 1} // comment'])
def test_a_file_that_cannot_be_understood_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(text)

    with pytest.raises(RecollectError) as caught:
        install("cursor", tmp_path)

    assert path.read_text() == text
    assert "left as it is" in caught.value.hint


def test_hooks_of_others_stay_beside_ours(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    other = {"hooks": [{"type": "command", "command": "say done"}]}
    path.write_text(json.dumps({"hooks": {"Stop": [other]}}))

    install("claude-code", tmp_path)
    held = json.loads(path.read_text())["hooks"]
    uninstall("claude-code", tmp_path)

    assert held["Stop"][0] == other
    assert held["Stop"][1]["hooks"][0]["command"] == "/opt/bin/recollect hook"
    assert set(held) == {"SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"}
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [other]}}


@pytest.mark.parametrize(
    ("platform", "part"), [("linux", ".config/Claude"), ("darwin", "Library/Application Support/Claude")]
)
def test_desktop_programs_have_their_folder_by_the_system(tmp_path: Path, platform: str, part: str) -> None:
    (change,) = BY_NAME["claude-desktop"].plan(at(tmp_path, platform))

    assert change.path == tmp_path / part / "claude_desktop_config.json"


def test_the_rights_of_a_file_stay_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o600)

    install("cursor", tmp_path)

    assert path.stat().st_mode & 0o777 == 0o600
