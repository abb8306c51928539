"""Verbs that write: what is remembered, how one memory is changed, what is said of it, and the lenses."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from recollect.errors import InputError
from recollect.recall.lens import Lens
from recollect.recollection import Recollection
from recollect.records import Progress, Trust
from recollect.surfaces import text
from recollect.surfaces.serialise import serialise
from recollect.surfaces.table import (
    DRY_RUN,
    FILTERS,
    ID,
    SESSION,
    Answer,
    Given,
    Later,
    Parameter,
    listed,
    operation,
    whole_number,
)

if TYPE_CHECKING:  # a search starts without what writing needs
    from recollect.remember.import_files import ImportReport

KEEP_SECRETS: Final = Parameter(name="keep_secrets", kind="flag", about="do not redact keys and tokens")
NO_EMBED: Final = Parameter(name="no_embed", kind="flag", about="leave the vectors for later")
TRUST: Final = Parameter(
    name="trust", kind="choice", choices=("owner", "agent", "untrusted"), about="whose word it is (owner)"
)
FIELDS: Final = (
    Parameter(name="type", about="note, decision, gotcha, preference, …"),
    Parameter(name="title", about="a title"),
    Parameter(name="source", about="where it comes from"),
    Parameter(name="confidence", kind="share", about="how sure it is, from 0 to 1 (0.8)"),
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
    Parameter(name="text", place=True, about="what to remember"),
    *FIELDS,
    Parameter(name="tag", kind="texts", about="a tag, or several with commas (may be repeated)"),
    Parameter(name="date", about="the day it speaks of"),
    Parameter(name="metadata", kind="texts", about="KEY=VALUE (may be repeated)"),
    KEEP_SECRETS,
    NO_EMBED,
    slow=True,
)
def add(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Remember one text; - reads it from standard input."""
    about = given.chosen(each.name for each in FIELDS)
    about["tags"] = tuple(tag.strip() for told in given.get("tag") or () for tag in told.split(","))
    if given.get("metadata"):
        about["metadata"] = given.pairs("metadata", form="KEY=VALUE", example="team=search")
    if (observed := given.moment("date")) is not None:
        about["observed_at"] = observed.start
    result = db.add(given["text"], redact=not given.get("keep_secrets"), embed=not given.get("no_embed"), **about)
    return Answer(value=result, text=lambda: text.ingest_text(result, root=text.here()))


@operation(
    Parameter(name="paths", kind="paths", place=True, optional=True, about="files and folders"),
    Parameter(
        name="from_",
        choices=Later("recollect.remember.places", "PLACES"),
        about="what a program keeps in its usual place: claude-code, codex, gemini, chatgpt, claude-ai, …",
    ),
    Parameter(
        name="as_",
        choices=Later("recollect.remember.formats", "BY_NAME"),
        about="read the files as this format, whatever they look like: codex, csv, text, …",
    ),
    TRUST,
    KEEP_SECRETS,
    NO_EMBED,
    Parameter(name="prune", kind="flag", about="forget what is gone even if it is all or most below a folder"),
    Parameter(name="follow_links", kind="flag", about="follow links that lead out of a folder"),
    Parameter(name="verbose", kind="flag", about="tell of every file what it was taken for"),
    DRY_RUN,
    Parameter(name="yes", kind="flag", about="do not ask before a first import of many files"),
    slow=True,
)
def import_(db: Recollection, given: Given, progress: Progress | None) -> Answer:
    """Import notes, documents, chats, exports and sessions of agents; only what changed is written."""
    if not (given.get("paths") or given.get("from_")):
        raise InputError("say what to import", hint="name files or folders, or --from claude-code")
    redact, embed = not given.get("keep_secrets"), not given.get("no_embed")
    prune, follow = bool(given.get("prune")), bool(given.get("follow_links"))
    trust: Trust = given.get("trust") or "owner"
    dry, verbose = bool(given.get("dry_run")), bool(given.get("verbose"))
    report = db.import_(
        *(given.get("paths") or ()),
        as_=given.get("as_"),
        from_=given.get("from_"),
        dry_run=dry,
        redact=redact,
        embed=embed,
        trust=trust,
        prune=prune,
        follow_links=follow,
        progress=progress,
    )
    return Answer(
        value=rehearsal_value(report) if dry else import_value(report),
        text=lambda: (text.rehearsal_text if dry else text.import_text)(report, root=text.here(), verbose=verbose),
        found=not report.is_idle,
        question=FIRST if given.get("from_") and _is_first_of_many(report) else "",
        healthy=not report.errors,
        problems=tuple(f"{problem.path}: {problem.reason}" for problem in report.errors),
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
        **({"degraded": report.degraded} if report.degraded else {}),
    }


@operation(Parameter(name="text", place=True, about="a worker's output"), slow=True)
def capture(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Remember the [MEMORY] lines and cue sentences of a text; - reads it from standard input."""
    results = db.capture(given["text"])
    return listed(results, text.ingest_text, empty="Nothing to remember in it.", memories=results)


# --- one memory changed ---------------------------------------------------------------------


@operation(ID)
def forget(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Hide a memory from every search until it is restored."""
    row = given["id"]
    db.forget(row)
    told = f"#{row} forgotten; bring it back with: recollect restore {row}"
    return Answer(value={"id": row, "event": "forget"}, text=lambda: told)


@operation(ID)
def restore(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Bring back a memory that was forgotten, or one that another took the place of."""
    row = given["id"]
    db.restore(row)
    return Answer(value={"id": row, "event": "restore"}, text=lambda: f"#{row} restored")


@operation(ID, Parameter(name="off", kind="flag", about="let it age again"))
def pin(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Keep a memory from ageing."""
    row, pinned = given["id"], not given.get("off")
    db.pin(row, pinned=pinned)
    told = f"#{row} is {'pinned' if pinned else 'not pinned'}"
    return Answer(value={"id": row, "pinned": pinned}, text=lambda: told)


@operation(ID, Parameter(name="by", kind="number", place=True, about="the id of the newer memory"))
def supersede(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Say that one memory took the place of another."""
    row, by = given["id"], given["by"]
    db.supersede(row, by)
    return Answer(value={"id": row, "superseded_by": by}, text=lambda: f"#{row} is superseded by #{by}")


@operation(
    ID,
    Parameter(name="verdict", kind="choice", choices=("used", "useful", "wrong"), place=True, about="what"),
    SESSION,
    Parameter(name="query", about="the query it was recalled for"),
)
def feedback(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Say what became of a recalled memory."""
    row, verdict = given["id"], given["verdict"]
    db.feedback(row, verdict, session=given.get("session"), query=given.get("query"))
    return Answer(value={"id": row, "verdict": verdict}, text=lambda: f"#{row}: {verdict}")


@operation(Parameter(name="ids", kind="paths", place=True, about="ids of facts"))
def reinforce(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Confirm facts: they are surer, and count as fresh from today."""
    rows = [whole_number(each, see="recollect facts") for each in given["ids"]]
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
        projects=tuple(given.get("only_project") or ()) or None,
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
    Parameter(name="action", kind="choice", choices=tuple(LENSES), place=True, about="what to do"),
    Parameter(name="name", place=True, optional=True, about="the name of the lens"),
    Parameter(name="only_project", kind="texts", about="only this project (may be repeated)"),
    *(each for each in FILTERS if each.kind == "texts" or each.name in ("since", "until")),
    Parameter(name="boost", kind="texts", about="KIND:NAME=FACTOR, such as type:decision=1.5 (repeatable)"),
)
def lens(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Create, list or drop lenses: named filters and boosts."""
    return LENSES[given["action"]](db, given)
