"""Memories as pages for people: what a search found, a list, one memory with its history.

A page is text with styles and links (`layout.py`): a terminal shows it wrapped and styled, a pipe gets its plain text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from recollect.records import Event, Memory
from recollect.render.layout import GAP, Line, Page, Piece, cut, line
from recollect.render.terminal import visible_line
from recollect.render.text import FOUND_BY, HINTS, degraded_text, facet_line, place_of, short
from recollect.replies import Evidence, Hit, Listing, Related, Reply, Shown
from recollect.trust import ORIGINS

NEAR: Final = 0.5
"""What scores less than this share of the first hit falls far below it."""
STRONG, FAIR = 0.6, 0.3
"""From where on a hit is called strong or fair: its share of the first hit's score times the chance of an answer."""
UNSURE: Final = 0.5
"""What is less sure than this is said to be so."""
FIELD_LENGTH: Final = 40
"""How long a value in the metadata may be to stand beside a hit; `show` and JSON have them all."""
INDENT: Final = 4


# --- searches -------------------------------------------------------------------------------
MTIME: Final = "observed_from"
"""What marks a date as that of the file: `show` tells it, a hit does not."""


def reply_page(reply: Reply, *, explain: bool = False, root: str = "", brief: bool = False, store: str = "") -> Page:
    """Return an answer to a search; sources below the folder *root* are written from there.

    A *brief* one counts what falls far below the first hit instead of showing it; an empty *store* is named.
    """
    note = degraded_text(reply)
    meant = [line(f"Did you mean: {' | '.join(reply.suggestions)}")] if reply.suggestions else []
    facets = [line(facet_line(name, counts), hang=2) for name, counts in reply.facets.items() if counts]
    found = found_page(reply, explain=explain, root=root, brief=brief, store=store)
    return (*([line(Piece(f"({note})", "faint"))] if note else []), *found, *meant, *facets)


def found_page(reply: Reply, *, explain: bool = False, root: str = "", brief: bool = False, store: str = "") -> Page:
    """Return the hits, or why there are none."""
    if reply.reason is not None:
        place = f" ({store})" if store and reply.reason.code == "empty_store" else ""
        return (line(f"Nothing found: {reply.reason.message}{place}; {HINTS[reply.reason.code]}."),)
    lines = [line(Piece("No clear answer; the nearest memories:", "title"))] if reply.outcome == "weak" else []
    shown = near_first(reply) if brief else reply.hits
    for hit in shown:
        lines += [*([GAP] if lines else []), *_hit(hit, strength(hit, reply), explain=explain, root=root)]
    lines += _more(reply, len(shown))
    if explain and reply.evidence is not None:
        lines += [GAP, line(_evidence(reply.evidence), hang=2)]
    return tuple(lines)


def _more(reply: Reply, shown: int) -> list[Line]:
    more = reply.total - shown
    if more <= 0 or not shown:
        return []
    less = f"; {reply.hidden} of them probably do not answer" if reply.hidden else ""
    return [GAP, line(Piece(f"… {more} more{less} (see them with --all)", "faint"))]


def near_first(reply: Reply) -> tuple[Hit, ...]:
    """Return the hits that do not fall far below the first."""
    best = reply.hits[0].score if reply.hits else 0.0
    return tuple(hit for hit in reply.hits if hit.score >= NEAR * best)


def strength(hit: Hit, reply: Reply) -> str:
    """Return how well a hit answers, in a word; nothing where nothing was asked."""
    best = reply.hits[0].score
    if hit.match_type == "browse" or best <= 0:
        return ""
    chance = reply.evidence.probability if reply.evidence is not None else 1.0
    share = hit.score / best * (chance if reply.outcome == "answered" else 0.0)
    return "strong" if share >= STRONG else "fair" if share >= FAIR else "weak"


def _hit(hit: Hit, strong: str, *, explain: bool, root: str) -> Iterator[Line]:
    memory, start = hit.memory, f"{hit.rank:>2}. "
    if heading := memory.section or memory.title:
        yield line(start, Piece(visible_line(heading), "title"), hang=INDENT)
        start = " " * INDENT
    yield line(start, *_marked(hit), hang=INDENT)
    if fields := _fields(memory, hit.snippet):
        yield line(" " * INDENT, fields, hang=INDENT)
    yield from _exchange(hit)
    yield _about(hit, strong, explain=explain, root=root)
    if explain:
        yield line(" " * INDENT, Piece(_sum(hit), "faint"), hang=INDENT + 2)


def _exchange(hit: Hit) -> Iterator[Line]:
    """Yield a line for each other turn of the exchange of a hit: what it replies to, and what replies to it."""
    for turn in hit.exchange:
        row = f" (#{turn.id})" if turn.id else ""
        sign = Piece("reply to: " if turn.before else "reply: ", "faint")
        yield line(" " * INDENT, sign, cut(visible_line(f"{turn.line}{row}"), 100), hang=INDENT)


def _marked(hit: Hit) -> Iterator[Piece]:
    """Yield the snippet, what was found in a style of its own instead of its brackets."""
    at = 0
    for first, last in hit.marks:
        yield Piece(hit.snippet[at:first])
        yield Piece(hit.snippet[first + 1 : last - 1], "mark")
        at = last
    yield Piece(hit.snippet[at:])


def _about(hit: Hit, strong: str, *, explain: bool, root: str) -> Line:
    """Return the line below a hit: how strong it is, its id, type and day, where it comes from, what to know of it."""
    memory = hit.memory
    sure = hit.effective_confidence if hit.facts else memory.confidence
    older = f"older: #{hit.older}" if hit.older is not None else ""
    told = (
        *([Piece(strong, "good" if strong == "strong" else "faint")] if strong else []),
        Piece(f"#{hit.id}", "faint"),
        *(Piece(part, "faint") for part in (visible_line(memory.type), f"{memory.when:%Y-%m-%d}")),
        Piece(place_of(memory, root), "faint", link=address(memory)),
        Piece(ORIGINS.get(memory.trust, ""), "bad" if memory.trust == "untrusted" else "faint"),
        Piece(_conflicting(hit.conflicts), "bad"),
        Piece(older, "faint"),
        Piece("unsure" if memory.confidence < UNSURE else "", "bad"),
        Piece(f"found by {FOUND_BY[hit.match_type]}" if explain else "", "faint"),
        Piece(f"confidence {sure:.2g}" if explain else "", "faint"),
    )
    return line(" " * INDENT, *_separated(told), hang=INDENT)


def _separated(told: tuple[Piece, ...]) -> Iterator[Piece]:
    for number, piece in enumerate(each for each in told if each.text):
        if number:
            yield Piece(" · ", "faint")
        yield replace(piece, whole=True)


def _sum(hit: Hit) -> str:
    """Return how the score of a hit comes about."""
    shares = [f"{s.ranking} {s.points:.4f}{f' (rank {s.rank})' if s.rank else ''}" for s in hit.shares]
    factors = [f"{name} {factor:.3f}" for name, factor in hit.factors.items() if f"{factor:.3f}" != "1.000"]
    added = " + ".join(shares)
    times = " x ".join([f"({added})" if len(shares) > 1 and factors else added, *factors])
    return f"score {hit.score:.3g} = {times}" if shares else f"score {hit.score:.3g}"


def _evidence(evidence: Evidence) -> str:
    """Return how likely it is that there is an answer, and what speaks for it."""
    told = [f"it holds {evidence.coverage:.0%} of the query's words by weight"] if evidence.coverage is not None else []
    told += [f"its cosine is {evidence.cosine:.2f}"] if evidence.cosine is not None else []
    likely = f"probability that #{evidence.id} answers: {evidence.probability:.0%}, at least {evidence.threshold:.0%}"
    against = f"; against it: {'; '.join(evidence.against)}" if evidence.against else ""
    return f"{likely} is needed; {', '.join(told)}{against}" if told else f"{likely} is needed{against}"


def _fields(memory: Memory, snippet: str) -> str:
    """Return the short values in the metadata of *memory* that neither its text nor its *snippet* shows."""
    shown = f"{memory.title}\n{memory.section or ''}\n{memory.content}"
    values = {key: value for key, value in memory.metadata.items() if key != MTIME}
    plain = {key: str(value) for key, value in values.items() if isinstance(value, str | int | float)}
    told = [
        visible_line(f"{key}: {value}")
        for key, value in plain.items()
        if 0 < len(value) <= FIELD_LENGTH
        and f"{key}: " not in snippet.replace("[", "").replace("]", "")
        and not re.search(rf"(?<!\w){re.escape(value)}(?!\w)", shown)
    ]
    return cut(" · ".join(told), 100)


def _conflicting(rows: tuple[int, ...]) -> str:
    return f"conflicts with {', '.join(f'#{row}' for row in rows)}" if rows else ""


def address(memory: Memory) -> str:
    """Return what a terminal opens for the source of *memory*: a web address, or that of a file; else nothing."""
    from urllib.parse import quote  # noqa: PLC0415  (only people are shown links)

    source = memory.source or ""
    if re.match(r"https?://\S", source):
        return quote(source, safe=":/?#[]@!$&'()*+,;=%~")
    return Path(source).as_uri() if source.startswith("/") and "\0" not in source else ""


# --- lists and single memories --------------------------------------------------------------


def listing_page(listing: Listing, *, offset: int = 0) -> Page:
    """Return a page of memories, from the one after *offset* on."""
    if not listing.memories:
        past = f"Nothing here: there are {listing.total} memories, and --offset {offset} passes over all of them."
        return (line(past if listing.total and offset else "Nothing here."),)
    lines = [memory_line(memory) for memory in listing.memories]
    more = listing.total - len(lines) - offset
    after = f" (go on with --offset {offset + len(lines)})"
    return (*lines, *([line(Piece(f"… {more} more{after}", "faint"))] if more > 0 else ()))


def memory_line(memory: Memory, *, before: str = "") -> Line:
    """Return a memory in one line: its id, its day, its type, its first words, and what to know *before* them."""
    origin = f"({ORIGINS[memory.trust]}) " if memory.trust in ORIGINS else ""
    start = f"#{memory.id} "
    about = Piece(f"{memory.when:%Y-%m-%d} [{cut(visible_line(memory.type), 20)}] ", "faint", whole=True)
    told = line(Piece(start, "title"), about, f"{before}{origin}{short(memory)}")
    return replace(told, single=True)


def timeline_page(memories: Sequence[Memory]) -> Page:
    """Return memories in their order, and what took the place of each."""
    gone = {each.id: f"(superseded by #{each.superseded_by}) " for each in memories if each.superseded_by}
    return tuple(memory_line(each, before=gone.get(each.id, "")) for each in memories) or (line("Nothing here."),)


def related_page(found: Sequence[Related]) -> Page:
    """Return memories that belong to another, and why."""
    rows = [(memory_line(each.memory), line(f"    {', '.join(each.reasons)}", hang=4)) for each in found]
    return tuple(each for row in rows for each in row) or (line("Nothing is near it."),)


def shown_page(shown: Shown, *, root: str = "") -> Page:
    """Return one memory with all that is known of it."""
    memory = shown.memory
    about = {
        "type": memory.type,
        "project": memory.project,
        "origin": ORIGINS.get(memory.trust),
        "tags": ", ".join(memory.tags),
        "source": place_of(memory, root),
        "section": memory.section,
        "confidence": memory.confidence,
        "pinned": "yes" if memory.pinned else None,
        "date": memory.observed_at and _moment(memory.observed_at),
        "forgotten": memory.deleted_at and _moment(memory.deleted_at),
        "superseded by": memory.superseded_by and f"#{memory.superseded_by}",
    }
    links = {"source": address(memory)}
    told = {**{name: value for name, value in about.items() if value}, **memory.metadata}
    return (
        line(Piece(f"#{memory.id} {memory.title}".rstrip(), "title")),
        Line(),
        *(line(each, hang=_depth(each)) for each in memory.content.split("\n")),
        Line(),
        *(line(Piece("other wording: ", "faint"), visible_line(text), hang=2) for text in shown.wordings),
        *(_field(name, value, links.get(name, "")) for name, value in told.items()),
        *(line(Piece(_event(event), "faint"), hang=len("2026-05-04 12:00 ")) for event in shown.events),
    )


def _moment(at: datetime) -> str:
    """Return a day, and the time of day where there is one."""
    return f"{at:%Y-%m-%d %H:%M}".removesuffix(" 00:00")


def _depth(text: str) -> int:
    return len(text) - len(text.lstrip())


def _field(name: str, value: object, link: str) -> Line:
    return line(Piece(f"{visible_line(name)}: ", "faint"), Piece(visible_line(str(value)), link=link), hang=2)


def _event(event: Event) -> str:
    """Return one change and what is known of its reason."""
    known = {key: value for key, value in event.detail.items() if value not in (None, "", [])}
    if event.verb not in ("update", "edit"):
        known.pop("content", None)
    said = [text for key, text in _details(event.detail).items() if key in known]
    return f"{event.at:%Y-%m-%d %H:%M} {event.verb}" + (f": {visible_line(', '.join(said))}" if said else "")


def _details(detail: Mapping[str, object]) -> dict[str, str]:
    of = f" #{detail['of']}" if detail.get("of") is not None else ""
    return {
        "decision": f"{detail.get('decision')}{of}",
        "by": f"by #{detail.get('by')}" if isinstance(detail.get("by"), int) else f"by {detail.get('by')}",
        "differs": f"differs in {_several(detail.get('differs'))}",
        "jaccard": f"{detail.get('jaccard')} of the words in common",
        "proposes": f"{'related to' if detail.get('related') else 'perhaps the same as'} #{detail.get('proposes')}",
        "against": f"{detail.get('trust')} against {detail.get('against')}",
        "reason": str(detail.get("reason")),
        "source": f"from {detail.get('source')}",
        "changed": f"changed {_several(detail.get('changed'))}",
        "content": f"it said “{cut(' '.join(str(detail.get('content')).split()), 60)}”",
    }


def _several(values: object) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list | tuple) else str(values)
