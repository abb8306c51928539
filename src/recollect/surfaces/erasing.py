"""The verb that erases memories for good."""

from typing import TYPE_CHECKING, Any, Final

from recollect.errors import InputError
from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.surfaces import text
from recollect.surfaces.rights import OWNER_WRITES
from recollect.surfaces.table import DRY_RUN, Answer, Given, Parameter, operation, read_id

if TYPE_CHECKING:
    from recollect.upkeep.purge import PurgeReport

NOTHING_LEFT: Final = "nothing of it is left in the files of the store"


@operation(
    Parameter(name="ids", kind="paths", place=True, optional=True, about="ids of memories"),
    Parameter(name="source", about="all that came from this file or folder"),
    Parameter(name="project", about="all of this project, and its name"),
    Parameter(name="older_than", about="all that is older than this: 90d, 2026-05-01, …"),
    DRY_RUN,
    Parameter(
        name="verify", kind="flag", only="machine", about="search the raw bytes of the files for what was erased"
    ),
    Parameter(
        name="trace", kind="texts", only="machine", about="search the raw bytes for this text too (may be repeated)"
    ),
    Parameter(name="yes", kind="flag", about="do not ask"),
    rights=OWNER_WRITES,
    slow=True,
    group="care",
)
def purge(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Erase memories for good, with all that speaks of them, every byte; --verify looks for what is left."""
    chosen: dict[str, Any] = given.chosen(("source", "project", "older_than"))
    ids = [read_id(each) for each in given["ids"]]
    dry = bool(given.get("dry_run"))
    if (ids or chosen) and not (dry or given.get("yes")):
        raise InputError("what is purged cannot be brought back", hint="look with --dry-run, then add --yes")
    verify, traces = bool(given.get("verify")), tuple(given["trace"])
    report = db.purge(ids or None, **chosen, dry_run=dry, verify=verify, trace=traces)
    return Answer(
        value=report,
        text=lambda: purge_text(report),
        healthy=report.is_clean,
        problems=(*report.unfinished, *report.traces),
        found=bool(report.ids) or not (ids or chosen),
    )


def purge_text(report: "PurgeReport") -> str:
    """Return what an erasure took, or would take, and whether something is left."""
    counts = {
        "other wordings": report.wordings,
        "events": report.events,
        "facts": report.facts,
        "vectors": report.vectors,
        "searches of the log": report.recalls,
        "names of sources": report.sources,
        "names of projects": report.projects,
    }
    beside = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    verb = "would erase" if report.dry_run else "erased"
    lines = [f"{verb} {len(report.ids)} memories" + (f", {beside}" if beside else "")]
    lines += [text.one_line(memory) for memory in report.listed]
    if more := len(report.ids) - len(report.listed) if report.dry_run else 0:
        lines.append(f"… and {more} more")
    if report.verified:
        searched = f"searched {len(report.files)} files for {report.probes} pieces"
        lines.append(f"{searched}: {len(report.traces)} traces" if report.traces else f"{searched}: {NOTHING_LEFT}")
    lines += [f"not touched: {name}, a copy beside the store" for name in report.beside]
    return "\n".join(lines)
