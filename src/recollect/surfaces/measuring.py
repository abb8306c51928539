"""Verbs about quality: how well judged questions are answered, and the profile fitted to its user."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from recollect import evaluate
from recollect.errors import InputError
from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.replies import Mode
from recollect.surfaces import text
from recollect.surfaces.table import DRY_RUN, Answer, Given, Parameter, mode_from, operation, write_file

SPLITS: Final = ("dev", "test", "all")


@operation(
    Parameter(
        name="datasets",
        kind="paths",
        place=True,
        about="folders in the BEIR layout, or JSON files of LongMemEval or LoCoMo",
    ),
    Parameter(name="profile", kind="texts", about="a profile to try (may be repeated; the first is the baseline)"),
    Parameter(name="mode", kind="texts", about="keyword, semantic or hybrid (may be repeated; hybrid)"),
    Parameter(name="split", kind="choice", choices=SPLITS, default="all", about="which half of the queries (all)"),
    Parameter(
        name="by",
        kind="choice",
        choices=("document", "session"),
        default="document",
        about="what counts as a find: a document, or the session it was said in (document)",
    ),
    Parameter(name="queries", kind="number", least=1, about="ask only this many queries of each set"),
    Parameter(name="run_file", kind="texts", about="NAME=PATH: score another tool's ranking (may be repeated)"),
    Parameter(name="export", about="write every ranking into this folder, in the format of TREC"),
    Parameter(name="output", kind="texts", about="write a report: report.md or report.html (may be repeated)"),
    Parameter(name="vectors", about="the folder where vectors are kept (the user's cache folder)"),
    slow=True,
    store=False,
    group="measure",
    stopped="nothing was written; vectors made so far are kept for the next run",
)
def eval_(db: Recollection, given: Given, progress: Progress | None) -> Answer:
    """Measure how well judged questions are answered; your own store is not touched."""
    outputs, exports = _outputs(given["output"]), _folder(given.get("export"))
    modes = tuple(dict.fromkeys(map(mode_from, given["mode"]))) or ("hybrid",)
    found = db.eval(
        *given["datasets"],
        profile=tuple(given["profile"]),
        mode=modes,
        split=given["split"],
        by=given["by"],
        queries=given.get("queries"),
        run_file=given.pairs("run_file", form="NAME=PATH", example="bm25=bm25.trec"),
        vectors=given.get("vectors"),
        progress=progress,
    )
    facts = _facts(db, given, modes)
    for path, write in outputs.items():
        write_file(path, [write(evaluate.report.report_of(found, facts))])
    written = [*outputs, *(_exported(found, exports) if exports else ())]
    return Answer(
        value={**evaluate.report.as_value(found, split=given["split"], facts=facts), "written": written},
        text=lambda: "\n".join([evaluate.report.as_text(found, facts), *(f"written: {path}" for path in written)]),
    )


# --- what is asked for ----------------------------------------------------------------------


def _outputs(texts: Sequence[str]) -> Mapping[Path, "Callable[[evaluate.markup.Report], str]"]:
    writers = {".md": evaluate.markup.as_markdown, ".html": evaluate.markup.as_html}
    paths = [Path(text).expanduser() for text in texts]
    for path in paths:
        if path.suffix not in writers:
            raise InputError(
                f"--output {path}: a report is Markdown or HTML", hint=f"end its name in {' or '.join(writers)}"
            )
        _folder(str(path.parent))
    return {path: writers[path.suffix] for path in paths}


def _folder(text: str | None) -> Path | None:
    """Return the folder *text*, made before the long work: what cannot be written in the end is known now."""
    if not text:
        return None
    folder = Path(text).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}", hint="name a folder of yours") from error
    return folder


# --- what is told and written ---------------------------------------------------------------


def _facts(db: Recollection, given: Given, modes: Sequence[Mode]) -> Mapping[str, str]:
    most = given.get("queries")
    model = db.models.required() if evaluate.plan.needs_model(db.models, modes) else None
    return {
        "date": db.now().date().isoformat(),
        "split": given["split"] + (f", the first {most} queries of each set only" if most else ""),
        "scored by": given["by"],
        "model": "none" if model is None else f"{db.models.name} ({model.fingerprint})",
        "latency": evaluate.report.TIMED,
        **evaluate.report.machine(),
    }


def _exported(found: "evaluate.evaluate.Evaluation", folder: Path) -> list[Path]:
    """Write one ranking for each set, profile and mode, in the format of TREC where its ids can stand in it."""
    paths = []
    for run in (each for each in found.runs if each.system.mode != evaluate.evaluate.RUN_FILE):
        try:
            ranking, ending = evaluate.runs.as_trec(run.rankings), "trec"
        except InputError:
            ranking, ending = evaluate.runs.as_json(run.rankings), "json"
        name = "_".join(run.system.profile.removesuffix(".toml").replace("/", "_").split())
        paths.append(folder / f"{run.dataset}.{name}.{run.system.mode}.{ending}")
        write_file(paths[-1], [ranking])
    return paths


# --- tuning ---------------------------------------------------------------------------------


@operation(
    Parameter(name="from", kind="choice", choices=("feedback",), about="where judgements come from (feedback)"),
    Parameter(name="judged", about="a file of judged queries instead: JSON lines, or query TAB id TAB gain"),
    replace(DRY_RUN, about="only say what would be adopted"),
    Parameter(name="show", kind="flag", about="say what is in force, since when, and why"),
    Parameter(name="undo", kind="flag", about="go back to what was before the last tuning"),
    slow=True,
    group="measure",
    stopped="nothing was changed",
)
def tune(db: Recollection, given: Given, progress: Progress | None) -> Answer:
    """Fit the ranking to your feedback or to judged queries; adopted is only what is surely better."""
    if given.get("show") or given.get("undo"):
        others = [name for name in ("judged", "from", "dry_run") if given.get(name)]
        if others or (given.get("show") and given.get("undo")):
            raise InputError("--show and --undo take no other options", hint="see: recollect tune --help")
        return _undo(db) if given.get("undo") else _show(db)
    if given.get("judged") and given.get("from"):
        raise InputError("--from feedback and --judged are two ways to say the same", hint="give one of them")
    dry = bool(given.get("dry_run"))
    done = db.tune(given.get("judged"), dry_run=dry, progress=progress)
    return Answer(value={**_tuned_value(done), "dry_run": dry}, text=lambda: text.tuned_text(done, dry=dry))


def _tuned_value(done: "evaluate.tune.Tuned") -> dict[str, Any]:
    fitted = done.fitted
    return {
        "profile": fitted.profile,
        "source": done.source,
        "questions": fitted.questions,
        "left_out": done.left_out,
        "before": fitted.before,
        "after": fitted.after,
        "interval": fitted.interval,
        "moved": {name: {"from": old, "to": new} for name, (old, new) in fitted.moved.items()},
        "adopted": done.adopted,
        "reason": fitted.reason,
    }


def _show(db: Recollection) -> Answer:
    tuning = db.tuning()
    if tuning is None:
        name = db.profile.name
        return Answer(value={"profile": name, "tuned": False}, text=lambda: f"{name} is not tuned here", found=False)
    return Answer(value=_tuning_value(tuning), text=lambda: text.tuning_text(tuning))


def _undo(db: Recollection) -> Answer:
    undone, left = db.untune(), db.tuning()
    now = f"{undone.profile} is as it comes again" if left is None else text.tuning_text(left)
    value = {"undone": _tuning_value(undone), "now": None if left is None else _tuning_value(left)}
    return Answer(value=value, text=lambda: f"the tuning of {undone.day} is undone\n{now}")


def _tuning_value(tuning: "evaluate.tuning.Tuning") -> dict[str, Any]:
    names = ("at", "values", "source", "questions", "before", "after")
    value = {name: getattr(tuning, name) for name in names}
    return {"profile": tuning.profile, "tuned": True, **value, "interval": {"low": tuning.low, "high": tuning.high}}
