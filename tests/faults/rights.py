"""Every operation is asked by every kind of caller: what its rights do not grant is refused, and nothing is written."""

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import asdict
from row import SCRATCH, Progress, Row, silent

import recollect
from recollect.errors import AccessError, RecollectError
from recollect.operations import OPERATIONS
from recollect.operations.answer import Answer, Operation
from recollect.surfaces.serve.dispatcher import Caller, Dispatcher, served_request
from recollect.trust import TRUST_LEVELS, level

PROJECT, OTHER = "atlas", "other"
OWNERS, AGENTS, STRANGERS, PINNED = 1, 2, 3, 4
"""The memories of the store: the owner's, an agent's, an untrusted writer's, and a pinned one of an agent."""
STANDING: Mapping[int, str] = {OWNERS: "owner", AGENTS: "agent", STRANGERS: "untrusted", PINNED: "owner"}

CALLERS: Sequence[Caller] = tuple(
    Caller(name=f"{trust}-{project}-{read_only}", project=project, read_only=read_only, trust=trust, has_token=True)
    for trust in TRUST_LEVELS
    for project in (None, PROJECT)
    for read_only in (False, True)
)

LOCAL = "import roots project watch open init backup restore-backup move recover model eval tune token"
"""Operations that no server offers."""
_EACH = [{"id": row} for row in STANDING]
REQUESTS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    **{
        name: [{"query": "port"}, {"query": "port", "session": "s"}]
        for name in ("search", "decisions", "changes", "how-it-works")
    },
    "why": [{"id": 1, "query": "port"}],
    "related": [{"id": 1}],
    "inject": [{"task": "the port"}, {"task": "the port", "session": "s"}],
    "remind": [{"prompt": "which port"}, {"prompt": "which port", "session": "s"}],
    "brief": [{}, {"session": "s"}],
    "show": [{"id": 1}],
    **{name: [{}] for name in ["list", "timeline", "facts", "stale", "conflicts", "stats", "doctor", "activity"]},
    "review": [{"action": "list"}, {"action": "done", "key": "trust:2"}, {"action": "again", "key": "trust:2"}],
    "log": [
        *({"report": name} for name in ("recent", "never-recalled", "never-used", "unanswered")),
        {"report": "provenance", "fact": 1},
        {"report": "prune", "older_than": "2000-01-01"},
    ],
    "lens": [{"action": "list"}, {"action": "create", "name": "mine"}, {"action": "drop", "name": "kept"}],
    "export": [{}, {"skip_damaged": True}],
    "add": [{"text": "new"}, {"text": "new", "trust": "owner"}, {"text": "new", "keep_secrets": True}],
    "capture": [{"text": "Decision: we use port 80"}],
    **dict.fromkeys(("forget", "restore", "pin"), _EACH),
    "edit": [*({**each, "content": "changed"} for each in _EACH), {"id": 3, "content": "x", "keep_secrets": True}],
    "tag": [{**each, "add": ["x"]} for each in _EACH],
    "supersede": [{**each, "by": by} for each in _EACH for by in STANDING],
    "feedback": [{**each, "verdict": "wrong"} for each in _EACH],
    "reinforce": [{"ids": ["1"]}],
    "consolidate": [
        {},
        {"floor": 1.0},
        {"undo": True},
        {"dry_run": True},
        {"undo": True, "dry_run": True},
    ],
    "purge": [{"ids": ["1"], "yes": True}, {"ids": ["1"], "dry_run": True}],
    "reindex": [{}],
    "embed": [{}],
    **{name: [{}] for name in LOCAL.split()},
}
"""What is asked of each operation."""


@dataclass(frozen=True, slots=True)
class Case:
    """One request of one caller."""

    operation: Operation
    values: Mapping[str, Any]
    caller: Caller

    def __str__(self) -> str:
        return f"{self.caller.name}: {self.operation.name} {json.dumps(dict(self.values))}"

    @property
    def is_granted(self) -> bool:
        """Whether the rights that the operation declares grant it."""
        rights, caller = self.operation.rights.of(self.values), self.caller
        return (
            rights.trust is not None
            and level(caller.trust) >= level(rights.trust)
            and not (caller.read_only and self.is_a_write)
            and not (rights.spans_projects and caller.project is not None)
            and (rights.touches != "named" or all(level(caller.trust) >= level(STANDING[row]) for row in self.named))
        )

    @property
    def is_a_write(self) -> bool:
        """Whether it writes; a session that a read-only caller names is not written to."""
        touches = self.operation.rights.of(self.values).touches
        return touches not in ("nothing", "session") and not self.values.get("dry_run")

    @property
    def named(self) -> Iterator[int]:
        """The memories it names."""
        yield from (self.values[key] for key in ("id", "by") if key in self.values)


def cases(operations: Mapping[str, Operation] = OPERATIONS) -> list[Case]:
    """Return every operation with every request, for every caller."""
    return [
        Case(each, values, caller)
        for name, each in operations.items()
        for values in REQUESTS[name]
        for caller in CALLERS
    ]


def make_store(path: Path) -> None:
    """Make a store of two projects with the words of every kind of writer."""
    with recollect.open(path, model="none", project=PROJECT) as db:
        db.add("Port: 8080 is the staging port", type="decision")
        db.add("The harbour has an old lighthouse", trust="agent")
        db.add("A stranger says that lunch is free", trust="untrusted")
        db.pin(db.add("Tests run before each release", trust="agent").id)
        db.lenses.create("kept", type="decision")
        db.search("port", session="s")
    with recollect.open(path, model="none", project=OTHER) as db:
        db.add("Another project has a port of its own")


def rows_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of every table of the store at *path*."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        names = [name for (name,) in db.execute("select name from sqlite_master where type = 'table' order by name")]
        return {name: db.execute(f'select * from "{name}"').fetchall() for name in names}


def ask(dispatcher: Dispatcher, case: Case) -> str:
    """Return what becomes of *case*: refused, or done; a write that is granted is not carried out."""
    name = case.operation.name
    if name not in dispatcher.operations:
        return _refused(lambda: dispatcher.answer(name, case.values, case.caller))
    if case.is_granted and (case.is_a_write or ("session" in case.values and not case.caller.read_only)):
        values = asdict(served_request(case.operation, case.values))
        return _refused(lambda: dispatcher.permit(name, case.operation.rights, values, case.caller))
    return _refused(lambda: _consumed(dispatcher.answer(name, case.values, case.caller)))


def _consumed(answer: Answer) -> None:
    if answer.stream:
        list(answer.value)


def _refused(work: Any) -> str:
    try:
        work()
    except AccessError:
        return "refused"
    except RecollectError as error:
        return "refused" if "no operation is called" in str(error) else "done"
    return "done"


def troubles(dispatcher: Dispatcher, path: Path, all_cases: Sequence[Case], progress: Progress = silent) -> list[str]:
    """Return the cases that were answered against their rights, or that wrote though they may not."""
    found = []
    before = rows_of(path)
    for number, case in enumerate(all_cases, start=1):
        became = ask(dispatcher, case)
        if became != ("done" if case.is_granted else "refused"):
            found.append(f"{case} was {became}")
        dispatcher.db.flush()
        after = rows_of(path)
        if after != before:
            changed = [name for name in after if after[name] != before.get(name)]
            found.append(f"{case} wrote to {', '.join(changed)}")
            before = after
        progress(number, len(all_cases))
    return found


def row(*, progress: Progress = silent) -> Row:
    """Ask every operation as every caller, and count what was granted, refused and written."""
    missing = [name for name in OPERATIONS if name not in REQUESTS]
    known = {name: each for name, each in OPERATIONS.items() if name in REQUESTS}
    all_cases = cases(known)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        path = Path(folder, "store.db")
        make_store(path)
        with recollect.open(path, model="none") as db:
            found = troubles(Dispatcher(db), path, all_cases, progress)
    granted = sum(case.is_granted for case in all_cases)
    return Row(
        title="Rights (operations x callers)",
        done=(
            f"{len(known)} operations asked by {len(CALLERS)} callers (owner, agent, untrusted; reading or writing; of "
            f"one project or of all): {len(all_cases)} requests, {granted} granted and {len(all_cases) - granted} "
            "refused, as declared; every row of the store compared after each."
        ),
        lost=f"{len(found)} requests that were answered or refused against their rights, or wrote without the right to",
        unproven="Whether what is granted is wise; whoever runs the command line is the owner.",
        failures=(*found, *(f"nobody says what to ask of {name}" for name in missing)),
    )
