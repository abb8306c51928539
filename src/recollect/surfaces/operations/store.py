"""Operations on the store as a whole: counting, exporting, consolidating, making vectors."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

from recollect.recollection import Recollection
from recollect.stores.choice import shown_address
from recollect.surfaces import text
from recollect.surfaces.operations.answer import Answer, operation, write_file
from recollect.surfaces.operations.backup import bytes_of
from recollect.surfaces.operations.fields import DryRun
from recollect.surfaces.operations.repair import readable
from recollect.surfaces.operations.request import Call, Request, about
from recollect.surfaces.operations.rights import OWNER_CHECKS_ALL, OWNER_WRITES, OWNER_WRITES_ALL, READS
from recollect.surfaces.serialise import serialise


class Stats(Request, rights=READS, group="care"):
    """All counts."""


@operation
def stats(db: Recollection, _: Stats, __: Call) -> Answer:
    """Count memories, projects, types and sources."""
    counted, kept, last, place = db.stats(), db.retention, db.last_backup(), shown_address(db.address)
    value = serialise(counted)
    generations = db.generations()
    waiting = next((each.pending for each in generations if not each.is_external), 0)
    lines = [text.stats_text(counted, place), text.log_text(counted.log, kept), text.backup_line(last)]
    size = bytes_of(db.address) if db.project is None else 0
    lines += [f"  without vectors: {waiting}; {text.LATER}"] if waiting else []
    return Answer(
        value={"store": place, **value, "log": {**value["log"], "kept": serialise(kept)}, "last_backup": last}
        | {"vectors": max((each.memories for each in generations), default=0)}
        | ({"vectors_waiting": waiting} if waiting else {})
        | ({"bytes": size} if size else {}),
        text=lambda: "\n".join(lines),
    )


class Init(Request, group="care", creates_store=True):
    """Which store is a global option."""


@operation
def init(db: Recollection, _: Init, __: Call) -> Answer:
    """Make the store that --db names, a file or a schema of PostgreSQL, or bring it up to date; say where it is."""
    place, count = shown_address(db.address), db.stats().memories
    return Answer(value={"store": place, "memories": count}, text=lambda: f"{place} is ready: {count} memories")


class Export(Request, rights=READS.but(skip_damaged={True: OWNER_CHECKS_ALL}), slow=True, group="care"):
    """What to export, and where to."""

    path: Annotated[str, about("the file to write", place=1, only="machine")] | None = None
    all: Annotated[
        bool, about("forgotten memories, the recall log, lenses, tunings and ledgers too", only="terminal")
    ] = False
    vectors: Annotated[bool, about("the vectors that models made too")] = False
    skip_damaged: Annotated[bool, about("leave out what cannot be read, and say what that is")] = False


@operation
def export(db: Recollection, request: Export, call: Call) -> Answer:
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
    value = {"path": path, "memories": count, **({"left_out": left_out} if left_out else {})}
    return Answer(value=value, text=lambda: f"{count} memories written to {path}", problems=left_out)


def _line(record: Mapping[str, Any], kinds: Counter[str]) -> str:
    """Return *record* as a line, and count it."""
    kinds[record["record"]] += 1
    return f"{json.dumps(record, ensure_ascii=False)}\n"


class Consolidate(Request, rights=OWNER_WRITES, group="care"):
    """What to consolidate."""

    dry_run: DryRun = False
    undo: Annotated[bool, about("bring back what was merged away")] = False
    floor: Annotated[float, about("also forget what has faded below this", ge=0, le=1)] = 0.0


@operation
def consolidate(db: Recollection, request: Consolidate, _: Call) -> Answer:
    """Merge memories that say the same; try --dry-run first, --undo brings them back."""
    dry = request.dry_run
    if request.undo:
        back = db.undo_consolidation(dry_run=dry)
        outcome = "would come back" if dry else "are back"
        return Answer(value={"restored": back}, text=lambda: f"{len(back)} memories {outcome}")
    done = db.consolidate(apply=not dry, floor=request.floor)
    return Answer(
        value={
            **{name: getattr(done, name) for name in ("applied", "merges", "links", "faded")},
            "facts": len(done.facts),
        },
        text=lambda: text.consolidation_text(done),
    )


class Embed(
    Request,
    rights=OWNER_WRITES_ALL,
    slow=True,
    group="care",
    stopped="the vectors made so far are kept; recollect embed goes on from there",
):
    """All memories without vectors."""


@operation
def embed(db: Recollection, _: Embed, call: Call) -> Answer:
    """Make the vectors of memories that have none, to find them by meaning too."""
    count = db.embed(call.progress)
    return Answer(
        value={"embedded": count, "model": db.models.name, "generations": db.generations()},
        text=lambda: f"{count} memories embedded with {db.models.name}" if count else "every memory has its vectors",
    )
