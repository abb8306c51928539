"""What an address says, what is shown of it, and what a connection keeps to."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
from kit import answered, plain
from postgres_server import fresh_database
from recollect.errors import InputError, StoreBusy, StoreError
from recollect.serialize import serialize
from recollect.stores.choice import shown_address
from recollect.stores.postgres import engine_at, open_postgres
from recollect.stores.postgres.address import Address, read_address


def test_what_is_ours_is_taken_out_and_the_rest_is_the_drivers() -> None:
    told = read_address("postgresql://ida@db.example/notes?schema=web&sslmode=require&seconds=2.5&connections=4")

    assert told == Address(
        server="postgresql://ida@db.example/notes?sslmode=require", schema="web", seconds=2.5, connections=4
    )
    assert read_address("postgresql://h/d").schema == "recollect"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://h/d?schema=Web",
        "postgresql://h/d?schema=pg_catalog",
        "postgresql://h/d?schema=pg_toast",
        "postgresql://h/d?schema=information_schema",
        "postgresql://h/d?schema=a,b",
        "postgresql://h/d?seconds=-1",
        "postgresql://h/d?seconds=soon",
        "postgresql://h/d?connections=1",
        "postgresql://h/d?unknown=1",
        "postgresql://u:hush%zz@h/d",
    ],
)
def test_what_cannot_be_read_is_told_without_the_password(address: str) -> None:
    with pytest.raises(InputError) as refusal:
        read_address(address)

    assert "hush" not in f"{refusal.value} {refusal.value.hint}"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("notes.db", "notes.db"),
        (":memory:", ":memory:"),
        ("postgresql://h/d", "postgresql://h/d"),
        ("postgresql://ida:hush@h:5433/d", "postgresql://ida@h:5433/d"),
        ("postgresql://ida:hu/sh@h/d", "postgresql://ida@h/d"),
        ("postgresql://ida:hu@sh@h/d", "postgresql://ida@h/d"),
        ("postgresql://ida:hu?sh@h/d", "postgresql://…"),
        ("postgresql:///d?host=/run&password=hush&schema=web", "postgresql:///d?host=/run&schema=web"),
        ("postgresql://h/d?sslpassword=hush&passfile=hush", "postgresql://h/d"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    assert shown_address(address) == shown


def test_a_mistyped_address_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    for address in ("postgresql:/ida:hush@h/d", "postgres:d"):
        with pytest.raises(InputError, match="lacks a slash"):
            recollect.open(address)

    assert list(tmp_path.iterdir()) == []


def test_no_face_shows_the_password() -> None:
    address = fresh_database() + "&password=hush1234"

    with recollect.open(address, model="none") as db:
        from recollect.operations import OPERATIONS  # noqa: PLC0415

        told = [answered(OPERATIONS[name], db, {}) for name in ("init", "stats", "doctor")]
        texts = [each.text() for each in told]
        health = db.doctor()

    assert all("postgresql:///" in text for text in texts)
    assert "on the server: " in texts[1]
    assert told[1].value.bytes > 100_000
    assert "hush1234" not in f"{texts} {[serialize(each.value) for each in told]}"
    assert health.privacy[0].startswith("memories and what is searched for go to postgresql:///")
    assert not any("nothing that is stored" in line for line in health.privacy)


def run(*words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RECOLLECT_MODEL": "none", **env}
    command = [sys.executable, "-m", "recollect", *words]
    return subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)  # noqa: S603


def test_init_makes_the_schema_and_the_verbs_work_there() -> None:
    address = f"{fresh_database()}&schema=fresh&password=hush1234"

    told = [
        run("--db", address, "stats"),
        run("--db", address, "store", "init"),
        run("store", "init", "--json", RECOLLECT_DB=address),
        run("--db", address, "add", "The web team meets on Mondays"),
        run("--db", address, "search", "web team"),
        run("--db", address, "doctor"),
        run("--db", address.replace("schema=fresh", "schema=No"), "stats"),
    ]

    assert [each.returncode for each in told] == [0, 0, 0, 0, 0, 0, 2]
    assert told[1].stdout.endswith("schema=fresh is ready: 0 memories\n")
    assert "memories and what is searched for go to postgresql:///" in told[5].stdout
    assert "last backup: never" in told[5].stdout
    assert "hush1234" not in "".join(each.stdout + each.stderr for each in told)


def test_a_server_in_the_background_has_no_password_among_its_words(tmp_path: Path) -> None:
    password = secrets.token_hex(8)  # no other process of this machine has it among its words
    address = f"{fresh_database()}&password={password}"
    home = {"RECOLLECT_DB": address, "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}

    begun = run("daemon", "start", **home)
    words = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.is_file()]
    asked = [run(*each, **home) for each in (("add", "The web team meets on Mondays"), ("search", "web team"))]
    status, ended = run("daemon", "status", **home), run("daemon", "stop", **home)

    assert [each.returncode for each in (begun, *asked, status, ended)] == [0] * 5, begun.stderr
    assert not any(password.encode() in each for each in words)
    assert password not in "".join(each.stdout + each.stderr for each in (begun, *asked, status, ended))


def test_a_server_that_is_not_there_is_told_in_one_line() -> None:
    with pytest.raises(StoreError, match=r"cannot reach postgresql://127\.0\.0\.1/d") as refusal:
        open_postgres("postgresql://ida:hush1234@127.0.0.1:1/d", plain)

    assert "hush1234" not in f"{refusal.value} {refusal.value.hint}"


def test_schemas_of_one_database_are_stores_of_their_own() -> None:
    address = fresh_database()

    with recollect.open(f"{address}&schema=web", model="none") as web, recollect.open(address, model="none") as usual:
        web.add("The web team meets on Mondays")

        assert (web.stats().memories, usual.stats().memories) == (1, 0)
        assert usual.search("web team").hits == ()


def test_a_statement_that_takes_too_long_is_ended() -> None:
    engine = engine_at(f"{fresh_database()}&seconds=0.2")

    with pytest.raises(StoreBusy, match="took too long"), engine.session() as session:
        session.rows("select pg_sleep(30)")

    with engine.session() as session:
        assert session.value("select 1") == 1
    engine.close()


def test_backups_are_named_by_the_database_and_what_a_restore_replaces_is_kept_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    address = f"{fresh_database()}&password=hush1234"

    with recollect.open(address, model="none") as db:
        db.add("The web team meets on Mondays")
        made = db.backups.create_in(tmp_path / "copies", keep=2)
        db.add("Backups run at night")
        done = db.backups.restore(made.path)

        assert (done.memories, done.replaced, db.stats().memories) == (1, 2, 1)
        assert Path(str(done.aside)).parent == tmp_path / "home" / "recollect"
        assert Path(made.path).name.startswith("recollect_")
        assert "hush1234" not in f"{made} {done} {db.backups.last()}"
