"""Verbs that write: what is remembered, how one memory is changed, what is said of it, and the lenses."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from recollect.errors import InputError
from recollect.recall.lens import Lens
from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.surfaces import text
from recollect.surfaces.serialise import serialise
from recollect.surfaces.table import (
    FILTERS,
    ID,
    KEEP_SECRETS,
    NO_EMBED,
    SESSION,
    Answer,
    Given,
    Operation,
    Parameter,
    filters_from,
    listed,
    moment_from,
    numbers_from,
    pairs_from,
)

if TYPE_CHECKING:  # a search starts without what writing needs
    from recollect.remember.import_files import ImportReport

ABOUT: Final = ("title", "type", "source", "external_id", "confidence", "name", "description", "path", "requirements")
"""The options of `add` that are fields of the memory as they stand."""

# --- what is remembered ---------------------------------------------------------------------


def _add(db: Recollection, given: Given, _: Progress | None) -> Answer:
    about = {name: given[name] for name in ABOUT if given.get(name) is not None}
    about["tags"] = tuple(tag.strip() for told in given.get("tag") or () for tag in told.split(","))
    if given.get("metadata"):
        about["metadata"] = pairs_from(given, "metadata", form="KEY=VALUE", example="team=search")
    observed = moment_from(db, given, "date")
    if observed is not None:
        about["observed_at"] = observed.start
    kept = db.add(given["text"], redact=not given.get("keep_secrets"), embed=not given.get("no_embed"), **about)
    return Answer(value=kept, text=lambda: text.ingest_text(kept))


def _import(db: Recollection, given: Given, progress: Progress | None) -> Answer:
    done = db.import_(
        *given["paths"],
        redact=not given.get("keep_secrets"),
        embed=not given.get("no_embed"),
        progress=progress,
    )
    return Answer(
        value=import_value(done),
        text=lambda: text.import_text(done),
        healthy=not done.errors,
        problems=tuple(f"{problem.path}: {problem.reason}" for problem in done.errors),
    )


def import_value(done: "ImportReport") -> dict[str, Any]:
    """Return what an import did, every count in its place also where it is 0."""
    return {
        "files": {name: done.files[name] for name in ("scanned", "imported", "skipped", "failed")},
        "memories": {name: done.memories[name] for name in ("new", "updated", "unchanged", "removed")},
        "redacted": done.redacted,
        "errors": done.errors,
    }


def _capture(db: Recollection, given: Given, _: Progress | None) -> Answer:
    kept = db.capture(given["text"])
    return listed(kept, text.ingest_text, empty="Nothing to remember in it.", memories=kept)


# --- one memory changed ---------------------------------------------------------------------


def _change(db: Recollection, given: Given, _: Progress | None, *, verb: str) -> Answer:
    row = given["id"]
    getattr(db, verb)(row)
    told = {"forget": f"forgotten; bring it back with: recollect restore {row}", "restore": "restored"}[verb]
    return Answer(value={"id": row, "event": verb}, text=lambda: f"#{row} {told}")


def _pin(db: Recollection, given: Given, _: Progress | None) -> Answer:
    row, pinned = given["id"], not given.get("off")
    db.pin(row, pinned=pinned)
    return Answer(value={"id": row, "pinned": pinned}, text=lambda: f"#{row} is {'pinned' if pinned else 'not pinned'}")


def _supersede(db: Recollection, given: Given, _: Progress | None) -> Answer:
    row, by = given["id"], given["by"]
    db.supersede(row, by)
    return Answer(value={"id": row, "superseded_by": by}, text=lambda: f"#{row} is superseded by #{by}")


def _feedback(db: Recollection, given: Given, _: Progress | None) -> Answer:
    row, verdict = given["id"], given["verdict"]
    db.feedback(row, verdict, session=given.get("session"), query=given.get("query"))
    return Answer(value={"id": row, "verdict": verdict}, text=lambda: f"#{row}: {verdict}")


def _reinforce(db: Recollection, given: Given, _: Progress | None) -> Answer:
    rows = [_whole(each) for each in given["ids"]]
    count = db.reinforce(*rows)
    return Answer(value={"reinforced": rows}, text=lambda: f"{count} facts reinforced")


def _whole(number: str) -> int:
    try:
        return int(number)
    except ValueError as error:
        raise InputError(f"{number!r} is not an id", hint="ids are whole numbers; see: recollect facts") from error


# --- lenses ---------------------------------------------------------------------------------


def _lens(db: Recollection, given: Given, _: Progress | None) -> Answer:
    return LENSES[given["action"]](db, given)


def _lens_name(given: Given) -> str:
    name = given.get("name")
    if not name:
        raise InputError("say which lens", hint="see: recollect lens list")
    return str(name)


def _create(db: Recollection, given: Given) -> Answer:
    lens = Lens(
        name=_lens_name(given),
        projects=tuple(given.get("only_project") or ()) or None,
        since=given.get("since"),
        until=given.get("until"),
        boosts=numbers_from(given, "boost", form="KIND:NAME=FACTOR", example="type:decision=1.5"),
        **filters_from(given),
    )
    db.keep_lens(lens)
    hint = f"use it with: recollect search --lens {lens.name}"
    return Answer(value=lens, text=lambda: f"lens {lens.name} is kept; {hint}")


def _list_lenses(db: Recollection, _: Given) -> Answer:
    kept = [serialise(lens) for lens in db.lenses()]
    return listed(kept, _lens_line, empty="No lenses.", lenses=kept)


def _lens_line(lens: Mapping[str, Any]) -> str:
    return f"{lens['name']}: {', '.join(f'{name} {value}' for name, value in lens.items() if name != 'name' and value)}"


def _drop(db: Recollection, given: Given) -> Answer:
    name = _lens_name(given)
    db.drop_lens(name)
    return Answer(value={"name": name, "dropped": True}, text=lambda: f"lens {name} is gone")


LENSES: Final[Mapping[str, Callable[[Recollection, Given], Answer]]] = {
    "create": _create,
    "list": _list_lenses,
    "drop": _drop,
}

# --- the table ------------------------------------------------------------------------------

OPERATIONS: Final = (
    Operation(
        name="add",
        about="Remember one text; - reads it from standard input.",
        run=_add,
        slow=True,
        parameters=(
            Parameter(name="text", place=True, about="what to remember"),
            Parameter(name="type", about="note, decision, gotcha, preference, …"),
            Parameter(name="title", about="a title"),
            Parameter(name="tag", kind="texts", about="a tag, or several with commas (may be repeated)"),
            Parameter(name="source", about="where it comes from"),
            Parameter(name="confidence", kind="share", about="how sure it is, from 0 to 1 (0.8)"),
            Parameter(name="date", about="the day it speaks of"),
            Parameter(name="external_id", about="its id in another system; adding it again updates it"),
            Parameter(name="name", about="a name it goes by"),
            Parameter(name="description", about="a description"),
            Parameter(name="path", about="a path it is about"),
            Parameter(name="requirements", about="requirements it states"),
            Parameter(name="metadata", kind="texts", about="KEY=VALUE (may be repeated)"),
            KEEP_SECRETS,
            NO_EMBED,
        ),
    ),
    Operation(
        name="import",
        about="Import Markdown, text, JSON, JSONL, YAML, CSV and chat transcripts; only what changed is written.",
        run=_import,
        slow=True,
        parameters=(
            Parameter(name="paths", kind="paths", place=True, about="files and folders"),
            KEEP_SECRETS,
            NO_EMBED,
        ),
    ),
    Operation(
        name="capture",
        about="Remember the [MEMORY] lines and cue sentences of a text; - reads it from standard input.",
        run=_capture,
        slow=True,
        parameters=(Parameter(name="text", place=True, about="a worker's output"),),
    ),
    Operation(
        name="forget",
        about="Hide a memory from every search until it is restored.",
        run=partial(_change, verb="forget"),
        parameters=(ID,),
    ),
    Operation(
        name="restore",
        about="Bring a forgotten memory back.",
        run=partial(_change, verb="restore"),
        parameters=(ID,),
    ),
    Operation(
        name="pin",
        about="Keep a memory from ageing.",
        run=_pin,
        parameters=(ID, Parameter(name="off", kind="flag", about="let it age again")),
    ),
    Operation(
        name="supersede",
        about="Say that one memory took the place of another.",
        run=_supersede,
        parameters=(ID, Parameter(name="by", kind="number", place=True, about="the id of the newer memory")),
    ),
    Operation(
        name="feedback",
        about="Say what became of a recalled memory.",
        run=_feedback,
        parameters=(
            ID,
            Parameter(name="verdict", kind="choice", choices=("used", "useful", "wrong"), place=True, about="what"),
            SESSION,
            Parameter(name="query", about="the query it was recalled for"),
        ),
    ),
    Operation(
        name="reinforce",
        about="Vouch for facts: surer, and fresh from today.",
        run=_reinforce,
        parameters=(Parameter(name="ids", kind="paths", place=True, about="ids of facts"),),
    ),
    Operation(
        name="lens",
        about="Create, list or drop lenses: named filters and boosts.",
        run=_lens,
        parameters=(
            Parameter(name="action", kind="choice", choices=tuple(LENSES), place=True, about="what to do"),
            Parameter(name="name", place=True, optional=True, about="the name of the lens"),
            Parameter(name="only_project", kind="texts", about="only this project (may be repeated)"),
            *(each for each in FILTERS if each.kind == "texts" or each.name in ("since", "until")),
            Parameter(name="boost", kind="texts", about="KIND:NAME=FACTOR, such as type:decision=1.5 (repeatable)"),
        ),
    ),
)
