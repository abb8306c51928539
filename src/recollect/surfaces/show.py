"""Answers as text for people: what was found, where it came from, and what to do when there is nothing."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recollect.records import Event, Memory, StoreStats
from recollect.replies import Evidence, Health, Hit, Listing, Reply, Shown

if TYPE_CHECKING:  # a search starts without what writing needs
    from recollect.remember.import_files import ImportReport
    from recollect.remember.ingest import IngestResult

DEGRADED = {
    "no_model": "no embedding model is installed: answered by words alone",
    "vectors_pending": "some memories have no vector yet: run `recollect embed`",
    "fts_unavailable": "the word index is not available: the text itself was searched",
    "reranker_failed": "the reranker failed: the order is that of words and meaning alone",
}
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
FOUND_BY = {"bm25": "words", "semantic": "meaning", "hybrid": "words and meaning", "browse": "date"}


# --- searches -------------------------------------------------------------------------------


def reply_text(reply: Reply, *, explain: bool = False, root: str = "") -> str:
    """Return an answer to a search; sources below the folder *root* are written from there."""
    note = degraded_text(reply)
    lines = [f"({note})"] if note else []
    return "\n".join([*lines, found_text(reply, explain=explain, root=root)])


def degraded_text(reply: Reply) -> str:
    """Return what could not run though it was asked for; blank when all of it ran."""
    asked = reply.mode != "keyword" or reply.degraded == "reranker_failed"
    return DEGRADED[reply.degraded] if asked and reply.degraded else ""


def found_text(reply: Reply, *, explain: bool = False, root: str = "") -> str:
    """Return the hits, or why there are none."""
    if reply.reason is not None:
        return f"Nothing found: {reply.reason.message}; {HINTS[reply.reason.code]}."
    lines = ["No clear answer; the nearest memories:"] if reply.outcome == "weak" else []
    lines.extend(_hit(hit, explain=explain, root=root) for hit in reply.hits)
    more = reply.total - len(reply.hits)
    lines += [f"… and {more} more"] if more > 0 and reply.hits else []
    lines += [_evidence(reply.evidence)] if explain and reply.evidence is not None else []
    return "\n".join(lines)


def _evidence(evidence: Evidence) -> str:
    """Return how sure it is that there is an answer, and by what."""
    parts = {
        "of the question's weight held": evidence.coverage,
        "near in meaning": evidence.cosine,
    }
    told = ", ".join(f"{value:.2f} {what}" for what, value in parts.items() if value is not None)
    return f"sure {evidence.probability:.2f}, an answer from {evidence.threshold:.2f}: #{evidence.id} {told}"


def _hit(hit: Hit, *, explain: bool, root: str) -> str:
    memory = hit.memory
    heading = memory.section or memory.title
    lines = [heading, hit.snippet] if heading else [hit.snippet]
    about = (f"#{hit.id}", memory.type, _day(memory), _place(memory, root), f"by {FOUND_BY[hit.match_type]}")
    # In a store of a few memories every word is common and scores next to nothing: that would only puzzle.
    score = (f"{hit.score:.3g}",) if hit.score >= 0.001 else ()
    lines.append(" · ".join(part for part in (*about, *score) if part))
    if explain:
        shares = [f"{s.ranking}{f' rank {s.rank}' if s.rank else ''}: {s.points:+.4f}" for s in hit.shares]
        factors = [f"{name} x {factor:.3f}" for name, factor in hit.factors.items() if factor != 1.0]
        lines.append(f"= {' '.join([*shares, *factors])}")
    return f"{hit.rank:>2}. " + "\n    ".join(lines)


def _place(memory: Memory, root: str = "") -> str:
    """Return where *memory* comes from, as seen from the folder *root*."""
    if memory.source is None:
        return ""
    folder = root.rstrip("/") + "/"
    source = memory.source.removeprefix(folder) if root else memory.source
    return source + (f":{memory.line}" if memory.line else "")


def _day(memory: Memory) -> str:
    return memory.when.date().isoformat()


# --- changes --------------------------------------------------------------------------------


def kept_text(kept: "IngestResult") -> str:
    """Return what became of an added text."""
    of = f" #{kept.of}" if kept.of is not None and kept.decision in ("updates", "conflicts") else ""
    secrets = f"; {_count(kept.redacted, 'secret')} redacted" if kept.redacted else ""
    return f"#{kept.id} {DECISIONS[kept.decision]}{of}{secrets}"


def brought_text(brought: "ImportReport") -> str:
    """Return what an import did."""
    files, memories = brought.files, brought.memories
    text = (
        f"{memories['new']} new, {memories['updated']} updated, {memories['unchanged']} unchanged, "
        f"{memories['removed']} removed memories from {_count(files['scanned'], 'file')} "
        f"({files['imported']} imported, {files['skipped']} unchanged, {files['failed']} failed)"
    )
    secrets = f"\n{_count(brought.redacted, 'secret')} redacted before anything was stored" if brought.redacted else ""
    return text + secrets


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


# --- reading --------------------------------------------------------------------------------


def listing_text(listing: Listing) -> str:
    """Return a page of memories."""
    lines = [f"#{m.id} {_day(m)} [{m.type}] {_short(m)}" for m in listing.memories]
    more = listing.total - len(listing.memories)
    return "\n".join([*lines, f"… and {more} more"] if more > 0 else lines) or "Nothing here."


def one_line(memory: Memory) -> str:
    """Return a memory in one line: its id, its type, its first words."""
    return f"#{memory.id} [{memory.type}] {_short(memory)}"


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
    lines += [f"{name}: {value}" for name, value in about.items() if value]
    lines += [f"{key}: {value}" for key, value in memory.metadata.items()]
    lines += [_event(event) for event in shown.events]
    return "\n".join(lines)


def _event(event: Event) -> str:
    """Return one change and what is known of its reason."""
    known = {key: value for key, value in event.detail.items() if value not in (None, "", [])}
    if event.verb != "update":
        known.pop("content", None)
    said = [text for key, text in _details(event.detail).items() if key in known]
    return f"{event.at:%Y-%m-%d %H:%M} {event.verb}" + (f": {', '.join(said)}" if said else "")


def _details(detail: Mapping[str, object]) -> dict[str, str]:
    of = f" #{detail['of']}" if detail.get("of") is not None else ""
    differs = detail.get("differs")
    return {
        "decision": f"{detail.get('decision')}{of}",
        "by": f"by #{detail.get('by')}" if isinstance(detail.get("by"), int) else f"by {detail.get('by')}",
        "differs": f"differs in {', '.join(map(str, differs)) if isinstance(differs, list) else differs}",
        "jaccard": f"{detail.get('jaccard')} of the words in common",
        "proposes": f"perhaps the same as #{detail.get('proposes')}",
        "reason": str(detail.get("reason")),
        "source": f"from {detail.get('source')}",
        "content": f"it said “{_cut(str(detail.get('content')), 60)}”",
    }


def tally_text(tally: StoreStats, address: str) -> str:
    """Return how much a store holds."""
    head = (
        f"{address}: {tally.memories} memories ({tally.forgotten} forgotten, {tally.superseded} superseded), "
        f"{tally.sources} sources, {tally.variants} other wordings, {tally.events} events"
    )
    lines = [head]
    lines += [f"  project {name}: {count}" for name, count in tally.projects.items()]
    lines += [f"  type {name}: {count}" for name, count in tally.types.items()]
    return "\n".join(lines)


def health_text(health: Health) -> str:
    """Return what a check-up found."""
    if not health.problems:
        return f"{health.address}: {health.memories} memories, all is well"
    return "\n".join([f"{health.address}: {_count(len(health.problems), 'problem')}", *health.problems])
