"""Putting recollect into clients' configuration: once, with what was there, and out again to the byte."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import RecollectError
from recollect.surfaces.install.clients import BY_NAME, CLIENTS, Place
from recollect.surfaces.install.edit import backup_of, put_in, take_out, write
from recollect.surfaces.install.jsonc import inserted, parse, removed, replaced

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


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}', '{"a": 1} /* open', '{"a": 1} {}'])
def test_a_file_that_cannot_be_understood_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(text)

    with pytest.raises(RecollectError) as caught:
        install("cursor", tmp_path)

    assert path.read_text() == text
    assert "left as it is" in caught.value.hint


def test_what_cannot_be_put_in_is_shown_to_be_added_by_hand(tmp_path: Path) -> None:
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text("{")

    with pytest.raises(RecollectError) as caught:
        put_in(BY_NAME["cursor"].plan(at(tmp_path))[0])

    assert '"mcpServers > recollect": {"command": "/opt/bin/recollect", "args": ["mcp"]}' in caught.value.hint


def test_hooks_of_others_stay_beside_ours(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    other = {"hooks": [{"type": "command", "command": "say done"}]}
    path.write_text(json.dumps({"hooks": {"Stop": [other]}}))

    install("claude-code", tmp_path)
    held = json.loads(path.read_text())["hooks"]
    uninstall("claude-code", tmp_path)

    assert held["Stop"][0] == other
    assert held["Stop"][1]["hooks"][0]["command"] == "/opt/bin/recollect hook --start-server"
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


# --- the form of the user's file ------------------------------------------------------------

ZED = """\
// Zed settings
{
  "theme": "One Dark", // as it was
  "context_servers": {
    /* mine */
    "other": {"command": "x", "args": []}, // stays
  },
  // the end
}
"""


def test_a_file_with_comments_is_edited_and_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / ".config" / "zed" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(ZED)

    install("zed", tmp_path)
    written = path.read_text()
    path.write_text(written.replace("One Dark", "One Light"))  # so that the copy is of no use
    uninstall("zed", tmp_path)

    entry = (
        '\n    "recollect": {\n      "command": "/opt/bin/recollect",\n      "args": [\n        "mcp"\n      ]\n    },'
    )
    assert written == ZED.replace(" // stays", f" // stays{entry}")
    assert path.read_text() == ZED.replace("One Dark", "One Light")


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        (
            '{"theme":"dark","mcpServers":{"a":{"command":"x"}}}',
            '{"theme":"dark","mcpServers":{"a":{"command":"x"}, "recollect": OURS}}',
        ),
        ('{"theme": [1, 2],\n\n "a" : 1}', None),
        ("{}", None),
        ("", None),
    ],
)
def test_all_else_keeps_its_form(tmp_path: Path, held: str, wanted: str | None) -> None:
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(held)

    install("cursor", tmp_path)

    written = path.read_text()
    ours = '{"command": "/opt/bin/recollect", "args": ["mcp"]}'
    assert json.loads(written)["mcpServers"]["recollect"] == json.loads(ours)
    assert written == wanted.replace("OURS", ours) if wanted else held.strip("{}") in written


@pytest.mark.parametrize(("client", "name"), [("cursor", ".cursor/mcp.json"), ("codex", ".codex/config.toml")])
def test_the_ends_of_lines_stay_as_they_are(tmp_path: Path, client: str, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir()
    held = b'{\r\n  "a": 1\r\n}\r\n' if client == "cursor" else b'# mine\r\nmodel = "x"\r\n'
    path.write_bytes(held)

    install(client, tmp_path)
    written = path.read_bytes()
    uninstall(client, tmp_path)

    assert written.count(b"\n") == written.count(b"\r\n") > held.count(b"\n")
    assert path.read_bytes() == held


OWN = {
    "cursor": (".cursor/mcp.json", '{"mcpServers": {"recollect": {"command": "my-wrapper", "args": ["recollect"]}}}'),
    "codex": (".codex/config.toml", '[mcp_servers.recollect]\ncommand = "my-wrapper"\n'),
}


@pytest.mark.parametrize("client", OWN)
def test_an_entry_of_the_user_with_our_name_comes_back(tmp_path: Path, client: str) -> None:
    name, held = OWN[client]
    path = tmp_path / name
    path.parent.mkdir()
    path.write_text(held)

    install(client, tmp_path)
    during = path.read_text()
    uninstall(client, tmp_path)

    assert "/opt/bin/recollect" in during
    assert path.read_text() == held


@pytest.mark.parametrize("client", OWN)
def test_an_entry_of_the_user_with_our_name_is_not_taken_out(tmp_path: Path, client: str) -> None:
    name, held = OWN[client]
    path = tmp_path / name
    path.parent.mkdir()
    path.write_text(held)

    uninstall(client, tmp_path)

    assert path.read_text() == held


def test_an_entry_of_the_user_comes_back_even_where_the_file_was_changed_since(tmp_path: Path) -> None:
    name, held = OWN["cursor"]
    path = tmp_path / name
    path.parent.mkdir()
    path.write_text(held)

    install("cursor", tmp_path)
    changed = json.loads(path.read_text())
    changed["theme"] = "light"
    path.write_text(json.dumps(changed))
    uninstall("cursor", tmp_path)

    assert json.loads(path.read_text()) == {**json.loads(held), "theme": "light"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
FORMS = st.sampled_from([None, 2, 4, "\t"])


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4), VALUES, FORMS)
def test_a_member_goes_in_and_out_of_any_object(
    held: dict[str, object], value: object, indent: int | str | None
) -> None:
    held.pop("new", None)
    text = json.dumps(held, indent=indent)

    more = inserted(text, parse(text), value, "new")
    root = parse(more)
    less = removed(more, root, root.members[-1])

    assert json.loads(more) == {**held, "new": value}
    assert json.loads(less) == held
    assert less == text or not held


@given(st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=4), VALUES, FORMS, st.integers(0, 3))
def test_any_member_can_be_replaced_or_removed(
    held: dict[str, object], value: object, indent: int | str | None, place: int
) -> None:
    text = json.dumps(held, indent=indent)
    root = parse(text)
    member = root.members[place % len(root.members)]

    changed, less = replaced(text, member.node, value), removed(text, root, member)

    assert json.loads(changed) == {**held, str(member.key): value}
    assert json.loads(less) == {key: each for key, each in held.items() if key != member.key}


@pytest.mark.parametrize("text", ["", "{", '{"a"}', "{a: 1}", '{"a": 01}', "[1 2]", '{"a": tru}', "[" * 200, '"\\q"'])
def test_what_is_no_json_is_told_with_its_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"line|escape"):
        parse(text)
