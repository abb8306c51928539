#!/usr/bin/env python3
"""Move every value of the seed profiles, one at a time, and tell which moves no test of tests/profiles notices.

    python scripts/mutate_profiles.py [NAME ...]

Numbers are moved up and down by a hundredth (counts by one) and to zero, booleans are turned, names are swapped for
every other one allowed, entries and keys are removed. A move that the loader refuses or that it reads as the same
profile is none. The exit code is 1 when a move goes unnoticed, 2 when the tests cannot run.
"""

import json
import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import ProfileError
from recollect.profile import load_profile

TESTS = Path(__file__).parents[1] / "tests" / "profiles"
SHIPPED = Path(recollect.__file__).parent / "profiles"
QUIETLY = ("-o", "addopts=", "-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist")
SEEDS = ("cortex", "oro", "boocode", "nornicdb", "engram")

REMOVED = "removed"

Place = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A profile with the value at one place moved, or removed."""

    place: Place
    moved: str
    text: str

    @property
    def told(self) -> str:
        """What was moved, in words."""
        return f"{'.'.join(map(str, self.place))} {self.moved}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every profile that differs from the one in *path* by one move."""
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    original = load_profile(str(path))
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / path.name
        for mutant in _changes(values, trial):
            trial.write_text(mutant.text, encoding="utf-8")
            try:
                same = load_profile(str(trial)) == original
            except ProfileError:
                continue
            if not same:
                yield mutant


def _changes(values: dict[str, Any], trial: Path) -> Iterator[Mutant]:
    for place in _places(values, ()):
        value = _at(values, place)
        for moved in _moves(value) if not isinstance(value, str) else _names(values, place, trial):
            changed = _toml(_with(values, place, moved))
            yield Mutant(place=place, moved=f"= {moved!r} instead of {value!r}", text=changed)
        yield Mutant(place=place, moved=REMOVED, text=_toml(_without(values, place)))


def survivors(every: Sequence[Mutant], unnoticed: Sequence[Mutant]) -> list[Mutant]:
    """Return those of *unnoticed* that tell of a value no test holds.

    Where every move of a value is noticed and the removal of its key is not, the same value stands in for it.
    """
    loose = {mutant.place for mutant in unnoticed if mutant.moved != REMOVED}
    held = {mutant.place for mutant in every if mutant.moved != REMOVED} - loose
    return [mutant for mutant in unnoticed if not _stood_in_for(mutant, held, loose)]


def _stood_in_for(mutant: Mutant, held: set[Place], loose: set[Place]) -> bool:
    is_key = mutant.moved == REMOVED and isinstance(mutant.place[-1], str)
    return is_key and _below(mutant.place, held) and not _below(mutant.place, loose)


def _below(place: Place, places: set[Place]) -> bool:
    return any(each[: len(place)] == place for each in places)


def _places(node: Any, above: Place) -> Iterator[Place]:
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield (*above, key)
        yield from _places(value, (*above, key))


def _at(node: Any, place: Place) -> Any:
    for key in place:
        node = node[key]
    return node


def _with(values: dict[str, Any], place: Place, moved: Any) -> dict[str, Any]:
    changed = deepcopy(values)
    _at(changed, place[:-1])[place[-1]] = moved
    return changed


def _without(values: dict[str, Any], place: Place) -> dict[str, Any]:
    changed = deepcopy(values)
    del _at(changed, place[:-1])[place[-1]]
    return changed


def _moves(value: Any) -> list[Any]:
    """Return what a boolean or a number is moved to; lists and tables are moved inside."""
    match value:
        case bool():
            return [not value]
        case int():
            return sorted({0, max(0, value - 1), value + 1} - {value})
        case float():
            return [0.99 * value, 1.01 * value, 0.0] if value else [-0.01, 0.01]
        case _:
            return []


def _names(values: dict[str, Any], place: Place, trial: Path) -> list[str]:
    """Return the names that may stand at *place* instead: what the loader offers when it refuses one."""
    trial.write_text(_toml(_with(values, place, "?")), encoding="utf-8")
    try:
        load_profile(str(trial))
    except ProfileError as error:
        offered = error.hint.removeprefix("one of ").split(", ")
        return [name for name in offered if name != _at(values, place)]
    return ["?"]


def _toml(value: Any, *, outermost: bool = True) -> str:
    match value:
        case dict() if outermost:
            return "".join(f"{key} = {_toml(inner, outermost=False)}\n" for key, inner in value.items())
        case dict():
            return "{" + ", ".join(f"{key} = {_toml(inner, outermost=False)}" for key, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(_toml(inner, outermost=False) for inner in value) + "]"
        case bool() | str():
            return json.dumps(value)
        case _:
            return repr(value)


@dataclass(kw_only=True)
class Hunt:
    """A pytest plugin that runs the tests of each profile against every mutant of it."""

    names: Sequence[str]
    folder: Path
    survivors: list[str] = field(default_factory=list)
    failed: bool = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a test failed."""
        self.failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take the place of the usual loop over the tests."""
        for name in self.names:
            self._hunt(name, [item for item in session.items if item.path.stem == f"test_{name}"], session.items)
        return True

    def _hunt(self, name: str, own: list[pytest.Item], everyone: Sequence[pytest.Item]) -> None:
        # A test of another file comes "next", so that what all files share is kept and the rest is not.
        other = next(item for item in everyone if item.path != own[0].path)
        shipped, started = SHIPPED / f"{name}.toml", time.perf_counter()
        self._put(name, shipped.read_text(encoding="utf-8"))
        broken = [item for item in own if self._fails(item, other)]
        tests = [item for item in own if item not in broken]
        every = list(mutants(shipped))
        unnoticed = [mutant for mutant in self._shown(name, every) if not self._noticed(name, mutant, tests, other)]
        alive = survivors(every, unnoticed)
        self.survivors += [f"{name}: {mutant.told}" for mutant in alive]
        took = time.perf_counter() - started
        _say(f"{name}: {len(every)} moves, {len(alive)} unnoticed by {len(tests)} tests in {took:.0f} s")
        for line in (*(f"  fails as it ships: {item.name}" for item in broken), *(f"  {each.told}" for each in alive)):
            _say(line)

    def _put(self, name: str, text: str) -> None:
        (self.folder / f"{name}.toml").write_text(text, encoding="utf-8")

    def _noticed(self, name: str, mutant: Mutant, tests: list[pytest.Item], other: pytest.Item) -> bool:
        """Tell whether a test fails; the one that does is tried first on the next mutant."""
        self._put(name, mutant.text)
        for item in tests:
            if self._fails(item, other):
                tests.remove(item)
                tests.insert(0, item)
                return True
        return False

    def _fails(self, item: pytest.Item, other: pytest.Item) -> bool:
        self.failed = False
        item.ihook.pytest_runtest_protocol(item=item, nextitem=other)
        return self.failed

    def _shown(self, name: str, every: Sequence[Mutant]) -> Iterator[Mutant]:
        """Yield *every* mutant, telling a terminal how far it is."""
        for number, mutant in enumerate(every, start=1):
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{name} {number} of {len(every)}\x1b[K" + "\r" * (number == len(every)))
            yield mutant


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(names: Sequence[str]) -> int:
    """Hunt the mutants of the profiles *names*; return the exit code."""
    if unknown := [name for name in names if name not in SEEDS]:
        sys.stderr.write(f"no seed profile is called {unknown[0]}; one of {', '.join(SEEDS)}\n")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        hunt = Hunt(names=names or SEEDS, folder=Path(folder))
        os.environ["SEED_PROFILES"] = folder
        code = pytest.main([*QUIETLY, str(TESTS)], plugins=[hunt])
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        sys.stderr.write(f"the tests cannot run; see what this says: pytest {TESTS}\n")
        return 2
    return 1 if hunt.survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
