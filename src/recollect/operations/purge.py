"""The operation that erases memories for good."""

from typing import TYPE_CHECKING, Annotated, Any, Final

from recollect import upkeep
from recollect.errors import InputError
from recollect.operations.answer import Answer, operation
from recollect.operations.fields import DryRun, Texts
from recollect.operations.request import Call, Request, read_id
from recollect.operations.rights import OWNER_WRITES
from recollect.parameters import about
from recollect.render import text

if TYPE_CHECKING:  # a client of the server opens no store
    from recollect.workspace import Workspace

NOTHING_LEFT: Final = "nothing of it is left in the files of the store"


class Purge(Request, rights=OWNER_WRITES, slow=True, group="care", example={"ids": ["2"], "dry_run": True}):
    """Which memories to erase: what is given must all fit."""

    ids: Annotated[Texts, about("ids of memories", place=1)] = ()
    source: Annotated[str, about("all that came from this file or folder")] | None = None
    project: Annotated[str, about("all of this project, and its name")] | None = None
    older_than: Annotated[Any, about("all that is older than this: 90d, 2026-05-01, …", metavar="DATE")] | None = None
    dry_run: DryRun = False
    verify: Annotated[bool, about("search the raw bytes of the files for what was erased", only="machine")] = False
    trace: Annotated[Texts, about("search the raw bytes for this text too", only="machine")] = ()
    yes: Annotated[bool, about("do not ask")] = False


@operation
def purge(db: "Workspace", request: Purge, _: Call) -> "Answer[upkeep.purge.PurgeReport]":
    """Erase memories for good, with all that speaks of them, every byte; --verify looks for what is left."""
    names = ("source", "project", "older_than")
    chosen: dict[str, Any] = {name: getattr(request, name) for name in names if getattr(request, name) is not None}
    ids = [read_id(each) for each in request.ids]
    if (ids or chosen) and not (request.dry_run or request.yes):
        raise InputError("what is purged cannot be brought back", hint="look with --dry-run, then add --yes")
    report = db.purge(ids or None, **chosen, dry_run=request.dry_run, verify=request.verify, trace=request.trace)
    return Answer(
        value=report,
        text=lambda: purge_text(report),
        healthy=report.is_clean,
        problems=(*report.unfinished, *report.traces),
        found=bool(report.ids) or not (ids or chosen),
    )


def purge_text(report: "upkeep.purge.PurgeReport") -> str:
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
