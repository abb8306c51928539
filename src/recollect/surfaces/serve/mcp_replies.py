"""What MCP tools return: compact, complete in the structured half, within the size that the client can take.

Several clients hand only the structured half to their model, others only the text; so both say the same.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from recollect.records import Memory
from recollect.replies import Hit, Related, Reply
from recollect.trust import ORIGINS

CHARACTERS: Final = 4
"""About how many characters a token has."""
SHORTEST: Final = 160
"""A text is cut no shorter than this; what has no room for so much is counted instead."""


class Result(BaseModel):
    """One memory that was found."""

    id: str = Field(description="the id, for fetch, why, related, feedback and forget")
    title: str
    url: str
    text: str = Field(description="the memory, or the part of it that answers")
    type: str
    date: str | None = Field(default=None, description="the day it speaks of, or was written")
    source: str | None = None
    project: str | None = None
    score: float | None = None
    origin: str | None = Field(default=None, description="who said it, where that was not the owner")
    older: str | None = Field(default=None, description="the id of the older memory that this one follows")
    conflicts: list[str] | None = Field(default=None, description="ids of results that say something else")
    reasons: list[str] | None = None


class Results(BaseModel):
    """What a search found, best first."""

    outcome: str = Field(description="answered, weak (probably no answer) or none")
    results: list[Result]
    note: str | None = Field(default=None, description="why there is nothing, or what could not be done")
    more: int = Field(default=0, description="how many further results had no room, or probably do not answer")


class Remembered(BaseModel):
    """What became of a text that was to be remembered."""

    id: str
    decision: str = Field(description="distinct, identical, restates, updates or conflicts")
    of: str | None = Field(default=None, description="the memory that the decision is about")
    redacted: int = Field(default=0, description="how many secrets were taken out")


class Document(BaseModel):
    """One whole memory."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]


class Told(BaseModel):
    """What a task should be told."""

    text: str = Field(description="Markdown for the prompt; blank where there is nothing to tell")
    ids: list[str]
    tokens: int


class Done(BaseModel):
    """What was done, in words."""

    done: bool
    message: str


class Explained(BaseModel):
    """Why a memory was or was not found."""

    id: str
    found: bool
    rank: int | None = None
    lists: list[dict[str, Any]]
    blocked_by: str | None = None
    surfaces_if: str | None = None


class Counts(BaseModel):
    """What the store holds."""

    memories: int
    forgotten: int
    superseded: int
    projects: dict[str, int]
    types: dict[str, int]


def as_result(value: BaseModel) -> CallToolResult:
    """Return *value* in both halves of a tool's result, without what is not there."""
    shown = value.model_dump(mode="json", exclude_none=True)
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=shown)


def found(reply: Reply, *, budget: int) -> Results:
    """Return what *reply* found, as far as *budget* tokens go."""
    told = [_hit(each) for each in reply.hits]
    shown = fitted(told, budget=budget)
    note = reply.reason.message if reply.reason else None
    if reply.degraded:
        note = "; ".join(filter(None, (note, f"not all could be done: {reply.degraded}")))
    return Results(outcome=reply.outcome, results=shown, note=note, more=len(told) - len(shown) + reply.hidden)


def listed(memories: Sequence[Memory], *, budget: int) -> Results:
    """Return *memories*, as far as *budget* tokens go."""
    shown = fitted([of_memory(each, each.content) for each in memories], budget=budget)
    return Results(outcome="answered" if shown else "none", results=shown, more=len(memories) - len(shown))


def near(related: Sequence[Related], *, budget: int) -> Results:
    """Return what belongs to a memory, with the reasons."""
    told = [
        of_memory(each.memory, each.memory.content).model_copy(update={"reasons": list(each.reasons)})
        for each in related
    ]
    shown = fitted(told, budget=budget)
    return Results(outcome="answered" if shown else "none", results=shown, more=len(told) - len(shown))


def fitted(results: Iterable[Result], *, budget: int) -> list[Result]:
    """Return the first of *results* that fit in *budget* tokens; the first always does, cut if it must be."""
    left, shown = budget * CHARACTERS, list[Result]()
    for each in results:
        room = left - _size(each.model_copy(update={"text": ""}))
        if shown and room < min(SHORTEST, len(each.text)):
            break
        text = each.text if len(each.text) <= room else f"{each.text[: max(SHORTEST, room) - 1]}…"
        shown.append(each.model_copy(update={"text": text}))
        left -= _size(shown[-1])
    return shown


def _size(result: Result) -> int:
    return len(result.model_dump_json(exclude_none=True))


def _hit(hit: Hit) -> Result:
    result = of_memory(hit.memory, passage(hit))
    return result.model_copy(
        update={
            "score": round(hit.score, 3),
            "older": None if hit.older is None else str(hit.older),
            "conflicts": [str(each) for each in hit.conflicts] or None,
        }
    )


def passage(hit: Hit) -> str:
    """Return the text of a hit: the whole memory where it is short, else the part that answers."""
    content = hit.memory.content
    if len(content) <= 600:
        return content
    return hit.snippet.replace("[", "").replace("]", "") or content


def of_memory(memory: Memory, text: str) -> Result:
    """Return *memory* as a result that shows *text*."""
    day = memory.observed_at or memory.created_at
    place = memory.source and (f"{memory.source}:{memory.line}" if memory.line else memory.source)
    return Result(
        id=str(memory.id),
        title=memory.title or " ".join(memory.content.split())[:60],
        url=address(memory.id),
        text=text,
        type=memory.type,
        date=day.date().isoformat() if day else None,
        source=place,
        project=memory.project,
        origin=ORIGINS.get(memory.trust),
    )


def address(row: int) -> str:
    """Return the address of a memory as a resource."""
    return f"recollect://memory/{row}"
