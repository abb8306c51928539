"""Any history of a store comes back whole from its archive, and a second import of it changes nothing."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kit import Clock, truth, write_archive
from recollect.profile import load_profile
from recollect.recall.lens import Lens
from recollect.recollection import Recollection
from recollect.records import ALL_PROJECTS, Memory
from recollect.stores.sqlite import open_sqlite
from recollect.text.analyser import analyse

TEXT = st.sampled_from(
    [
        "The deploy timeout is 30 seconds",
        "The deploy timeout is now 60 seconds",
        "the deploy timeout is 30 seconds, still",
        "Port: 5432",
        "Port: 5433",
        "Ann prefers tea",
        "数据库 is full",
        "never restart it on Friday",
    ]
)
PICK = st.integers(0, 20)
FILE = st.tuples(st.sampled_from(["a.md", "b.txt"]), st.lists(TEXT, max_size=3))
STEP = st.one_of(
    st.tuples(st.just("add"), TEXT, st.sampled_from([None, "r-1", "r-2"]), st.sampled_from(["default", "shop"])),
    st.tuples(st.just("turns"), st.lists(TEXT, min_size=1, max_size=3)),
    st.tuples(st.just("vector"), TEXT),
    st.tuples(st.just("supersede"), PICK, PICK),
    st.tuples(st.sampled_from(["forget", "restore", "pin", "feedback"]), PICK),
    st.tuples(st.sampled_from(["search", "lens"]), TEXT),
    st.tuples(st.just("import"), FILE),
    st.tuples(st.sampled_from(["reinforce", "consolidate", "inject"])),
)


def opened() -> Recollection:
    return Recollection(store=open_sqlite(None, analyse), profile=load_profile("default"), clock=Clock())


def take(db: Recollection, folder: Path, step: tuple[Any, ...]) -> None:
    """Take one step of a history."""
    rows = db.store.ids(scope=ALL_PROJECTS, limit=100)
    match step:
        case "add", text, name, project:
            db.add(text, external_id=name, project=project)
        case "turns", texts:
            db.add_all([Memory(content=text, thread="t", turn=turn) for turn, text in enumerate(texts)])
        case "vector", text:
            db.add(f"{text} as a vector", vector=[float(len(text)), 1.0])
        case "import", (name, texts):
            (folder / name).write_text("\n\n".join(f"# {text}\n\n{text}" for text in texts), encoding="utf-8")
            db.import_(folder)
        case "search", text:
            db.search(text, session="s", include_facts=True)
            db.flush()
        case "lens", text:
            db.lenses.keep(Lens(name=text, types=("note",)))
        case (verb, *picks) if rows:
            change(db, verb, [rows[pick % len(rows)] for pick in picks])


def change(db: Recollection, verb: str, rows: list[int]) -> None:
    match verb:
        case "supersede" if rows[0] != rows[1]:
            db.supersede(*rows)
        case "forget" | "restore" | "pin":
            getattr(db, verb)(rows[0])
        case "feedback":
            db.feedback(rows[0], "useful", session="s")
        case "reinforce":
            db.reinforce(*(fact.id for fact in db.facts(limit=1)))
        case "consolidate":
            db.consolidate(apply=True)
        case "inject":
            db.inject("deploy timeout", session="s")
            db.flush()


@settings(max_examples=10, deadline=None)
@given(steps=st.lists(STEP, max_size=12), before=st.lists(TEXT, max_size=2, unique=True))
def test_any_history_comes_back_whole(steps: list[tuple[Any, ...]], before: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name, opened() as db, opened() as empty, opened() as used:
        folder = Path(name, "notes")
        folder.mkdir()
        for step in steps:
            take(db, folder, step)
        held = truth(db)
        path = write_archive(db, Path(name, "all.jsonl"))

        empty.import_(path)
        again = write_archive(empty, Path(name, "again.jsonl"))
        own = db.import_(path)
        for text in before:
            used.add(text)
        used.import_(path)
        beside = truth(used)
        twice = used.import_(path)

        assert truth(empty) == held
        assert again.read_bytes() == path.read_bytes()
        assert truth(db) == held
        assert own.memories["unchanged"] == own.memories.total() == len(held["memories"])
        assert truth(used) == beside
        assert twice.memories["unchanged"] == twice.memories.total()
        assert (empty.doctor().problems, used.doctor().problems, own.errors) == ((), (), [])
