"""Answers as text for people: what was found, where it came from, and what to do when there is nothing."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from recollect.evaluate.tuning import KNOBS, Tuning
from recollect.records import Event, Fact, LogSize, Memory, Recall, Recovery, StoreStats
from recollect.replies import Evidence, Health, Hit, Listing, Related, Reply, Shown
from recollect.search.limits import MAX_PREFIXES, MAX_UNKNOWN
from recollect.surfaces.terminal import visible_line
from recollect.trust import ORIGINS

if TYPE_CHECKING:  # a search starts without what other verbs need
    from recollect.evaluate.tune import Tuned
    from recollect.recall.log import Retention
    from recollect.remember.import_files import ImportReport
    from recollect.remember.ingest import IngestResult
    from recollect.remember.redact import FoundSecret
    from recollect.search.why import Why
    from recollect.upkeep.consolidate import Consolidation
    from recollect.upkeep.facts import Conflict

DEGRADED = {
    "no_model": "no embedding model can be used: answered by words alone",
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
    "identical": "known already",
    "restates": "known already in other words; this wording is kept too",
    "updates": "remembered; it supersedes",
    "conflicts": "remembered; it conflicts with",
}
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
    "confidence": "its facts are not sure enough any more",
    "near_repeat": "a hit above it says nearly the same",
    "similarity": "its meaning is too far from the query's",
    "depth": "it ranks too deep in each list to be a candidate",
    "weight": "only a list without weight found it",
    "excluded": "the query excludes one of its words",
    "no_match": "no list knows it",
    "scope": "its project is not searched",
    "lens": "the lens leaves it out",
    "forgotten": "it was forgotten",
    "superseded": "another memory took its place",
    "filter": "a filter leaves it out",
}
SECRETS: Final = 5
"""How many of the secrets that were taken out are told to people; JSON has them all."""
FIELD_LENGTH: Final = 40
"""How long a value in the metadata may be to stand beside a hit; `show` and JSON have them all."""
FACET_VALUES: Final = 8
"""How many values of a facet are listed for people; JSON has them all."""


def here() -> str:
    """Return the folder that people look from."""
    try:
        return Path.cwd().as_posix()
    except OSError:  # it was removed in the meantime
        return ""


# --- searches -------------------------------------------------------------------------------


def reply_text(reply: Reply, *, explain: bool = False, root: str = "") -> str:
    """Return an answer to a search; sources below the folder *root* are written from there."""
    note = degraded_text(reply)
    meant = [f"Did you mean: {' | '.join(reply.suggestions)}"] if reply.suggestions else []
    facets = [_facet(name, counts) for name, counts in reply.facets.items() if counts]
    found = found_text(reply, explain=explain, root=root)
    return "\n".join([*([f"({note})"] if note else []), found, *meant, *facets])


def _facet(name: str, counts: Mapping[str, int]) -> str:
    first = [f"{visible_line(value)} {count}" for value, count in list(counts.items())[:FACET_VALUES]]
    more = [f"… {len(counts) - FACET_VALUES} more"] if len(counts) > FACET_VALUES else []
    return f"by {name.replace('_', ' ')}: {', '.join([*first, *more])}"


def degraded_text(reply: Reply) -> str:
    """Return what could not run though it was asked for; blank when all of it ran."""
    asked = reply.mode != "keyword" or reply.degraded in ("reranker_failed", *LEFT_OUT)
    return DEGRADED[reply.degraded] if asked and reply.degraded else ""


def found_text(reply: Reply, *, explain: bool = False, root: str = "") -> str:
    """Return the hits, or why there are none."""
    if reply.reason is not None:
        return f"Nothing found: {reply.reason.message}; {HINTS[reply.reason.code]}."
    lines = ["No clear answer; the nearest memories:"] if reply.outcome == "weak" else []
    lines.extend(_hit(hit, explain=explain, root=root) for hit in reply.hits)
    more = reply.total - len(reply.hits)
    less = f", {reply.hidden} of them left out as they probably do not answer" if reply.hidden else ""
    lines += [f"… and {more} more{less}"] if more > 0 and reply.hits else []
    lines += [_evidence(reply.evidence)] if explain and reply.evidence is not None else []
    return "\n".join(lines)


def _evidence(evidence: Evidence) -> str:
    """Return how likely it is that there is an answer, and what speaks for it."""
    parts = {"holds {:.2f} of the query's words by weight": evidence.coverage, "cosine {:.2f}": evidence.cosine}
    told = ", ".join(form.format(value) for form, value in parts.items() if value is not None)
    likely = f"answer with probability {evidence.probability:.2f}, threshold {evidence.threshold:.2f}"
    against = f"; against it: {'; '.join(evidence.against)}" if evidence.against else ""
    return f"{likely}: #{evidence.id} {told}{against}"


def _hit(hit: Hit, *, explain: bool, root: str) -> str:
    memory = hit.memory
    heading = memory.section or memory.title
    lines = [*([visible_line(heading)] if heading else []), hit.snippet]
    lines += [fields] if (fields := _fields(memory, hit.snippet)) else []
    about = (f"#{hit.id}", memory.type, _day(memory), _place(memory, root), f"by {FOUND_BY[hit.match_type]}")
    # In a store of a few memories every word is common and scores next to nothing: that would only puzzle.
    score = f"{hit.score:.3g}" if hit.score >= 0.001 else ""
    sure = f"confidence {hit.effective_confidence if hit.facts else memory.confidence:.2g}"
    older = f"older: #{hit.older}" if hit.older is not None else ""
    marks = (ORIGINS.get(memory.trust, ""), _conflicting(hit.conflicts), older)
    lines.append(" · ".join(part for part in (*about, score, sure, *marks) if part))
    if explain:
        shares = [f"{s.ranking}{f' rank {s.rank}' if s.rank else ''}: {s.points:+.4f}" for s in hit.shares]
        factors = [f"{name} x {factor:.3f}" for name, factor in hit.factors.items() if factor != 1.0]
        lines.append(f"= {' '.join([*shares, *factors])}")
    return f"{hit.rank:>2}. " + "\n    ".join(lines)


def _fields(memory: Memory, snippet: str) -> str:
    """Return the short values in the metadata of *memory* that neither its text nor its *snippet* shows."""
    shown = f"{memory.title}\n{memory.section or ''}\n{memory.content}"
    plain = {key: str(value) for key, value in memory.metadata.items() if isinstance(value, str | int | float)}
    told = [
        visible_line(f"{key}: {value}")
        for key, value in plain.items()
        if 0 < len(value) <= FIELD_LENGTH
        and f"{key}: " not in snippet.replace("[", "").replace("]", "")
        and not re.search(rf"(?<!\w){re.escape(value)}(?!\w)", shown)
    ]
    return _cut(" · ".join(told))


def _conflicting(rows: tuple[int, ...]) -> str:
    return f"conflicts with {', '.join(f'#{row}' for row in rows)}" if rows else ""


def _origin(memory: Memory) -> str:
    """Return where a memory that is not the owner's comes from, in parentheses and with a space behind."""
    return f"({ORIGINS[memory.trust]}) " if memory.trust in ORIGINS else ""


def _place(memory: Memory, root: str = "") -> str:
    """Return where *memory* comes from, as seen from the folder *root*."""
    if memory.source is None:
        return ""
    return _path(memory.source, root) + (f":{memory.line}" if memory.line else "")


def _path(source: str, root: str) -> str:
    """Return *source* in one line, as seen from the folder *root*."""
    return visible_line(source.removeprefix(root.rstrip("/") + "/") if root else source)


def _day(memory: Memory) -> str:
    return memory.when.date().isoformat()


def why_text(told: "Why") -> str:
    """Return whether a memory is in an answer, its place in each list, and what would bring it in."""
    head = f"#{told.id} is hit {told.rank}" if told.found else f"#{told.id} is not in the answer"
    ranks = [f"  by {each.ranking}: rank {each.rank or '-'}, score {each.score or 0:.4g}" for each in told.lists]
    if told.found:
        return "\n".join([head, *ranks])
    return "\n".join([f"{head}: {BLOCKED[told.blocked_by or 'no_match']}", *ranks, f"  found if {told.surfaces_if}"])


# --- changes --------------------------------------------------------------------------------


def ingest_text(result: "IngestResult", *, root: str = "") -> str:
    """Return what became of an added text."""
    of = f" #{result.of}" if result.of is not None and result.decision in ("updates", "conflicts") else ""
    of += f", which is {HELD[held]}" if of and (held := str(result.evidence.get("against"))) in HELD else ""
    of += f"; it supersedes {', '.join(f'#{row}' for row in result.supersedes)}" if result.supersedes else ""
    secrets = f"; {secrets_text(result.secrets, root=root)}" if result.secrets else ""
    return f"#{result.id} {DECISIONS[result.decision]}{of}{secrets}{f'; {LATER}' if result.degraded else ''}"


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
    text = (
        f"{memories['new']} new, {memories['updated']} updated, {memories['unchanged']} unchanged, "
        f"{memories['removed']} removed memories from {_count(files['scanned'], 'file')} "
        f"({files['imported']} imported, {files['skipped']} unchanged, {files['failed']} failed)"
    )
    told = {
        f"{_count(memories['revived'], 'forgotten memory')} brought back": memories["revived"],
        secrets_text(report.secrets, root=root): report.secrets,
        f"{_count(memories['withheld'], 'memory')} kept, though {_count(files['withheld'], 'file')} cannot be found "
        "any more; to forget what is gone: recollect import --prune": files["withheld"],
        f"{_count(files['links'], 'link')} not followed out of the folder; to follow: recollect import "
        "--follow-links": files["links"],
    }
    lines = (line for line, number in told.items() if number)
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


def changed_text(report: "ImportReport") -> str:
    """Return in one line what an import changed; nothing where it changed nothing."""
    counted = {name: report.memories[name] for name in ("new", "updated", "removed", "revived", "withheld")}
    told = [f"{number} {name}" for name, number in counted.items() if number]
    failed = [f"{_count(report.files['failed'], 'file')} failed: {report.errors[0].reason}"] if report.errors else []
    return ", ".join([*told, *failed])


def root_line(root: Mapping[str, Any]) -> str:
    """Return a root: its path, and what is not usual about it."""
    project = f"project {root['project']}" if root["project"] else ""
    trust = "" if root["trust"] == "owner" else f"trust {root['trust']}"
    links, secrets = "follows links" * root["follow_links"], "keeps secrets" * (not root["redact"])
    form = f"read as {root['as']}" if root.get("as") else ""
    more = ", ".join(filter(None, (project, trust, form, links, secrets)))
    name = root["path"] or f"from {root['from']}"
    return f"{name} ({more})" if more else str(name)


def embedded_text(report: "ImportReport", *, stopped: bool = False) -> str:
    """Return what the vectors of an import came to: how many were made, how many memories wait for theirs."""
    made = [f"meaning: {_count(report.embedded, 'memory')} can be found by meaning too"] if report.embedded else []
    if report.waiting or report.degraded:
        waiting = f"{_count(report.waiting, 'memory')} without vectors yet; " if report.waiting else ""
        made.append(f"{'stopped; ' if stopped else ''}{waiting}{LATER}")
    return "\n".join(made)


def _count(number: int, what: str) -> str:
    plural = what if number == 1 else f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number} {plural}"


# --- reading --------------------------------------------------------------------------------


def listing_text(listing: Listing) -> str:
    """Return a page of memories."""
    lines = [f"#{m.id} {_day(m)} [{m.type}] {_origin(m)}{_short(m)}" for m in listing.memories]
    more = listing.total - len(listing.memories)
    return "\n".join([*lines, f"… and {more} more"] if more > 0 else lines) or "Nothing here."


def one_line(memory: Memory) -> str:
    """Return a memory in one line: its id, its type, its first words."""
    return f"#{memory.id} [{memory.type}] {_origin(memory)}{_short(memory)}"


def related_line(related: Related) -> str:
    """Return a memory that belongs to another, and why."""
    return f"{one_line(related.memory)}\n    {', '.join(related.reasons)}"


def timeline_line(memory: Memory) -> str:
    """Return a memory in one line: its day, what it says, and what took its place."""
    after = f" (superseded by #{memory.superseded_by})" if memory.superseded_by else ""
    return f"{memory.when:%Y-%m-%d} {one_line(memory)}{after}"


def fact_line(fact: Fact) -> str:
    """Return a fact in one line."""
    said = visible_line(f"{fact.subject} {fact.predicate} {fact.object}")
    return f"fact {fact.id} [{fact.type}] {said} (confidence {fact.confidence:.2f}, #{fact.memory_id})"


def conflict_line(conflict: "Conflict") -> str:
    """Return two facts, or two memories, that contradict each other."""
    one, other = (
        fact_line(side) if isinstance(side, Fact) else one_line(side) for side in (conflict.one, conflict.other)
    )
    return f"{one}\n  against {other}"


def recall_line(recall: Recall) -> str:
    """Return one entry of the recall log."""
    shown = ", ".join(f"#{hit.memory_id}" for hit in recall.hits if hit.shown) or "nothing"
    return f"{recall.at:%Y-%m-%d %H:%M} {recall.query!r}: {recall.outcome}, showed {shown}"


def unanswered_line(asked: Mapping[str, object]) -> str:
    """Return a query that found nothing, and how often it was asked."""
    return visible_line(f"{asked['times']} times: {asked['query']}")


def _short(memory: Memory) -> str:
    return _cut(f"{memory.title}: {memory.content}" if memory.title else memory.content)


def _cut(text: str, width: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def shown_text(shown: Shown, *, root: str = "") -> str:
    """Return one memory with all that is known of it."""
    memory = shown.memory
    about = {
        "type": memory.type,
        "project": memory.project,
        "origin": ORIGINS.get(memory.trust),
        "tags": ", ".join(memory.tags),
        "source": _place(memory, root),
        "section": memory.section,
        "confidence": memory.confidence,
        "observed": memory.observed_at and memory.observed_at.isoformat(),
        "forgotten": memory.deleted_at and memory.deleted_at.isoformat(),
        "superseded by": memory.superseded_by and f"#{memory.superseded_by}",
    }
    lines = [f"#{memory.id} {memory.title}".rstrip(), "", memory.content, ""]
    lines += [f"also: {text}" for text in shown.wordings]
    lines += [visible_line(f"{name}: {value}") for name, value in about.items() if value]
    lines += [visible_line(f"{key}: {value}") for key, value in memory.metadata.items()]
    lines += [_event(event) for event in shown.events]
    return "\n".join(lines)


def _event(event: Event) -> str:
    """Return one change and what is known of its reason."""
    known = {key: value for key, value in event.detail.items() if value not in (None, "", [])}
    if event.verb != "update":
        known.pop("content", None)
    said = [text for key, text in _details(event.detail).items() if key in known]
    return f"{event.at:%Y-%m-%d %H:%M} {event.verb}" + (f": {visible_line(', '.join(said))}" if said else "")


def _details(detail: Mapping[str, object]) -> dict[str, str]:
    of = f" #{detail['of']}" if detail.get("of") is not None else ""
    differs = detail.get("differs")
    return {
        "decision": f"{detail.get('decision')}{of}",
        "by": f"by #{detail.get('by')}" if isinstance(detail.get("by"), int) else f"by {detail.get('by')}",
        "differs": f"differs in {', '.join(map(str, differs)) if isinstance(differs, list) else differs}",
        "jaccard": f"{detail.get('jaccard')} of the words in common",
        "proposes": f"{'related to' if detail.get('related') else 'perhaps the same as'} #{detail.get('proposes')}",
        "against": f"{detail.get('trust')} against {detail.get('against')}",
        "reason": str(detail.get("reason")),
        "source": f"from {detail.get('source')}",
        "content": f"it said “{_cut(str(detail.get('content')), 60)}”",
    }


def stats_text(stats: StoreStats, address: str) -> str:
    """Return how much a store holds."""
    head = (
        f"{address}: {stats.memories} memories ({stats.forgotten} forgotten, {stats.superseded} superseded), "
        f"{stats.sources} sources, {stats.variants} other wordings, {stats.events} events"
    )
    projects = [f"  project {name}: {count}" for name, count in stats.projects.items()]
    types = [f"  type {name}: {count}" for name, count in stats.types.items()]
    return "\n".join([head, *projects, *types])


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


def model_line(model: Mapping[str, object]) -> str:
    """Return an embedding model in one line, the one in use with a star."""
    damage = f"damaged: {model['problem']}; run: recollect model install {model['name']}" if model["problem"] else ""
    state = damage or ("installed" if model["installed"] else "not installed")
    star = "*" if model["in_use"] else " "
    return f"{star} {model['name']:<10} {model['dimensions']:>5} dimensions  {state}  {model['about']}"


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
