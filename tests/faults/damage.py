"""Pages and bytes of a store are overwritten; whoever uses it then gets an error of ours or the truth.

Run as a script it damages one copy after another and tells in a line of JSON what became of each; if a copy takes the
process down, the process that started it goes on with the next.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import apsw
import demands
from row import SCRATCH, Progress, Row, silent
from workloads import opened

from recollect import Memory, RecollectError, Recollection
from recollect.stores.sqlite.engine import PAGE_BYTES as PAGE

Answer = TypeVar("Answer")
MEMORIES = 300
BATCH = 10
PATIENCE = 300.0
"""How many seconds a batch may take before it counts as hanging."""
TRUTH = frozenset(
    ["memory", "wording", "event", "fact", "source", "piece", "note", "recall", "recalled", "meta", "tagged"]
)
"""The tables that nothing else holds."""
KEPT = TRUTH | {"generation", "vector", "sqlite_schema", "sqlite_sequence"}
"""What `reindex` leaves as it is; all others are derived and can be made anew."""
COMMAND = (sys.executable, "-c", "from recollect.surfaces.cli import main; main()")


# --- the store ----------------------------------------------------------------------------------

THINGS = ("cache", "queue", "parser", "router", "backup", "index", "worker", "gateway", "ledger", "scheduler")
DEEDS = ("was moved to", "reads from", "failed in", "is owned by", "waits for", "was rewritten in", "reports to")
QUERIES = ("cache waits", "router owned", "thing17", '"failed in" parser', "tag:even scheduler")


def build(path: Path) -> None:
    """Make a store of some 300 memories, with tags, vectors, forgotten and superseded ones among them."""
    chance = random.Random(1)
    with opened(path, "hashing") as db:
        db.add_all([_memory(number, chance) for number in range(MEMORIES)])
        for row in range(10, MEMORIES, 40):
            db.forget(row)
            db.supersede(row + 1, row + 2)


def _memory(number: int, chance: random.Random) -> Memory:
    words = [f"thing{number}", chance.choice(THINGS), chance.choice(DEEDS), f"place{chance.randrange(900)}"]
    words += [f"word{chance.randrange(5000)}" for _ in range(chance.randrange(5, 120))]
    return Memory(
        content=" ".join(words),
        title=f"Entry {number}",
        tags=("even" if number % 2 == 0 else "odd",),
        external_id=f"e{number}",
        metadata={"number": number},
    )


def owners(path: Path) -> dict[int, str]:
    """Return which table or index each page belongs to."""
    db = apsw.Connection(str(path))
    db.set_busy_timeout(60_000)
    missing = TRUTH - {name for (name,) in db.execute("select name from sqlite_schema")}
    if missing:
        raise AssertionError(f"no such tables: {missing}; name those that hold the truth today")
    pages = dict(db.execute("select pageno, name from dbstat where pageno > 0"))
    db.close()
    return pages


# --- the damage -----------------------------------------------------------------------------------

Harm = Callable[[bytearray, int, random.Random], None]


def _rubbish(held: bytearray, at: int, chance: random.Random) -> None:
    held[at : at + PAGE] = chance.randbytes(PAGE)


def _zeros(held: bytearray, at: int, _: random.Random) -> None:
    held[at : at + PAGE] = bytes(PAGE)


def _another(held: bytearray, at: int, chance: random.Random) -> None:
    other = PAGE * chance.randrange(len(held) // PAGE)
    held[at : at + PAGE] = held[other : other + PAGE]


def _bytes(held: bytearray, at: int, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 8)):
        held[at + chance.randrange(PAGE)] = chance.randrange(256)


def _bit(held: bytearray, at: int, chance: random.Random) -> None:
    held[at + chance.randrange(PAGE)] ^= 1 << chance.randrange(8)


def _cut(held: bytearray, at: int, _: random.Random) -> None:
    del held[at:]


HARMS: Mapping[str, tuple[Harm, int]] = {
    "a page of rubbish": (_rubbish, 3),
    "a page of zeros": (_zeros, 2),
    "a page of another": (_another, 2),
    "some bytes": (_bytes, 5),
    "one bit": (_bit, 5),
    "the end cut off": (_cut, 1),
}
"""What may happen to a file, and how often it does."""


@dataclass(slots=True, kw_only=True)
class Case:
    """One damaged copy and what became of it."""

    seed: int
    harm: str
    table: str
    told: bool = False
    """Whether `doctor` or any verb said that something is wrong."""
    foreign: list[str] = field(default_factory=list)
    """Errors that are not ours."""
    down: bool = False
    """Whether it took the process down, or hung."""
    changed: list[int] = field(default_factory=list)
    """Memories that differ from the original or are gone, while nothing was told."""
    answers: int = 0
    """Searches that answered differently, while nothing was told."""
    healed: bool | None = None
    """Whether `reindex` made a store with damage in derived tables whole again."""
    deep: bool | None = None
    """Whether `doctor --deep` told of changes that nothing else told of."""
    saved: int | None = None
    """How many memories `recover` saved as they were."""
    lost: int = 0
    """How many it did not save although they can be read, or saved in words that were never written."""


def damage(original: Path, path: Path, seed: int) -> Case:
    """Copy *original* to *path* and harm one page of it."""
    chance = random.Random(seed)
    (name,) = chance.choices(list(HARMS), weights=[weight for _, weight in HARMS.values()])
    held = bytearray(original.read_bytes())
    pages = owners(original)
    page = chance.choice(sorted(pages))
    if chance.random() < 0.5:  # else the many pages of a large table leave few for the small ones
        table = chance.choice(sorted(set(pages.values())))
        page = chance.choice([number for number, owner in sorted(pages.items()) if owner == table])
    HARMS[name][0](held, (page - 1) * PAGE, chance)
    path.write_bytes(held)
    return Case(seed=seed, harm=name, table=pages[page])


# --- what users see -------------------------------------------------------------------------------

Verb = Callable[[Recollection], object]
VERBS: Mapping[str, Verb] = {
    "doctor": lambda db: db.doctor(),
    "list": lambda db: db.list(limit=50),
    "stats": lambda db: db.stats(),
    "show": lambda db: [db.show(row) for row in (1, 17, 150)],
    "search": lambda db: [db.search(query) for query in QUERIES],
    "inject": lambda db: db.inject("which cache waits for the router"),
    "forget": lambda db: db.forget(33),
    "add": lambda db: db.add("thing1000 was added to a damaged store"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a store says: every memory by its id, and the ids that some searches find."""

    memories: dict[int, tuple[Memory, tuple[str, ...]]]
    answers: tuple[tuple[int, ...], ...]


def view(db: Recollection) -> View:
    """Return what *db* says."""
    memories = {memory.id: (memory, wordings) for memory, wordings in db.export()}
    answers = tuple(tuple(hit.id for hit in db.search(query).hits) for query in QUERIES)
    return View(memories=memories, answers=answers)


def use(path: Path, case: Case, truth: View) -> None:
    """Do everyday things to the store at *path*; write down in *case* what is told and what is silently wrong."""
    seen: View | None = None
    try:
        with opened(path, "hashing") as db:
            case.told = bool(_said(case, "doctor", lambda: db.doctor().problems))
            seen = _said(case, "view", lambda: view(db))
            for name, verb in VERBS.items():
                _said(case, name, partial(verb, db))
    except RecollectError:
        case.told = True
    except Exception as error:  # noqa: BLE001  (that there is such a one is what is looked for)
        case.foreign.append(f"open or close: {type(error).__name__}: {error}")
    if seen is not None and not case.told:
        rows = truth.memories.keys() | seen.memories.keys()
        case.changed = sorted(row for row in rows if seen.memories.get(row) != truth.memories.get(row))
        case.answers = sum(one != other for one, other in zip(seen.answers, truth.answers, strict=True))


def _said(case: Case, name: str, verb: Callable[[], Answer]) -> Answer | None:
    """Return the answer of *verb*; an error is told if it is ours."""
    try:
        return verb()
    except RecollectError:
        case.told = True
    except Exception as error:  # noqa: BLE001  (as above)
        case.foreign.append(f"{name}: {type(error).__name__}: {error}")
    return None


# --- what makes it whole again ----------------------------------------------------------------------


def heal(path: Path, truth: View) -> bool:
    """Tell whether `reindex` makes the store at *path* what it was."""
    try:
        with opened(path, "hashing") as db:
            db.reindex()
            return not db.doctor(deep=True).problems and view(db) == truth
    except Exception:  # noqa: BLE001  (not healed, whatever it is)
        return False


def told_by_deep_doctor(path: Path) -> bool:
    """Tell whether `doctor --deep` finds something."""
    return command("doctor", "--deep", db=path).returncode == 3


def recover(path: Path, case: Case, truth: View) -> None:
    """Let `recover` save what it can to a new store; write down in *case* what it saved and what it did not."""
    new, wanted = path.with_name("recovered.db"), readable(path, truth)
    command("recover", str(path), str(new), db=new)
    with opened(new) as db:
        saved = {memory.id: memory.content for memory, _ in db.export()}
    wrong = sum(row in truth.memories and truth.memories[row][0].content != text for row, text in saved.items())
    case.saved, case.lost = len(saved) - wrong, len(wanted - saved.keys()) + wrong


def readable(path: Path, truth: View) -> set[int]:
    """Return the memories whose words a plain reader of the file still gets as they were."""
    found, db = set(), apsw.Connection(str(path))
    for row, (memory, _) in truth.memories.items():
        with suppress(apsw.Error, UnicodeDecodeError):
            if db.execute("select content from memory where id = ?", (row,)).get == memory.content:
                found.add(row)
    db.close()
    return found


def command(*words: str, db: Path) -> "subprocess.CompletedProcess[str]":
    """Run the command line as users do, with the store at *db*."""
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith("RECOLLECT_")}
    return subprocess.run(  # noqa: S603
        [*COMMAND, "--db", str(db), "--model", "none", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env={**surroundings, "RECOLLECT_CONFIG": ""},
    )


def is_calm(done: "subprocess.CompletedProcess[str]") -> bool:
    """Tell whether a command ended as it should: no traceback, no error that nobody foresaw, no signal."""
    unwanted = ("Traceback", "unforeseen") if demands.ERRORS_ARE_OURS else ("Traceback",)
    return done.returncode in range(4) and not any(word in done.stderr for word in unwanted)


# --- one case after another -------------------------------------------------------------------------


def examine(original: Path, folder: Path, seed: int, truth: View) -> Case:
    """Damage one copy of *original* and use it, and further copies to mend it."""
    path = folder / "store.db"

    def fresh() -> Case:
        for old in folder.iterdir():
            old.unlink()
        return damage(original, path, seed)

    case = fresh()
    use(path, case, truth)
    if case.table not in KEPT and case.harm != "the end cut off":
        fresh()
        case.healed = heal(path, truth)
    if demands.DEEP_DOCTOR and (case.changed or case.answers):
        fresh()
        case.deep = told_by_deep_doctor(path)
    if demands.RECOVER_SAVES and case.table in TRUTH:
        fresh()
        recover(path, case, truth)
    return case


def main(original: str, folder: str, first: str, last: str) -> None:
    """Examine the cases from *first* to before *last*, a line of JSON for each."""
    with opened(Path(original), "hashing") as db:
        truth = view(db)
    for seed in range(int(first), int(last)):
        case = examine(Path(original), Path(folder), seed, truth)
        sys.stdout.write(json.dumps(asdict(case)) + "\n")
        sys.stdout.flush()


def batch(original: Path, first: int, last: int) -> Iterator[Case]:
    """Examine cases in a process of their own; one that takes it down is a case too."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        while first < last:
            out, ended = _run(original, folder, first, last)
            cases = [Case(**json.loads(line)) for line in out.splitlines()]
            yield from cases
            first += len(cases)
            if first < last:
                told = damage(original, Path(folder, "again.db"), first)
                told.foreign, told.down = [f"the process {ended}"], True
                yield told
                first += 1


def _run(original: Path, folder: str, first: int, last: int) -> tuple[str, str]:
    words: Sequence[Any] = [sys.executable, __file__, original, folder, first, last]
    try:
        done = subprocess.run(  # noqa: S603
            list(map(str, words)), capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as late:
        heard = late.stdout or b""
        return (heard.decode() if isinstance(heard, bytes) else heard), "hung"
    last_words = done.stderr.strip().splitlines()[-1:] or [""]
    return done.stdout, f"ended with {done.returncode} {last_words[0]}"


# --- the row ----------------------------------------------------------------------------------------


def complaints_of(case: Case) -> Iterator[tuple[bool, str]]:
    """Say what should not happen in *case* and did, and whether that is demanded already."""
    where = f"case {case.seed} ({case.harm} in {case.table})"
    yield from ((demands.ERRORS_ARE_OURS or case.down, f"{where}: {error}") for error in case.foreign)
    if (case.changed or case.answers) and not case.deep:
        wrong = f"memories {case.changed} and {case.answers} answers changed and nothing told of it"
        yield demands.DEEP_DOCTOR, f"{where}: {wrong}"
    if case.healed is False:
        yield demands.REINDEX_HEALS, f"{where}: `reindex` did not make it whole"
    if case.lost:
        yield demands.RECOVER_SAVES, f"{where}: `recover` lost or changed {case.lost} memories that can be read"


def unrest_of_commands(original: Path, seeds: Sequence[int]) -> Iterator[str]:
    """Run the command line on some damaged copies; say where it was not calm."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        for seed in seeds:
            path = Path(folder, f"{seed}.db")
            case = damage(original, path, seed)
            for words in (("doctor",), ("doctor", "--deep"), ("export",), ("search", "cache waits"), ("reindex",)):
                done = command(*words, db=path)
                if not is_calm(done):
                    yield f"case {seed} ({case.harm} in {case.table}): {words[0]}: {done.stderr.strip()[-200:]}"


def row(*, cases: int, commands: int, processes: int = 2, progress: Progress = silent) -> Row:
    """Damage so many copies, and run the command line on some of them."""
    found: list[Case] = []
    with tempfile.TemporaryDirectory(dir=SCRATCH) as name, ThreadPoolExecutor(processes) as pool:
        original = Path(name, "original.db")
        build(original)
        firsts = range(0, cases, BATCH)
        for done in pool.map(lambda first: [*batch(original, first, min(first + BATCH, cases))], firsts):
            found += done
            progress(len(found), cases)
        told = [complaint for case in found for complaint in complaints_of(case)]
        unrest = list(unrest_of_commands(original, range(0, cases, max(1, cases // commands))))
    return Row(
        title="Damaged pages and bytes",
        done=f"{cases} copies of a store of {MEMORIES} memories with one page damaged "
        f"({', '.join(f'{harm} {count}' for harm, count in Counter(case.harm for case in found).most_common())}); "
        f"opened, {len(VERBS) + 1} verbs each, and the command line on {commands} of them",
        lost=_lost(found),
        unproven="SQLite has no checksums of pages: damage within a text is seen only by `doctor --deep`, which "
        "compares every row with its checksum. Damage to two pages at once, or to the log of a store in use, is not "
        "tried.",
        failures=(*(line for demanded, line in told if demanded), *unrest),
        known=tuple(line for demanded, line in told if not demanded),
    )


def _lost(found: Sequence[Case]) -> str:
    derived = [case for case in found if case.healed is not None]
    parts = [
        f"{sum(bool(case.foreign) for case in found)} with an error that is not ours",
        f"{sum(case.told for case in found)} told",
        f"{sum(bool(case.changed) for case in found)} with changed memories that `doctor --deep` alone tells",
        f"{sum(bool(case.answers) and not case.changed for case in found)} with other answers that it alone tells",
        f"{sum(bool(case.healed) for case in derived)} of {len(derived)} damaged indexes made whole by `reindex`",
    ]
    saved = [case.saved for case in found if case.saved is not None]
    if saved:
        parts.append(f"{sum(saved):,} of {len(saved) * MEMORIES:,} memories saved by `recover`")
    return "; ".join(parts)


if __name__ == "__main__":
    main(*sys.argv[1:])
