"""Verbs about quality: how well judged questions are answered, profile by profile and mode by mode."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from recollect.errors import InputError
from recollect.profile import Profile, load_profile
from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.replies import Mode
from recollect.surfaces.table import Answer, Operation, Parameter, mode_from

if TYPE_CHECKING:
    from recollect.evaluate.cache import DiskCachedEmbedder
    from recollect.evaluate.evaluate import Evaluation, Plan
    from recollect.evaluate.markup import Report

Given = Mapping[str, Any]
SPLITS: Final = ("dev", "test", "all")


def _eval(db: Recollection, given: Given, progress: Progress | None) -> Answer:
    from recollect.evaluate.corpus import EvalResources  # noqa: PLC0415  (only this verb needs any of it)
    from recollect.evaluate.evaluate import evaluate  # noqa: PLC0415
    from recollect.evaluate.report import as_text, as_value, report_of  # noqa: PLC0415

    outputs, exports = _outputs(given.get("output") or ()), _folder(given.get("export"))
    plan = _plan(db, given)
    embedder = _embedder(db, plan.modes, given.get("vectors"))
    reranker, model = db.rerankers.current, db.models.name
    resources = EvalResources(embedder=embedder, model=model, reranker=reranker, progress=progress)
    with nullcontext() if embedder is None else closing(embedder):
        found = evaluate(plan, resources)
    facts = _facts(db, given, embedder)
    for path, write in outputs.items():
        _write(path, write(report_of(found, facts)))
    written = [str(path) for path in (*outputs, *(_exported(found, exports) if exports else ()))]
    return Answer(
        value={**as_value(found, split=_split(given), facts=facts), "written": written},
        text="\n".join([as_text(found, facts), *(f"written: {path}" for path in written)]),
    )


# --- what is asked for ----------------------------------------------------------------------


def _plan(db: Recollection, given: Given) -> "Plan":
    from recollect.evaluate.evaluate import Plan, read_run_files, read_sets  # noqa: PLC0415

    profiles = _profiles(db, given.get("profile") or ())
    modes = tuple(dict.fromkeys(mode_from(name) for name in given.get("mode") or ("hybrid",)))
    most = given.get("queries")
    if most is not None and most < 1:
        raise InputError(f"--queries {most} asks nothing", hint="leave it out to ask all of them")
    paths = [Path(path).expanduser() for path in given["datasets"]]
    sets = read_sets(paths, split=_split(given), most=most or 0, by_session=given.get("by") == "session")
    run_files = read_run_files(_named(given.get("run_file") or ()), sets)
    clash = sorted(run_files.keys() & profiles.keys())
    if clash:
        raise InputError(f"{clash[0]} is a profile and a run", hint="give the run another name")
    return Plan(sets=sets, profiles=profiles, modes=modes, run_files=run_files)


def _split(given: Given) -> Any:
    return given.get("split") or "all"


def _profiles(db: Recollection, names: Sequence[str]) -> Mapping[str, Profile]:
    """Return the profiles by what they are called here: two files of one name are told apart by their paths."""
    if not names:
        return {db.profile.name: db.profile}
    loaded = {name: load_profile(name) for name in names}
    called = [profile.name for profile in loaded.values()]
    return {profile.name if called.count(profile.name) == 1 else name: profile for name, profile in loaded.items()}


def _named(texts: Sequence[str]) -> Mapping[str, Path]:
    named = {}
    for text in texts:
        name, sign, path = text.partition("=")
        if not (sign and name.strip() and path.strip()):
            raise InputError(f"--run-file {text!r} is not NAME=PATH", hint="such as --run-file bm25=bm25.trec")
        named[name.strip()] = Path(path.strip()).expanduser()
    return named


def _outputs(texts: Sequence[str]) -> Mapping[Path, "Callable[[Report], str]"]:
    from recollect.evaluate.markup import as_html, as_markdown  # noqa: PLC0415

    writers = {".md": as_markdown, ".html": as_html}
    paths = [Path(text).expanduser() for text in texts]
    for path in paths:
        if path.suffix not in writers:
            raise InputError(f"--output {path} is no kind of report", hint=f"end its name in {' or '.join(writers)}")
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


def _embedder(db: Recollection, modes: Sequence[Mode], folder: str | None) -> "DiskCachedEmbedder | None":
    """Return the model in use, with its vectors kept; who chose none can ask for words alone."""
    from recollect.evaluate.cache import DiskCachedEmbedder  # noqa: PLC0415

    if modes == ("keyword",) or (db.models.name == "none" and "semantic" not in modes):
        return None
    return DiskCachedEmbedder(db.models.required(), Path(folder).expanduser() if folder else _cache())


def _cache() -> Path:
    from platformdirs import user_cache_path  # noqa: PLC0415  (only this verb asks)

    return user_cache_path("recollect", appauthor=False) / "vectors"


# --- what is told and written ---------------------------------------------------------------


def _facts(db: Recollection, given: Given, embedder: "DiskCachedEmbedder | None") -> Mapping[str, str]:
    from recollect.evaluate.report import TIMED, machine  # noqa: PLC0415

    most = given.get("queries")
    return {
        "date": db.now().date().isoformat(),
        "split": _split(given) + (f", the first {most} queries of each set only" if most else ""),
        "scored by": given.get("by") or "document",
        "model": "none" if embedder is None else f"{db.models.name} ({embedder.fingerprint})",
        "latency": TIMED,
        **machine(),
    }


def _exported(found: "Evaluation", folder: Path) -> list[Path]:
    """Write one ranking for each set, profile and mode, in the format of TREC where its ids can stand in it."""
    from recollect.evaluate.evaluate import RUN_FILE  # noqa: PLC0415
    from recollect.evaluate.runs import as_json, as_trec  # noqa: PLC0415

    paths = []
    for run in (each for each in found.runs if each.system.mode != RUN_FILE):
        try:
            text, ending = as_trec(run.rankings), "trec"
        except InputError:
            text, ending = as_json(run.rankings), "json"
        name = "_".join(run.system.profile.removesuffix(".toml").replace("/", "_").split())
        paths.append(folder / f"{run.dataset}.{name}.{run.system.mode}.{ending}")
        _write(paths[-1], text)
    return paths


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}", hint="name a place of yours") from error


OPERATIONS: Final = (
    Operation(
        name="eval",
        about="Measure how well judged questions are answered; your own store is not touched.",
        run=_eval,
        slow=True,
        store=False,
        parameters=(
            Parameter(
                name="datasets",
                kind="paths",
                place=True,
                about="folders in the BEIR layout, or JSON files of LongMemEval or LoCoMo",
            ),
            Parameter(
                name="profile", kind="texts", about="a profile to try (may be repeated; the first is the baseline)"
            ),
            Parameter(name="mode", kind="texts", about="keyword, semantic or hybrid (may be repeated; hybrid)"),
            Parameter(
                name="split", kind="choice", choices=SPLITS, default="all", about="which half of the queries (all)"
            ),
            Parameter(
                name="by",
                kind="choice",
                choices=("document", "session"),
                default="document",
                about="what counts as a find: a document, or the session it was said in (document)",
            ),
            Parameter(name="queries", kind="number", about="ask only so many queries of each set"),
            Parameter(name="run_file", kind="texts", about="NAME=PATH: score another tool's ranking (may be repeated)"),
            Parameter(name="export", about="write every ranking into this folder, in the format of TREC"),
            Parameter(name="output", kind="texts", about="write a report: report.md or report.html (may be repeated)"),
            Parameter(name="vectors", about="the folder where vectors are kept (the user's cache folder)"),
        ),
    ),
)
