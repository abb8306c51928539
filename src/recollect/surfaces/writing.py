"""Verbs that write: what is remembered, how one memory is changed, what is said of it, and the lenses."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from recollect.errors import InputError
from recollect.options import split_tags
from recollect.recall.lens import Lens
from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.surfaces import text
from recollect.surfaces.rights import ADDS, CHANGES, KEEPING_SECRETS, OWNER_WRITES, READS
from recollect.surfaces.serialise import serialise
from recollect.surfaces.table import (
    DRY_RUN,
    FILTERS,
    ID,
    IDS,
    SESSION,
    Answer,
    Given,
    Later,
    Parameter,
    action_of,
    for_each,
    listed,
    operation,
    read_id,
)
from recollect.trust import level

if TYPE_CHECKING:  # a search starts without what writing needs
    from recollect.remember.import_files import ImportReport

KEEP_SECRETS: Final = Parameter(name="keep_secrets", kind="flag", about="do not redact keys and tokens")
NO_EMBED: Final = Parameter(name="no_embed", kind="flag", about="leave the vectors for later")
TRUST: Final = Parameter(
    name="trust", kind="choice", choices=("owner", "agent", "untrusted"), about="whose word it is (owner)"
)
FROM: Final = Parameter(
    name="from_",
    choices=Later("recollect.remember.places", "PLACES"),
    about="what a program keeps in its usual place: claude-code, codex, gemini, chatgpt, claude-ai, …",
)
AS: Final = Parameter(
    name="as_",
    choices=Later("recollect.remember.formats", "BY_NAME"),
    about="read the files as this format, whatever they look like: codex, csv, text, …",
)
FIELDS: Final = (
    Parameter(name="type", about="note, decision, gotcha, preference, …"),
    Parameter(name="title", about="a title"),
    Parameter(name="source", about="where it comes from"),
    Parameter(name="confidence", kind="share", least=0, most=1, about="how sure it is, from 0 to 1 (0.8)"),
    Parameter(name="external_id", about="its id in another system; adding it again updates it"),
    TRUST,
    Parameter(name="name", about="a name it goes by"),
    Parameter(name="description", about="a description"),
    Parameter(name="path", about="a path it is about"),
    Parameter(name="requirements", about="requirements it states"),
)
"""What a memory takes as it is given."""

# --- what is remembered ---------------------------------------------------------------------


@operation(
    Parameter(name="text", kind="words", place=True, about="what to remember; - reads it from standard input"),
    *FIELDS,
    Parameter(name="tag", kind="texts", about="a tag, or several with commas (may be repeated)"),
    Parameter(name="date", about="the day it speaks of"),
    Parameter(name="metadata", kind="texts", about="KEY=VALUE (may be repeated)"),
    KEEP_SECRETS,
    NO_EMBED,
    rights=ADDS.but(keep_secrets=KEEPING_SECRETS),
    slow=True,
    makes=True,
)
def add(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Remember one text."""
    about = given.chosen(each.name for each in FIELDS)
    about["tags"] = split_tags(given["tag"])
    if given.get("metadata"):
        about["metadata"] = given.pairs("metadata", form="KEY=VALUE", example="team=search")
    if (observed := given.moment("date")) is not None:
        about["observed_at"] = observed.start
    kept, embed = not given.get("keep_secrets"), not given.get("no_embed")
    result = db.add(given["text"], vector=given.get("vector"), redact=kept, embed=embed, **about)
    return Answer(value=result, text=lambda: text.ingest_text(result, root=text.here()))


@operation(
    Parameter(name="paths", kind="paths", place=True, optional=True, about="files and folders; if none, all the roots"),
    FROM,
    AS,
    TRUST,
    KEEP_SECRETS,
    NO_EMBED,
    Parameter(name="prune", kind="flag", about="forget what is gone even if it is all or most below a folder"),
    Parameter(name="follow_links", kind="flag", about="follow links that lead out of a folder"),
    Parameter(name="once", kind="flag", about="do not keep the paths as roots"),
    Parameter(name="verbose", kind="flag", about="tell of every file what it was taken for"),
    DRY_RUN,
    Parameter(name="yes", kind="flag", about="do not ask before a first import of many files"),
    slow=True,
    makes=True,
    stopped="the first {done} of {total} files are in and stay; the same command goes on from there",
)
def import_(db: Recollection, given: Given, progress: Progress | None) -> Answer:
    """Import notes, documents, chats, exports and sessions of agents; only what changed is written."""
    redact, embed = not given.get("keep_secrets"), not given.get("no_embed")
    prune, follow = bool(given.get("prune")), bool(given.get("follow_links"))
    dry, verbose = bool(given.get("dry_run")), bool(given.get("verbose"))
    how = {"redact": redact, "follow_links": follow, **given.chosen(("trust", "as_", "from_"))}
    paths = given["paths"]
    if paths or given.get("from_"):
        report = db.import_(*paths, **how, dry_run=dry, embed=embed, prune=prune, defer=True, progress=progress)
    else:
        _refuse_without_path(given)
        how = given.chosen(("trust",))
        report = db.import_roots(**how, dry_run=dry, prune=prune, embed=embed, defer=True, progress=progress)
    if not (dry or given.get("once")):
        _keep_roots(db, paths, report, how)
    if not dry:
        db.note_failures(report)
    return Answer(
        value=rehearsal_value(report) if dry else import_value(report),
        text=lambda: (text.rehearsal_text if dry else text.import_text)(report, root=text.here(), verbose=verbose),
        found=not report.is_idle,
        question=FIRST if given.get("from_") and _is_first_of_many(report) else "",
        healthy=not report.errors,
        problems=tuple(f"{problem.path}: {problem.reason}" for problem in report.errors),
        then=(lambda progress: _embedded(db, report, progress)) if embed and not dry else None,
    )


def _refuse_without_path(given: Given) -> None:
    """Refuse options that no root takes from a command: each is imported as it was kept."""
    for name in ("as_", "keep_secrets", "follow_links"):
        if given.get(name):
            option = name.strip("_").replace("_", "-")
            hint = "name files or folders, or keep a root anew: recollect roots add PATH"
            raise InputError(f"--{option} needs a path: roots are imported as they were kept", hint=hint)


def _keep_roots(db: Recollection, paths: Sequence[str], report: "ImportReport", how: Mapping[str, Any]) -> None:
    """Keep as roots what something was imported from; an archive is none, nor is a path with a secret in it."""
    for path in paths:
        place = Path(path).expanduser().absolute().as_posix().rstrip("/")
        if any(name == place or name.startswith(f"{place}/") for _, name in report.sources):
            db.keep_root(path, **how)
    if how.get("from_") and report.sources:
        db.keep_root(**how)


def _embedded(db: Recollection, report: "ImportReport", progress: Progress | None) -> Answer:
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


FIRST: Final = "Import them?"
MANY: Final = 20
"""How many files are asked about before they are imported from a place for the first time."""


def _is_first_of_many(report: "ImportReport") -> bool:
    return report.files["scanned"] > MANY and not report.files["known"]


def rehearsal_value(report: "ImportReport") -> dict[str, Any]:
    """Return what an import would read."""
    return {
        "files": {name: report.files[name] for name in ("scanned", "known", "failed")},
        "found": {"places": report.places, "bytes": report.size},
        "formats": report.formats,
        "read": [{"path": each.path, "format": each.format} for each in report.read],
        "passed_over": report.passed_over,
        "errors": report.errors,
    }


def import_value(report: "ImportReport") -> dict[str, Any]:
    """Return what an import did, every count in its place also where it is 0."""
    return {
        "files": {name: report.files[name] for name in ("scanned", "imported", "skipped", "failed")},
        "memories": {name: report.memories[name] for name in ("new", "updated", "unchanged", "removed", "revived")},
        "withheld": {"files": report.files["withheld"], "memories": report.memories["withheld"]},
        "links": report.files["links"],
        "redacted": report.redacted,
        **({"secrets": report.secrets} if report.secrets else {}),
        "formats": report.formats,
        "read": report.read,
        "passed_over": report.passed_over,
        "left_out": report.left_out,
        **({"found": {"places": report.places, "bytes": report.size}} if report.places else {}),
        "errors": report.errors,
        "vectors": {"made": report.embedded, "waiting": report.waiting},
        **({"degraded": report.degraded} if report.degraded else {}),
    }


def _keep(db: Recollection, given: Given) -> Answer:
    how = given.chosen(("trust", "follow_links", "as_", "from_"))
    kept = db.keep_root(given["path"], **how)
    return Answer(value=kept, text=lambda: f"{kept.name} is a root now; import it with: recollect import")


def _list_roots(db: Recollection, _: Given) -> Answer:
    kept = [serialise(each) for each in db.roots()]
    return listed(kept, text.root_line, empty="No roots; recollect import PATH keeps PATH as one.", roots=kept)


def _remove(db: Recollection, given: Given) -> Answer:
    path = _root_path(given)
    db.drop_root(path)
    told = f"{path} is no root any more; its memories stay"
    return Answer(value={"path": path, "dropped": True}, text=lambda: told)


def _root_path(given: Given) -> str:
    path = given.get("path")
    if not path:
        raise InputError("say which file or folder", hint="see: recollect roots list")
    return str(path)


ROOTS: Final[Mapping[str, Callable[[Recollection, Given], Answer]]] = {
    "list": _list_roots,
    "add": _keep,
    "remove": _remove,
}


@operation(
    action_of(ROOTS),
    Parameter(name="path", place=True, optional=True, default="", about="a file or folder"),
    FROM,
    AS,
    TRUST,
    Parameter(name="follow_links", kind="flag", about="follow links that lead out of the folder"),
    makes=True,
)
def roots(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """List, add or remove roots: what `import` without a path imports again, and `watch` follows."""
    return ROOTS[given["action"]](db, given)


@operation(
    Parameter(name="text", place=True, about="what an agent wrote; - reads it from standard input"),
    rights=ADDS,
    slow=True,
    makes=True,
    group="agents",
)
def capture(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Remember what an agent wants kept: its "[MEMORY] …" lines and sentences such as "Decision: …"."""
    results = db.capture(given["text"], trust=min("agent", given.caller_trust, key=level))
    return listed(results, text.ingest_text, empty="Nothing to remember in it.", memories=results)


# --- one memory changed ---------------------------------------------------------------------


@operation(IDS, rights=CHANGES)
def forget(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Hide memories from every search until they are restored."""
    db.forget(*given.ids, trust=given.caller_trust)
    return for_each(
        given.ids,
        lambda row: (
            {"id": row, "event": "forget"},
            f"#{row} forgotten; bring it back with: recollect restore {row}",
        ),
    )


@operation(IDS, rights=CHANGES)
def restore(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Bring back memories that were forgotten or superseded."""
    db.restore(*given.ids, trust=given.caller_trust)
    return for_each(given.ids, lambda row: ({"id": row, "event": "restore"}, f"#{row} restored"))


@operation(IDS, Parameter(name="off", kind="flag", about="let it age again"), rights=OWNER_WRITES)
def pin(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Keep memories from ageing."""
    pinned = not given["off"]
    db.pin(*given.ids, pinned=pinned)
    state = "pinned" if pinned else "not pinned"
    return for_each(given.ids, lambda row: ({"id": row, "pinned": pinned}, f"#{row} is {state}"))


@operation(
    ID,
    Parameter(name="content", about="the new text; - reads it from standard input"),
    Parameter(name="title", about="the new title"),
    Parameter(name="type", about="the new type"),
    Parameter(name="tag", kind="texts", about="the tags it has from now on (may be repeated; see also: tag)"),
    Parameter(name="date", about="the day it speaks of"),
    Parameter(name="source", about="where it comes from"),
    Parameter(name="confidence", kind="share", least=0, most=1, about="how sure it is, from 0 to 1"),
    Parameter(name="metadata", kind="texts", about="KEY=VALUE (may be repeated); the other keys stay"),
    KEEP_SECRETS,
    NO_EMBED,
    rights=CHANGES.but(keep_secrets=KEEPING_SECRETS),
)
def edit(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Change a memory, in your editor or by options; what it said before stays in its history."""
    (row,) = given.ids
    changes = given.chosen(("content", "title", "type", "source", "confidence"))
    if given.get("tag"):
        changes["tag"] = split_tags(given.get("tag"))
    if given.get("metadata"):
        told = given.pairs("metadata", form="KEY=VALUE", example="team=search")
        changes["metadata"] = {**db.show(row).memory.metadata, **told}
    if (observed := given.moment("date")) is not None:
        changes["date"] = observed.start
    if not changes:
        raise InputError("nothing to change", hint="say what, such as --content TEXT or --type decision")
    done = db.edit(row, **changes, redact=not given.get("keep_secrets"), embed=not given.get("no_embed"))
    return Answer(value=done, text=lambda: text.edit_text(done, root=text.here()))


@operation(
    IDS,
    Parameter(name="add", kind="texts", about="a tag to give, or several with commas (may be repeated)"),
    Parameter(name="remove", kind="texts", about="a tag to take away, or several with commas (may be repeated)"),
    rights=CHANGES,
)
def tag(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Give memories tags, or take tags away."""
    more, less = split_tags(given["add"]), split_tags(given["remove"])
    if not (more or less):
        raise InputError("no tag is given", hint="such as: recollect tag 26 27 --add release --remove draft")
    done = {each.id: each for each in db.tag(*given.ids, add=more, remove=less)}
    return for_each(list(done), lambda row: (serialise(done[row]), text.tag_text(done[row])))


@operation(
    ID,
    Parameter(name="by", kind="id", place=True, about="the id of the newer memory"),
    Parameter(name="keep_wording", kind="flag", about="keep its text as another wording of the newer memory"),
    rights=CHANGES,
)
def supersede(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Replace one memory by another, and hide it from searches."""
    (row,), by = given.ids, given["by"]
    db.supersede(row, by, keep_wording=bool(given.get("keep_wording")), trust=given.caller_trust)
    return Answer(value={"id": row, "superseded_by": by}, text=lambda: f"#{row} is superseded by #{by}")


@operation(
    ID,
    Parameter(
        name="verdict", kind="choice", choices=("used", "useful", "wrong"), place=True, about="used, useful or wrong"
    ),
    SESSION,
    Parameter(name="query", about="the query that found it"),
    rights=replace(ADDS, trust="agent"),
    group="agents",
)
def feedback(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Say whether a memory that was found was used, useful or wrong; `tune` learns from it."""
    (row,), verdict = given.ids, given["verdict"]
    db.feedback(row, verdict, session=given.get("session"), query=given.get("query"), trust=given.caller_trust)
    return Answer(value={"id": row, "verdict": verdict}, text=lambda: f"#{row}: {verdict}")


@operation(
    Parameter(name="ids", kind="paths", place=True, about="ids of facts (see: recollect facts)"),
    rights=OWNER_WRITES,
    group="agents",
)
def reinforce(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Confirm facts: their confidence rises and counts from today."""
    rows = [read_id(each, see="recollect facts") for each in given["ids"]]
    count = db.reinforce(*rows)
    return Answer(value={"reinforced": rows}, text=lambda: f"{count} facts reinforced")


# --- lenses ---------------------------------------------------------------------------------


def _lens_name(given: Given) -> str:
    name = given.get("name")
    if not name:
        raise InputError("say which lens", hint="see: recollect lens list")
    return str(name)


def _create(db: Recollection, given: Given) -> Answer:
    made = Lens(
        name=_lens_name(given),
        projects=tuple(given["only_project"]) or None,
        since=given.get("since"),
        until=given.get("until"),
        boosts=given.numbers("boost", form="KIND:NAME=FACTOR", example="type:decision=1.5"),
        **given.filters(),
    )
    db.keep_lens(made)
    told = f"lens {made.name} is kept; use it with: recollect search --lens {made.name}"
    return Answer(value=made, text=lambda: told)


def _list(db: Recollection, _: Given) -> Answer:
    kept = [serialise(each) for each in db.lenses()]
    return listed(kept, text.lens_line, empty="No lenses.", lenses=kept)


def _drop(db: Recollection, given: Given) -> Answer:
    name = _lens_name(given)
    db.drop_lens(name)
    return Answer(value={"name": name, "dropped": True}, text=lambda: f"lens {name} is gone")


LENSES: Final[Mapping[str, Callable[[Recollection, Given], Answer]]] = {
    "create": _create,
    "list": _list,
    "drop": _drop,
}


@operation(
    action_of(LENSES),
    Parameter(name="name", place=True, optional=True, about="the name of the lens"),
    Parameter(name="only_project", kind="texts", about="only this project (may be repeated)"),
    *(each for each in FILTERS if each.kind == "texts" or each.name in ("since", "until")),
    Parameter(name="boost", kind="texts", about="KIND:NAME=FACTOR, such as type:decision=1.5 (repeatable)"),
    rights=READS.but(action={"create": OWNER_WRITES, "drop": OWNER_WRITES}),
    group="agents",
)
def lens(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Create, list or drop lenses: filters and boosts kept under a name, for `search --lens NAME`."""
    return LENSES[given["action"]](db, given)
