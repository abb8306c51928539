"""Answers as text for people: what was found, where it came from, and what to do when there is nothing."""

from recollect.recollection import Health, Listing, Shown
from recollect.records import Memory, Tally
from recollect.remember.bring import Brought
from recollect.remember.keep import Kept
from recollect.replies import Hit, Reply

DEGRADED = {
    "no_model": "no embedding model is installed: answered by words alone",
    "vectors_pending": "some memories have no vector yet: run `recollect embed`",
    "fts_unavailable": "the word index is not available: the text itself was searched",
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


def reply_text(reply: Reply, *, explain: bool = False) -> str:
    """Return an answer to a search."""
    lines = [_note(reply)] if _note(reply) else []
    if reply.reason is not None:
        return "\n".join([*lines, f"Nothing found: {reply.reason.message}; {HINTS[reply.reason.code]}."])
    if reply.outcome == "weak":
        lines.append("No clear answer; the nearest memories:")
    lines.extend(_hit(hit, explain=explain) for hit in reply.hits)
    more = reply.total - len(reply.hits)
    return "\n".join([*lines, f"… and {more} more"] if more > 0 and reply.hits else lines)


def _note(reply: Reply) -> str:
    asked = reply.mode != "keyword" and reply.degraded
    return f"({DEGRADED[reply.degraded]})" if asked and reply.degraded else ""


def _hit(hit: Hit, *, explain: bool) -> str:
    head = f"{hit.rank:>2}. [{hit.memory.type}] {hit.snippet}"
    by = {"bm25": "words", "semantic": "meaning", "hybrid": "words and meaning", "browse": "newest"}[hit.match_type]
    about = [f"#{hit.id}", f"by {by}", f"score {hit.score:.3g}", _place(hit.memory), _day(hit.memory)]
    lines = [head, "    " + " · ".join(part for part in about if part)]
    if explain:
        shares = [f"{s.ranking} rank {s.rank or '-'}: {s.points:+.4f}" for s in hit.shares]
        factors = [f"{name} x {factor:.3f}" for name, factor in hit.factors.items()]
        lines.append(f"    = {' '.join([*shares, *factors])}")
    return "\n".join(lines)


def _place(memory: Memory) -> str:
    if memory.source is None:
        return ""
    return memory.source + (f":{memory.line}" if memory.line else "")


def _day(memory: Memory) -> str:
    return memory.when.date().isoformat()


def kept_text(kept: Kept) -> str:
    """Return what became of an added text."""
    of = f" #{kept.of}" if kept.of is not None and kept.decision in ("updates", "conflicts") else ""
    secrets = f"; {kept.redacted} secret{'s' if kept.redacted > 1 else ''} redacted" if kept.redacted else ""
    return f"#{kept.id} {DECISIONS[kept.decision]}{of}{secrets}"


def brought_text(brought: Brought) -> str:
    """Return what an import did."""
    files, memories = brought.files, brought.memories
    text = (
        f"{memories['new']} new, {memories['updated']} updated, {memories['unchanged']} unchanged, "
        f"{memories['removed']} removed memories from {files['scanned']} files "
        f"({files['imported']} imported, {files['skipped']} unchanged, {files['failed']} failed)"
    )
    secrets = f"\n{brought.redacted} secrets were redacted before anything was stored" if brought.redacted else ""
    return text + secrets


def listing_text(listing: Listing) -> str:
    """Return a page of memories."""
    lines = [f"#{m.id} {_day(m)} [{m.type}] {_short(m)}" for m in listing.memories]
    more = listing.total - len(listing.memories)
    return "\n".join([*lines, f"… and {more} more"] if more > 0 else lines) or "Nothing here."


def _short(memory: Memory, width: int = 100) -> str:
    text = " ".join(f"{memory.title}: {memory.content}".split() if memory.title else memory.content.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def shown_text(shown: Shown) -> str:
    """Return one memory with all that is known of it."""
    memory = shown.memory
    about = {
        "type": memory.type,
        "project": memory.project,
        "tags": ", ".join(memory.tags),
        "source": _place(memory),
        "section": memory.section,
        "confidence": memory.confidence,
        "observed": memory.observed_at and memory.observed_at.isoformat(),
        "forgotten": memory.deleted_at and memory.deleted_at.isoformat(),
        "superseded by": memory.superseded_by,
    }
    lines = [f"#{memory.id} {memory.title}".rstrip(), "", memory.content, ""]
    lines += [f"also: {text}" for text in shown.wordings]
    lines += [f"{name}: {value}" for name, value in about.items() if value]
    lines += [f"{key}: {value}" for key, value in memory.metadata.items()]
    lines += [f"{event.at:%Y-%m-%d %H:%M} {event.verb}" for event in shown.events]
    return "\n".join(lines)


def tally_text(tally: Tally, address: str) -> str:
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
    return "\n".join([f"{health.address}: {len(health.problems)} problems", *health.problems])
