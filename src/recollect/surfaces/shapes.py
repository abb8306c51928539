"""Answers as JSON values: one shape for the command line, HTTP and MCP."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recollect.errors import RecollectError
from recollect.records import Event, Fact, Memory, StoreStats
from recollect.replies import Evidence, Health, Hit, Listing, Reason, Reply, Shown

if TYPE_CHECKING:  # a search starts without what writing needs
    from recollect.remember.import_files import ImportReport
    from recollect.remember.ingest import IngestResult

Shape = dict[str, Any]


def memory_shape(memory: Memory) -> Shape:
    """Return the fields of a memory that every surface shows."""
    return {
        "id": memory.id,
        "external_id": memory.external_id,
        "kind": memory.kind,
        "project": memory.project,
        "type": memory.type,
        "title": memory.title,
        "content": memory.content,
        "tags": list(memory.tags),
        "source": memory.source,
        "line": memory.line,
        "section": memory.section,
        "confidence": memory.confidence,
        "pinned": memory.pinned,
        "created_at": _moment(memory.created_at),
        "updated_at": _moment(memory.updated_at),
        "observed_at": _moment(memory.observed_at),
        "superseded_by": memory.superseded_by,
        "metadata": dict(memory.metadata),
    }


def fact_shape(fact: Fact) -> Shape:
    """Return what a memory states."""
    return {
        "id": fact.id,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "type": fact.type,
        "confidence": fact.confidence,
    }


def export_shape(memory: Memory, wordings: tuple[str, ...]) -> Shape:
    """Return everything a memory is, for an archive that imports without loss."""
    context = memory.context
    return {
        "recollect": 1,
        **memory_shape(memory),
        "deleted_at": _moment(memory.deleted_at),
        "valid_from": _moment(memory.valid_from),
        "valid_until": _moment(memory.valid_until),
        "superseded_at": _moment(memory.superseded_at),
        "trust": memory.trust,
        "thread": memory.thread,
        "turn": memory.turn,
        "context": {"before": context.before, "after": context.after, "around": context.around},
        "wordings": list(wordings),
    }


def reply_shape(reply: Reply, *, explain: bool = False) -> Shape:
    """Return an answer to a search."""
    return {
        "query": reply.query,
        "mode": reply.mode,
        "profile": reply.profile,
        "outcome": reply.outcome,
        "evidence": reply.evidence and _evidence(reply.evidence),
        "reason": reply.reason and _reason(reply.reason),
        "degraded": reply.degraded,
        "hits": [_hit(hit, explain=explain) for hit in reply.hits],
        "suggestions": list(reply.suggestions),
        "facets": {name: dict(counts) for name, counts in reply.facets.items()},
        "timings_ms": dict(reply.timings_ms),
    }


def _hit(hit: Hit, *, explain: bool) -> Shape:
    shape: Shape = {
        "rank": hit.rank,
        "id": hit.id,
        "kind": hit.kind,
        "score": hit.score,
        "match_type": hit.match_type,
        "bm25_score": hit.bm25_score,
        "bm25_rank": hit.bm25_rank,
        "semantic_score": hit.semantic_score,
        "vector_rank": hit.vector_rank,
        "fused_score": hit.fused_score,
        "effective_confidence": hit.effective_confidence,
        "snippet": hit.snippet,
        "memory": memory_shape(hit.memory),
        "facts": [fact_shape(fact) for fact in hit.facts],
    }
    if explain:
        shape["explain"] = {
            "shares": [{"ranking": s.ranking, "rank": s.rank, "points": s.points} for s in hit.shares],
            "factors": dict(hit.factors),
        }
    return shape


def _evidence(evidence: Evidence) -> Shape:
    return {
        "sure": evidence.probability,
        "bar": evidence.threshold,
        "id": evidence.id,
        "coverage": evidence.coverage,
        "cosine": evidence.cosine,
    }


def _reason(reason: Reason) -> Shape:
    return {
        "code": reason.code,
        "message": reason.message,
        "best_score": reason.best_score,
        "hidden": reason.hidden,
    }


def kept_shape(kept: "IngestResult") -> Shape:
    """Return what became of an added text."""
    return {"id": kept.id, "decision": kept.decision, "of": kept.of, "redacted": kept.redacted}


def brought_shape(brought: "ImportReport") -> Shape:
    """Return what an import did."""
    return {
        "files": {name: brought.files[name] for name in ("scanned", "imported", "skipped", "failed")},
        "memories": {name: brought.memories[name] for name in ("new", "updated", "unchanged", "removed")},
        "redacted": brought.redacted,
        "errors": [{"path": problem.path, "reason": problem.reason} for problem in brought.errors],
    }


def listing_shape(listing: Listing) -> Shape:
    """Return a page of memories."""
    return {"memories": [memory_shape(memory) for memory in listing.memories], "total": listing.total}


def shown_shape(shown: Shown) -> Shape:
    """Return one memory with all that is known of it."""
    return {
        **memory_shape(shown.memory),
        "deleted_at": _moment(shown.memory.deleted_at),
        "wordings": list(shown.wordings),
        "facts": [fact_shape(fact) for fact in shown.facts],
        "events": [_event(event) for event in shown.events],
    }


def _event(event: Event) -> Shape:
    return {"verb": event.verb, "at": _moment(event.at), "detail": dict(event.detail)}


def tally_shape(tally: StoreStats, address: str) -> Shape:
    """Return how much a store holds."""
    return {
        "store": address,
        "memories": tally.memories,
        "forgotten": tally.forgotten,
        "superseded": tally.superseded,
        "sources": tally.sources,
        "wordings": tally.variants,
        "events": tally.events,
        "projects": dict(tally.projects),
        "types": dict(tally.types),
    }


def health_shape(health: Health) -> Shape:
    """Return what a check-up found."""
    return {
        "store": health.address,
        "healthy": not health.problems,
        "memories": health.memories,
        "problems": list(health.problems),
    }


def error_shape(error: RecollectError) -> Mapping[str, Any]:
    """Return an error, the same on every surface."""
    return {"error": {"code": error.code, "message": str(error), "hint": error.hint}}


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
