"""Notes of basic-memory, the graph of the MCP memory server, issues of beads, the log of git."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from trial import changes, first, store, survives, taken, written

from recollect.errors import FileError
from recollect.remember.formats import named, read_file

# --- basic-memory ---------------------------------------------------------------------------

NOTE = """\
---
title: Coffee Brewing
type: note
permalink: notes/coffee-brewing
tags:
- coffee
created: 2024-05-10T08:00:00Z
modified: 2024-05-12T09:30:00Z
---

# Coffee Brewing

How I make it at home, see [[Water|water]].

## Observations
- [method] Pour over brings out the floral notes #brewing #filter (from a workshop)
- [tip] Grind right before brewing (medium)
- [ ] buy a kettle
- [00:10] no category
- a plain item

```
- [code] is no observation
```

## Relations
- pairs_well_with [[Chocolate Cake]]
- "inspired by" [[Workshop 2024]] (in Bonn)
- see also the page [[Beans]]
"""


def test_observations_and_relations_of_a_note_are_found(tmp_path: Path) -> None:
    path = written(tmp_path / "coffee.md", NOTE)

    with store() as db:
        db.import_(path)
        floral, cake, home = (first(db, each) for each in ("floral notes", "pairs with chocolate cake", "at home"))

    assert floral.content == "Pour over brings out the floral notes"
    assert (floral.type, floral.tags, floral.title) == ("method", ("coffee", "brewing", "filter"), "Coffee Brewing")
    assert floral.metadata == {"permalink": "notes/coffee-brewing", "context": "from a workshop"}
    assert floral.observed_at == datetime(2024, 5, 12, 9, 30, tzinfo=UTC)
    assert (cake.content, cake.type) == ("Coffee Brewing pairs well with Chocolate Cake", "relation")
    assert (cake.metadata["relation"], cake.metadata["links"]) == ("pairs_well_with", ["Chocolate Cake"])
    assert (home.metadata["links"], home.observed_at) == (["Water"], floral.observed_at)


def test_tasks_times_code_and_plain_items_of_a_note_stay_text(tmp_path: Path) -> None:
    memories = read_file(written(tmp_path / "coffee.md", NOTE)).memories

    assert [each.type for each in memories] == ["note", "method", "tip", "note", "relation", "relation", "note"]
    assert [each.line for each in memories] == sorted(each.line or 0 for each in memories)
    assert "buy a kettle" in memories[3].content
    assert "is no observation" in memories[3].content
    assert memories[5].content == "Coffee Brewing inspired by Workshop 2024 (in Bonn)"


def test_an_edited_observation_is_updated_and_a_new_one_added(tmp_path: Path) -> None:
    path = written(tmp_path / "coffee.md", NOTE)

    with store() as db:
        once, again = changes(db, path), changes(db, path)
        written(path, NOTE.replace("(medium)", "(medium)\n- [tip] Warm the cup"))
        grown = changes(db, path)

    assert (once, again, grown) == ({"new": 7}, {}, {"new": 1})


@pytest.mark.parametrize(
    "front",
    ["title: A\ntype: page\npermalink: /a/", "title: A\npermalink: a", "title: A\ntype: b\npermalink: a\nlayout: x"],
)
def test_a_page_of_a_web_site_stays_markdown(tmp_path: Path, front: str) -> None:
    assert taken(written(tmp_path / "a.md", f"---\n{front}\n---\n- [tip] text\n")) == "markdown"


# --- the MCP memory server ------------------------------------------------------------------

ENTITY = {
    "type": "entity",
    "name": "Ann_Meyer",
    "entityType": "person",
    "observations": ["Speaks fluent Portuguese", "Ann_Meyer graduated in 2019"],
}
EMPTY = {"type": "entity", "name": "Acme", "entityType": "organization", "observations": []}
RELATION = {"type": "relation", "from": "Ann_Meyer", "to": "Acme", "relationType": "works_at"}


def graph(*records: object) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in records)


def test_what_the_server_knows_of_an_entity_is_found(tmp_path: Path) -> None:
    path = written(tmp_path / "memory.jsonl", graph(ENTITY, EMPTY, RELATION))

    with store() as db:
        once, again = changes(db, path), changes(db, path)
        spoken, employer, graduated = (first(db, each) for each in ("fluent portuguese", "works at", "graduated"))
        grown = {**ENTITY, "observations": [*ENTITY["observations"], "Prefers morning meetings"]}
        written(path, graph(grown, EMPTY, RELATION))
        added = changes(db, path)

    assert (spoken.content, spoken.title, spoken.type) == ("Ann_Meyer: Speaks fluent Portuguese", "Ann_Meyer", "person")
    assert (employer.content, employer.metadata["links"]) == ("Ann_Meyer works at Acme", ["Acme"])
    assert graduated.content == "Ann_Meyer graduated in 2019"
    assert (once, again, added) == ({"new": 4}, {}, {"new": 1})


def test_a_graph_as_one_object_is_read_too_and_unknown_lines_are_counted(tmp_path: Path) -> None:
    whole = written(tmp_path / "graph.json", {"entities": [ENTITY, EMPTY], "relations": [RELATION]})
    lines = written(tmp_path / "memory.json", graph(EMPTY, {"type": "future"}, [1]) + "{broken\n")

    parsed = read_file(lines)

    assert [taken(whole), taken(lines)] == ["mcp-memory", "mcp-memory"]
    assert len(read_file(whole).memories) == 4
    assert (len(parsed.memories), parsed.skipped, len(parsed.problems)) == (1, {"unknown line": 2}, 1)


# --- beads ----------------------------------------------------------------------------------

ISSUES: list[dict[str, object]] = [
    {
        "id": "app-12",
        "title": "Login fails after the upgrade",
        "description": "The session cookie is dropped.",
        "design": "Set SameSite to Lax.",
        "status": "closed",
        "priority": 1,
        "issue_type": "bug",
        "labels": ["auth"],
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-03T03:30:00Z",
        "close_reason": "Fixed by the proxy",
        "dependencies": [{"issue_id": "app-12", "depends_on_id": "app-7", "type": "blocks"}],
        "comments": [{"author": "ann", "text": "Only in Firefox"}],
    },
    {
        "id": "app-13",
        "title": "Gone",
        "status": "tombstone",
        "issue_type": "task",
        "created_at": "2026-01-01T00:00:00Z",
    },
    {
        "id": "app-14",
        "title": "Write docs",
        "status": "open",
        "issue_type": "task",
        "created_at": "2026-01-02T00:00:00Z",
    },
]


def test_issues_of_beads_are_found_and_a_changed_one_is_updated(tmp_path: Path) -> None:
    path = written(tmp_path / ".beads" / "issues.jsonl", graph(*ISSUES, {"x": 1}))

    with store() as db:
        once, again = changes(db, path), changes(db, path)
        cookie, browser, docs = (first(db, each) for each in ("session cookie", "firefox", "write docs"))
        written(path, graph(ISSUES[0], {**ISSUES[2], "notes": "Begin with the API"}))
        changed = changes(db, path)

    assert (taken(path), once, again, changed) == ("beads", {"new": 2}, {}, {"updated": 1})
    assert (cookie.title, cookie.type, cookie.tags) == ("app-12: Login fails after the upgrade", "bug", ("auth",))
    assert (cookie.observed_at, cookie.metadata["links"]) == (datetime(2026, 1, 3, 3, 30, tzinfo=UTC), ["app-7"])
    assert (browser.id, docs.content) == (cookie.id, "Write docs")


def test_deleted_issues_and_unknown_lines_are_counted(tmp_path: Path) -> None:
    parsed = read_file(written(tmp_path / "issues.jsonl", graph(*ISSUES, {"x": 1})))

    assert parsed.skipped == {"deleted issue": 1, "unknown line": 1}


# --- git ------------------------------------------------------------------------------------

LOG = """\
commit 1111111111111111111111111111111111111111 (HEAD -> main, tag: v1.2)
Merge: 2222222 3333333
Author: Ann Meyer <ann@example.org>
Date:   Sun May 12 10:00:00 2024 +0200

    Merge branch 'parser'

commit 2222222222222222222222222222222222222222
Author: Ben Okafor <ben@example.org>
Date:   Sat May 11 09:00:00 2024 +0200

    Retry uploads with a longer pause

    The bucket answers 503 while it is resharded.

    Signed-off-by: Ben Okafor <ben@example.org>

src/upload.py
tests/test_upload.py

commit 3333333333333333333333333333333333333333 (tag: v1.1)
Author: Ann Meyer <ann@example.org>
Date:   Fri May 10 09:00:00 2024 +0000

    Add the parser
"""


def test_commits_of_a_saved_log_are_found(tmp_path: Path) -> None:
    path = written(tmp_path / "history.txt", LOG)

    with store() as db:
        once, again = changes(db, path), changes(db, path)
        retry, parser, touched = (first(db, each) for each in ("bucket resharded", "v1.1 parser", "upload.py"))
        newer = LOG.replace("1" * 40, "4" * 40).replace("Merge: 2222222 3333333\n", "").replace("Merge branch", "Name")
        written(path, newer)
        grown = changes(db, path)

    assert (taken(path), once, again, grown) == ("git", {"new": 2}, {}, {"new": 1})
    assert (retry.title, retry.content) == (
        "Retry uploads with a longer pause",
        "The bucket answers 503 while it is resharded.",
    )
    assert retry.metadata == {
        "commit": "2" * 12,
        "author": "Ben Okafor",
        "files": ["src/upload.py", "tests/test_upload.py"],
    }
    assert (retry.external_id, retry.observed_at) == ("2" * 40, datetime(2024, 5, 11, 7, tzinfo=UTC))
    assert (parser.tags, touched.id) == (("v1.1",), retry.id)


def commit(folder: Path, name: str, message: str) -> None:
    written(folder / name, "x")
    who = ("-c", "user.name=Ann Meyer", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
    for command in (("add", name), (*who, "commit", "-q", "-m", message, "--date", "2024-05-12T10:00:00+02:00")):
        subprocess.run(["git", "-C", str(folder), *command], check=True)  # noqa: S603, S607


def test_the_log_of_a_repository_is_read_when_asked_for_and_only_then(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)  # noqa: S603, S607
    commit(tmp_path, "größe.md", "Measure the size\n\nIn bytes, not in lines.")
    commit(tmp_path, "b.md", "Add b")

    memories = read_file(tmp_path, named("git")).memories

    assert [(each.title, each.content) for each in memories] == [
        ("Add b", "Add b"),
        ("Measure the size", "In bytes, not in lines."),
    ]
    assert memories[1].metadata["files"] == ["größe.md"]
    assert memories[1].metadata["author"] == "Ann Meyer"
    assert memories[1].observed_at == datetime(2024, 5, 12, 8, tzinfo=UTC)
    assert taken(tmp_path) != "git"


def test_a_folder_without_commits_is_refused_in_one_line(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)  # noqa: S603, S607

    with pytest.raises(FileError, match="commits") as caught:
        read_file(tmp_path, named("git"))

    assert "\n" not in str(caught.value)


def test_a_repository_cannot_name_a_program_that_reading_its_log_runs(tmp_path: Path) -> None:
    folder, mark = tmp_path / "cloned", tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)  # noqa: S603, S607
    commit(folder, "a.txt", "First")
    for name, value in {
        "extensions.partialClone": "origin",  # what is missing is fetched, by whatever program the address names
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{program}",
        "protocol.ext.allow": "always",
        "core.fsmonitor": str(program),
        "core.pager": str(program),
        "log.showSignature": "true",
        "gpg.program": str(program),
    }.items():
        subprocess.run(["git", "-C", str(folder), "config", name, value], check=True)  # noqa: S603, S607
    tree = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD^{tree}"], capture_output=True, check=True)  # noqa: S603, S607
    name = tree.stdout.decode().strip()
    (folder / ".git" / "objects" / name[:2] / name[2:]).unlink()

    with pytest.raises(FileError):
        read_file(folder, named("git"))

    assert not mark.exists()


def test_without_git_the_line_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(FileError, match="git cannot be run") as caught:
        read_file(tmp_path, named("git"))

    assert "git log" in caught.value.hint


@pytest.mark.parametrize(
    ("form", "name", "sample"),
    [
        ("basic-memory", "a.md", NOTE),
        ("mcp-memory", "a.jsonl", graph(ENTITY, EMPTY, RELATION)),
        ("mcp-memory", "a.json", json.dumps({"entities": [ENTITY], "relations": [RELATION]})),
        ("beads", "a.jsonl", graph(*ISSUES)),
        ("git", "a.log", LOG),
    ],
)
def test_no_damaged_file_makes_a_reader_raise_anything_but_a_file_error(
    tmp_path: Path, form: str, name: str, sample: str
) -> None:
    assert all(survives(tmp_path / name, sample.encode(), form=form, seed=seed) for seed in range(60))
