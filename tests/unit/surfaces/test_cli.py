"""The command line: every verb, in text and in JSON, and its exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import COMMAND, Run, apart, on_a_terminal, surroundings

from recollect.operations import OPERATIONS

MEMORY = {
    *("id", "external_id", "kind", "project", "type", "title", "content", "tags", "source", "line", "section"),
    *("confidence", "pinned", "created_at", "updated_at", "observed_at", "superseded_by", "metadata"),
}
HIT = {
    *("rank", "id", "kind", "score", "match_type", "bm25_score", "bm25_rank", "semantic_score", "vector_rank"),
    *("fused_score", "effective_confidence", "snippet", "memory", "facts"),
}
REPLY = {
    *("query", "mode", "profile", "outcome", "evidence", "reason", "degraded", "hits", "suggestions", "facets"),
    "timings_ms",
}


# --- the verbs ------------------------------------------------------------------------------


def test_add_says_the_id_and_what_was_decided(run: Run) -> None:
    told = run("add", "We ship on Tuesday", "--type", "decision", "--tag", "release, habit", "--metadata", "team=core")
    again = run("add", "We  ship on\nTuesday", "--json")
    shown = run("show", "1", "--json").value

    assert (told.code, told.out) == (0, "#1 remembered\n")
    assert again.value == {"id": 1, "decision": "identical", "of": 1, "redacted": 0}
    assert (shown["type"], shown["tags"], shown["metadata"]) == ("decision", ["release", "habit"], {"team": "core"})


def test_add_reads_standard_input(run: Run) -> None:
    run("add", "-", stdin="Grüße aus Köln".encode())
    run("add", "-", stdin=b"broken \xff byte")

    memories = run("list", "--json").value["memories"]

    assert {memory["content"] for memory in memories} == {"Grüße aus Köln", "broken \ufffd byte"}


@pytest.mark.req("N-01")
def test_add_takes_every_field_and_finds_by_it(run: Run) -> None:
    fields = ("title", "name", "description", "path", "requirements", "source", "external-id")
    options = [word for field in fields for word in (f"--{field}", f"{field.replace('-', '')}word")]

    told = run("add", "the text", *options, "--date", "2026-03-02", "--confidence", "0.4", "--json")
    shown = run("show", str(told.value["id"]), "--json").value

    assert all(run("search", f"{field}word").code == 0 for field in fields if field != "external-id")
    assert (shown["observed_at"], shown["confidence"]) == ("2026-03-02T00:00:00+00:00", 0.4)
    assert shown["external_id"] == "externalidword"


def test_search_answers_in_the_shape_of_the_design(run: Run) -> None:
    run("add", "We deploy on Tuesday")
    run("add", "The cat sleeps")

    plain, explained = run("search", "deployment", "--json"), run("search", "deployment", "--json", "--explain")

    reply, hit = plain.value, plain.value["hits"][0]
    assert (set(reply), set(hit), set(hit["memory"])) == (REPLY, HIT, MEMORY)
    assert (reply["query"], reply["mode"], reply["outcome"], reply["degraded"]) == (
        *("deployment", "hybrid", "answered", "no_model"),
    )
    assert (hit["rank"], hit["match_type"], hit["bm25_rank"], hit["snippet"]) == (
        1,
        "bm25",
        1,
        "We [deploy] on Tuesday",
    )
    explain = explained.value["hits"][0]["explain"]
    assert set(explain) == {"shares", "factors"}
    assert [set(share) for share in explain["shares"]] == [{"ranking", "rank", "points", "native"}]
    assert explain["shares"][0]["points"] == hit["bm25_score"] == hit["fused_score"]


def test_nothing_found_is_exit_code_one_and_a_reason(run: Run) -> None:
    run("add", "We deploy on Tuesday")

    told, value = run("search", "xylophone"), run("search", "xylophone", "--json")

    assert (told.code, value.code, told.err) == (1, 1, "")
    assert "Nothing found: no memory holds any of these words" in told.out
    assert (value.value["outcome"], value.value["reason"]["code"]) == ("none", "no_match")


@pytest.mark.req("C-18")
@pytest.mark.case(64)
@pytest.mark.parametrize(
    ("name", "mode"),
    [("keyword", "keyword"), ("bm25", "keyword"), ("hybrid", "hybrid"), ("rrf", "hybrid"), ("HYBRID", "hybrid")],
)
def test_a_mode_has_several_names_in_any_case(run: Run, name: str, mode: str) -> None:
    run("add", "We deploy on Tuesday")

    assert run("search", "deploy", "--mode", name, "--json").value["mode"] == mode


@pytest.mark.case(64)
@pytest.mark.parametrize("name", ["invalid", ""])
def test_an_unknown_mode_is_an_error(run: Run, name: str) -> None:
    told = run("search", "deploy", "--mode", name)

    assert told.code == 2
    assert "keyword" in told.err


@pytest.mark.req("O-06", "E-19", "E-10")
def test_filters_and_limits_reach_the_search(run: Run) -> None:
    run("add", "a red cat", "--type", "decision", "--date", "2026-02-01", "--tag", "pets", "--source", "a/b.md")
    run("add", "a blue cat", "--type", "note", "--date", "2026-03-01")
    options = [
        ("--type", "decision"),
        ("--tag", "pets"),
        ("--source", "a"),
        ("--until", "2026-02-01"),
        ("--since", "2026-01-30", "--until", "2026-02"),
    ]

    for option in options:
        assert [hit["id"] for hit in run("search", "cat", *option, "--json").value["hits"]] == [1]
        assert [memory["id"] for memory in run("list", *option, "--json").value["memories"]] == [1]
    assert len(run("search", "cat", "--limit", "1", "--json").value["hits"]) == 1
    assert len(run("search", "cat", "-n", "1", "--json").value["hits"]) == 1


@pytest.mark.req("E-15")
def test_a_blank_query_lists_the_newest_first(run: Run) -> None:
    run("add", "older", "--date", "2026-01-01")
    run("add", "newer", "--date", "2026-02-01")

    told = run("search", "")

    assert told.code == 0
    assert told.out.index("newer") < told.out.index("older")


def test_list_pages_and_says_how_many_there_are(run: Run) -> None:
    empty = run("list")
    for n in range(3):
        run("add", f"entry {n}", "--external-id", str(n), "--date", f"2026-01-0{n + 1}")

    page, value = run("list", "--limit", "2"), run("list", "--limit", "1", "--offset", "1", "--json").value

    assert (empty.code, empty.out) == (1, "Nothing here.\n")
    assert page.out.splitlines() == [
        "#3 2026-01-03 [note] entry 2",
        "#2 2026-01-02 [note] entry 1",
        "… 1 more (go on with --offset 2)",
    ]
    assert (set(value), value["total"], [memory["id"] for memory in value["memories"]]) == (
        *({"memories", "total"}, 3, [2]),
    )


def test_show_tells_all_of_a_memory(run: Run) -> None:
    run("add", "We ship on Tuesday", "--title", "Ships", "--tag", "release")
    run("forget", "1")

    told, value = run("show", "1"), run("show", "1", "--json").value

    assert told.out.startswith("#1 Ships\n\nWe ship on Tuesday\n")
    assert "tags: release" in told.out
    assert "forgotten: " in told.out
    assert set(value) == MEMORY | {"deleted_at", "wordings", "facts", "events"}
    assert [event["verb"] for event in value["events"]] == ["add", "forget"]


@pytest.mark.req("C-10")
def test_forget_hides_and_restore_brings_back(run: Run) -> None:
    run("add", "We ship on Tuesday")

    forgotten = run("forget", "1")
    gone = run("search", "ship").code
    restored = run("restore", "1", "--json")

    assert (forgotten.out, gone) == ("#1 forgotten; bring it back with: recollect restore 1\n", 1)
    assert restored.value == {"id": 1, "event": "restore"}
    assert run("search", "ship").code == 0


def test_stats_doctor_and_reindex_look_after_the_store(run: Run, tmp_path: Path) -> None:
    run("add", "We ship on Tuesday", "--type", "decision")

    stats, doctor, reindex = (run(verb, "--json").value for verb in ("stats", "doctor", "reindex"))

    assert (stats["memories"], stats["types"], stats["store"]) == (1, {"decision": 1}, str(tmp_path / "notes.db"))
    assert (doctor["healthy"], doctor["problems"]) == (True, [])
    assert reindex == {"memories": 1}
    assert "all is well" in run("doctor").out


def test_a_backup_is_written_told_and_put_back(run: Run, tmp_path: Path) -> None:
    run("add", "We ship on Tuesday")
    copy = str(tmp_path / "copy.db")

    told, again, forced = run("backup", copy), run("backup", copy), run("backup", copy, "--force")
    listed = run("backup", "--to", str(tmp_path / "kept"), "--keep", "1", "--json").value
    run("add", "We ship on Friday")
    tried = run("backup", "restore", copy, "--dry-run").out
    back = run("backup", "restore", copy, "--json").value

    assert told.out == f"1 memories backed up to {copy}\n"
    assert (again.code, forced.code) == (2, 0)
    assert again.err == f"error: {copy} is there already (name another file, or replace it with --force)\n"
    assert (listed["memories"], listed["pruned"]) == (1, [])
    assert tried.startswith(f"would restore 1 memories from {copy}\nthe 2 memories that were here would be kept in ")
    assert (back["memories"], back["replaced"], back["applied"]) == (1, 2, True)
    assert run("list", "--json").value["total"] == 1
    assert run("stats", "--json").value["last_backup"]["path"] == back["aside"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("backup",), "name one file, or one folder with --to"),
        (("backup", "a.db", "--to", "b"), "name one file, or one folder with --to"),
        (("backup", "a.db", "--keep", "3"), "--keep needs --to"),
        (("backup", "--to", "kept", "--keep", "0"), "keep cannot be 0"),
        (("backup", "restore", "absent.db"), "is no backup"),
    ],
)
def test_a_backup_that_cannot_be_made_is_one_clear_line(run: Run, words: tuple[str, ...], told: str) -> None:
    done = run(*words)

    assert done.code == 2
    assert told in done.err
    assert done.err.count("\n") == 1


def test_export_writes_json_lines_and_import_reads_them(run: Run, tmp_path: Path) -> None:
    run("add", "We ship on Tuesday", "--tag", "release")
    run("add", "数据库", "--type", "fact")

    out = run("export")
    told = run("export", str(tmp_path / "all.jsonl"))
    back = run("--db", str(tmp_path / "other.db"), "import", str(tmp_path / "all.jsonl"), "--json")

    lines = [json.loads(line) for line in out.out.splitlines()]
    assert [line["record"] for line in lines] == ["header", "memory", "memory", "end"]
    assert [line["content"] for line in lines[1:3]] == ["We ship on Tuesday", "数据库"]
    assert all(line["recollect"] == 2 for line in lines)
    assert (tmp_path / "all.jsonl").stat().st_mode & 0o777 == 0o600
    assert told.out == f"2 memories written to {tmp_path / 'all.jsonl'}\n"
    assert (tmp_path / "all.jsonl").read_text(encoding="utf-8") == out.out
    assert back.value["memories"]["new"] == 2


def test_import_counts_in_the_shape_of_the_design(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nThe first note.\n")
    (folder / "b.txt").write_text("The second note.\n")

    first, second = run("import", str(folder), "--json"), run("import", str(folder))

    assert first.value == {
        "files": {"scanned": 2, "imported": 2, "skipped": 0, "failed": 0},
        "memories": {"new": 2, "updated": 0, "unchanged": 0, "removed": 0, "revived": 0},
        "withheld": {"files": 0, "memories": 0},
        "links": 0,
        "redacted": 0,
        "formats": {"markdown": 1, "text": 1},
        "read": [
            {"path": str(folder / "a.md"), "format": "markdown", "memories": 1},
            {"path": str(folder / "b.txt"), "format": "text", "memories": 1},
        ],
        "passed_over": {},
        "left_out": {},
        "errors": [],
        "vectors": {"made": 0, "waiting": 0},
    }
    assert second.out == ("2 files, 2 memories unchanged\n")
    assert (first.code, second.code) == (0, 0)


def test_sources_are_shown_from_where_one_stands(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n\nThe first note.\n")
    run("import", str(tmp_path / "notes"))
    monkeypatch.chdir(tmp_path)

    told = run("search", "note", "--source", "notes/a.md")

    assert " · notes/a.md:3\n" in told.out
    assert str(tmp_path) not in told.out


# --- global options -------------------------------------------------------------------------


def test_global_options_stand_before_or_after_the_command(run: Run, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")

    run("--db", other, "--project", "p", "add", "one thing")
    run("add", "another thing", "--db", other, "--project", "q")

    assert run("--db", other, "--json", "stats").value["projects"] == {"p": 1, "q": 1}
    assert run("stats", "--db", other, "--project", "p", "--json").value["memories"] == 1
    assert run("search", "thing", "--db", other, "--project", "q", "--json").value["hits"][0]["id"] == 2


def test_a_profile_changes_how_words_are_joined(run: Run) -> None:
    run("add", "red cat")
    run("add", "red dog")

    assert run("search", "red cat", "--profile", "cortex", "--json").value["profile"] == "cortex"
    assert len(run("search", "red cat", "--profile", "cortex", "--json").value["hits"]) == 1


def test_every_operation_takes_json_and_has_help(run: Run) -> None:
    for name in (name for name, each in OPERATIONS.items() if each.verb):
        told = run(*OPERATIONS[name].verb.split(), "--help")

        assert told.code == 0
        assert "--json" in told.out
        assert OPERATIONS[name].about in " ".join(told.out.split())
        assert all(
            f"--{each.name.strip('_').replace('_', '-')} " in told.out
            for each in OPERATIONS[name].parameters
            if not each.place
        )


def test_without_a_command_the_help_is_shown_and_nothing_is_opened(run: Run, tmp_path: Path) -> None:
    told = run()

    assert (told.code, told.err) == (0, "")
    assert "search" in told.out
    assert not (tmp_path / "notes.db").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands(run: Run, shell: str) -> None:
    script = run("completion", shell)

    assert script.code == 0
    assert "_RECOLLECT_COMPLETE" in script.out


def test_completion_offers_the_commands_of_the_table(tmp_path: Path) -> None:
    asked = {"_RECOLLECT_COMPLETE": "bash_complete", "COMP_WORDS": "recollect resto", "COMP_CWORD": "1"}

    done = apart(folder=tmp_path, **asked)

    assert done.out.split() == ["plain,restore"]


# --- what only a process shows --------------------------------------------------------------


def test_an_import_draws_its_progress_on_a_terminal_and_leaves_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for n in range(3):
        (tmp_path / "notes" / f"{n}.md").write_text(f"note number {n}")

    code, drawn = on_a_terminal("import", str(tmp_path / "notes"), folder=tmp_path)

    assert code == 0
    assert "1/3 0.md" in drawn
    assert "3/3 2.md" in drawn
    assert "█" in drawn
    assert drawn.endswith("\r\x1b[K")


def test_an_import_into_a_pipe_draws_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a note")

    done = apart("import", str(tmp_path / "a.md"), folder=tmp_path)

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("1 file, 1 memory new")


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys\nfrom recollect.surfaces.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & set(sys.argv[1:])))"
    )
    heavy = ("numpy", "onnx", "onnxruntime", "tokenizers", "starlette", "uvicorn", "mcp", "apsw", "yaml")

    done = subprocess.run([sys.executable, "-c", script, *heavy], capture_output=True, text=True, check=True)  # noqa: S603

    assert done.stdout.splitlines()[-1] == "[]"
    assert "search" in done.stdout


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    records = "".join(f'{{"id": "{n}", "text": "entry {n} {"x" * 200}"}}\n' for n in range(900))
    (tmp_path / "a.jsonl").write_text(records)
    apart("import", str(tmp_path / "a.jsonl"), folder=tmp_path)

    with subprocess.Popen(  # noqa: S603
        [*COMMAND, "export"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=surroundings(tmp_path, {})
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()

    assert (said, process.returncode) == (b"", 0)


def test_half_a_character_is_asked_as_one_that_nobody_knows(tmp_path: Path) -> None:
    done = apart("search", b"half \xff one".decode(errors="surrogateescape"), "--json", folder=tmp_path)

    assert json.loads(done.out)["query"] == "half \N{REPLACEMENT CHARACTER} one"
    assert done.code == 1


def test_an_import_of_a_folder_that_is_away_says_so_and_forgets_nothing(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "mnt"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nThe first note.\n")
    run("import", str(folder))
    folder.rename(tmp_path / "away")

    absent = run("import", str(folder))
    folder.mkdir()
    empty, shown = run("import", str(folder)), run("search", "first")
    pruned = run("import", str(folder), "--prune")
    folder.rmdir()
    (tmp_path / "away").rename(folder)
    back = run("import", str(folder))

    assert (absent.code, "not found" in absent.err) == (2, True)
    kept = "1 memory kept, though 1 file cannot be found any more; to forget what is gone: recollect import --prune\n"
    assert (empty.code, shown.code) == (0, 0)
    assert empty.out.endswith(kept)
    assert "1 memory removed" in pruned.out
    assert back.out.endswith("1 forgotten memory brought back\n")


def test_links_that_were_not_followed_are_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("somebody else's words")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").symlink_to(tmp_path / "outside.md")

    done, followed = run("import", str(folder)), run("import", str(folder), "--follow-links", "--json")

    assert done.out.endswith("1 link not followed out of the folder; to follow: recollect import --follow-links\n")
    assert (followed.value["links"], followed.value["memories"]["new"]) == (0, 1)
