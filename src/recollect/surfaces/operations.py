"""The one table of operations: every surface offers these verbs, with these parameters and these answers."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from recollect.errors import InputError
from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.surfaces import shapes, show
from recollect.surfaces.table import FILTERS, ID, Answer, Operation, Parameter, moment_from, where_from
from recollect.surfaces.verbs import asking, evaluating, living, meaning, tuning


def _add(db: Recollection, given: Mapping[str, Any], _: Progress | None) -> Answer:
    names = ("title", "type", "source", "external_id", "confidence", "name", "description", "path", "requirements")
    about = {name: given[name] for name in names if given.get(name) is not None}
    about["tags"] = tuple(tag.strip() for text in given.get("tag") or () for tag in text.split(","))
    observed = moment_from(db, given, "date")
    if observed is not None:
        about["observed_at"] = observed.start
    if given.get("metadata"):
        about["metadata"] = _pairs(given["metadata"])
    kept = db.add(given["text"], redact=not given.get("keep_secrets"), embed=not given.get("no_embed"), **about)
    return Answer(value=shapes.kept_shape(kept), text=show.kept_text(kept))


def _pairs(texts: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise InputError(f"metadata: {text!r} is not KEY=VALUE", hint="such as --metadata team=search")
        pairs[key.strip()] = value.strip()
    return pairs


def _import(db: Recollection, given: Mapping[str, Any], progress: Progress | None) -> Answer:
    done = db.import_(
        *given["paths"],
        redact=not given.get("keep_secrets"),
        embed=not given.get("no_embed"),
        progress=progress,
    )
    return Answer(
        value=shapes.brought_shape(done),
        text=show.brought_text(done),
        healthy=not done.errors,
        problems=tuple(f"{problem.path}: {problem.reason}" for problem in done.errors),
    )


def _show(db: Recollection, given: Mapping[str, Any], _: Progress | None) -> Answer:
    shown = db.show(given["id"])
    return Answer(value=shapes.shown_shape(shown), text=show.shown_text(shown, root=asking.here()))


def _list(db: Recollection, given: Mapping[str, Any], _: Progress | None) -> Answer:
    limit, offset = given.get("limit") or 0, given.get("offset") or 0
    listing = db.list(where=where_from(db, given), limit=limit if limit > 0 else 20, offset=offset)
    return Answer(value=shapes.listing_shape(listing), text=show.listing_text(listing), found=bool(listing.memories))


def _change(db: Recollection, given: Mapping[str, Any], _: Progress | None, *, verb: str) -> Answer:
    getattr(db, verb)(given["id"])
    done = {"forget": "forgotten", "restore": "restored"}[verb]
    hint = f"; bring it back with: recollect restore {given['id']}" if verb == "forget" else ""
    return Answer(value={"id": given["id"], "event": verb}, text=f"#{given['id']} {done}{hint}")


def _stats(db: Recollection, _: Mapping[str, Any], __: Progress | None) -> Answer:
    tally = db.stats()
    return Answer(value=shapes.tally_shape(tally, db.address), text=show.tally_text(tally, db.address))


def _doctor(db: Recollection, _: Mapping[str, Any], __: Progress | None) -> Answer:
    health = db.doctor()
    return Answer(value=shapes.health_shape(health), text=show.health_text(health), healthy=not health.problems)


def _reindex(db: Recollection, _: Mapping[str, Any], progress: Progress | None) -> Answer:
    count = db.reindex(progress)
    return Answer(value={"memories": count}, text=f"{count} memories indexed anew")


OPERATIONS: Final[Mapping[str, Operation]] = {
    operation.name: operation
    for operation in (
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
                Parameter(name="keep_secrets", kind="flag", default=False, about="do not redact keys and tokens"),
                Parameter(name="no_embed", kind="flag", default=False, about="leave the vectors for later"),
            ),
        ),
        Operation(
            name="import",
            about="Import Markdown, text, JSON, JSONL, YAML, CSV and chat transcripts; only what changed is written.",
            run=_import,
            slow=True,
            parameters=(
                Parameter(name="paths", kind="paths", place=True, about="files and folders"),
                Parameter(name="keep_secrets", kind="flag", default=False, about="do not redact keys and tokens"),
                Parameter(name="no_embed", kind="flag", default=False, about="leave the vectors for later"),
            ),
        ),
        asking.SEARCH,
        Operation(name="show", about="Show one memory with its history.", run=_show, parameters=(ID,)),
        Operation(
            name="list",
            about="List memories, newest first.",
            run=_list,
            parameters=(
                Parameter(name="limit", kind="number", default=20, about="how many (20)"),
                Parameter(name="offset", kind="number", default=0, about="how many to pass over"),
                *FILTERS,
            ),
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
        Operation(name="stats", about="Count what is here.", run=_stats),
        Operation(name="doctor", about="Look for damage.", run=_doctor),
        Operation(name="reindex", about="Make every index anew from the memories.", run=_reindex, slow=True),
        *asking.OPERATIONS,
        *meaning.OPERATIONS,
        *living.OPERATIONS,
        *tuning.OPERATIONS,
        *evaluating.OPERATIONS,
    )
}
