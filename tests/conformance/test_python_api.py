"""The Python API: `recollect.open` and the verbs, as a program uses them."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

import recollect
from kit import NOON, answered
from recollect import Filter, InputError, Memory, ModelError, RecollectError, Recollection
from recollect.embedders.contract import Embedder
from recollect.embedders.hashing import HashingEmbedder
from recollect.embedders.models import Models
from recollect.operations import OPERATIONS
from recollect.profile import load_profile
from recollect.records import ALL_PROJECTS, Recall
from recollect.serialize import serialize
from recollect.stores.choice import open_store
from recollect.stores.contract import Store
from recollect.text.analyser import analyse

WITHOUT_MODELS = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numpy", "onnx", "onnxruntime", "tokenizers", "starlette", "uvicorn", "mcp"}:
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, Missing())

import recollect
from pathlib import Path

folder = Path(sys.argv[1])
(folder / "a.md").write_text("# Retries\\n\\nA call is retried four times.\\n")
with recollect.open(sys.argv[2] if len(sys.argv) > 2 else folder / "notes.db") as db:
    db.add("We deploy on Tuesday")
    db.import_(folder / "a.md")
    found = [[hit.memory.content for hit in db.search(query).hits] for query in ("deployment", "retry", "re*", "")]
    reply = db.search("retry")
    print(found[0], found[1], len(found[2]), len(found[3]), reply.degraded, reply.outcome)
"""


@pytest.mark.req("O-20")
@pytest.mark.parametrize("address", [(), (":memory:",)])
def test_words_are_searched_where_nothing_of_a_model_is_installed(tmp_path: Path, address: tuple[str, ...]) -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", WITHOUT_MODELS, str(tmp_path), *address], capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    assert done.stdout.split("\n")[0] == (
        "['We deploy on Tuesday'] ['A call is retried four times.'] 1 2 no_model answered"
    )


def test_a_store_is_opened_filled_searched_and_closed_in_four_lines(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "notes.db", model="none") as db:
        kept = db.add("We ship on Tuesday", type="decision", tags=["release"])
        reply = db.search("when do we ship?")
    with recollect.open(tmp_path / "notes.db", model="none") as again:
        later = again.search("shipping")

    assert kept.decision == "distinct"
    assert reply.outcome == "answered"
    assert [hit.id for hit in reply.hits] == [hit.id for hit in later.hits] == [kept.id]
    assert reply.hits[0].memory.tags == ("release",)


@pytest.mark.req("C-18")
def test_a_store_in_memory_lives_as_long_as_it_is_open() -> None:
    with recollect.open(":memory:", model="none") as db:
        db.add("We ship on Tuesday")

        assert [hit.match_type for hit in db.search("ship", mode="keyword").hits] == ["bm25"]
    with recollect.open(":memory:", model="none") as again:
        assert again.stats().memories == 0


def test_what_was_added_is_listed_newest_first_shown_and_counted(db: Recollection) -> None:
    old = db.add("an old thing", observed_at=NOON - timedelta(days=3), type="fact").id
    new = db.add("a new thing", project="other").id

    listing, shown, tally = db.list(), db.show(old), db.stats()

    assert ([memory.id for memory in listing.memories], listing.total) == ([new, old], 2)
    assert [memory.id for memory in db.list(limit=1, offset=1).memories] == [old]
    assert [memory.id for memory in db.list(where=Filter(types=("fact",))).memories] == [old]
    assert (shown.memory.content, [event.verb for event in shown.events]) == ("an old thing", ["add"])
    assert (tally.memories, dict(tally.projects)) == (2, {"default": 1, "other": 1})


@pytest.mark.req("C-10")
def test_forgetting_and_restoring_leave_their_traces(db: Recollection) -> None:
    row = db.add("a thing").id

    db.forget(row, reason="outdated")
    forgotten = db.stats().forgotten, db.list().total
    db.restore(row)

    assert forgotten == (1, 0)
    assert [event.verb for event in db.show(row).events] == ["add", "forget", "restore"]
    assert db.show(row).events[1].detail == {"reason": "outdated"}
    assert db.list().total == 1


@pytest.mark.parametrize("verb", ["show", "forget", "restore"])
def test_an_unknown_id_is_an_error_with_a_hint(db: Recollection, verb: str) -> None:
    with pytest.raises(InputError, match="no memory has the id 7") as caught:
        getattr(db, verb)(7)

    assert caught.value.hint


def test_a_memory_of_another_project_is_unknown_here(db: Recollection) -> None:
    row = db.add("theirs", project="theirs").id
    db.project = "mine"

    with pytest.raises(InputError, match="no memory has the id"):
        db.forget(row)


@pytest.mark.parametrize("text", ["", "  \n\t ", "\0", " \0 "])
def test_a_blank_text_is_not_remembered(db: Recollection, text: str) -> None:
    with pytest.raises(InputError, match="blank"):
        db.add(text)

    assert db.stats().memories == 0


def test_a_field_that_a_memory_does_not_have_is_an_error(db: Recollection) -> None:
    with pytest.raises(InputError, match="unexpected keyword"):
        db.add("a thing", colour="red")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("type", 3),
        ("tags", [3]),
        ("confidence", "high"),
        ("line", "three"),
        ("observed_at", 2026),
        ("metadata", 7),
        ("external_id", 7),
    ],
)
def test_a_field_of_the_wrong_kind_is_an_error_that_names_it(db: Recollection, name: str, value: object) -> None:
    with pytest.raises(InputError, match="cannot be") as caught:
        db.add("a thing", **{name: value})

    assert name.removesuffix("s") in str(caught.value)
    assert caught.value.hint
    assert db.stats().memories == 0


def test_a_date_without_a_zone_is_taken_for_utc(db: Recollection) -> None:
    naive = NOON.replace(tzinfo=None)

    row = db.add("a thing", observed_at=naive).id
    db.add("another")

    assert db.show(row).memory.observed_at == NOON
    assert db.list().total == 2


def test_what_json_cannot_say_is_kept_as_text(db: Recollection) -> None:
    row = db.add("a thing", metadata={"share": float("nan"), "when": NOON, "deep": [float("inf")]}).id

    assert db.show(row).memory.metadata == {"share": "nan", "when": str(NOON), "deep": ["inf"]}


def test_many_are_remembered_or_none(db: Recollection) -> None:
    with pytest.raises(InputError, match="blank"):
        db.add_all([Memory(content="one"), Memory(content=" ")])

    assert db.stats().memories == 0


def test_every_error_of_ours_can_be_caught_by_one_name(tmp_path: Path) -> None:
    (tmp_path / "notes.db").mkdir()

    for wrong in (
        {"address": tmp_path / "notes.db"},
        {"address": "mysql://x"},
        {"address": ":memory:", "profile": "x"},
    ):
        with pytest.raises(RecollectError) as caught:
            recollect.open(**wrong)  # type: ignore[arg-type]

        assert caught.value.hint


def test_half_characters_and_nuls_are_kept_out_of_the_store(db: Recollection) -> None:
    kept = db.add("half \ud800 a\0b", title="t\udfff", tags=["x\0y"], metadata={"k\ud800": ["v\0"]})

    memory = db.show(kept.id).memory

    for text in (memory.content, memory.title, *memory.tags, *memory.metadata, str(memory.metadata)):
        text.encode("utf-8")
        assert "\0" not in text
    assert [hit.id for hit in db.search("half").hits] == [kept.id]


# --- projects, filters of a task, the log, old vectors --------------------------------------


def test_a_view_of_one_project_reads_and_writes_only_there(db: Recollection) -> None:
    theirs = db.add("theirs", project="theirs").id

    view = db.in_project("mine")
    mine = view.add("mine").id

    assert [memory.id for memory in view.list().memories] == [mine]
    assert {memory.id for memory in db.list().memories} == {theirs, mine}
    assert (view.project, db.project) == ("mine", None)
    with pytest.raises(InputError, match="no memory has the id"):
        view.forget(theirs)


@pytest.mark.req("O-23")
def test_a_task_is_told_only_what_its_filters_admit(db: Recollection) -> None:
    decision = db.add("Retries back off with jitter", type="decision", tags=["net"]).id
    gotcha = db.add("Retries back off in the tests too", type="gotcha", tags=["ci"]).id

    def told(**filters: tuple[str, ...]) -> set[int]:
        return set(db.inject("retries back off", where=Filter(**filters)).ids)

    assert told() == {decision, gotcha}
    assert told(types=("decision",)) == told(tags=("net",)) == {decision}
    assert told(types=("gotcha",), tags=("net",)) == set()
    assert db.inject("retries back off", only_tag="net").ids == (decision,)
    assert db.inject("retries back off", type="gotcha").ids == (gotcha,)


@pytest.mark.req("C-24")
def test_a_search_answers_before_its_entry_in_the_log_is_written(
    db: Recollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.add("We ship on Tuesday")
    gate, write = threading.Event(), type(db.store).log_recall

    def slow(store: Store, recalls: Sequence[Recall]) -> None:
        assert gate.wait(300), "the search waits for its log"
        write(store, recalls)

    monkeypatch.setattr(type(db.store), "log_recall", slow)

    reply = db.search("ship", session="s")
    before = db.store.recalls(scope=ALL_PROJECTS, limit=9)
    gate.set()
    db.flush()

    assert reply.hits
    assert before == ()
    assert [recall.query for recall in db.log.recent(session="s")] == ["ship"]


@pytest.fixture
def two_models(tmp_path: Path) -> Iterator[Callable[[str], Recollection]]:
    """Open one store with either of two small models."""
    opened: list[Recollection] = []

    class Small(Models):
        def named(self, name: str) -> Embedder | None:
            sizes = {"old": 64, "new": 128}
            return HashingEmbedder(dimensions=sizes[name]) if name in sizes else None

    def open_with(name: str) -> Recollection:
        store = open_store(str(tmp_path / "notes.db"), analyse)
        opened.append(Recollection(store=store, profile=load_profile("default"), models=Small(name=name)))
        return opened[-1]

    yield open_with
    for db in opened:
        db.close()


def test_vectors_of_a_model_no_longer_in_use_are_named_and_dropped(
    two_models: Callable[[str], Recollection],
) -> None:
    old = two_models("old")
    old.add("We ship on Tuesday")
    new = two_models("new")

    with pytest.raises(InputError, match="1 memories have no vectors of the model in use yet"):
        new.prune_vectors()
    quiet = (old.doctor().advice, new.doctor().advice)
    new.embed()
    advice, dry = new.doctor().advice, new.prune_vectors(dry_run=True)
    told = answered(OPERATIONS["model"], new, {"action": "prune", "dry_run": True})
    kept = len(new.generations())
    dropped = new.prune_vectors()

    assert quiet == ((), ())
    assert advice == ("vectors of old are here and not in use; drop them: recollect model prune",)
    assert [each.model for each in dry] == [each.model for each in dropped] == ["old"]
    assert told.text() == "would drop the vectors of old (1 memories)"
    assert serialize(told.value)["dropped"] == [{"model": "old", "dimensions": 64, "memories": 1, "pending": 0}]
    assert (kept, [each.model for each in new.generations()]) == (2, ["new"])
    assert new.doctor().healthy
    assert new.prune_vectors() == ()
    assert [hit.memory.content for hit in new.search("ship", mode="semantic").hits] == ["We ship on Tuesday"]


def test_without_a_model_in_use_no_vectors_are_dropped(db: Recollection) -> None:
    with pytest.raises(ModelError, match="no embedding model is chosen"):
        db.prune_vectors()
