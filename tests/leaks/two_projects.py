"""A store with two projects: one whose every word of its own ends in the same mark, and one that must never see it."""

import re
from pathlib import Path

from kit import NOON
from recollect import Recollection
from recollect.embedders.models import Models
from recollect.profile import load_profile
from recollect.recall.lens import Lens
from recollect.records import Memory
from recollect.stores.choice import open_store
from recollect.stores.contract import Store
from recollect.stores.sqlite import open_sqlite
from recollect.text.analyser import ANALYSER, analyse

MARK = "zyxq"
THEIRS, OURS = f"project{MARK}", "ours"
THEIR_ID = 1
"""A memory of the other project."""


def leaked(told: str, asked: object) -> set[str]:
    """Return the marked words that were *told* and are no echo of what was *asked*."""
    return set(re.findall(rf"\w*{MARK}\w*", told.lower())) - set(re.findall(rf"\w*{MARK}\w*", repr(asked).lower()))


def whole(db: Recollection) -> list[object]:
    """Return everything that the other project holds, what is superseded or forgotten too."""
    theirs = db.in_project(THEIRS)
    rows = theirs.store.load(range(1, 100), scope=theirs.scope)
    return [
        *(theirs.show(row) for row in rows),
        theirs.lenses.list(),
        theirs.roots.list(),
        theirs.tuning(),
        theirs.tokens.list(),
        theirs.log.recent(limit=100),
        theirs.log.unanswered(),
        theirs.stats(),
    ]


def make_two_projects(folder: Path) -> None:
    """Make a store of two projects that speak of the same things; only one of them says the marked words."""
    with open_two_projects(folder / "notes.db") as db:
        _fill(db.in_project(THEIRS), folder)
        _fill_ours(db.in_project(OURS), folder)


def fill_two_projects(address: str, folder: Path) -> None:
    """Make the same two projects in the store at *address*."""
    with open_address(address) as db:
        fill_each(db, db, folder)


def fill_each(theirs: Recollection, ours: Recollection, folder: Path) -> None:
    """Make one of the projects in each of two stores."""
    _fill(theirs.in_project(THEIRS), folder)
    _fill_ours(ours.in_project(OURS), folder)


def open_two_projects(path: Path) -> Recollection:
    """Return the store at *path*, in no project, with vectors and at a fixed time."""
    return _opened(open_sqlite(path, analyse, analyser=ANALYSER), address="notes.db")


def open_address(address: str, *, project: str | None = None) -> Recollection:
    """Return the store at any *address*."""
    return _opened(open_store(address, analyse, analyser=ANALYSER), project)


def _opened(store: Store, project: str | None = None, address: str = "") -> Recollection:
    return Recollection(
        store=store,
        profile=load_profile("default"),
        project=project,
        models=Models(name="hashing"),
        clock=lambda: NOON,
        address=address,
    )


def _fill(db: Recollection, folder: Path) -> None:
    db.add(
        f"The lighthouse port is 5432 and its keeper is content{MARK}",
        title=f"Lighthouse title{MARK}",
        type=f"type{MARK}",
        tags=(f"tag{MARK}",),
        source=f"notes/source{MARK}.md",
        external_id=f"external{MARK}",
        metadata={f"key{MARK}": f"value{MARK}"},
    )
    db.add(f"Always lock the lighthouse before the storm because of wind said wording{MARK}")
    db.add(f"Always lock the lighthouse before the storm because of wind said wording{MARK} twice")
    db.add(f"Owner: fact{MARK}")
    db.add(f"Subject{MARK}: lighthouse", external_id="b")
    old = db.add(f"The lighthouse timeout is 30 seconds old{MARK}", external_id="c").id
    db.supersede(old, db.add(f"The lighthouse timeout is 60 seconds new{MARK}", external_id="d").id)
    db.add_all([Memory(content=f"Turn {at} of the lighthouse talk{MARK}", thread="talk", turn=at) for at in range(3)])
    db.forget(db.add(f"A forgotten lighthouse gone{MARK}").id, reason=f"reason{MARK}")
    db.lenses.keep(Lens(name=f"lens{MARK}", tags=(f"tag{MARK}",), boosts={f"type:type{MARK}": 2.0}))
    db.roots.add(f"/root{MARK}")
    db.tokens.create(name=f"token{MARK}")
    db.search(f"lighthouse query{MARK}", session=f"session{MARK}", lens=f"lens{MARK}")
    db.search(f"unheard{MARK} words{MARK}", session="talk", mode="keyword")
    db.inject("the lighthouse port", session="talk")
    db.feedback(THEIR_ID, "useful", session=f"session{MARK}", query=f"judged{MARK}")
    tuned = {"profile": "default", "at": NOON.isoformat(), "values": {"k": 5.0}, "base": {"k": [60.0]}}
    figures = {"source": f"judged{MARK}.tsv", "questions": 20, "before": 0.1, "after": 0.2, "low": 0.1, "high": 0.2}
    db.store.put_note("tuning", "default", {"kept": [tuned | figures]}, project=THEIRS)
    notes = folder / "notes"
    notes.mkdir()
    (notes / "a.md").write_text(f"# Lighthouse\n\nImported of the lighthouse file{MARK}\n", encoding="utf-8")
    (notes / f"only{MARK}.md").write_text(f"# Lamp\n\nA lamp of the lighthouse lamp{MARK}\n", encoding="utf-8")
    db.import_(notes)
    db.flush()


def _fill_ours(db: Recollection, folder: Path) -> None:
    db.add("The lighthouse port is 5433 and its keeper is known")
    db.add("Always lock the lighthouse before the storm because of wind")
    db.add("Owner: Ida", external_id="a")
    db.add("Owner: Bea", external_id="b")
    db.add_all([Memory(content=f"Turn {at} of the lighthouse", thread="talk", turn=at) for at in range(3)])
    (folder / "notes" / "a.md").write_text("# Lighthouse\n\nImported anew of the lighthouse\n", encoding="utf-8")
    (folder / "notes" / f"only{MARK}.md").unlink()
    (folder / "judged.tsv").write_text(f"lighthouse\t{THEIR_ID}\t1\nlighthouse\texternal{MARK}\t1\n", encoding="utf-8")
    db.flush()
