"""What is exported comes back whole: every table compared, in every store, into an empty store and beside others."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kit import NOON, STORES, Clock, truth, write_archive
from recollect.profile import load_profile
from recollect.recall.lens import Lens
from recollect.recollection import Recollection
from recollect.records import ARCHIVED_NOTES, Filter, Memory, Scope
from recollect.remember import find_files
from recollect.text.analyser import analyse

OTHERS = sorted(STORES)
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@contextmanager
def another(folder: Path, name: str = "sqlite") -> Iterator[Recollection]:
    folder.mkdir(exist_ok=True)
    store = STORES[name](folder, analyse)
    with Recollection(store=store, profile=load_profile("default"), clock=Clock()) as opened:
        yield opened


def lived_in(db: Recollection, folder: Path) -> Recollection:
    """Do everything to the store of *db* that leaves a trace, minute by minute."""
    db = Recollection(store=db.store, profile=db.profile, clock=Clock())
    notes = folder / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Deploys\n\nWe deploy on Tuesday.\n\n# Costs\n\nIt costs 5 euros.\n")
    (notes / "chat.txt").write_text("Ann: hello\nBen: port 5432\nAnn: ok\nBen: ok\nAnn: ok\n")
    db.import_(notes)
    (notes / "a.md").write_text("# Deploys\n\nWe deploy on Wednesday, after lunch.\n")
    db.import_(notes)
    first = db.add(
        "The deploy timeout is 30 seconds", tags=["x"], project="shop", metadata={"deep": [1, None, {"a": 2}]}
    )
    db.add("The deploy timeout is now 60 seconds", project="shop")
    db.add("Always run ruff before pyright for linting", confidence=0.5)
    db.add("Always run ruff before pyright for linting checks", confidence=0.9)
    gone = db.add("The API lives in Berlin", external_id="r-1", kind="place", observed_at=NOON)
    db.add_all([Memory(content="an agent said so", trust="agent", valid_until=NOON)])
    db.add("with a vector of its own", vector=[1.0, 2.0, 2.0])
    hidden = db.add("hidden, with a vector of its own", vector=[2.0, 1.0, 2.0])
    old = db.add("Port: 5433")
    db.feedback(old.id, "useful", session="s", query="port")
    db.reinforce(db.facts(limit=1)[0].id)
    db.add("The API lives in Bonn", external_id="r-1", kind="place")
    db.supersede(old.id, db.add("Port: 5434").id)
    for query in ("port", "deploy", "zebra"):
        db.search(query, session="s", limit=2)
    db.in_project("shop").search("deploy", session="t")
    db.inject("deploy on Wednesday", session="s")
    db.flush()
    for row in (gone.id, hidden.id):
        db.forget(row, reason="no longer true")
    db.pin(first.id)
    db.lenses.keep(Lens(name="work", projects=("shop",), boosts={"type:note": 2.0}))
    db.store.put_note("tuning", "default", {"kept": []})
    return db


@pytest.mark.parametrize("name", OTHERS)
def test_everything_comes_back_into_an_empty_store(db: Recollection, tmp_path: Path, name: str) -> None:
    path = write_archive(lived_in(db, tmp_path), tmp_path / "all.jsonl")

    with another(tmp_path / "other", name) as other:
        report = other.import_(path)

        held = truth(db)
        assert (report.errors, report.memories["new"]) == ([], len(held["memories"]))
        assert held["stats"].forgotten > 1
        assert all(held.values())
        assert truth(other) == held
        assert other.doctor().problems == ()
        again = write_archive(other, tmp_path / "again.jsonl")
        assert again.read_bytes() == path.read_bytes()


def test_importing_it_again_or_into_its_own_store_changes_nothing(db: Recollection, tmp_path: Path) -> None:
    path = write_archive(lived_in(db, tmp_path), tmp_path / "all.jsonl")

    with another(tmp_path / "other") as other:
        other.import_(path)
        for opened in (db, other):
            before, version = truth(opened), opened.store.version()
            report = opened.import_(path)

            assert (report.memories["unchanged"], report.errors) == (len(before["memories"]), [])
            assert report.memories.total() == len(before["memories"])
            assert truth(opened) == before
            assert opened.store.version() == version


def mapped(value: Any, by: int, facts: int) -> Any:
    """Return what `truth` gave with every id of a memory moved up *by* so many, and every id of a fact by *facts*."""

    def row(number: int | None) -> int | None:
        return number + by if number else number

    def detail(about: dict[str, Any]) -> dict[str, Any]:
        moved = {name: row(each) if isinstance(each, int) else each for name, each in about.items()}
        kept = {name: moved[name] if name in ("of", "proposes", "by", "into") else each for name, each in about.items()}
        return {**kept, "fact": about["fact"] + facts} if about.get("fact") else kept

    def hits(recall: Any) -> Any:
        moved = [
            replace(hit, memory_id=row(hit.memory_id), fact_ids=tuple(n + facts for n in hit.fact_ids))
            for hit in recall.hits
        ]
        return replace(recall, hits=tuple(moved))

    return {
        "memories": {
            row(n): replace(memory, id=row(n), superseded_by=row(memory.superseded_by))
            for n, memory in value["memories"].items()
        },
        "wordings": {row(n): each for n, each in value["wordings"].items()},
        "events": {row(n): [(verb, at, detail(it)) for verb, at, it in log] for n, log in value["events"].items()},
        "recalls": tuple(map(hits, value["recalls"])),
        "sources": {
            (project, name): replace(
                source, pieces=tuple(replace(piece, memory_id=row(piece.memory_id)) for piece in source.pieces)
            )
            for project, held in value["sources"].items()
            for name, source in held.items()
        },
        "vectors": {name: {row(n): each for n, each in held.items()} for name, held in value["vectors"].items()},
        "ledgers": {
            (project, name): {str(row(int(n))) if n.isdecimal() else n: x for n, x in told.items()}
            for project, held in value["notes"]["injected"].items()
            for name, told in held.items()
        },
        "facts": [
            (row(fact.memory_id), fact.subject, fact.object, fact.confidence, fact.last_reinforced, fact.state)
            for fact in sorted(value["facts"], key=lambda fact: (fact.memory_id, fact.id))
        ],
    }


@pytest.mark.parametrize("name", OTHERS)
def test_beside_other_memories_every_reference_follows(db: Recollection, tmp_path: Path, name: str) -> None:
    path = write_archive(lived_in(db, tmp_path), tmp_path / "all.jsonl")
    source = truth(db)

    with another(tmp_path / "other", name) as other:
        for word in ("apples", "pears", "plums"):
            other.add(f"{word} are ripe: {word}")
        before = truth(other)
        shift = max(fact.id for fact in before["facts"])
        report = other.import_(path)
        held = truth(other)
        second = other.import_(path)

        assert report.errors == []
        fresh = {key: {n: each for n, each in held[key].items() if n > 3} for key in ("memories", "wordings", "events")}
        facts = [fact for fact in held["facts"] if fact.memory_id > 3]
        wanted = mapped(source, 3, 0)
        got = mapped({**held, **fresh, "facts": facts}, 0, 0)
        order = {fact.id: at for at, fact in enumerate(sorted(source["facts"], key=lambda f: (f.memory_id, f.id)))}
        places = {fact.id: at for at, fact in enumerate(sorted(facts, key=lambda f: (f.memory_id, f.id)))}
        assert min(places) > shift
        for key in ("memories", "wordings", "sources", "vectors", "ledgers", "facts"):
            assert got[key] == wanted[key], key
        assert by_place(got["events"], places) == by_place(wanted["events"], order)
        assert by_place(got["recalls"], places) == by_place(wanted["recalls"], order)
        assert truth(other) == held, "a second time nothing changes"
        assert second.memories["unchanged"] == len(source["memories"])
        assert other.doctor().problems == ()


def by_place(value: Any, places: dict[int, int]) -> Any:
    """Return events or recalls with the place of a fact among all instead of its id."""
    if isinstance(value, dict):
        return {
            row: [
                (verb, at, {**told, **({"fact": places[told["fact"]]} if "fact" in told else {})})
                for verb, at, told in log
            ]
            for row, log in value.items()
        }
    return [
        replace(each, hits=tuple(replace(hit, fact_ids=tuple(places[n] for n in hit.fact_ids)) for hit in each.hits))
        for each in value
    ]


def test_without_all_what_is_forgotten_and_what_is_private_stay_out(db: Recollection, tmp_path: Path) -> None:
    path = write_archive(lived_in(db, tmp_path), tmp_path / "some.jsonl", everything=False)

    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    kinds = {each["record"] for each in records}
    with another(tmp_path / "other") as other:
        other.import_(path)
        held, mine = truth(other), truth(db)

    live = {row: memory for row, memory in mine["memories"].items() if memory.deleted_at is None}
    assert kinds == {"header", "memory", "source", "end"}
    assert held["memories"] == live
    assert held["events"].keys() == live.keys()
    assert (held["recalls"], held["notes"]) == ((), {kind: {} for kind in ARCHIVED_NOTES})


def test_what_a_forgotten_memory_replaced_stays_replaced(db: Recollection, tmp_path: Path) -> None:
    old, new = db.add("the gate is red"), db.add("seven swans swim")
    db.supersede(old.id, new.id)
    db.forget(new.id)
    path = write_archive(db, tmp_path / "some.jsonl", everything=False)

    with another(tmp_path / "other") as other:
        other.import_(path)
        newer = other.add("something else entirely")
        hidden = other.list().total

        assert (newer.id, hidden) == (2, 1)
        assert other.show(1).memory.superseded_by == 0
        assert other.show(1).memory.superseded_at == db.show(1).memory.superseded_at


def test_a_folder_is_recognised_after_its_export_came_back(db: Recollection, tmp_path: Path) -> None:
    path = write_archive(lived_in(db, tmp_path), tmp_path / "all.jsonl")

    with another(tmp_path / "other") as other:
        other.import_(path)
        before = truth(other)
        report = other.import_(tmp_path / "notes")

        assert (report.files["skipped"], report.files["imported"]) == (2, 0)
        assert truth(other) == before


def test_a_later_archive_brings_what_happened_since(db: Recollection, tmp_path: Path) -> None:
    first = write_archive(lived_in(db, tmp_path), tmp_path / "first.jsonl")
    row = db.add("a memory that will change").id
    db.feedback(1, "used")
    db.pin(2)
    later = write_archive(db, tmp_path / "later.jsonl")

    with another(tmp_path / "other") as other:
        other.import_(first)
        report = other.import_(later)
        older = other.import_(first)

        assert (report.memories["new"], report.memories["updated"]) == (1, 2)
        assert (older.memories["new"], older.memories["updated"]) == (0, 0)
        assert truth(other) == truth(db)
        assert row in truth(other)["memories"]


def test_a_changed_memory_here_is_not_undone_by_an_older_archive(db: Recollection, tmp_path: Path) -> None:
    lived_in(db, tmp_path)
    path = write_archive(db, tmp_path / "all.jsonl")
    db.forget(1)
    db.pin(3)
    before = truth(db)

    db.import_(path)

    assert truth(db) == before


def test_two_turns_of_the_same_words_stay_two(db: Recollection, tmp_path: Path) -> None:
    db.add_all([Memory(content="Ann: ok", thread="t", turn=turn) for turn in (1, 2, 3)])
    path = write_archive(db, tmp_path / "all.jsonl")

    report = db.import_(path)

    assert (report.memories["new"], report.memories["unchanged"], db.stats().memories) == (0, 3, 3)


def test_memories_of_two_stores_that_share_an_id_and_a_birth_are_told_apart(db: Recollection, tmp_path: Path) -> None:
    db.add("a cat sleeps")
    path = write_archive(db, tmp_path / "all.jsonl")
    store = STORES["memory"](tmp_path, analyse)

    with Recollection(store=store, profile=db.profile, clock=lambda: NOON) as other:
        other.add("the dog barks")
        other.import_(path)

        assert {memory.content for memory in other.list().memories} == {"a cat sleeps", "the dog barks"}


def test_secrets_are_taken_out_of_everything_an_archive_brings(db: Recollection, tmp_path: Path) -> None:
    row = db.add(f"the key is {SECRET}", redact=False).id
    db.add("another thing", external_id="x", redact=False)
    db.add(f"key {SECRET} is used", external_id="x", redact=False)
    db.add("now without it", external_id="x")
    db.feedback(row, "used", query=SECRET)
    db.search(f"what is {SECRET}", session="s")
    db.flush()
    path = write_archive(db, tmp_path / "all.jsonl")

    with another(tmp_path / "other") as other:
        report = other.import_(path)
        again = other.import_(path)
        shown = json.dumps(list(other.archive(everything=True)))

    assert SECRET in path.read_text()
    assert SECRET not in shown
    assert (report.redacted, again.memories["new"]) == (1, 0)
    before = truth(db)
    db.import_(path)
    assert truth(db) == before


def test_less_trusted_doors_bring_memories_only(db: Recollection, tmp_path: Path) -> None:
    path = write_archive(lived_in(db, tmp_path), tmp_path / "all.jsonl")

    with another(tmp_path / "other") as other:
        other.import_(path, trust="agent")
        held = truth(other)

    assert {memory.trust for memory in held["memories"].values()} == {"agent"}
    assert (held["recalls"], held["sources"], held["notes"]) == ((), {}, {kind: {} for kind in ARCHIVED_NOTES})


def test_an_archive_of_one_project_holds_nothing_of_another(db: Recollection, tmp_path: Path) -> None:
    lived_in(db, tmp_path)
    path = write_archive(db.in_project("shop"), tmp_path / "shop.jsonl")

    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {each["project"] for each in records if each["record"] == "memory"} == {"shop"}
    assert [each["query"] for each in records if each["record"] == "recall"] == ["deploy"]
    assert {each["record"] for each in records} == {"header", "memory", "recall", "end"}


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda lines: lines[:-1], "the archive ends early"),
        (lambda lines: [*lines[:2], *lines[3:]], "the archive had"),
        (lambda lines: [*lines[:2], "{nonsense", *lines[2:]], "line 3: not a record of an archive"),
        (lambda lines: [lines[0].replace('"recollect": 2', '"recollect": 9'), *lines[1:]], "newer recollect (form 9)"),
    ],
)
def test_what_is_wrong_with_an_archive_is_told(db: Recollection, tmp_path: Path, edit: Any, told: str) -> None:
    for text in ("a cat sleeps", "the dog barks", "seven swans swim"):
        db.add(text)
    path = write_archive(db, tmp_path / "all.jsonl")
    path.write_text("\n".join(edit(path.read_text().splitlines())))

    with another(tmp_path / "other") as other:
        report = other.import_(path)

    assert [told in problem.reason for problem in report.errors] == [True]


def test_an_archive_is_of_one_state_whatever_is_written_meanwhile(db: Recollection) -> None:
    for number in range(3):
        db.add(f"note number {number}: {'abc'[number]}")
    records = db.archive(everything=True)

    first = [next(records) for _ in range(2)]
    db.add("written later")
    db.forget(3)
    rest = list(records)

    memories = [each for each in (*first, *rest) if each["record"] == "memory"]
    assert [each["id"] for each in memories] == [1, 2, 3]
    assert memories[2]["deleted_at"] is None


def test_two_archives_in_one_file_are_both_restored(db: Recollection, tmp_path: Path) -> None:
    db.add("a cat sleeps")
    one = write_archive(db, tmp_path / "one.jsonl").read_text()
    with another(tmp_path / "second") as second:
        second.add("the dog barks")
        two = write_archive(second, tmp_path / "two.jsonl").read_text()
    (tmp_path / "both.jsonl").write_text(one + two)

    with another(tmp_path / "other") as other:
        report = other.import_(tmp_path / "both.jsonl")

        assert report.errors == []
        assert {memory.content for memory in other.list().memories} == {"a cat sleeps", "the dog barks"}


def test_an_archive_larger_than_any_other_file_may_be_comes_back(
    db: Recollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find_files, "MAX_DOCUMENT_BYTES", 1000)
    for number in range(6):
        db.add(f"{number} {'abcdef'[number]} is number {number}", external_id=str(number))
    path = write_archive(db, tmp_path / "all.jsonl")

    with another(tmp_path / "other", "memory") as other:
        report = other.import_(path)

        assert path.stat().st_size > 1000
        assert (report.errors, other.stats().memories) == ([], 6)


def test_progress_is_told_both_ways(db: Recollection, tmp_path: Path) -> None:
    db.add("a cat sleeps")
    told: list[tuple[int, int, str]] = []

    records = list(db.archive(progress=lambda *each: told.append(each)))
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    db.import_(tmp_path / "all.jsonl", progress=lambda *each: told.append(each))

    size = (tmp_path / "all.jsonl").stat().st_size
    assert told == [(1, 1, "memories"), (1, 1, "all.jsonl"), (size, size, "bytes")]
    assert db.list(where=Filter()).total == 1


def test_sources_and_notes_come_back_to_their_projects(db: Recollection, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Deploys\n\nWe deploy on Tuesday.\n")
    for view in (db, db.in_project("shop")):
        view.import_(tmp_path / "a.md")
        view.lenses.keep(Lens(name="work", types=("note",)))
    (tmp_path / "a.md").write_text("# Deploys\n\nNobody deploys.\n")
    db.in_project("shop").import_(tmp_path / "a.md", prune=True)
    path = write_archive(db, tmp_path / "all.jsonl")

    with another(tmp_path / "other") as other:
        other.import_(path)
        held = truth(other)

    assert held["sources"].keys() == {"default", "shop"}
    assert held["notes"]["lens"].keys() == {"", "shop"}
    assert held == truth(db)


def test_an_archive_of_one_project_has_its_own_notes_and_sources(db: Recollection, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Deploys\n\nWe deploy on Tuesday.\n")
    shop = db.in_project("shop")
    for name, view in (("all", db), ("mine", shop)):
        view.import_(tmp_path / "a.md")
        view.lenses.keep(Lens(name=name, types=("note",)))
    path = write_archive(shop, tmp_path / "shop.jsonl")

    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    told = [(each["record"], each["project"], each.get("name")) for each in records[2:-1]]
    with another(tmp_path / "other") as other:
        other.import_(path)
        notes = truth(other)["notes"]["lens"]

    assert told == [("source", "shop", None), ("note", "shop", "mine")]
    assert notes.keys() == {"shop"}


def test_in_a_project_everything_of_an_archive_goes_to_that_project(db: Recollection, tmp_path: Path) -> None:
    path = write_archive(lived_in(db, tmp_path), tmp_path / "all.jsonl")

    with another(tmp_path / "other") as other:
        other.add("the owner of this store")
        before = truth(other)
        other.in_project("mine").import_(path)
        held = truth(other)

    assert {memory.project for row, memory in held["memories"].items() if row > 1} == {"mine"}
    assert (held["memories"][1], held["sources"].keys()) == (before["memories"][1], {"mine"})
    assert {project for kind in ARCHIVED_NOTES for project in held["notes"][kind]} == {"mine"}
    assert {each.scope for each in held["recalls"]} == {Scope(projects=frozenset({"mine"}))}


def test_the_key_by_which_secrets_are_told_apart_never_leaves_the_store(db: Recollection, tmp_path: Path) -> None:
    db.add("a text", source=f"notes/{SECRET}.md")
    key = db.store.notes("redaction")["key"]["hex"]

    path = write_archive(db, tmp_path / "all.jsonl")

    assert key not in path.read_text(encoding="utf-8")


def test_a_secret_in_a_name_is_taken_out_as_everywhere(db: Recollection, tmp_path: Path) -> None:
    lines = [
        {"record": "header"},
        {"record": "memory", "content": "a cat sleeps", "id": 1, "events": [], "facts": []},
        {
            "record": "source",
            "project": "default",
            "source": f"/notes/{SECRET}.md",
            "fingerprint": "f",
            "root": f"/notes/{SECRET}",
            "pieces": [{"digest": "aa", "memory_id": 1}],
        },
        {"record": "note", "project": None, "kind": "lens", "name": SECRET, "value": {"types": [SECRET]}},
        {"record": "note", "project": None, "kind": "injected", "name": "s", "value": {"1": SECRET}},
    ]
    path = tmp_path / "forged.jsonl"
    path.write_text("".join(json.dumps({"recollect": 2, **each}) + "\n" for each in lines))

    db.import_(path)

    shown = json.dumps(list(db.archive(everything=True)))
    assert SECRET not in shown
    assert "[redacted:" in shown


def test_from_a_less_trusted_door_nothing_of_the_owner_is_changed_or_judged(db: Recollection, tmp_path: Path) -> None:
    db.add("Port: 5432", confidence=1.0)
    first = write_archive(db, tmp_path / "first.jsonl")
    db.feedback(1, "useful")
    db.forget(1)
    later = write_archive(db, tmp_path / "later.jsonl")

    with another(tmp_path / "other") as other:
        other.import_(first)
        before = truth(other)
        other.import_(later, trust="agent")
        assert truth(other) == before

    with another(tmp_path / "fresh") as fresh:
        fresh.import_(later, trust="untrusted")
        held = truth(fresh)
    assert "feedback" not in [verb for verb, _, _ in held["events"][1]]
    assert (held["memories"][1].confidence, [fact.confidence for fact in held["facts"]]) == (1.0, [0.5])


def test_the_mark_of_a_conflict_comes_back(db: Recollection, tmp_path: Path) -> None:
    db.add("The deploy timeout is 30 seconds")
    db.add_all([Memory(content="The deploy timeout is now 60 seconds", trust="agent")])
    path = write_archive(db, tmp_path / "all.jsonl")

    with another(tmp_path / "other") as other:
        other.add("something else entirely")
        other.import_(path)
        shown = [hit.conflicts for hit in other.search("deploy timeout").hits]

    assert sorted(shown) == [(2,), (3,)]


def test_ids_that_were_erased_are_not_given_again_by_an_archive(db: Recollection, tmp_path: Path) -> None:
    db.add("a cat sleeps")
    path = write_archive(db, tmp_path / "all.jsonl")

    with another(tmp_path / "other") as other:
        other.add("the dog barks")
        other.purge(1)
        other.import_(path)

        assert [memory.id for memory in other.list().memories] == [2]
