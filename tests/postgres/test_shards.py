"""A store that is spread over shards answers as one in one place does, and loses nothing but what its shard loses."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from questions import verbs
from spread import schema_on, three_shards
from starlette.testclient import TestClient
from told import answer, called, public
from two_projects import MARK, OURS, THEIRS, fill_each, fill_two_projects, open_address
from walls import require_silent_method, require_silent_verb

from postgres_server import fresh_database, second_server
from recollect import Recollection
from recollect.errors import InputError, StoreError
from recollect.stores.choice import shards_of
from recollect.stores.contract import Store
from recollect.stores.postgres.shards import READS, WRITES
from recollect.surfaces.operations import OPERATIONS
from recollect.surfaces.schema import answers_schema
from recollect.surfaces.serialise import serialise
from recollect.surfaces.serve.guard import Rules
from recollect.surfaces.serve.http import build_app
from recollect.surfaces.serve.warm_store import WarmStore

ELSEWHERE = frozenset({"close", "in_project", "note", "notes", "put_note"})
"""What a project answers by itself."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with three_shards() as made:
        yield made


@pytest.fixture
def db(address: str) -> Iterator[Recollection]:
    with open_address(address) as opened:
        yield opened


def placed(db: Recollection) -> dict[str, str]:
    """Return the shard of each project."""
    directory = shards_of(db.store).directory
    names = {shard.number: shard.name for shard in directory.shards()}
    return {project: names[number] for number, held in directory.placements().items() for project in held}


def on_shard(db: Recollection, name: str, project: str) -> Recollection:
    """Return the view of a new *project* on the shard *name*."""
    shards_of(db.store).directory.place(project, name)
    return db.in_project(project)


# --- one store ------------------------------------------------------------------------------


def test_every_question_is_known_to_write_or_to_read() -> None:
    questions = {name for name in dir(Store) if not name.startswith("_")}

    assert questions == WRITES | READS | ELSEWHERE, "say in WRITES whether the new question places a project"
    assert not WRITES & READS


def test_what_is_not_known_to_read_is_refused_for_a_project_that_nobody_has_written_to(db: Recollection) -> None:
    unplaced = db.store.in_project("nobody wrote to this")

    with pytest.raises(InputError, match="nothing was written to it yet"):
        unplaced.engine  # type: ignore[attr-defined]  # noqa: B018  (whatever is written to it would be lost)

    assert "nobody wrote to this" not in placed(db)


def told_alike(text: str, folder: Path) -> str:
    """Return *text* without what differs from run to run: times, folders, secrets."""
    return re.sub(r'"total": [\d.]+|rct\.[\w.-]+', "…", text.replace(str(folder), "…"))


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Recollection, Path]]]:
    """Two projects on two shards of one store, and each by itself in a store in one place."""
    here, there = tmp_path_factory.mktemp("spread"), tmp_path_factory.mktemp("plain")
    plain = {THEIRS: fresh_database(), OURS: fresh_database()}
    with (
        three_shards() as made,
        open_address(made) as spread,
        open_address(plain[THEIRS]) as theirs,
        open_address(plain[OURS]) as ours,
    ):
        on_shard(spread, "c", OURS)
        fill_each(spread, spread, here)
        fill_each(theirs, ours, there)
        yield {"spread": (spread, here), THEIRS: (theirs, there), OURS: (ours, there)}


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - {"shards", "token"}))
def test_every_verb_answers_as_on_a_store_in_one_place(alike: dict[str, tuple[Recollection, Path]], name: str) -> None:
    spread, here = alike["spread"]
    for project in (OURS, THEIRS):
        plain, there = alike[project]
        for one, other in zip(verbs(here)[name], verbs(there)[name], strict=True):
            found = answer(OPERATIONS[name], spread, {**one, "project": project})
            expected = answer(OPERATIONS[name], plain, {**other, "project": project})

            assert told_alike(found, here) == told_alike(expected, there), one

    assert placed(spread) == {THEIRS: "a", OURS: "c"}


def test_nothing_is_answered_without_a_project(db: Recollection) -> None:
    for name in sorted(WRITES | READS - {"settle"}):
        if name != "transaction":
            with pytest.raises(InputError, match="spread over shards: name a project") as refusal:
                getattr(db.store, name)
            assert "--project" in refusal.value.hint
    with pytest.raises(InputError, match="spread over shards"):
        db.add("Of no project")


# --- placing --------------------------------------------------------------------------------


def test_reading_places_nothing_and_the_first_write_does(db: Recollection) -> None:
    nobody = db.in_project("nobody")

    assert nobody.search("anything").hits == ()
    assert nobody.stats().memories == 0
    assert "nobody" not in placed(db)

    row = nobody.add("Somebody after all").id

    assert "nobody" in placed(db)
    assert [hit.id for hit in nobody.search("somebody").hits] == [row]


def test_new_projects_go_to_the_shard_with_the_fewest_that_takes_any() -> None:
    with three_shards() as made, open_address(made) as db:
        for name in ("p1", "p2", "p3", "p4"):
            db.in_project(name).add("x")
        shards_of(db.store).directory.let("b", take=False)
        for name in ("p5", "p6", "p7"):
            db.in_project(name).add("x")

        assert placed(db) == {"p1": "a", "p2": "b", "p3": "c", "p4": "a", "p5": "c", "p6": "a", "p7": "c"}


WRITER = """
import sys
sys.path[:0] = sys.argv[3:]
from two_projects import open_address
with open_address(sys.argv[1]) as db:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(5):
        db.in_project(f"race{number}").add(f"Written by {sys.argv[2]}", external_id=sys.argv[2])
"""


def test_two_processes_that_place_the_same_projects_agree(db: Recollection, address: str) -> None:
    words = [sys.executable, "-c", WRITER, address]
    running = [
        subprocess.Popen([*words, name, *sys.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
        for name in ("one", "other")
    ]
    for each in running:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"

    for each in running:
        each.communicate("go\n", timeout=60)

    assert [each.returncode for each in running] == [0, 0]
    for number in range(5):
        found = db.in_project(f"race{number}").list().memories
        assert sorted(str(memory.external_id) for memory in found) == ["one", "other"]


def test_a_view_that_was_made_before_its_project_was_placed_finds_it(db: Recollection, address: str) -> None:
    early = db.in_project("late")
    assert early.list().memories == ()

    with open_address(address) as other:
        on_shard(other, "c", "late").add("Written by another process")

    assert [memory.content for memory in early.list().memories] == ["Written by another process"]


# --- walls ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Recollection, Path]]:
    folder = tmp_path_factory.mktemp("walled")
    with three_shards() as made:
        fill_two_projects(made, folder)
        with open_address(made) as opened:
            yield opened, folder


@pytest.fixture
def walled(filled: tuple[Recollection, Path]) -> tuple[Recollection, Path]:
    """The two projects; what one of them was asked before, in words of the other, is forgotten."""
    filled[0].in_project(OURS).prune_log(max_size=0.0)
    return filled


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_no_verb_tells_of_another_shard_or_changes_it(walled: tuple[Recollection, Path], name: str) -> None:
    require_silent_verb(*walled, name)


@pytest.mark.parametrize("name", sorted(public(Recollection) - {"close"}))
def test_no_method_tells_of_another_shard_or_changes_it(walled: tuple[Recollection, Path], name: str) -> None:
    require_silent_method(*walled, name, echoes=f"session{MARK}")  # a session of its own, called alike


def test_a_secret_in_a_name_is_one_name_whatever_shard_asks(db: Recollection) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    one, other = on_shard(db, "a", "keys"), on_shard(db, "c", "locks")

    names = [view._named(f"of {secret}") for view in (one, other, db)]  # noqa: SLF001

    assert len(set(names)) == 1
    assert secret not in str(names)


# --- a server -------------------------------------------------------------------------------


def test_a_server_routes_by_token_and_by_request_and_its_caches_do_not_mix(address: str) -> None:
    with open_address(address) as db, WarmStore(db) as warm:
        for name, project in (("a", "left"), ("c", "right")):
            on_shard(db, name, project).add(f"The lamp of {project}")
        bound = db.create_token(name="left", project="left").secret
        free = db.create_token(name="free").secret
        client = TestClient(build_app(warm, Rules(needs_token=True)), base_url="http://localhost")

        def ask(token: str, **more: str) -> Any:
            told = {"Authorization": f"Bearer {token}"}
            return client.get("/api/v1/search", params={"query": "lamp", **more}, headers=told)

        for _ in range(2):
            assert [hit["memory"]["content"] for hit in ask(bound).json()["hits"]] == ["The lamp of left"]
            for project in ("left", "right"):
                found = ask(free, project=project).json()["hits"]
                assert [hit["memory"]["content"] for hit in found] == [f"The lamp of {project}"]
        db.in_project("right").add("A second lamp, on the right")

        assert len(ask(free, project="right").json()["hits"]) == 2
        assert len(ask(free, project="left").json()["hits"]) == 1
        assert ask(bound, project="right").status_code == 403
        refused = ask(free)
        assert refused.status_code == 400
        assert "spread over shards" in refused.text
        told = {"Authorization": f"Bearer {free}"}
        forget = {"id": db.in_project("right").list().memories[0].id, "project": "right"}
        assert client.post("/api/v1/forget", json=forget, headers=told).status_code == 403  # an agent, the owner's word
        nobody = ask(free, project="unplaced")
        assert nobody.json()["hits"] == []
        assert "unplaced" not in placed(db)


# --- a shard that is gone -------------------------------------------------------------------


def test_one_dead_server_leaves_the_others_alone_and_comes_back_by_itself(address: str) -> None:
    with open_address(address) as db:
        alive, gone = on_shard(db, "a", "alive"), on_shard(db, "c", "gone")
        unopened = on_shard(db, "c", "unopened")
        alive.add("The alive one")
        gone.add("The one that goes")
        second_server().kill()
        try:
            with ThreadPoolExecutor(2) as threads:
                waiting = threads.submit(called, gone.search, ("one",), {})
                for number in range(5):
                    alive.add(f"Number {number}", external_id=str(number))
                    assert alive.search("alive").hits[0].memory.content == "The alive one"
                told = waiting.result(60)
            for write in (gone, unopened):
                with pytest.raises(StoreError, match="cannot reach"):
                    write.add("lost?")
            with open_address(address) as fresh:
                assert fresh.in_project("alive").stats().memories == 6
                with pytest.raises(StoreError, match="cannot reach"):
                    fresh.in_project("gone").stats()
                shown = answer(OPERATIONS["shards"], fresh, {})
        finally:
            second_server().start()

        assert "cannot reach" in told
        assert "is the server running?" in told
        assert [each["error"] is None for each in json.loads(shown.splitlines()[0])["shards"]] == [True, True, False]
        assert back(gone) == ["The one that goes"]


def test_projects_whose_place_is_known_go_on_without_the_directory() -> None:
    with open_address(f"{second_server().url()}&directory=directory_{os.getpid()}") as db:
        shards_of(db.store).add("only", fresh_database())
        known = db.in_project("known")
        known.add("Before")
        second_server().kill()
        try:
            known.add("Meanwhile", external_id="meanwhile")
            found = [memory.content for memory in known.list().memories]
            with pytest.raises(StoreError, match="cannot reach"):
                db.in_project("unknown").add("Where to?")
        finally:
            second_server().start()

    assert sorted(found) == ["Before", "Meanwhile"]


def back(view: Recollection) -> list[str]:
    """Return what *view* holds; a server that has just started is asked again for a while, as a caller would."""
    for _ in range(100):
        try:
            return [memory.content for memory in view.list().memories]
        except StoreError:
            time.sleep(0.1)
    return []


# --- the verb -------------------------------------------------------------------------------


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RECOLLECT_MODEL": "none"}
    command = [sys.executable, "-m", "recollect", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)  # noqa: S603


def test_the_verbs_make_a_spread_store_out_of_one_in_one_place() -> None:
    old = fresh_database()
    spread = f"{old}&directory=the_directory"
    with open_address(old) as db:
        db.in_project("web").add("The web was here before")

    told = [
        run("--db", spread, "shards"),
        run("--db", spread, "shards", "add", "one", old),
        run("--db", spread, "shards", "add", "two", schema_on(second_server())),
        run("--db", spread, "--project", "app", "add", "The app came later"),
        run("--db", spread, "shards", "place", "shop", "two"),
        run("--db", spread, "shards", "place", "shop", "one"),
        run("--db", spread, "--project", "web", "search", "web", "--json"),
        run("--db", spread, "search", "web"),
        run("--db", spread, "--project", "web", "shards"),
        run("--db", spread, "move", spread, old),
    ]
    listed = json.loads(run("--db", spread, "shards", "--json").stdout)["shards"]

    assert [each.returncode for each in told] == [1, 0, 0, 0, 0, 2, 0, 2, 2, 2], [each.stderr for each in told]
    assert [(each["name"], each["projects"]) for each in listed] == [("one", ["web"]), ("two", ["app", "shop"])]
    assert json.loads(told[6].stdout)["hits"][0]["memory"]["content"] == "The web was here before"
    assert "shop lives on the shard two" in told[5].stderr
    assert "--project" in told[7].stderr


def test_what_the_verb_answers_is_what_is_published() -> None:
    checker = Draft202012Validator({**answers_schema(strict=True), "$ref": "#/$defs/shards"})
    asked: list[dict[str, str]] = [
        {},
        {"action": "add", "name": "d", "where": schema_on(second_server())},
        {"action": "place", "name": "web", "where": "d"},
        {"action": "close", "name": "d"},
        {"action": "open", "name": "d"},
    ]
    with three_shards() as made, open_address(made) as db:
        told = [serialise(OPERATIONS["shards"].answer(db, values).value) for values in asked]

    assert [[fault.message for fault in checker.iter_errors(json.loads(json.dumps(each)))] for each in told] == [[]] * 5
    assert [each["open"] for each in told[1:]] == [True, True, False, True]


@pytest.mark.parametrize(
    ("name", "more", "told"),
    [
        ("d", "&password=hush1234", "keeps no passwords"),
        ("d", "&sslpassword=hush1234", "keeps no passwords"),
        ("d", "&directory=other", "a shard is a schema"),
        ("a", "&schema=fresh", "is the shard a"),
        ("d", "&schema=second", "is the shard b"),
        ("d", "&schema=recollect_directory", "of another kind"),
    ],
)
def test_what_cannot_be_a_shard_is_refused(db: Recollection, address: str, name: str, more: str, told: str) -> None:
    before = shards_of(db.store).directory.shards()

    with pytest.raises(InputError, match=told) as refusal:
        shards_of(db.store).add(name, address.replace("&directory=recollect_directory", more))

    assert "hush1234" not in f"{refusal.value} {refusal.value.hint}"
    assert shards_of(db.store).directory.shards() == before


def test_a_shard_whose_server_moved_is_added_again_under_its_name(db: Recollection, address: str) -> None:
    directory = shards_of(db.store).directory
    old = directory.shards()[0].address
    on_shard(db, "a", "moved").add("Found at both addresses")

    shards_of(db.store).add("a", f"{old}&connect_timeout=9")

    with open_address(address) as other:
        assert directory.shards()[0].address == f"{old}&connect_timeout=9"
        assert other.in_project("moved").stats().memories == 1
    shards_of(db.store).add("a", old)


def test_a_schema_with_a_project_that_lives_elsewhere_is_refused(db: Recollection) -> None:
    other = schema_on(second_server())
    on_shard(db, "a", "twice").add("Here")
    with open_address(other) as plain:
        plain.in_project("twice").add("There")

    with pytest.raises(InputError, match="hold the project twice"):
        shards_of(db.store).add("d", other)

    assert {shard.name for shard in shards_of(db.store).directory.shards()} == {"a", "b", "c"}


def test_a_store_in_one_place_is_no_directory_and_a_directory_no_store(address: str, tmp_path: Path) -> None:
    plain = fresh_database()

    with pytest.raises(InputError, match="of another kind"):
        open_address(f"{plain}&directory=recollect")
    with pytest.raises(InputError, match="of another kind"):
        open_address(address.replace("directory=", "schema="))
    with open_address(str(tmp_path / "notes.db")) as db, pytest.raises(InputError, match="not a sharded store"):
        shards_of(db.store)
