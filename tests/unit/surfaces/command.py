"""Commands as tests run them: in this process, or as a process of their own."""

import io
import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from recollect.operations.answer import Operation
from recollect.operations.request import Parameter
from recollect.surfaces.cli import main
from screen import COMMAND, on_a_screen, surroundings

__all__ = ["COMMAND", "Ran", "Run", "apart", "commands", "inside", "on_a_screen", "on_a_terminal", "surroundings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The error it wrote as JSON, which is all that it wrote."""
        assert self.out == ""
        return json.loads(self.err)["error"]


Run = Callable[..., Ran]


def inside(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return how to run a command in this process."""

    def run(*words: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main(words)
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
        said = capsys.readouterr()
        return Ran(code=code, out=said.out, err=said.err)

    return run


def apart(*words: str, folder: Path, **more: str) -> Ran:
    """Run a command as a process on the store in *folder*."""
    done = subprocess.run(  # noqa: S603
        [*COMMAND, *words], capture_output=True, check=False, env=surroundings(folder, more)
    )
    return Ran(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())


def on_a_terminal(*words: str, folder: Path, typed: str | None = None, **more: str) -> tuple[int, str]:
    """Run a command with a terminal for standard error; return its exit code and what it drew there.

    Where something is *typed*, the terminal is standard input too.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(  # noqa: S603
        [*COMMAND, *words],
        stdin=subprocess.DEVNULL if typed is None else theirs,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=surroundings(folder, more),
    )
    os.close(theirs)
    os.write(ours, (typed or "").encode())
    drawn = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(ours)
    return process.wait(), drawn.decode()


# --- any command, by the table --------------------------------------------------------------


def arguments(parameter: Parameter, folder: Path, text: str) -> list[list[str]]:
    """Return what to give for *parameter*: by its kind, so that a new verb needs nothing here."""
    if parameter.kind == "choice":
        return [[choice] for choice in parameter.choices]
    if parameter.kind == "paths":
        return [[str(path) for path in sorted(folder.glob("*.[mj]*"))]]
    return [["1"]] if parameter.kind in ("number", "float") else [[text]]


def commands(operation: Operation, folder: Path, text: str) -> Iterator[list[str]]:
    """Yield the command with each choice of its arguments, and with each of its options that take text."""
    placed = [each for each in operation.parameters if each.place]
    for some in islice(product(*(arguments(each, folder, text) for each in placed)), 12):
        yield [operation.name, *(word for words in some for word in words)]
    words = [word for each in placed for word in arguments(each, folder, text)[0]]
    for option in operation.parameters:
        name = f"--{option.name.strip('_').replace('_', '-')}"
        if not option.place and option.kind == "flag":
            yield [operation.name, name, *words]
        elif not option.place:
            yield [operation.name, name, arguments(option, folder, text)[0][0], *words]
