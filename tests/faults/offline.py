"""A life under the guard: import, add, search by meaning, embed, inject, and seconds of waiting with the model loaded.

Run as a script it lives that life and tells in a line of JSON which files it wrote; a socket would have ended it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import demands
from guard import KILLED, install, recorded_writes, seal
from row import Progress, Row, silent

ROOT = Path(__file__).parents[2]
SECONDS = 15.0
PYTHON_SOCKET = "import guard, socket; guard.install(); socket.socket(socket.AF_INET6)"
NATIVE_SOCKET = "import guard, ctypes; guard.install(); ctypes.CDLL(None).socket(2, 1, 0)"
NATIVE_LOOKUP = "import guard, socket; guard.install(); socket.getaddrinfo('example.invalid', 443)"
NATIVE_WRITE = """
import ctypes, guard, pathlib
sealed = guard.seal(pathlib.Path("inside").resolve())
libc = ctypes.CDLL(None)
print(sealed, libc.creat(b"inside/file", 0o600) >= 0, libc.creat(b"outside", 0o600) >= 0)
"""
LOCAL_SOCKET = "import guard, socket; guard.install(); socket.socket(socket.AF_UNIX); print('alive')"


def models() -> Path:
    """Return the folder of models; the one in it is needed."""
    folder = Path(os.environ.get("RECOLLECT_MODELS") or ROOT / ".models").absolute()
    if not (folder / "minilm" / "model.toml").exists():
        raise FileNotFoundError(f"no model in {folder}; make test installs it")
    return folder


# --- the life -----------------------------------------------------------------------------------


def main(folder: str, seconds: str) -> None:
    """Live with a store in *folder* for so many *seconds* after the model was loaded."""
    install()
    where = (Path(folder), models(), Path(tempfile.gettempdir()))
    seal(*where)
    writes = recorded_writes()
    live(Path(folder), float(seconds))
    sys.stdout.write(json.dumps(writes.outside(*where)) + "\n")


def live(folder: Path, seconds: float) -> None:
    """Do what an agent does all day."""
    import recollect  # noqa: PLC0415  (only once the guard stands)

    notes = folder / "notes"
    notes.mkdir()
    for number in range(5):
        (notes / f"{number}.md").write_text(f"# Part {number}\n\nThe router of building {number} restarts at night.\n")
    with recollect.open(folder / "store.db", model="minilm") as db:
        db.import_(notes)
        until = time.monotonic() + seconds
        db.add("We ship on Tuesday because the support team is complete")
        db.embed()
        answer = db.search("on which weekday do we release")
        if answer.degraded or not answer.hits:
            raise AssertionError(f"no search by meaning: {answer.degraded}")
        db.inject("prepare the release", session="offline")
        while time.monotonic() < until:
            time.sleep(1)
            db.search("when do the routers restart")


# --- around it ------------------------------------------------------------------------------------


def run(*words: str, cwd: Path, **surroundings: str) -> "subprocess.CompletedProcess[str]":
    """Run Python with the guard at hand, and nothing of the user's surroundings but where Python finds things."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
    path = os.pathsep.join(filter(None, (str(Path(__file__).parent), kept.get("PYTHONPATH", ""))))
    return subprocess.run(  # noqa: S603
        [sys.executable, *words],
        cwd=cwd,
        env={**kept, **surroundings, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def guard_failures(cwd: Path) -> Iterator[str]:
    """Say where the guard itself does not do what it is for."""
    attempts = {"Python": PYTHON_SOCKET, "native code": NATIVE_SOCKET, "a name's lookup": NATIVE_LOOKUP}
    for who, code in attempts.items():
        done = run("-c", code, cwd=cwd)
        if done.returncode != KILLED:
            yield f"the guard does not end a process when {who} opens a socket: {done.returncode} {done.stderr[-300:]}"
    (cwd / "inside").mkdir()
    wrote = run("-c", NATIVE_WRITE, cwd=cwd).stdout
    if wrote not in ("True True False\n", "False True True\n"):
        yield f"the guard does not keep native code from writing elsewhere: {wrote}"
    done = run("-c", LOCAL_SOCKET, cwd=cwd)
    if done.stdout != "alive\n":
        yield f"the guard ends a process without a reason: {done.returncode} {done.stderr[-300:]}"


def life_failures(root: Path, seconds: float) -> Iterator[str]:
    """Say what an offline life did that it should not."""
    places = {name: root / name for name in ("store", "home", "temporary", "here")}
    for place in places.values():
        place.mkdir()
    done = run(
        __file__,
        str(places["store"]),
        str(seconds),
        cwd=places["here"],
        HOME=str(places["home"]),
        TMPDIR=str(places["temporary"]),
        RECOLLECT_CONFIG="",
        RECOLLECT_MODELS=str(models()),
    )
    if done.returncode == KILLED:
        yield "a socket was opened, and the guard ended the process"
    elif done.returncode:
        yield f"the process ended with {done.returncode}: {done.stderr.strip()[-300:]}"
    else:
        yield from (f"Python wrote to {path}" for path in json.loads(done.stdout))
    for name in ("home", "here"):
        yield from (
            f"written to the {name} folder: {path.relative_to(root)}" for path in sorted(places[name].rglob("*"))
        )


def row(*, seconds: float = SECONDS, progress: Progress = silent) -> Row:
    """Prove the guard, then live under it for so many *seconds*."""
    progress(0, 1)
    with tempfile.TemporaryDirectory() as name:
        broken = list(guard_failures(Path(name)))
        found = list(life_failures(Path(name).resolve(), seconds))
    return Row(
        title="Offline",
        done="A process that the kernel ends at any socket but a local one, of Python or of native code (seccomp; "
        "shown on a socket of Python, one of the C library, the lookup of a name) imports, adds, embeds, searches by "
        f"words and meaning with the installed model, injects, and lives on for {seconds:.0f} s; the kernel lets it "
        "write only to the store, the models and the temporary folder (Landlock, shown on a file that native code "
        "makes), and its home and working folder are empty before and after",
        lost=f"{len(found)} sockets or files outside the store, the models and the temporary folder",
        unproven="A local service asked over a socket of this machine is not seen, nor what happens after more than "
        "these seconds; on a kernel without Landlock, only Python's writes and the home and working folder are looked "
        "at. A server that the user names as embedder is asked, of course.",
        failures=(*broken, *(found if demands.OFFLINE else ())),
        known=() if demands.OFFLINE else tuple(found),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
