"""Verbs of a memory that lives: facts, use, lenses, what a task is told, what a worker said, what changed."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from recollect.errors import InputError
from recollect.recall.lens import Lens
from recollect.recall.log import never_recalled, provenance, told_in_vain
from recollect.recollection import Recollection
from recollect.records import Fact, Memory, Progress, Recall
from recollect.surfaces.shapes import fact_shape, kept_shape, memory_shape
from recollect.surfaces.show import kept_text, one_line
from recollect.surfaces.table import FILTERS, ID, Answer, Operation, Parameter

Given = Mapping[str, Any]


def _facts(db: Recollection, given: Given, _: Progress | None) -> Answer:
    types = tuple(given["type"]) if given.get("type") else None
    return _told(db.facts(subject=given.get("subject"), types=types, limit=given.get("limit") or 100))


def _stale(db: Recollection, given: Given, _: Progress | None) -> Answer:
    found = db.stale(below=given.get("below") or 0.5, days=given.get("days") or 30)
    return _told(found)


def _told(facts: tuple[Fact, ...]) -> Answer:
    shapes = [{**fact_shape(fact), "memory_id": fact.memory_id, "quote": fact.quote} for fact in facts]
    return Answer(value={"facts": shapes}, text="\n".join(map(_fact_line, facts)) or "No facts.", found=bool(facts))


def _fact_line(fact: Fact) -> str:
    said = f"{fact.subject} {fact.predicate} {fact.object}"
    return f"fact {fact.id} [{fact.type}] {said} (confidence {fact.confidence:.2f}, #{fact.memory_id})"


def _reinforce(db: Recollection, given: Given, _: Progress | None) -> Answer:
    rows = [_whole(text) for text in given["ids"]]
    count = db.reinforce(*rows)
    return Answer(value={"reinforced": rows}, text=f"{count} facts reinforced")


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise InputError(f"{text!r} is not an id", hint="ids are whole numbers; see: recollect facts") from error


def _conflicts(db: Recollection, _: Given, __: Progress | None) -> Answer:
    found = db.conflicts()
    value = [{"kind": each.kind, "one": fact_shape(each.one), "other": fact_shape(each.other)} for each in found]
    lines = [f"{_fact_line(each.one)}\n  against {_fact_line(each.other)}" for each in found]
    return Answer(value={"conflicts": value}, text="\n".join(lines) or "No conflicts.", found=bool(found))


def _pin(db: Recollection, given: Given, _: Progress | None) -> Answer:
    pinned = not given.get("off")
    db.pin(given["id"], pinned=pinned)
    return Answer(
        value={"id": given["id"], "pinned": pinned}, text=f"#{given['id']} is {'pinned' if pinned else 'not pinned'}"
    )


def _supersede(db: Recollection, given: Given, _: Progress | None) -> Answer:
    db.supersede(given["id"], given["by"])
    text = f"#{given['id']} is superseded by #{given['by']}"
    return Answer(value={"id": given["id"], "superseded_by": given["by"]}, text=text)


def _feedback(db: Recollection, given: Given, _: Progress | None) -> Answer:
    db.feedback(given["id"], given["verdict"], session=given.get("session"), query=given.get("query"))
    return Answer(value={"id": given["id"], "verdict": given["verdict"]}, text=f"#{given['id']}: {given['verdict']}")


def _inject(db: Recollection, given: Given, _: Progress | None) -> Answer:
    told = db.inject(
        given["task"],
        description=given.get("description") or "",
        tags=tuple(given.get("tag") or ()),
        session=given.get("session"),
        style=given.get("style") or "markdown",
        budget=given.get("budget") or 500,
        most=given.get("limit") or 5,
        lens=given.get("lens"),
    )
    return Answer(
        value={"text": told.text, "tokens": told.tokens, "ids": list(told.ids)}, text=told.text, found=bool(told.ids)
    )


def _capture(db: Recollection, given: Given, _: Progress | None) -> Answer:
    kept = db.capture(given["text"])
    return Answer(
        value={"memories": [kept_shape(each) for each in kept]},
        text="\n".join(map(kept_text, kept)) or "Nothing to remember in it.",
        found=bool(kept),
    )


def _timeline(db: Recollection, given: Given, _: Progress | None) -> Answer:
    found = db.timeline(given.get("query") or "", limit=given.get("limit") or 50)
    lines = [_timeline_line(memory) for memory in found]
    return Answer(
        value={"memories": [memory_shape(memory) for memory in found]},
        text="\n".join(lines) or "Nothing here.",
        found=bool(found),
    )


def _timeline_line(memory: Memory) -> str:
    after = f" (superseded by #{memory.superseded_by})" if memory.superseded_by else ""
    return f"{memory.when:%Y-%m-%d} {one_line(memory)}{after}"


def _consolidate(db: Recollection, given: Given, _: Progress | None) -> Answer:
    if given.get("undo"):
        back = db.undo_consolidation()
        return Answer(value={"restored": list(back)}, text=f"{len(back)} memories are back")
    done = db.consolidate(apply=not given.get("dry_run"), floor=given.get("floor") or 0.0)
    merges = [{"kept": each.kept, "gone": each.gone, "evidence": dict(each.evidence)} for each in done.merges]
    verb = "merged" if done.applied else "would merge"
    lines = [f"{verb} #{each.gone} into #{each.kept}" for each in done.merges]
    lines += [f"{verb} fact {lost} into fact {kept}" for kept, lost in done.facts]
    lines += [f"{'forgot' if done.applied else 'would forget'} #{row}: faded" for row in done.faded]
    return Answer(
        value={"applied": done.applied, "merges": merges, "faded": list(done.faded), "facts": len(done.facts)},
        text="\n".join(lines) or "Nothing to consolidate.",
    )


# --- lenses ---------------------------------------------------------------------------------


def _lens(db: Recollection, given: Given, _: Progress | None) -> Answer:
    return LENS[given["action"]](db, given)


def _lens_name(given: Given) -> str:
    name = given.get("name")
    if not name:
        raise InputError("say which lens", hint="see: recollect lens list")
    return str(name)


def _create(db: Recollection, given: Given) -> Answer:
    def chosen(name: str) -> tuple[str, ...] | None:
        return tuple(given[name]) if given.get(name) else None

    lens = Lens(
        name=_lens_name(given),
        projects=chosen("only_project"),
        types=chosen("type"),
        tags=chosen("tag"),
        sources=chosen("source"),
        fact_types=chosen("fact_type"),
        since=given.get("since"),
        until=given.get("until"),
        boosts=dict(map(_boost, given.get("boost") or ())),
    )
    db.keep_lens(lens)
    text = f"lens {lens.name} is kept; use it with: recollect search --lens {lens.name}"
    return Answer(value=_lens_shape(lens), text=text)


def _boost(text: str) -> tuple[str, float]:
    key, sign, number = text.rpartition("=")
    try:
        return key, float(number) if sign else 1.0
    except ValueError as error:
        raise InputError(f"{text!r} is not a boost", hint="such as --boost type:decision=1.5") from error


def _lens_shape(lens: Lens) -> Mapping[str, Any]:
    names = ("projects", "types", "tags", "sources", "fact_types")
    filters = {name: list(getattr(lens, name)) for name in names if getattr(lens, name) is not None}
    dates = {name: getattr(lens, name) for name in ("since", "until") if getattr(lens, name) is not None}
    return {"name": lens.name, **filters, **dates, "boosts": dict(lens.boosts)}


def _list_lenses(db: Recollection, _: Given) -> Answer:
    kept = [_lens_shape(lens) for lens in db.lenses()]
    lines = [f"{each['name']}: {', '.join(f'{k} {v}' for k, v in each.items() if k != 'name' and v)}" for each in kept]
    return Answer(value={"lenses": kept}, text="\n".join(lines) or "No lenses.", found=bool(kept))


def _drop(db: Recollection, given: Given) -> Answer:
    name = _lens_name(given)
    db.drop_lens(name)
    return Answer(value={"name": name, "dropped": True}, text=f"lens {name} is gone")


LENS: Final[Mapping[str, Callable[[Recollection, Given], Answer]]] = {
    "create": _create,
    "list": _list_lenses,
    "drop": _drop,
}

# --- the log --------------------------------------------------------------------------------


def _log(db: Recollection, given: Given, _: Progress | None) -> Answer:
    return LOGS[given["report"]](db, given)


def _recent(db: Recollection, given: Given, *, of_fact: bool = False) -> Answer:
    fact = given.get("fact")
    if of_fact and fact is None:
        raise InputError("say which fact", hint="such as: recollect log provenance --fact 3")
    limit = given.get("limit") or 20
    if of_fact:
        found = provenance(int(fact or 0), db.store, scope=db.scope, limit=limit)
    else:
        found = db.store.recalls(scope=db.scope, session=given.get("session"), limit=limit)
    lines = [_recall_line(each) for each in found]
    return Answer(
        value={"recalls": [_recall_shape(each) for each in found]},
        text="\n".join(lines) or "Nothing was recalled yet.",
        found=bool(found),
    )


def _recall_shape(recall: Recall) -> Mapping[str, Any]:
    return {
        "query": recall.query,
        "session": recall.session,
        "lens": recall.lens,
        "mode": recall.mode,
        "outcome": recall.outcome,
        "at": recall.at.isoformat(),
        "hits": [
            {"id": hit.memory_id, "rank": hit.rank, "score": hit.score, "shown": hit.shown, "facts": list(hit.fact_ids)}
            for hit in recall.hits
        ],
    }


def _recall_line(recall: Recall) -> str:
    shown = ", ".join(f"#{hit.memory_id}" for hit in recall.hits if hit.shown) or "nothing"
    return f"{recall.at:%Y-%m-%d %H:%M} {recall.query!r}: {recall.outcome}, showed {shown}"


def _never(db: Recollection, _: Given) -> Answer:
    rows = never_recalled(db.store, scope=db.scope)
    memories = db.store.load(rows, scope=db.scope)
    lines = [one_line(memory) for memory in memories.values()]
    return Answer(value={"ids": list(rows)}, text="\n".join(lines) or "Every memory was recalled.", found=bool(rows))


def _idle(db: Recollection, _: Given) -> Answer:
    found = told_in_vain(db.store, scope=db.scope)
    value = [{"id": each.id, "shown": each.shown, "used": each.used, "wrong": each.wrong} for each in found]
    lines = [f"#{each.id} shown {each.shown} times, never used" for each in found]
    return Answer(value={"memories": value}, text="\n".join(lines) or "Nothing is told in vain.", found=bool(found))


def _unanswered(db: Recollection, given: Given) -> Answer:
    found = db.store.unanswered(scope=db.scope, limit=given.get("limit") or 20)
    value = [{"query": query, "times": times} for query, times in found]
    lines = [f"{times} times: {query}" for query, times in found]
    return Answer(value={"queries": value}, text="\n".join(lines) or "Every query found something.", found=bool(found))


LOGS: Final[Mapping[str, Callable[[Recollection, Given], Answer]]] = {
    "recent": _recent,
    "provenance": partial(_recent, of_fact=True),
    "never-recalled": _never,
    "never-used": _idle,
    "unanswered": _unanswered,
}

LIMIT: Final = Parameter(name="limit", kind="number", about="how many")
SESSION: Final = Parameter(name="session", about="the session it belongs to")
OPERATIONS: Final = (
    Operation(
        name="facts",
        about="List what memories state.",
        run=_facts,
        parameters=(
            Parameter(name="subject", about="only about this subject"),
            Parameter(name="type", kind="texts", about="only of this type (may be repeated)"),
            LIMIT,
        ),
    ),
    Operation(
        name="reinforce",
        about="Vouch for facts: surer, and fresh from today.",
        run=_reinforce,
        parameters=(Parameter(name="ids", kind="paths", place=True, about="ids of facts"),),
    ),
    Operation(
        name="stale",
        about="List facts that have faded or were left alone.",
        run=_stale,
        parameters=(
            Parameter(name="below", kind="share", about="confidence left (0.5)"),
            Parameter(name="days", kind="number", about="days without being confirmed (30)"),
        ),
    ),
    Operation(name="conflicts", about="List facts that contradict each other.", run=_conflicts),
    Operation(
        name="pin",
        about="Keep a memory from ageing.",
        run=_pin,
        parameters=(ID, Parameter(name="off", kind="flag", default=False, about="let it age again")),
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
        name="inject",
        about="Print what a task should be told, within a token budget.",
        run=_inject,
        parameters=(
            Parameter(name="task", place=True, about="the title of the task"),
            Parameter(name="description", about="what it is about"),
            Parameter(name="tag", kind="texts", about="a tag of it (may be repeated)"),
            SESSION,
            Parameter(name="style", kind="choice", choices=("markdown", "compact", "xml"), about="how (markdown)"),
            Parameter(name="budget", kind="number", about="how many tokens at most (500)"),
            Parameter(name="limit", kind="number", about="how many memories at most (5)"),
            Parameter(name="lens", about="look through this lens"),
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
        name="timeline",
        about="Show memories oldest first, superseded ones too.",
        run=_timeline,
        parameters=(Parameter(name="query", place=True, optional=True, about="what about"), LIMIT),
    ),
    Operation(
        name="lens",
        about="Create, list or drop lenses: named filters and boosts.",
        run=_lens,
        parameters=(
            Parameter(name="action", kind="choice", choices=tuple(LENS), place=True, about="what to do"),
            Parameter(name="name", place=True, optional=True, about="the name of the lens"),
            Parameter(name="only_project", kind="texts", about="only this project (may be repeated)"),
            *(each for each in FILTERS if each.name in ("type", "tag", "source", "fact_type", "since", "until")),
            Parameter(name="boost", kind="texts", about="KIND:NAME=FACTOR, such as type:decision=1.5 (repeatable)"),
        ),
    ),
    Operation(
        name="log",
        about="Read the recall log: recent answers, provenance of a fact, what is never recalled or used.",
        run=_log,
        parameters=(
            Parameter(name="report", kind="choice", choices=tuple(LOGS), place=True, about="which report"),
            SESSION,
            Parameter(name="fact", kind="number", about="the id of a fact"),
            LIMIT,
        ),
    ),
    Operation(
        name="consolidate",
        about="Merge memories that say the same; try --dry-run first, --undo brings them back.",
        run=_consolidate,
        parameters=(
            Parameter(name="dry_run", kind="flag", default=False, about="only say what would be done"),
            Parameter(name="undo", kind="flag", default=False, about="bring back what was merged away"),
            Parameter(name="floor", kind="share", about="also forget what has faded below this"),
        ),
    ),
)
