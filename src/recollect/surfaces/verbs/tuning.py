"""The verb that fits a profile to its user: tune it, look at what is in force, take it back."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from recollect.errors import InputError
from recollect.evaluate.tuning import KNOBS, Tuning
from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.surfaces.table import Answer, Operation, Parameter

if TYPE_CHECKING:  # other verbs start without the arithmetic of this one
    from recollect.evaluate.tune import Tuned

Given = Mapping[str, Any]


def _tune(db: Recollection, given: Given, progress: Progress | None) -> Answer:
    if given.get("show") or given.get("undo"):
        others = [name for name in ("judged", "from", "dry_run") if given.get(name)]
        if others or (given.get("show") and given.get("undo")):
            raise InputError("--show and --undo stand alone", hint="see: recollect tune --help")
        return _undo(db) if given.get("undo") else _show(db)
    if given.get("judged") and given.get("from"):
        raise InputError("--from feedback and --judged are two ways to say the same", hint="give one of them")
    dry = bool(given.get("dry_run"))
    done = db.tune(given.get("judged"), dry_run=dry, progress=progress)
    return Answer(value={**_tuned_shape(done), "dry_run": dry}, text=_tuned_text(done, dry=dry))


def _tuned_shape(done: "Tuned") -> dict[str, Any]:
    fitted, interval = done.fitted, done.fitted.interval
    return {
        "profile": fitted.profile,
        "source": done.source,
        "questions": fitted.questions,
        "left_out": dict(done.left_out),
        "before": fitted.before,
        "after": fitted.after,
        "interval": None if interval is None else {"low": interval.low, "high": interval.high},
        "moved": {name: {"from": old, "to": new} for name, (old, new) in fitted.moved.items()},
        "adopted": done.adopted,
        "reason": fitted.reason,
    }


def _tuned_text(done: "Tuned", *, dry: bool) -> str:
    fitted, interval = done.fitted, done.fitted.interval
    source = "the feedback log" if done.source == "feedback" else done.source
    lines = [f"{fitted.questions} judged questions from {source}"]
    lines += [f"left out: {count} {what}" for what, count in done.left_out.items()]
    if interval is not None:
        lines.append(_figures(fitted.before, fitted.after, interval.low, interval.high))
    lines += [f"  {name}: {old:g} -> {new:g} ({KNOBS[name].about})" for name, (old, new) in fitted.moved.items()]
    verdict = {
        True: f"adopted: {fitted.reason}; go back with: recollect tune --undo",
        False: f"nothing adopted: {fitted.reason}",
    }[done.adopted]
    lines.append(f"nothing kept, as asked: {fitted.reason}" if dry and fitted.better else verdict)
    return "\n".join(lines)


def _figures(before: float, after: float, low: float, high: float) -> str:
    gain = f"{after - before:+.4f}, 95% interval {low:+.4f} to {high:+.4f}"
    return f"nDCG@10 {before:.4f} before, {after:.4f} after, on questions not fitted to (gain {gain})"


def _show(db: Recollection) -> Answer:
    tuning = db.tuning()
    text = f"{db.profile.name} is not tuned here" if tuning is None else _tuning_text(tuning)
    shape = {"profile": db.profile.name, "tuned": False} if tuning is None else _tuning_shape(tuning)
    return Answer(value=shape, text=text, found=tuning is not None)


def _undo(db: Recollection) -> Answer:
    undone, left = db.untune(), db.tuning()
    now = f"{undone.profile} is as it comes again" if left is None else _tuning_text(left)
    value = {"undone": _tuning_shape(undone), "now": None if left is None else _tuning_shape(left)}
    return Answer(value=value, text=f"the tuning of {undone.day} is undone\n{now}")


def _tuning_shape(tuning: Tuning) -> dict[str, Any]:
    return {
        "profile": tuning.profile,
        "tuned": True,
        "at": tuning.at,
        "values": dict(tuning.values),
        "source": tuning.source,
        "questions": tuning.questions,
        "before": tuning.before,
        "after": tuning.after,
        "interval": {"low": tuning.low, "high": tuning.high},
    }


def _tuning_text(tuning: Tuning) -> str:
    lines = [f"{tuning.profile}, tuned {tuning.day} on {tuning.questions} questions from {tuning.source}"]
    lines += [f"  {name}: {value:g} ({KNOBS[name].about})" for name, value in tuning.values.items()]
    return "\n".join([*lines, _figures(tuning.before, tuning.after, tuning.low, tuning.high)])


OPERATIONS: Final = (
    Operation(
        name="tune",
        about="Fit the profile's few weights to your own feedback or judged queries; keep only what is surely better.",
        run=_tune,
        slow=True,
        parameters=(
            Parameter(name="from", kind="choice", choices=("feedback",), about="where judgements come from (feedback)"),
            Parameter(name="judged", about="a file of judged queries instead: JSON lines, or query TAB id TAB gain"),
            Parameter(name="dry_run", kind="flag", default=False, about="only say what would be adopted"),
            Parameter(name="show", kind="flag", default=False, about="say what is in force, since when, and why"),
            Parameter(name="undo", kind="flag", default=False, about="go back to what was before the last tuning"),
        ),
    ),
)
