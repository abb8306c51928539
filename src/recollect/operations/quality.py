"""Operations on quality: how well judged questions are answered, and the profile fitted to its user."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Struct, field

from recollect import evaluate
from recollect.errors import InputError
from recollect.operations.answer import Answer, operation, write_file
from recollect.operations.fields import Texts, mode_from, pairs
from recollect.operations.request import Call, Request
from recollect.parameters import about
from recollect.render import text
from recollect.replies import Mode

if TYPE_CHECKING:  # a client of the server opens no store
    from recollect.workspace import Workspace


class Eval(
    Request,
    slow=True,
    needs_store=False,
    group="measure",
    stopped="nothing was written; vectors made so far are kept for the next run",
):
    """Which judged sets to measure, and how."""

    datasets: Annotated[Texts, about("folders in the BEIR layout, or JSON files of LongMemEval or LoCoMo", place=1)]
    profile: Annotated[Texts, about("a profile to try; the first is the baseline")] = ()
    mode: Annotated[Texts, about("keyword, semantic or hybrid (hybrid)")] = ()
    split: Annotated[Literal["dev", "test", "all"], about("which half of the queries (all)")] = "all"
    by: Annotated[
        Literal["document", "session"],
        about("what counts as a find: a document, or the session it was said in (document)"),
    ] = "document"
    queries: Annotated[int, about("ask only this many queries of each set", ge=1)] | None = None
    run_file: Annotated[Texts, about("NAME=PATH: score another tool's ranking", metavar="KEY=VALUE")] = ()
    export: (
        Annotated[str, about("write every ranking into this folder, in the format of TREC", metavar="FOLDER")] | None
    ) = None
    output: Annotated[Texts, about("write a report: report.md or report.html", metavar="FILE")] = ()
    vectors: (
        Annotated[str, about("the folder where vectors are kept (the user's cache folder)", metavar="FOLDER")] | None
    ) = None


@operation
def eval_(db: "Workspace", request: Eval, call: Call) -> Answer[Mapping[str, object]]:
    """Measure how well judged questions are answered; your own store is not touched."""
    outputs, exports = _outputs(request.output), _folder(request.export)
    modes = tuple(dict.fromkeys(map(mode_from, request.mode))) or ("hybrid",)
    found = db.eval(
        *request.datasets,
        profile=request.profile,
        mode=modes,
        split=request.split,
        by=request.by,
        queries=request.queries,
        run_file=pairs(request.run_file, "run_file", form="NAME=PATH", example="bm25=bm25.trec"),
        vectors=request.vectors,
        progress=call.progress,
    )
    facts = _facts(db, request, modes)
    for path, write in outputs.items():
        write_file(path, [write(evaluate.report.report_of(found, facts))])
    written = [*outputs, *(_exported(found, exports) if exports else ())]
    return Answer(
        value={**evaluate.report.as_value(found, split=request.split, facts=facts), "written": written},
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


def _facts(db: "Workspace", request: Eval, modes: Sequence[Mode]) -> Mapping[str, str]:
    most = request.queries
    model = db.models.required() if evaluate.plan.needs_model(db.models, modes) else None
    return {
        "date": db.now().date().isoformat(),
        "split": request.split + (f", the first {most} queries of each set only" if most else ""),
        "scored by": request.by,
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


class Tune(Request, slow=True, group="measure", stopped="nothing was changed"):
    """What to fit the ranking to."""

    from_: Annotated[Literal["feedback"], about("where judgements come from (feedback)")] | None = None
    judged: (
        Annotated[str, about("a file of judged queries instead: JSON lines, or query TAB id TAB gain", metavar="FILE")]
        | None
    ) = None
    dry_run: Annotated[bool, about("only say what would be adopted")] = False
    show: Annotated[bool, about("say what is in force, since when, and why")] = False
    undo: Annotated[bool, about("go back to what was before the last tuning")] = False


class MovedNumber(Struct, frozen=True, kw_only=True):
    """A number of the profile before and after fitting."""

    json_members: ClassVar[str] = "from=from_ to"

    from_: float = field(name="from")
    to: float


class Interval(Struct, frozen=True, kw_only=True):
    """The bounds of a confidence interval."""

    low: float
    high: float


class TuneReport(Struct, frozen=True, kw_only=True):
    """What was fitted to what, how well, and whether it was adopted."""

    profile: str
    source: str
    questions: int
    left_out: object
    before: float | None
    after: float | None
    interval: object
    moved: Mapping[str, MovedNumber]
    adopted: bool
    reason: str
    dry_run: bool


class TuningState(Struct, frozen=True, kw_only=True):
    """A tuning: its numbers, since when, and how much better it is."""

    profile: str
    tuned: bool
    at: str
    values: Mapping[str, float]
    source: str
    questions: int
    before: float
    after: float
    interval: Interval


class NotTuned(Struct, frozen=True, kw_only=True):
    """A profile as it comes."""

    profile: str
    tuned: bool = False


class UndoneTuning(Struct, frozen=True, kw_only=True):
    """The tuning that was undone, and the one in force now."""

    undone: TuningState
    now: TuningState | None


@operation
def tune(
    db: "Workspace", request: Tune, call: Call
) -> Answer[TuneReport] | Answer[UndoneTuning] | Answer[TuningState] | Answer[NotTuned]:
    """Fit the ranking to your feedback or to judged queries; adopted is only what is surely better."""
    if request.show or request.undo:
        if request.judged or request.from_ or request.dry_run or (request.show and request.undo):
            raise InputError("--show and --undo take no other options", hint="see: recollect tune --help")
        return _undo(db) if request.undo else _show(db)
    if request.judged and request.from_:
        raise InputError("--from feedback and --judged are two ways to say the same", hint="give one of them")
    dry = request.dry_run
    done = db.tune(request.judged, dry_run=dry, progress=call.progress)
    return Answer(value=_report(done, dry=dry), text=lambda: text.tuned_text(done, dry=dry))


def _report(done: "evaluate.tune.Tuned", *, dry: bool) -> TuneReport:
    fitted = done.fitted
    return TuneReport(
        profile=fitted.profile,
        source=done.source,
        questions=fitted.questions,
        left_out=done.left_out,
        before=fitted.before,
        after=fitted.after,
        interval=fitted.interval,
        moved={name: MovedNumber(from_=old, to=new) for name, (old, new) in fitted.moved.items()},
        adopted=done.adopted,
        reason=fitted.reason,
        dry_run=dry,
    )


def _show(db: "Workspace") -> Answer[TuningState] | Answer[NotTuned]:
    tuning = db.tuning()
    if tuning is None:
        name = db.profile.name
        return Answer(value=NotTuned(profile=name), text=lambda: f"{name} is not tuned here", found=False)
    return Answer(value=_state(tuning), text=lambda: text.tuning_text(tuning))


def _undo(db: "Workspace") -> Answer[UndoneTuning]:
    undone, left = db.untune(), db.tuning()
    now = f"{undone.profile} is as it comes again" if left is None else text.tuning_text(left)
    value = UndoneTuning(undone=_state(undone), now=None if left is None else _state(left))
    return Answer(value=value, text=lambda: f"the tuning of {undone.day} is undone\n{now}")


def _state(tuning: "evaluate.tuning.Tuning") -> TuningState:
    return TuningState(
        profile=tuning.profile,
        tuned=True,
        at=tuning.at,
        values=tuning.values,
        source=tuning.source,
        questions=tuning.questions,
        before=tuning.before,
        after=tuning.after,
        interval=Interval(low=tuning.low, high=tuning.high),
    )
