"""Operations that bring files in: import, and the roots that it imports again."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from msgspec import Struct

from recollect import remember
from recollect.errors import InputError
from recollect.operations.answer import Answer, listed, operation
from recollect.operations.fields import DryRun, Texts
from recollect.operations.memories import KeepSecrets, NoEmbed, Trusted
from recollect.operations.request import Call, LazyChoices, Request
from recollect.parameters import about
from recollect.records import Progress
from recollect.render import text
from recollect.replies import Degraded

if TYPE_CHECKING:  # a search starts without what writing needs
    from recollect.remember.import_files import ImportReport
    from recollect.workspace import Workspace

FIRST: Final = "Import them?"
MANY: Final = 20
"""How many files are asked about before they are imported from a place for the first time."""

From = Annotated[
    str,
    about(
        "what a program keeps in its usual place: claude-code, codex, gemini, chatgpt, claude-ai, …",
        choices=LazyChoices("recollect.remember.places", "PLACES"),
    ),
]
As = Annotated[
    str,
    about(
        "read the files as this format, whatever they look like: codex, csv, text, …",
        choices=LazyChoices("recollect.remember.formats", "BY_NAME"),
    ),
]


class Import(
    Request,
    slow=True,
    creates_store=True,
    stopped="the first {done} of {total} files are in and stay; the same command goes on from there",
):
    """What to import, and how."""

    paths: Annotated[Texts, about("files and folders; if none, all the roots", place=1)] = ()
    from_: From | None = None
    as_: As | None = None
    trust: Trusted | None = None
    keep_secrets: KeepSecrets = False
    no_embed: NoEmbed = False
    prune: Annotated[bool, about("forget what is gone even if it is all or most below a folder")] = False
    follow_links: Annotated[bool, about("follow links that lead out of a folder")] = False
    once: Annotated[bool, about("do not keep the paths as roots")] = False
    verbose: Annotated[bool, about("tell of every file what it was taken for")] = False
    dry_run: DryRun = False
    yes: Annotated[bool, about("do not ask before a first import of many files")] = False


class FoundFiles(Struct, frozen=True, kw_only=True):
    """Where files were found, and how many bytes they have."""

    places: tuple[str, ...]
    bytes: int


class VectorCounts(Struct, frozen=True, kw_only=True):
    """How many vectors an import made, and how many memories still wait for theirs."""

    made: int
    waiting: int


class PlannedRead(Struct, frozen=True, kw_only=True):
    """The format that a file would be read as."""

    path: str
    format: str


class Rehearsed(Struct, frozen=True, kw_only=True):
    """What an import would read."""

    files: Mapping[str, int]
    found: FoundFiles
    formats: Mapping[str, int]
    read: tuple[PlannedRead, ...]
    passed_over: Mapping[str, int]
    errors: "tuple[remember.import_files.Problem, ...]"


class Imported(Struct, frozen=True, kw_only=True):
    """What an import did."""

    json_members: ClassVar[str] = (
        "files memories withheld links redacted secrets? formats read passed_over left_out found? errors "
        "vectors degraded?"
    )

    files: Mapping[str, int]
    memories: Mapping[str, int]
    withheld: Mapping[str, int]
    links: int
    redacted: int
    secrets: "tuple[remember.redact.FoundSecret, ...]"
    formats: Mapping[str, int]
    read: "tuple[remember.import_files.FileRead, ...]"
    passed_over: Mapping[str, int]
    left_out: Mapping[str, int]
    found: FoundFiles | None
    errors: "tuple[remember.import_files.Problem, ...]"
    vectors: VectorCounts
    degraded: Degraded | None


@operation
def import_(db: "Workspace", request: Import, call: Call) -> Answer[Imported | Rehearsed]:
    """Import notes, documents, chats, exports and sessions of agents; only what changed is written."""
    embed, dry = not request.no_embed, request.dry_run
    how = {"redact": not request.keep_secrets, "follow_links": request.follow_links, **_given(request)}
    rest: dict[str, Any] = {"dry_run": dry, "embed": embed, "prune": request.prune, "defer": True}
    if request.paths or request.from_:
        report = db.import_(*request.paths, **how, **rest, progress=call.progress)
    else:
        _refuse_without_path(request)
        how = {"trust": request.trust} if request.trust is not None else {}
        report = db.roots.import_(**how, **rest, progress=call.progress)
    if not (dry or request.once):
        _keep_roots(db, request.paths, report, how)
    if not dry:
        db.note_failures(report)
    write = text.rehearsal_text if dry else text.import_text
    return Answer(
        value=rehearsal_value(report) if dry else import_value(report),
        text=lambda: write(report, root=text.here(), verbose=request.verbose),
        found=not report.is_idle,
        question=FIRST if request.from_ and _is_first_of_many(report) else "",
        healthy=not report.errors,
        problems=tuple(f"{problem.path}: {problem.reason}" for problem in report.errors),
        then=(lambda progress: _embedded(db, report, progress)) if embed and not dry else None,
    )


def _given(request: "Import | Roots") -> dict[str, Any]:
    names = ("trust", "as_", "from_")
    return {name: getattr(request, name) for name in names if getattr(request, name) is not None}


def _refuse_without_path(request: Import) -> None:
    """Refuse options that no root takes from a command: each is imported as it was kept."""
    for name in ("as_", "keep_secrets", "follow_links"):
        if getattr(request, name):
            option = name.strip("_").replace("_", "-")
            hint = "name files or folders, or keep a root again: recollect roots add PATH"
            raise InputError(f"--{option} needs a path: roots are imported as they were kept", hint=hint)


def _keep_roots(db: "Workspace", paths: Sequence[str], report: "ImportReport", how: Mapping[str, Any]) -> None:
    """Keep as roots what something was imported from; an archive is none, nor is a path with a secret in it."""
    for path in paths:
        place = Path(path).expanduser().absolute().as_posix().rstrip("/")
        if any(name == place or name.startswith(f"{place}/") for _, name in report.sources):
            db.roots.add(path, **how)
    if how.get("from_") and report.sources:
        db.roots.add(**how)


def _embedded(db: "Workspace", report: "ImportReport", progress: Progress | None) -> Answer[Imported | Rehearsed]:
    """Make the vectors of what was imported; whoever stops that keeps those that are made."""
    stopped = False
    try:
        db.embed_imported(report, progress=progress)
    except KeyboardInterrupt:
        stopped = True
    return Answer(
        value=import_value(report),
        text=lambda: text.embedded_text(report, stopped=stopped),
        found=not report.is_idle,
        healthy=not report.errors,
        stopped=stopped,
    )


def _is_first_of_many(report: "ImportReport") -> bool:
    return report.files["scanned"] > MANY and not report.files["known"]


def rehearsal_value(report: "ImportReport") -> Rehearsed:
    """Return what an import would read."""
    return Rehearsed(
        files={name: report.files[name] for name in ("scanned", "known", "failed")},
        found=FoundFiles(places=report.places, bytes=report.size),
        formats=report.formats,
        read=tuple(PlannedRead(path=each.path, format=each.format) for each in report.read),
        passed_over=report.passed_over,
        errors=tuple(report.errors),
    )


def import_value(report: "ImportReport") -> Imported:
    """Return what an import did, every count in its place also where it is 0."""
    return Imported(
        files={name: report.files[name] for name in ("scanned", "imported", "skipped", "failed")},
        memories={name: report.memories[name] for name in ("new", "updated", "unchanged", "removed", "revived")},
        withheld={"files": report.files["withheld"], "memories": report.memories["withheld"]},
        links=report.files["links"],
        redacted=report.redacted,
        secrets=tuple(report.secrets),
        formats=report.formats,
        read=tuple(report.read),
        passed_over=report.passed_over,
        left_out=report.left_out,
        found=FoundFiles(places=report.places, bytes=report.size) if report.places else None,
        errors=tuple(report.errors),
        vectors=VectorCounts(made=report.embedded, waiting=report.waiting),
        degraded=report.degraded,
    )


# --- roots ----------------------------------------------------------------------------------


class Roots(Request, creates_store=True):
    """What to do with which root."""

    action: Annotated[Literal["list", "add", "remove"], about("what to do (list)", place=1)] = "list"
    path: Annotated[str, about("a file or folder", place=2)] = ""
    from_: From | None = None
    as_: As | None = None
    trust: Trusted | None = None
    follow_links: Annotated[bool, about("follow links that lead out of the folder")] = False


class RootList(Struct, frozen=True, kw_only=True):
    """The roots that are kept."""

    roots: "tuple[remember.roots.Root, ...]"


class DroppedRoot(Struct, frozen=True, kw_only=True):
    """A path that is not a root any more."""

    path: str
    dropped: bool = True


@operation
def roots(
    db: "Workspace", request: Roots, _: Call
) -> "Answer[RootList] | Answer[DroppedRoot] | Answer[remember.roots.Root]":
    """List, add or remove roots: what `import` without a path imports again, and `watch` follows."""
    if request.action == "add":
        named = _given(request)
        kept = db.roots.add(request.path, follow_links=request.follow_links, **named)
        return Answer(value=kept, text=lambda: f"{kept.name} is a root now; import it with: recollect import")
    if request.action == "remove":
        if not request.path:
            raise InputError("say which file or folder", hint="see: recollect roots list")
        db.roots.remove(request.path)
        return Answer(
            value=DroppedRoot(path=request.path),
            text=lambda: f"{request.path} is not a root any more; its memories stay",
        )
    found, empty = db.roots.list(), "No roots; recollect import PATH keeps PATH as one."
    return listed(RootList(roots=found), found, text.root_line, empty=empty)
