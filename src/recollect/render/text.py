"""Answers as text for people: what was found, where it came from, and what to do when there is nothing."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from recollect.evaluate.tuning import KNOBS, Tuning
from recollect.records import Fact, LogSize, Memory, Moved, Recall, Recovery, StoreStats
from recollect.render.layout import cut
from recollect.render.terminal import visible_line
from recollect.replies import Health, Reply
from recollect.search.limits import MAX_PREFIXES, MAX_UNKNOWN
from recollect.trust import ORIGINS

if TYPE_CHECKING:  # a search starts without what other verbs need
    from recollect.evaluate.tune import Tuned
    from recollect.recall.log import Retention
    from recollect.remember.edit import EditResult
    from recollect.remember.import_files import ImportReport
    from recollect.remember.ingest import IngestResult
    from recollect.remember.redact import FoundSecret
    from recollect.remember.roots import Root
    from recollect.search.why import Why
    from recollect.upkeep.activity import Entry
    from recollect.upkeep.consolidate import Consolidation
    from recollect.upkeep.facts import Conflict
    from recollect.upkeep.review import ReviewItem

DEGRADED = {
    "no_model": "answered by words alone: no embedding model is installed; get one with: recollect model install",
    "model_failed": "the embedding model failed: answered by words alone",
    "vectors_pending": "some memories have no vector yet: run `recollect embed`",
    "fts_unavailable": "the word index is not available: the text itself was searched",
    "reranker_failed": "the reranker failed: the order is that of words and meaning alone",
    "words_cut": "the query is very long: only its first words and clauses were looked up",
    "prefixes_cut": f"only the first {MAX_PREFIXES} prefixes were looked up",
    "corrections_cut": f"only the first {MAX_UNKNOWN} unknown words were corrected",
}
LATER = "found by words alone until its vectors are made: recollect embed"
LEFT_OUT = ("words_cut", "prefixes_cut", "corrections_cut")
"""What the limits leave out of a query, whatever it is answered by."""
HINTS = {
    "no_match": "try other words, or fewer",
    "below_threshold": "another profile may show them: --profile default",
    "filtered_out": "loosen the filters",
    "blank_query": "give a word to look for",
    "empty_store": "add something: recollect add TEXT, or recollect import FOLDER",
}
DECISIONS = {
    "distinct": "remembered",
    "identical": "known already; nothing changed",
    "restates": "known already in other words; this wording is kept too",
    "updates": "remembered; it supersedes",
    "conflicts": "remembered; it conflicts with",
}
UPDATED = "updated: the memory with this external id says this now"
NOTHING_READ: Final = (
    "nothing was read: no file here is of a format that is known (a file that you name is read as text)"
)
KINDS: Final = 6
"""How many kinds of files are told one by one."""
HELD = {"owner": "the owner's", "agent": "an agent's", "untrusted": "untrusted"}
FOUND_BY = {"bm25": "words", "semantic": "meaning", "hybrid": "words and meaning", "browse": "date"}
BLOCKED = {
    "limit": "it ranks below the limit",
    "imprecise": "it probably does not answer",
    "floor": "it scores under the floor",
    "confidence": "the confidence of its facts has faded too far",
    "near_repeat": "a hit above it says nearly the same",
    "similarity": "its meaning is too far from the query's",
    "depth": "it ranks too low in each list to be looked at",
    "weight": "only a ranking found it whose weight is 0",
    "excluded": "the query excludes one of its words",
    "no_match": "neither its words nor its meaning match the query",
    "scope": "its project is not searched",
    "lens": "the lens leaves it out",
    "forgotten": "it was forgotten",
    "superseded": "another memory took its place",
    "filter": "a filter leaves it out",
}
SECRETS: Final = 5
"""How many of the secrets that were taken out are told to people; JSON has them all."""
WIDTH: Final = 100
"""How much of a memory stands in a list."""
CAPTURED: Final = {"self_report": "marked by an agent", "daemon_extracted": "noted by an agent"}
"""What the sources of captured memories mean."""
FACET_VALUES: Final = 8
"""How many values of a facet are listed for people; JSON has them all."""


def here() -> str:
    """Return the folder that the user looks from; blank if it is gone."""
    try:
        return Path.cwd().as_posix()
    except OSError:
        return ""


# --- searches -------------------------------------------------------------------------------


def facet_line(name: str, counts: Mapping[str, int]) -> str:
    """Return how many hits have each value of a field."""
    first = [f"{visible_line(value)} {count}" for value, count in list(counts.items())[:FACET_VALUES]]
    more = [f"… {len(counts) - FACET_VALUES} more"] if len(counts) > FACET_VALUES else []
    return f"by {name.replace('_', ' ')}: {', '.join([*first, *more])}"


def degraded_text(reply: Reply) -> str:
    """Return what could not run though it was asked for; blank when all of it ran."""
    asked = reply.mode != "keyword" or reply.degraded in ("reranker_failed", *LEFT_OUT)
    return DEGRADED[reply.degraded] if asked and reply.degraded else ""


def _origin(memory: Memory) -> str:
    """Return where a memory that is not the owner's comes from, in parentheses and with a space behind."""
    return f"({ORIGINS[memory.trust]}) " if memory.trust in ORIGINS else ""


def place_of(memory: Memory, root: str = "") -> str:
    """Return where *memory* comes from, as seen from the folder *root*."""
    if memory.source is None:
        return ""
    if memory.source in CAPTURED:
        return CAPTURED[memory.source]
    return _path(memory.source, root) + (f":{memory.line}" if memory.line else "")


def _path(source: str, root: str) -> str:
    """Return *source* in one line, as seen from the folder *root*."""
    return visible_line(source.removeprefix(root.rstrip("/") + "/") if root else source)


def why_text(told: "Why") -> str:
    """Return whether a memory is in an answer, its place in each list, and what would bring it in."""
    head = f"#{told.id} is hit {told.rank}" if told.found else f"#{told.id} is not in the answer"
    ranks = [f"  by {each.ranking}: rank {each.rank or '-'}, score {each.score or 0:.4g}" for each in told.lists]
    if told.found:
        return "\n".join([head, *ranks])
    return "\n".join(
        [f"{head}: {BLOCKED[told.blocked_by or 'no_match']}", *ranks, f"  it would be found if {told.surfaces_if}"]
    )


# --- changes --------------------------------------------------------------------------------


def ingest_text(result: "IngestResult", *, root: str = "") -> str:
    """Return what became of an added text."""
    of = f" #{result.of}" if result.of is not None and result.decision in ("updates", "conflicts") else ""
    of += f", which is {HELD[held]}" if of and (held := str(result.evidence.get("against"))) in HELD else ""
    of += f"; it supersedes {', '.join(f'#{row}' for row in result.supersedes)}" if result.supersedes else ""
    secrets = f"; {secrets_text(result.secrets, root=root)}" if result.secrets else ""
    became = UPDATED if result.revised else DECISIONS[result.decision]
    return f"#{result.id} {became}{of}{secrets}{f'; {LATER}' if result.degraded else ''}"


def edit_text(done: "EditResult", *, root: str = "") -> str:
    """Return what an edit changed."""
    what = (
        f"changed {', '.join(done.changed)}; see: recollect show {done.id}" if done.changed else "is the same as before"
    )
    secrets = f"; {secrets_text(done.secrets, root=root)}" if done.secrets else ""
    return f"#{done.id} {what}{secrets}{f'; {LATER}' if done.degraded else ''}"


def tag_text(done: "EditResult") -> str:
    """Return the tags that a memory has now."""
    same = "" if done.changed else " as before"
    return visible_line(
        f"#{done.id} has the tags {', '.join(done.tags)}{same}" if done.tags else f"#{done.id} has no tags"
    )


def secrets_text(found: "Sequence[FoundSecret]", *, root: str = "") -> str:
    """Return which secrets were taken out of which fields of which memories; of many the first few."""
    first = [_secret(each, root) for each in found[:SECRETS]]
    more = [f"and {len(found) - SECRETS} more"] if len(found) > SECRETS else []
    return f"redacted {_count(len(found), 'secret')}: {', '.join([*first, *more])}"


def _secret(found: "FoundSecret", root: str) -> str:
    place = f" ({_path(found.source, root)})" if found.source else ""
    return f"{found.kind} in {found.field} of #{found.memory_id}{place}"


def import_text(report: "ImportReport", *, root: str = "", verbose: bool = False) -> str:
    """Return what an import did; with *verbose* also what each file was taken for."""
    files, memories = report.files, report.memories
    repeated = memories["repeated"]
    counts = {name: memories[name] for name in ("new", "updated", "unchanged", "removed")}
    counts["unchanged"] -= repeated
    done = {name: count for name, count in counts.items() if count}
    first = next(iter(done), None)
    told = [f"{_count(count, 'memory') if name == first else count} {name}" for name, count in done.items()]
    failed = f" ({_count(files['failed'], 'file')} failed)" if files["failed"] else ""
    text = f"{_count(files['scanned'], 'file')}, {', '.join(told) or 'no memories'}{failed}"
    others = {
        f"{_count(repeated, 'duplicate')} skipped": repeated,
        f"{_count(memories['revived'], 'forgotten memory')} brought back": memories["revived"],
        secrets_text(report.secrets, root=root): report.secrets,
        f"{_count(memories['withheld'], 'memory')} kept, though {_count(files['withheld'], 'file')} cannot be found "
        "any more; to forget what is gone: recollect import --prune": files["withheld"],
        f"{_count(files['links'], 'link')} not followed out of the folder; to follow: recollect import "
        "--follow-links": files["links"],
    }
    lines = (line for line, number in others.items() if number)
    text = NOTHING_READ if report.is_idle else text
    read = _read_lines(report, root, verbose=verbose)
    return "\n".join([*_found_line(report, root), text, *read, *_passed_lines(report), *lines])


def rehearsal_text(report: "ImportReport", *, root: str = "", verbose: bool = False) -> str:
    """Return what an import would read, and where that is."""
    known = [f"{_count(report.files['known'], 'file')} known already"] if report.files["known"] else []
    read = _read_lines(report, root, verbose=verbose)
    return "\n".join([*_found_line(report, root), *known, *read, *_passed_lines(report)])


def _found_line(report: "ImportReport", root: str) -> list[str]:
    """Return how much was found where, if nobody named it."""
    if not report.places:
        return []
    large = report.size >= 1024**2
    told = f"{report.size / 1024**2:,.1f} MB" if large else f"{math.ceil(report.size / 1024)} KB"
    size = f"{_count(report.files['scanned'], 'file')}, {told}"
    more = [f"{len(report.places) - KINDS} more"] if len(report.places) > KINDS else []
    return [f"found: {size} in {', '.join([*(_path(each, root) for each in report.places[:KINDS]), *more])}"]


def _read_lines(report: "ImportReport", root: str, *, verbose: bool) -> list[str]:
    """Return what the files were taken for, by format and, if wanted, one by one."""
    if not report.read:
        return []
    lines = [f"read as: {_kinds(report.formats)}"]
    if verbose:
        lines += [f"  {_path(each.path, root)}: {each.format}" for each in report.read]
    return lines


def _passed_lines(report: "ImportReport") -> list[str]:
    """Return what was not read, by kind: files of a folder, and what stands in the files."""
    readers = {f"{kind} (no reader)" if kind.startswith(".") else kind: n for kind, n in report.passed_over.items()}
    left_out = {_plural(kind, n): n for kind, n in report.left_out.items()}
    told = {"skipped": readers, "left out of the files": left_out}
    return [f"{what}: {_kinds(counts)}" for what, counts in told.items() if any(counts.values())]


def _plural(kind: str, number: int) -> str:
    """Return what so many of a *kind* are called: tool results, turns of a subagent."""
    head, of, rest = kind.partition(" of ")
    return f"{_count(number, head).partition(' ')[2]}{of}{rest}"


def _kinds(counts: Mapping[str, int]) -> str:
    """Return how many there are of each kind, the most first; of many kinds the first few."""
    most = sorted(((kind, n) for kind, n in counts.items() if n), key=lambda each: (-each[1], each[0]))
    more = sum(n for _, n in most[KINDS:])
    return ", ".join([*(f"{n:,} {kind}" for kind, n in most[:KINDS]), *([f"{more:,} more"] if more else [])])


MAX_FILES_NAMED: Final = 5
"""How many files a line of `watch` names."""


def changed_text(report: "ImportReport", *, at: datetime) -> str:
    """Return in one line what an import changed and in which files; nothing where it changed nothing."""
    counted = {name: report.memories[name] for name in ("new", "updated", "removed", "revived", "withheld")}
    told = [f"{number} {name}" for name, number in counted.items() if number]
    failed = [f"{_count(report.files['failed'], 'file')} failed: {report.errors[0].reason}"] if report.errors else []
    if not (told or failed or report.gone):
        return ""
    read, gone = _names(each.path for each in report.read), _names(report.gone)
    files = f"{gone} -> {read}" if read and gone else f"{gone} is gone" if gone else read
    return f"{at.astimezone():%H:%M:%S} {': '.join(filter(None, (', '.join([*told, *failed]), files)))}"


def _names(paths: Iterable[str]) -> str:
    """Return the names of some files, the last of too many as a number."""
    names = [path.rpartition("/")[2] for path in paths]
    more = [f"{len(names) - MAX_FILES_NAMED} more"] if len(names) > MAX_FILES_NAMED else []
    return ", ".join([*names[:MAX_FILES_NAMED], *more])


def root_line(root: "Root") -> str:
    """Return a root: its path, and what is not usual about it."""
    project = f"project {root.project}" if root.project else ""
    trust = "" if root.trust == "owner" else f"trust {root.trust}"
    links, secrets = "follows links" * root.follow_links, "keeps secrets" * (not root.redact)
    form = f"read as {root.as_}" if root.as_ else ""
    more = ", ".join(filter(None, (project, trust, form, links, secrets)))
    name = root.path or f"from {root.from_}"
    return f"{name} ({more})" if more else name


def embedded_text(report: "ImportReport", *, stopped: bool = False) -> str:
    """Return what the vectors of an import came to: how many were made, how many memories wait for theirs."""
    made = [f"{report.embedded} embedded"] if report.embedded else []
    if report.waiting or report.degraded:
        waiting = f"{_count(report.waiting, 'memory')} without vectors yet; " if report.waiting else ""
        later = LATER.replace("its", "their") if report.waiting > 1 else LATER
        made.append(f"{'stopped; ' if stopped else ''}{waiting}{later}")
    return "\n".join(made)


def _count(number: int, what: str) -> str:
    plural = what if number == 1 else f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number} {plural}"


# --- reading --------------------------------------------------------------------------------


def one_line(memory: Memory) -> str:
    """Return a memory in one line: its id, its type, its first words."""
    return f"#{memory.id} [{memory.type}] {_origin(memory)}{short(memory)}"


def fact_line(fact: Fact) -> str:
    """Return a fact in one line."""
    said = visible_line(f"{fact.subject} {fact.predicate} {fact.object}")
    return f"fact {fact.id} [{fact.type}] {said} (confidence {fact.confidence:.2f}, #{fact.memory_id})"


def conflict_line(conflict: "Conflict") -> str:
    """Return two facts, or two memories, that contradict each other."""
    one, other = (
        fact_line(side) if isinstance(side, Fact) else one_line(side) for side in (conflict.one, conflict.other)
    )
    return f"{one}\n  contradicts {other}"


def entry_line(entry: "Entry") -> str:
    """Return what happened in one line."""
    ids = " ".join(f"#{row}" for row in entry.ids)
    by = f" ({entry.by})" if entry.by else ""
    return visible_line(f"{entry.at:%Y-%m-%d %H:%M} {entry.what}{by}: {entry.text} {ids}")


def review_line(item: "ReviewItem") -> str:
    """Return a question to a person: its key, and the memories it is about."""
    return "\n".join([visible_line(f"{item.key}: {item.about}"), *(f"  {one_line(each)}" for each in item.memories)])


def recall_line(recall: Recall) -> str:
    """Return one entry of the recall log."""
    shown = ", ".join(f"#{hit.memory_id}" for hit in recall.hits if hit.shown) or "nothing"
    return f"{recall.at:%Y-%m-%d %H:%M} {recall.query!r}: {recall.outcome}, showed {shown}"


def unanswered_line(query: str, times: int) -> str:
    """Return a query that found nothing, and how often it was asked."""
    return visible_line(f"{times} times: {query}")


def short(memory: Memory) -> str:
    """Return the title and the first words of *memory*."""
    told = f"{memory.title}: {memory.content}" if memory.title else memory.content
    return cut(" ".join(told.split()), WIDTH)


def stats_text(stats: StoreStats, address: str) -> str:
    """Return how much a store holds."""
    head = (
        f"{address}: {stats.memories} memories ({stats.forgotten} forgotten, {stats.superseded} superseded), "
        f"{stats.sources} sources, {stats.variants} other wordings, {stats.events} events"
    )
    size = [f"  on the server: {stats.bytes / 1_000_000:.1f} MB"] if stats.bytes else []
    projects = [f"  project {name}: {count}" for name, count in stats.projects.items()]
    types = [f"  type {name}: {count}" for name, count in stats.types.items()]
    return "\n".join([head, *size, *projects, *types])


def log_text(log: LogSize, kept: "Retention") -> str:
    """Return how much the recall log holds, and for how long."""
    since = f" since {log.oldest:%Y-%m-%d}" if log.oldest else ""
    bounds = {"days": kept.days, "MB": kept.megabytes}
    limit = " or ".join(f"{bound:g} {unit}" for unit, bound in bounds.items() if bound is not None) or "ever"
    held = f"{log.recalls} search{'' if log.recalls == 1 else 'es'}, {log.bytes / 1_000_000:.1f} MB{since}"
    return f"  recall log: {held}; kept for {limit}"


def health_text(health: Health) -> str:
    """Return what a check-up found."""
    found = _count(len(health.problems), "problem") if health.problems else f"{health.memories} memories, all is well"
    told = [*health.problems, *health.advice, *health.privacy, backup_line(health.last_backup)]
    return "\n".join([f"{health.address}: {found}", *told])


def backup_line(last: Mapping[str, Any] | None) -> str:
    """Return when a store was last backed up."""
    return f"last backup: {last['at']} to {last['path']}" if last else "last backup: never; see: recollect backup -h"


def recovery_text(done: Recovery, path: str) -> str:
    """Return what was saved of a damaged store, and what was not."""
    aside = [f"what was left out is in {done.aside_path}"] if done.aside_path else []
    lines = [*left_out(done), *aside] or ["nothing is missing"]
    return "\n".join([f"{done.saved.get('memory', 0)} memories saved to {path}", *lines])


def moved_text(done: Moved, old: str, new: str) -> str:
    """Return what was moved, and that it was compared."""
    rows = [f"  {name}: {count}" for name, count in done.rows.items() if count]
    before = [f"{done.resumed} of these rows were there from an earlier try"] if done.resumed else []
    late = [f"{old} was written to meanwhile; what came later is not in {new}"] if done.left_behind else []
    head = f"{done.rows['memory']} memories moved from {old} to {new}; every row was compared and is equal"
    return "\n".join([head, *rows, *before, *late])


def left_out(done: Recovery) -> list[str]:
    """Return what could not be saved of a damaged store, one line each."""
    missing = {
        f"could not be read: memories {_ids(done.lost)}": done.lost,
        f"saved with their words, but not all of their other fields: memories {_ids(done.changed)}": done.changed,
        f"could not be read whole: {', '.join(done.torn)}": done.torn,
        f"left out, being not as they were written: {done.aside} rows": done.aside,
    }
    return [line for line, there in missing.items() if there]


def _ids(rows: Sequence[int]) -> str:
    return ", ".join(map(str, rows[:20])) + (f" and {len(rows) - 20} more" if len(rows) > 20 else "")


def consolidation_text(done: "Consolidation") -> str:
    """Return what a consolidation did or would do."""
    verb = "merged" if done.applied else "would merge"
    merges = [f"{verb} #{each.gone} into #{each.kept}" for each in done.merges]
    links = [f"{'linked' if done.applied else 'would link'} #{each.id} to #{each.near}" for each in done.links]
    facts = [f"{verb} fact {lost} into fact {kept}" for kept, lost in done.facts]
    faded = [f"{'forgot' if done.applied else 'would forget'} #{row}: faded" for row in done.faded]
    return "\n".join([*merges, *links, *facts, *faded]) or "Nothing to consolidate."


def lens_line(lens: Mapping[str, object]) -> str:
    """Return a lens in one line."""
    said = ", ".join(f"{name} {value}" for name, value in lens.items() if name != "name" and value)
    return visible_line(f"{lens['name']}: {said}")


# --- tuning ---------------------------------------------------------------------------------


def tuned_text(done: "Tuned", *, dry: bool) -> str:
    """Return what was fitted to what, how well, and whether it was adopted."""
    fitted, interval = done.fitted, done.fitted.interval
    source = "the feedback log" if done.source == "feedback" else done.source
    lines = [f"{fitted.questions} judged questions from {source}"]
    lines += [f"left out: {count} {what}" for what, count in done.left_out.items()]
    if interval is not None:
        lines.append(_figures(fitted.before, fitted.after, interval.low, interval.high))
    lines += [f"  {name}: {old:g} -> {new:g} ({KNOBS[name].about})" for name, (old, new) in fitted.moved.items()]
    if done.adopted:
        return "\n".join([*lines, f"adopted: {fitted.reason}; go back with: recollect tune --undo"])
    verdict = "nothing kept, as asked" if dry and fitted.better else "nothing adopted"
    return "\n".join([*lines, f"{verdict}: {fitted.reason}"])


def tuning_text(tuning: Tuning) -> str:
    """Return what was tuned, when and on what."""
    head = f"{tuning.profile}, tuned {tuning.day} on {tuning.questions} questions from {tuning.source}"
    values = [f"  {name}: {value:g} ({KNOBS[name].about})" for name, value in tuning.values.items()]
    return "\n".join([head, *values, _figures(tuning.before, tuning.after, tuning.low, tuning.high)])


def _figures(before: float, after: float, low: float, high: float) -> str:
    gain = f"{after - before:+.4f}, 95% interval {low:+.4f} to {high:+.4f}"
    return f"nDCG@10 {before:.4f} before, {after:.4f} after, on questions not fitted to (gain {gain})"
