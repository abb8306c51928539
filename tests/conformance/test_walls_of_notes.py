"""Lenses, tunings and sessions belong to the project they were made in, or to none."""

import pytest

from kit import NOON
from recollect import Recollection
from recollect.errors import InputError
from recollect.evaluate.tuning import KIND
from recollect.recall.lens import Lens

TUNED = {
    "profile": "default",
    "at": NOON.isoformat(),
    "values": {"title": 3.0},
    "base": {},
    "source": "feedback",
    "questions": 20,
    "before": 0.1,
    "after": 0.2,
    "low": 0.1,
    "high": 0.2,
}


def test_a_lens_of_one_project_is_neither_seen_nor_used_in_another(db: Recollection) -> None:
    mine, yours = db.in_project("mine"), db.in_project("yours")
    mine.lenses.keep(Lens(name="work", types=("decision",)))

    seen = [[lens.name for lens in view.lenses.list()] for view in (mine, yours, db)]

    assert seen == [["work"], [], []]
    for view in (yours, db):
        with pytest.raises(InputError, match="no lens is called 'work'"):
            view.search("anything", lens="work")
        with pytest.raises(InputError):
            view.lenses.drop("work")
    assert mine.search("anything", lens="work").hits == ()


def test_a_tuning_of_one_project_ranks_in_no_other(db: Recollection) -> None:
    mine, yours = db.in_project("mine"), db.in_project("yours")
    db.store.put_note(KIND, "default", {"kept": [TUNED]}, project="mine")
    for view in (mine, yours):
        view.add("The deploy takes four minutes", title="Deploy")

    shares = [view.search("deploy").hits[0].score for view in (mine, yours)]
    again = [view.search("deploy").hits[0].score for view in (yours, mine)]

    assert [view.tuning() is not None for view in (mine, yours, db)] == [True, False, False]
    assert shares[0] != shares[1]
    assert again == shares[::-1]
    assert yours.profile == mine.profile == db.profile
    mine.untune()
    with pytest.raises(InputError, match="is not tuned here"):
        yours.untune()


def test_a_session_of_one_project_knows_nothing_of_one_with_its_name_in_another(db: Recollection) -> None:
    for project in ("mine", "yours"):
        db.in_project(project).add("Retries back off with jitter", type="decision")

    told = [db.in_project(each).inject("retries back off", session="s").ids for each in ("mine", "yours", "mine")]

    assert [len(ids) for ids in told] == [1, 1, 0]
    assert set(db.store.notes("injected", project="mine")) == {"s"}
    assert db.store.notes("injected") == {}
