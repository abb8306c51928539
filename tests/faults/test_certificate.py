"""The certificate in short: each of its rows with fewer cases. `make certificate` does all of them."""

import random
from pathlib import Path

import boundaries
import damage
import document_bombs
import erasure
import hostile_files
import hostile_queries
import offline
import pytest
import refusals
import silent_clients
import writers
from disk import Disk
from faulty_files import Change
from workloads import WORKLOADS

import recollect


def test_a_crash_or_a_power_loss_at_any_write_loses_nothing_acknowledged() -> None:
    row = boundaries.row(most=6, torn=1)

    assert row.failures == ()


def test_a_disk_that_fails_or_is_full_costs_one_clear_error() -> None:
    row = refusals.row(most=3)

    assert row.failures == ()


def test_writers_killed_at_random_lose_nothing_acknowledged() -> None:
    row = writers.killed(rounds=2)

    assert row.failures == ()


def test_many_processes_share_one_file_by_all_verbs() -> None:
    row = writers.crowded(seconds=2)

    assert row.failures == ()


def test_a_damaged_store_never_ends_in_a_traceback() -> None:
    row = damage.row(cases=4, commands=1)

    assert row.failures == ()


def test_hostile_queries_get_an_answer_or_an_error_of_ours() -> None:
    row = hostile_queries.row(queries=500)

    assert row.failures == ()


def test_document_bombs_end_in_one_line_and_the_next_document_is_read() -> None:
    row = document_bombs.row()

    assert row.failures == ()


def test_hostile_files_are_refused_and_the_rest_is_taken() -> None:
    row = hostile_files.row(size=5_000, together=True)

    assert row.failures == ()


def test_what_is_erased_leaves_no_byte() -> None:
    row = erasure.row(rounds=1, most=8)

    assert row.failures == ()


def test_nothing_leaves_the_machine() -> None:
    row = offline.row(seconds=2)

    assert row.failures == ()


def test_silent_clients_do_not_keep_the_owner_waiting() -> None:
    row = silent_clients.row(clients=300)

    assert row.failures == ()


# --- the certificate would notice ---------------------------------------------------------------


def test_a_store_that_does_not_wait_for_the_disk_is_found_out(tmp_path: Path) -> None:
    recording = boundaries.record(WORKLOADS[0], tmp_path / "run")
    careless = boundaries.without_syncs(recording)

    found = boundaries.end_everywhere(careless, tmp_path / "look", every=10)

    assert found.failures


def test_a_store_that_loses_a_memory_is_found_out(tmp_path: Path) -> None:
    recording = boundaries.record(WORKLOADS[0], tmp_path / "run")
    (last,) = [ended for ended in boundaries.ends(recording) if ended.end == "crash"][-1:]
    earlier = next(ended for ended in boundaries.ends(recording) if ended.acknowledged == 2)
    swapped = boundaries.Ended(end=last.end, boundary=0, acknowledged=last.acknowledged, files=earlier.files)

    assert boundaries.look(last, recording, tmp_path / "look") == []
    assert boundaries.look(swapped, recording, tmp_path / "look") != []


def test_a_memory_that_a_writer_spoke_of_and_is_not_there_is_found_out(tmp_path: Path) -> None:
    path, ledger = tmp_path / "store.db", writers.Ledger()
    ledger.read(["begin live k1\n", "done live k1 1\n", "begin live k2\n"])
    recollect.open(path, model="none").close()

    assert list(writers.complaints(path, ledger)) == ["k1 is None, not {'live'}"]


@pytest.mark.parametrize(
    ("changes", "crash", "power"),
    [
        ([Change(kind="write", name="a", data=b"new", at=0)], {"a": b"new"}, {"a": b"old"}),
        (
            [Change(kind="write", name="a", data=b"new", at=0), Change(kind="sync", name="a")],
            {"a": b"new"},
            {"a": b"new"},
        ),
        ([Change(kind="truncate", name="a", at=1)], {"a": b"o"}, {"a": b"old"}),
        ([Change(kind="delete", name="a")], {}, {"a": b"old"}),
        ([Change(kind="delete", name="a", folder=True)], {}, {}),
        ([Change(kind="write", name="b", data=b"x", at=2)], {"a": b"old", "b": b"\0\0x"}, {"a": b"old"}),
    ],
)
def test_a_disk_keeps_what_was_written_and_is_sure_of_what_was_synced(
    changes: list[Change], crash: dict[str, bytes], power: dict[str, bytes]
) -> None:
    disk = Disk({"a": b"old"})

    for change in changes:
        disk.make(change)

    assert disk.after_a_crash() == crash
    assert disk.after_power_loss() == power


def test_a_torn_file_is_made_of_old_and_new_sectors() -> None:
    disk = Disk({"a": b"o" * 2048})
    disk.make(Change(kind="write", name="a", data=b"n" * 2048, at=0))

    torn = {disk.after_torn_power_loss(random.Random(seed))["a"] for seed in range(200)}

    sectors = {file[at : at + 512] for file in torn for at in range(0, 2048, 512)}
    assert len(torn) == 16
    assert sectors == {b"o" * 512, b"n" * 512}
