"""What a server keeps between requests: answers for 30 seconds, frequent queries warm, no model that is not there."""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from mcp.client import Client
from served import Served, opened, serving

import recollect
from local_server import Answer
from local_server import serving as answering
from recollect import Recollection
from recollect.surfaces.serve.dispatcher import OWNER, Dispatcher
from recollect.surfaces.serve.mcp_server import build_server
from recollect.surfaces.serve.warm_store import WarmStore
from tiny_models import write_model

# --- a server without a model ---------------------------------------------------------------


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Served]:
    """A server whose model is not installed yet: it belongs into the folder `mine`."""
    with recollect.open(tmp_path / "store.db", model=str(tmp_path / "mine"), background=True) as db:
        db.add("We deploy on Fridays")
        with serving(db) as served:
            yield served


def install_model(tmp_path: Path) -> None:
    write_model(tmp_path / "made").rename(tmp_path / "mine")


@pytest.mark.req("E-02", "E-03")
def test_a_store_without_a_model_answers_equal_searches_from_memory(bare: Served) -> None:
    told = [bare.ask("GET", "/api/v1/search?query=deploy").value["degraded"] for _ in range(20)]

    assert told == ["no_model"] * 20
    assert bare.warm.answers.executed == 1


@pytest.mark.req("E-03")
def test_a_model_that_is_installed_later_answers_over_http_at_once(bare: Served, tmp_path: Path) -> None:
    before = bare.ask("GET", "/api/v1/search?query=deploy")
    install_model(tmp_path)

    after = bare.ask("GET", "/api/v1/search?query=deploy", If_None_Match=before.headers["etag"])

    assert before.value["degraded"] == "no_model"
    assert after.status == 200
    assert after.value["degraded"] != "no_model"


def test_a_model_that_is_installed_later_answers_over_mcp_at_once(tmp_path: Path) -> None:
    async def ask(db: Recollection) -> list[str | None]:
        async with Client(build_server(Dispatcher(db), OWNER)) as client:
            before = await client.call_tool("search", {"query": "deploy", "everything": True})
            install_model(tmp_path)
            after = await client.call_tool("search", {"query": "deploy", "everything": True})
        return [each.structured_content.get("note") for each in (before, after)]

    with recollect.open(tmp_path / "store.db", model=str(tmp_path / "mine"), background=True) as db:
        db.add("We deploy on Fridays", embed=False)
        before, after = asyncio.run(ask(db))

    assert before is not None
    assert after is None


def test_a_damaged_model_is_tried_again_when_it_was_replaced_and_not_before(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with recollect.open(":memory:", model=str(tmp_path / "mine")) as db:
        damaged = [db.models.current(), db.models.current()]
        notice = db.models.notice
        shutil.rmtree(tmp_path / "mine")
        install_model(tmp_path)
        repaired = db.models.current()

        assert (damaged, bool(notice)) == ([None, None], True)
        assert repaired is not None
        assert db.models.notice == ""


# --- tags -----------------------------------------------------------------------------------


def test_an_answer_of_a_model_that_failed_is_not_cached(tmp_path: Path) -> None:
    with (
        answering(lambda _: Answer(status=400)) as model,
        recollect.open(tmp_path / "s.db", model=f"{model}/v1#model=words&dimensions=64", background=True) as db,
        serving(db) as served,
    ):
        db.add("We deploy on Fridays", embed=False)
        failed = served.post("search", query="deploy")

    assert failed.value["degraded"] == "model_failed"
    assert len(served.warm.answers) == 0


def test_a_date_that_moves_with_the_clock_gets_another_tag_when_its_answer_changes(tmp_path: Path) -> None:
    now = [datetime(2026, 5, 4, 12, tzinfo=UTC)]
    with recollect.open(tmp_path / "s.db", model="none", clock=lambda: now[0]) as db, serving(db) as served:
        db.add("We deploy on Fridays")
        first = served.ask("GET", "/api/v1/list?since=1h")
        again = served.ask("GET", "/api/v1/list?since=1h", If_None_Match=first.headers["etag"])
        now[0] += timedelta(hours=2)
        later = served.ask("GET", "/api/v1/list?since=1h", If_None_Match=first.headers["etag"])

    assert (len(first.value["memories"]), again.status) == (1, 304)
    assert (later.status, later.value["memories"]) == (200, [])


# --- warming --------------------------------------------------------------------------------


@pytest.mark.req("E-16")
def test_searches_answered_from_the_cache_count_as_asked(server: Served) -> None:
    for _ in range(5):
        server.ask("GET", "/api/v1/search?query=deploy")
    server.ask("GET", "/api/v1/search?query=staging&limit=3&explain=true")
    server.db.add("We deploy twice a day now")

    server.warm.answers.warm()

    assert (server.warm.answers.hits, server.warm.answers.executed) == (4, 2 + 1)


@pytest.mark.req("E-16")
def test_a_server_runs_a_warmer_until_it_stops() -> None:
    def warmers() -> list[str]:
        return [each.name for each in threading.enumerate() if each.name == "recollect-warmer"]

    with opened() as db, WarmStore(db):
        running = warmers()

    assert (running, warmers()) == (["recollect-warmer"], [])
