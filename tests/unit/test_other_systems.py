"""The program needs no module, call or constant that only POSIX systems have to open, write and search a store."""

import subprocess
import sys
from pathlib import Path

WITHOUT_POSIX = """
import os, signal, socket, subprocess, sys, types
import apsw, asyncio, ctypes, faiss, multiprocessing, numpy, platformdirs, shutil, tempfile, uuid

HIDDEN = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}


class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name in HIDDEN:
            raise ModuleNotFoundError(f"this system has no {name}", name=name)


for name in HIDDEN:
    sys.modules.pop(name, None)
for name in ("fork", "getuid", "pread", "register_at_fork", "sched_getaffinity", "O_NOFOLLOW", "O_NONBLOCK"):
    delattr(os, name)
del signal.SIGHUP, socket.AF_UNIX
sys.meta_path.insert(0, Refuse())
sys.modules["msvcrt"] = types.SimpleNamespace(locking=lambda *_: None, LK_NBLCK=2, LK_LOCK=1)
sys.platform = "win32"
"""
STORE = """
from pathlib import Path

import recollect
from recollect.files import open_regular, read_at
from recollect.surfaces.cli import main

place = sys.argv[1]
drafts = [recollect.Memory(content=f"Note {n} is about the ship {n}", external_id=str(n)) for n in range(2_200)]
with recollect.open(place, model="hashing") as db:
    db.add_all(drafts)
    db.store.settle()
with recollect.open(place, model="hashing") as db:
    assert db.search("ship 1999", mode="keyword").hits[0].memory.external_id == "1999"
    assert db.search("ship 1999").hits
    assert db.doctor(deep=True).problems == ()
handle = open_regular(Path(place))
assert read_at(handle, 6, 7) == b"format"
os.close(handle)
main(["--db", place, "--model", "none", "search", "ship 7", "--limit", "1"])
"""
EVERY_MODULE = """
import importlib, pkgutil
import recollect

for each in pkgutil.walk_packages(recollect.__path__, "recollect."):
    if not each.name.endswith("__main__"):
        importlib.import_module(each.name)
"""


def run(script: str, *words: str, libraries: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", libraries + WITHOUT_POSIX + script, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603


def test_a_store_is_written_searched_and_checked_without_what_only_posix_has(tmp_path: Path) -> None:
    done = run(STORE, str(tmp_path / "notes.db"), libraries="import click")

    assert (done.returncode, done.stderr) == (0, "")
    assert "Note 7 is about the ship 7" in done.stdout


def test_every_module_loads_without_what_only_posix_has() -> None:
    done = run(EVERY_MODULE, libraries="import anyio, click, mcp, starlette.applications, uvicorn")

    assert (done.returncode, done.stderr) == (0, "")
