"""What MCP tools return: compact, complete in the structured half, within the size that the client can take.

Several clients hand only the structured half to their model, others only the text; so both say the same. What a memory
says is data: it stands in a member of its own, and characters that a terminal obeys or nobody sees are spelled out.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from mcp_types import CallToolResult, TextContent
from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import RecollectError
from recollect.recall.inject import count_tokens_mixed
from recollect.records import Fact, Memory, StoreStats
from recollect.remember.ingest import IngestResult
from recollect.render.terminal import visible, visible_line
from recollect.render.text import degraded_text
from recollect.replies import Hit, Reply, Shown
from recollect.search.why import Why
from recollect.serialize import error_value, serialize
from recollect.trust import ORIGINS

MIN_TEXT_TOKENS: Final = 40
"""A text is cut to no fewer tokens than this; what has no room for so much is counted instead."""
MAX_NAME_CHARACTERS: Final = 120
"""How many characters of a title or of a source are shown."""
MAX_NAMES: Final = 50
"""How many projects and types are shown by name."""
DETAIL_MEMBERS: Final = (
    *("kind", "match_type", "bm25_score", "bm25_rank", "semantic_score", "vector_rank", "fused_score"),
    "effective_confidence",
)
"""The members of a hit that the detail of a result has, apart from the facts."""
ERROR: Final = "recollect/error"
"""The key of a tool's error in `_meta`, for programs; a model reads the text."""


class Result(Struct, frozen=True, kw_only=True):
    """One memory that was found."""

    json_members: ClassVar[str] = (
        "id title url text type date? source? project? score? origin? older? conflicts? reasons? detail?"
    )

    id: str
    """The id, for fetch, why, related, feedback and forget."""
    title: str
    url: str
    text: str
    """The memory, or the part of it that answers."""
    type: str
    date: str | None = None
    """The day it speaks of, or was written."""
    source: str | None = None
    project: str | None = None
    score: float | None = None
    origin: str | None = None
    """Who said it, where that was not the owner."""
    older: str | None = None
    """The id of the older memory that this one follows."""
    conflicts: tuple[str, ...] = ()
    """Ids of results that say something else."""
    reasons: tuple[str, ...] = ()
    detail: Mapping[str, object] | None = None
    """How it was found, where asked for."""


class Results(Struct, frozen=True, kw_only=True):
    """What a search found, best first."""

    json_members: ClassVar[str] = "outcome results note? more suggestions?"

    outcome: str
    """Answered, weak (probably no answer) or none."""
    results: tuple[Result, ...]
    note: str | None = None
    """Why there is nothing, or what could not be done."""
    more: int
    """How many further results had no room, or probably do not answer."""
    suggestions: tuple[str, ...] = ()
    """Did you mean one of these?"""


class Remembered(Struct, frozen=True, kw_only=True):
    """What became of a text that was to be remembered."""

    json_members: ClassVar[str] = "id decision of? redacted"

    id: str
    decision: str
    """Distinct, identical, restates, updates or conflicts."""
    of: str | None
    """The memory that the decision is about."""
    redacted: int
    """How many secrets were taken out."""


class Document(Struct, frozen=True, kw_only=True):
    """One whole memory."""

    json_members: ClassVar[str] = "id title text url metadata next?"

    id: str
    title: str
    text: str
    url: str
    metadata: Mapping[str, object]
    next: int | None = None
    """There is more: fetch again with this as start."""


class Injected(Struct, frozen=True, kw_only=True):
    """What to know for a task."""

    text: str
    """Markdown for the prompt; blank if nothing is known."""
    ids: tuple[str, ...]
    tokens: int


class Done(Struct, frozen=True, kw_only=True):
    """What was done, in words."""

    done: bool
    message: str


class Explained(Struct, frozen=True, kw_only=True):
    """Why a memory was or was not found."""

    json_members: ClassVar[str] = "id found rank? lists blocked_by? surfaces_if?"

    id: str
    found: bool
    rank: int | None
    lists: tuple[Mapping[str, object], ...]
    blocked_by: str | None
    surfaces_if: str | None


class Counts(Struct, frozen=True, kw_only=True):
    """What the store holds."""

    memories: int
    forgotten: int
    superseded: int
    projects: Mapping[str, int]
    """The largest ones."""
    types: Mapping[str, int]


def as_result(value: Struct) -> CallToolResult:
    """Return *value* in both halves of a tool's result."""
    shown = serialize(value)
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=shown)


def as_error(error: RecollectError) -> CallToolResult:
    """Return *error* as a tool tells it: one line and a hint for the model, its code for programs."""
    text = f"{error} ({error.hint})" if error.hint else str(error)
    content = TextContent(type="text", text=visible(text))
    return CallToolResult(content=[content], is_error=True, _meta={ERROR: error_value(error)["error"]})


def found(reply: Reply, options: Any) -> Results:
    """Return the hits of *reply* that fit into the budget; with *detail*, how each was found.

    That new memories still wait for their vectors is not noted: an agent can do nothing about it.
    """
    hits = [_hit(each, detail=options.detail) for each in reply.hits]
    shown = fitted(hits, budget=options.budget)
    degraded = "" if reply.degraded == "vectors_pending" else degraded_text(reply)
    notes = (reply.reason.message if reply.reason else "", degraded)
    return Results(
        outcome=reply.outcome,
        results=tuple(shown),
        note="; ".join(filter(None, notes)) or None,
        more=len(hits) - len(shown) + reply.hidden,
        suggestions=tuple(map(visible_line, reply.suggestions)),
    )


def listed(reply: Any, options: Any) -> Results:
    """Return the memories of *reply* that fit into the budget."""
    return _listed([of_memory(each, each.content) for each in reply.memories], options.budget)


def _listed(results: Sequence[Result], budget: int) -> Results:
    shown = fitted(results, budget=budget)
    return Results(outcome="answered" if shown else "none", results=tuple(shown), more=len(results) - len(shown))


def near(reply: Any, options: Any) -> Results:
    """Return the memories that belong to one, with the reasons."""
    found = [replace(of_memory(each.memory, each.memory.content), reasons=each.reasons) for each in reply.related]
    return _listed(found, options.budget)


def fitted(results: Iterable[Result], *, budget: int) -> list[Result]:
    """Return the first of *results* that fit in *budget* tokens; the first always does, cut if it must be."""
    left, shown = budget, list[Result]()
    for each in results:
        room = left - _size(replace(each, text=""))
        if shown and room < min(MIN_TEXT_TOKENS, count_tokens_mixed(each.text)):
            break
        shown.append(replace(each, text=cut(each.text, max(MIN_TEXT_TOKENS, room))))
        left -= _size(shown[-1])
    return shown


def _size(result: Result) -> int:
    return count_tokens_mixed(json.dumps(serialize(result), ensure_ascii=False, separators=(",", ":")))


def cut(text: str, tokens: int) -> str:
    """Return the beginning of *text* that has about so many *tokens*."""
    length = _length(text, tokens)
    return text if length == len(text) else f"{text[: length - 1]}…"


def _length(text: str, tokens: int) -> int:
    """Return how many characters at the beginning of *text* have about so many *tokens*."""
    length = min(len(text), tokens * 4)
    while (asked := count_tokens_mixed(text[:length])) > tokens:
        length = max(1, min(length - 1, length * tokens // asked))
    return length


def part(reply: Shown, options: Any) -> Document:
    """Return the part of a memory that fits into the budget, and where to go on."""
    whole = document(reply)
    rest = whole.text[options.start :]
    length = _length(rest, options.budget)
    after = options.start + length if length < len(rest) else None
    return replace(whole, text=rest[:length], next=after)


def brief(value: Any) -> Any:
    """Return *value* with its texts seen and short and its lists not too long: what is told beside a memory."""
    if isinstance(value, str):
        return cut(visible(value), MAX_NAME_CHARACTERS)
    if isinstance(value, Mapping):
        return {brief(name): brief(each) for name, each in list(value.items())[:MAX_NAMES]}
    return [brief(each) for each in value[:MAX_NAMES]] if isinstance(value, list) else value


def injected(rendered: Any, _: Any) -> Injected:
    """Return what to know for a task."""
    return Injected(text=rendered.text, ids=tuple(map(str, rendered.ids)), tokens=rendered.tokens)


def explained(why: Why, _: Any) -> Explained:
    """Return why a memory was or was not found."""
    return Explained(
        id=str(why.id),
        found=why.found,
        rank=why.rank,
        lists=tuple(serialize(why.lists)),
        blocked_by=why.blocked_by,
        surfaces_if=why.surfaces_if,
    )


def remembered(kept: IngestResult, _: Any) -> Remembered:
    """Return what became of a text."""
    of = None if kept.of is None else str(kept.of)
    return Remembered(id=str(kept.id), decision=kept.decision, of=of, redacted=kept.redacted)


def document(found: Shown) -> Document:
    """Return a whole memory, with what else is known of it."""
    memory, facts = found.memory, [fact_line(each) for each in found.facts]
    about = serialize(replace(memory, content=""))
    kept = {name: value for name, value in about.items() if name != "content" and value not in (None, "", [], {})}
    return Document(
        id=str(memory.id),
        title=title_of(memory),
        text=visible(memory.content),
        url=address(memory.id),
        metadata=brief({**kept, **({"facts": facts} if facts else {})}),
    )


def judged(reply: Any, _: Any) -> Done:
    """Return which verdict was noted."""
    return Done(done=True, message=f"#{reply.id}: {reply.verdict}")


def forgotten(_: Any, options: Any) -> Done:
    """Return which memory was forgotten."""
    return Done(done=True, message=f"#{options.id} is forgotten; recollect restore {options.id}")


def counts(state: Any, _: Any) -> Counts:
    """Return how much there is, of projects and types the largest alone."""
    counted: StoreStats = state.counted
    return Counts(
        memories=counted.memories,
        forgotten=counted.forgotten,
        superseded=counted.superseded,
        projects=_largest(counted.projects),
        types=_largest(counted.types),
    )


def _largest(numbers: Mapping[str, int]) -> dict[str, int]:
    most = sorted(numbers.items(), key=lambda each: -each[1])[:MAX_NAMES]
    return {_name(name): number for name, number in most}


def _hit(hit: Hit, *, detail: bool) -> Result:
    return replace(
        of_memory(hit.memory, passage(hit)),
        score=round(hit.score, 3),
        older=None if hit.older is None else str(hit.older),
        conflicts=tuple(map(str, hit.conflicts)),
        detail=_detail(hit) if detail else None,
    )


def _detail(hit: Hit) -> dict[str, Any]:
    """Return how *hit* was found, named as in JSON everywhere; what there is none of is left out."""
    values = {name: getattr(hit, name) for name in DETAIL_MEMBERS}
    told = {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}
    told["facts"] = brief([fact_line(each) for each in hit.facts]) or None
    return {name: value for name, value in told.items() if value is not None}


def fact_line(fact: Fact) -> str:
    """Return what *fact* states, in a line."""
    return f"{fact.subject} {fact.predicate} {fact.object}"


def passage(hit: Hit) -> str:
    """Return the text of a hit: the whole memory where it is short, else the part that answers."""
    content = hit.memory.content
    if len(content) <= 600:
        return content
    return hit.snippet.replace("[", "").replace("]", "") or content


def of_memory(memory: Memory, text: str) -> Result:
    """Return *memory* as a result that shows *text*."""
    day = memory.observed_at or memory.created_at
    place = _name(memory.source) if memory.source else None
    return Result(
        id=str(memory.id),
        title=title_of(memory),
        url=address(memory.id),
        text=visible(text),
        type=memory.type,
        date=day.date().isoformat() if day else None,
        source=f"{place}:{memory.line}" if place and memory.line else place,
        project=memory.project,
        origin=ORIGINS.get(memory.trust),
    )


def address(row: int) -> str:
    """Return the address of a memory as a resource."""
    return f"recollect://memory/{row}"


def title_of(memory: Memory) -> str:
    """Return the title of *memory*, or its first words."""
    return _name(memory.title or " ".join(memory.content[:200].split())[:60])


def _name(text: str) -> str:
    """Return *text* as a short line."""
    line = visible_line(text[: 2 * MAX_NAME_CHARACTERS])
    return line if len(line) <= MAX_NAME_CHARACTERS else f"{line[: MAX_NAME_CHARACTERS - 1]}…"
