"""Operations on the store as a whole: counting, exporting, consolidating, making vectors."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Struct

from recollect import recall, upkeep
from recollect.operations.answer import Answer, operation, write_file
from recollect.operations.backup import bytes_of
from recollect.operations.fields import DryRun
from recollect.operations.repair import readable
from recollect.operations.request import Call, Request
from recollect.operations.rights import OWNER_CHECKS_ALL, OWNER_WRITES, OWNER_WRITES_ALL, READS
from recollect.parameters import about
from recollect.records import Generation, LogSize, StoreStats
from recollect.render import text
from recollect.stores.choice import shown_address

if TYPE_CHECKING:  # a client of the server opens no store
    from recollect.workspace import Workspace


class Stats(Request, rights=READS, group="care"):
    """All counts."""


class LogState(Struct, frozen=True, kw_only=True):
    """How much the recall log holds, and how much it may hold."""

    json_members: ClassVar[str] = "*size kept"

    size: LogSize
    kept: "recall.log.Retention"


class StoreState(Struct, frozen=True, kw_only=True):
    """Where a store is, how much it holds, and when it was last backed up."""

    json_members: ClassVar[str] = "store *counted log last_backup vectors vectors_waiting? bytes?"

    store: str
    counted: StoreStats
    log: LogState
    last_backup: Mapping[str, object] | None
    vectors: int
    vectors_waiting: int | None = None
    """How many memories have no vectors of the model in use yet."""
    bytes: int | None = None


@operation
def stats(db: "Workspace", _: Stats, __: Call) -> Answer[StoreState]:
    """Count memories, projects, types and sources."""
    counted, kept, last, place = db.stats(), db.retention, db.backups.last(), shown_address(db.address)
    generations = db.generations()
    waiting = next((each.pending for each in generations if not each.is_external), 0)
    lines = [text.stats_text(counted, place), text.log_text(counted.log, kept), text.backup_line(last)]
    size = bytes_of(db.address) if db.project is None else 0
    lines += [f"  without vectors: {waiting}; {text.LATER}"] if waiting else []
    state = StoreState(
        store=place,
        counted=counted,
        log=LogState(size=counted.log, kept=kept),
        last_backup=last,
        vectors=max((each.memories for each in generations), default=0),
        vectors_waiting=waiting or None,
        bytes=size or counted.bytes,
    )
    return Answer(value=state, text=lambda: "\n".join(lines))


class Init(Request, verb="store init", in_python=False, group="care", creates_store=True):
    """Which store is a global option."""


class Ready(Struct, frozen=True, kw_only=True):
    """A store that can be used."""

    store: str
    memories: int


@operation
def init(db: "Workspace", _: Init, __: Call) -> Answer[Ready]:
    """Make the store that --db names, a file or a schema of PostgreSQL, or bring it up to date; say where it is."""
    place, count = shown_address(db.address), db.stats().memories
    return Answer(value=Ready(store=place, memories=count), text=lambda: f"{place} is ready: {count} memories")


class Export(Request, rights=READS.but(skip_damaged={True: OWNER_CHECKS_ALL}), slow=True, group="care"):
    """What to export, and where to."""

    path: Annotated[str, about("the file to write", place=1, only="machine")] | None = None
    all: Annotated[
        bool, about("forgotten memories, the recall log, lenses, tunings and ledgers too", only="terminal")
    ] = False
    vectors: Annotated[bool, about("the vectors that models made too")] = False
    skip_damaged: Annotated[bool, about("leave out what cannot be read, and say what that is")] = False


class Exported(Struct, frozen=True, kw_only=True):
    """The file that an export wrote."""

    json_members: ClassVar[str] = "path memories left_out?"

    path: str
    memories: int
    left_out: tuple[str, ...] = ()
    """What could not be read."""


@operation
def export(db: "Workspace", request: Export, call: Call) -> Answer[Iterator[Mapping[str, object]]] | Answer[Exported]:
    """Write every memory as JSON Lines, to PATH or to standard output; `import` reads it back without loss."""
    path, kinds = request.path, Counter[str]()
    progress = call.progress if path else None
    if request.skip_damaged:
        records, left_out = readable(db, everything=request.all, vectors=request.vectors, progress=progress)
    else:
        records, left_out = db.archive(everything=request.all, vectors=request.vectors, progress=progress), ()
    if not path:
        return Answer(value=records, text=lambda: "", stream=True, problems=left_out)
    write_file(path, (_line(each, kinds) for each in records))
    count = kinds["memory"]
    value = Exported(path=path, memories=count, left_out=left_out)
    return Answer(value=value, text=lambda: f"{count} memories written to {path}", problems=left_out)


def _line(record: Mapping[str, Any], kinds: Counter[str]) -> str:
    """Return *record* as a line, and count it."""
    kinds[record["record"]] += 1
    return f"{json.dumps(record, ensure_ascii=False)}\n"


class Consolidate(Request, rights=OWNER_WRITES, group="care", example={"dry_run": True}):
    """What to consolidate."""

    dry_run: DryRun = False
    undo: Annotated[bool, about("bring back what was merged away")] = False
    floor: Annotated[float, about("also forget what has faded below this", ge=0, le=1)] = 0.0


class Consolidated(Struct, frozen=True, kw_only=True):
    """What was merged, linked and forgotten, or would be."""

    applied: bool
    merges: "tuple[upkeep.consolidate.MergeProposal, ...]"
    links: "tuple[upkeep.consolidate.LinkProposal, ...]"
    faded: tuple[int, ...]
    facts: int


class Unmerged(Struct, frozen=True, kw_only=True):
    """The memories that came back."""

    restored: tuple[int, ...]


@operation
def consolidate(db: "Workspace", request: Consolidate, _: Call) -> Answer[Consolidated] | Answer[Unmerged]:
    """Merge memories that say the same; try --dry-run first, --undo brings them back."""
    dry = request.dry_run
    if request.undo:
        back = db.undo_consolidation(dry_run=dry)
        outcome = "would come back" if dry else "are back"
        return Answer(value=Unmerged(restored=back), text=lambda: f"{len(back)} memories {outcome}")
    done = db.consolidate(apply=not dry, floor=request.floor)
    value = Consolidated(
        applied=done.applied, merges=done.merges, links=done.links, faded=done.faded, facts=len(done.facts)
    )
    return Answer(value=value, text=lambda: text.consolidation_text(done))


class Embed(
    Request,
    rights=OWNER_WRITES_ALL,
    slow=True,
    group="care",
    stopped="the vectors made so far are kept; recollect embed goes on from there",
):
    """All memories without vectors."""


class Embedded(Struct, frozen=True, kw_only=True):
    """How many memories got vectors, and of which models there are some."""

    embedded: int
    model: str
    generations: tuple[Generation, ...]


@operation
def embed(db: "Workspace", _: Embed, call: Call) -> Answer[Embedded]:
    """Make the vectors of memories that have none, to find them by meaning too."""
    count = db.embed(call.progress)
    return Answer(
        value=Embedded(embedded=count, model=db.models.name, generations=db.generations()),
        text=lambda: f"{count} memories embedded with {db.models.name}" if count else "every memory has its vectors",
    )
