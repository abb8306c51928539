"""What a task should be told: few memories, within a budget, each unchanged one once a session."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from html import escape
from types import MappingProxyType
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from recollect.decay import age_days
from recollect.errors import InputError
from recollect.lazy import regex
from recollect.recall import ledger
from recollect.records import GLOBAL, NEVER, Memory
from recollect.replies import Reply, Turn
from recollect.stores.contract import Store
from recollect.text.firewall import HEADING, closing, disarm, opening
from recollect.text.normalise import CJK_CHARACTER, compiled
from recollect.trust import ORIGINS

Counter = Callable[[str], int]
"""How many tokens a text costs; any function will do, a model's own tokenizer included."""


def count_tokens(text: str) -> int:
    """Return a token for every four characters, at least one if there is any text."""
    return max(1, len(text) // 4) if text else 0


def count_tokens_mixed(text: str) -> int:
    """Return a token for every CJK character and for every four of the others, at least one if there is any text."""
    dense = len(compiled(CJK_CHARACTER).findall(text))
    return max(1, dense + (len(text) - dense) // 4) if text else 0


LONGEST: Final = 2000
"""So many characters of a description are asked; what matters stands at its beginning."""


def task_query(title: str, *, description: str = "", tags: Sequence[str] = ()) -> str:
    """Return the words to search by for a task."""
    said = (title, description[:LONGEST], " ".join(tags))
    return " ".join(word for text in said for word in _plain(text).split())


def trusted_as(title: Reply, whole: Reply) -> Reply:
    """Return the answer to the *whole* task, trusted if its *title* alone is: a description must not silence it."""
    if whole.outcome == "weak" and title.outcome == "answered":
        return replace(whole, outcome=title.outcome, evidence=title.evidence)
    return whole


def _plain(text: str) -> str:
    """Return *text* without what a query would read as operators or filters: a task is words, not syntax."""
    words = (word.strip('"()*').lstrip("-") for word in text.replace(":", " ").split())
    return " ".join(word.lower() if word in ("AND", "OR", "NOT") else word for word in words)


Style = Literal["markdown", "compact", "xml"]
NO_CONFLICTS: Final[Mapping[int, Sequence[int]]] = MappingProxyType({})
NO_EXCHANGES: Final[Mapping[int, Sequence[Turn]]] = MappingProxyType({})
MAX_CONFLICTS: Final = 5
"""So many of those that a memory conflicts with are named."""


class Rendered(Struct, frozen=True, kw_only=True):
    """The block, what it costs, and the memories in it; no memory means no text at all."""

    text: str = ""
    tokens: int = 0
    ids: tuple[int, ...] = ()


def render(  # noqa: PLR0913  (each is a choice of its own)
    memories: Sequence[Memory],
    *,
    now: datetime,
    style: Style = "markdown",
    counter: Counter = count_tokens,
    limit: int = 5,
    budget: int = 500,
    conflicts: Mapping[int, Sequence[int]] = NO_CONFLICTS,
    exchanges: Mapping[int, Sequence[Turn]] = NO_EXCHANGES,
    labelled: bool = False,
) -> Rendered:
    """Return the first of *memories*, at most *limit* and at most *budget* tokens of what is rendered.

    What is not the owner's says so, and so does one that *conflicts* with another.
    Untrusted memories are left out, and so is one that would not fit if it stood alone; at the first of the others
    that no longer fits the block ends. A line is whole or absent; a turn is told with the others of its *exchanges*
    where that fits too. *labelled* lines begin with the name of their project.
    """
    if style not in _FRAMES:
        raise InputError(f"there is no style {style!r}", hint=f"one of {', '.join(_FRAMES)}")
    frame = _FRAMES[style]
    lines: list[str] = []
    ids: list[int] = []
    for memory in map(_labelled, memories) if labelled else memories:
        known = conflicts.get(memory.id, ())[:MAX_CONFLICTS]
        line = frame.line(memory, now, known)
        if len(lines) == limit:
            break
        whole = frame.line(_with_exchange(memory, exchanges.get(memory.id, ())), now, known)
        line = whole if line and counter(frame.around([*lines, whole])) <= budget else line
        if memory.trust == "untrusted" or not line or counter(frame.around([line])) > budget:
            continue
        if counter(frame.around([*lines, line])) > budget:
            break
        lines.append(line)
        ids.append(memory.id)
    if not lines:
        return Rendered()
    text = frame.around(lines)
    return Rendered(text=text, tokens=counter(text), ids=tuple(ids))


def _labelled(memory: Memory) -> Memory:
    """Return *memory* with the name of its project before its words."""
    return memory if memory.project == GLOBAL else replace(memory, content=f"{memory.project}: {memory.content}")


def _with_exchange(memory: Memory, exchange: Sequence[Turn]) -> Memory:
    """Return *memory* with what was said before and after it in the same exchange."""
    if not exchange:
        return memory
    before = (each.line for each in exchange if each.before)
    after = (each.line for each in exchange if not each.before)
    return replace(memory, content=" / ".join((*before, memory.content, *after)))


def as_one_line(text: str) -> str:
    """Return *text* as one line of words: nothing in it is unseen, poses as our own writing or as a turn of a chat.

    What would be a heading, a quotation, a list or a fence at the start of a line is escaped.
    """
    seen = "".join(" " if c.isspace() else c for c in text if c.isspace() or not _unseen(c))
    line = disarm(" ".join(seen.split()))
    for pattern, replacement in _REWRITTEN:
        line = pattern.sub(replacement, line)
    return line


def _unseen(character: str) -> bool:
    """Return whether a character is not there for a reader: a control, a direction mark, a joiner, half a pair."""
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn"} or character in _SELECTORS


def _without_tags(line: str) -> str:
    """Return *line* so that no part of it is a tag or a comment; "a < b" stays as it is."""
    spelled = re.sub(r"&(?=(?:lt|gt|amp|#\d+|#x[0-9a-f]+);)", "&amp;", line, flags=re.IGNORECASE)
    return re.sub(r"(?<=[-|])>", "&gt;", re.sub(r"<(?=[a-zA-Z/!?|<])", "&lt;", spelled))


_SELECTORS: Final = frozenset(map(chr, (*range(0xFE00, 0xFE0F), *range(0xE0100, 0xE01F0))))
"""Variation selectors; only the one that makes an emoji (U+FE0F) is of any use in a text."""

_REWRITTEN: Final = (
    (regex(r"\[(/?)(INST|SYS|MEMORY)\]", re.IGNORECASE), r"(\1\2)"),
    (regex(r"`{3,}|~{3,}"), "'''"),
    (regex(r"!\["), "! ["),
    (regex(r"(?<!\S)(#{1,6})(?=\s|$)"), r"\\\1"),
    (regex(r"^([#>`~|=*+-])"), r"\\\1"),
    (regex(r"^(\d+)([.)])(?=\s)"), r"\1\\\2"),
)
"""What is rewritten in a line, and how."""


def _kind(memory: Memory) -> str:
    """Return the memory's type if it is a plain word."""
    return memory.type if re.fullmatch(r"[\w-]{1,40}", memory.type) else "note"


def _age(memory: Memory, now: datetime) -> str:
    """Return how old the memory is in days, by the clock that decay goes by: when it was written down."""
    return "?" if memory.created_at == NEVER else f"{int(age_days(memory.created_at, now))}d"


def _confidence(memory: Memory) -> str:
    """Return the confidence as it is usually written: 0.8, not 0.80."""
    return str(round(float(memory.confidence), 2))


def _marks(memory: Memory, conflicts: Sequence[int], now: datetime | None = None) -> list[str]:
    """Return what a reader should know before believing: whose word it is, how long it held, what it conflicts with."""
    origin = [ORIGINS[memory.trust]] if memory.trust in ORIGINS else []
    origin += ["for all projects"] if memory.project == GLOBAL else []
    if now is not None and memory.valid_until is not None:
        over = memory.valid_until <= now
        origin.append(f"{'expired' if over else 'until'} {memory.valid_until.date().isoformat()}")
    others = ", ".join(f"#{row}" for row in conflicts)
    return [*origin, f"#{memory.id} conflicts with {others}"] if others else origin


def _markdown_line(memory: Memory, now: datetime, conflicts: Sequence[int]) -> str:
    content = _without_tags(as_one_line(memory.content))
    tail = [f"confidence: {_confidence(memory)}", f"age: {_age(memory, now)}", *_marks(memory, conflicts, now)]
    return f"- [{_kind(memory)}] {content} ({', '.join(tail)})" if content else ""


def _compact_line(memory: Memory, _: datetime, conflicts: Sequence[int]) -> str:
    content, marks = _without_tags(as_one_line(memory.content)), _marks(memory, conflicts)
    about = f"{_kind(memory)} ({', '.join(marks)})" if marks else _kind(memory)
    return f"{memory.id} {about}: {content}" if content else ""


def _xml_line(memory: Memory, now: datetime, conflicts: Sequence[int]) -> str:
    content = escape(as_one_line(memory.content))
    attributes = f'type="{_kind(memory)}" confidence="{_confidence(memory)}" age="{_age(memory, now)}"'
    attributes += "" if memory.trust == "owner" else f' origin="{memory.trust}"'
    attributes += f' conflicts="{" ".join(map(str, conflicts))}"' if conflicts else ""
    return f'<memory id="{memory.id}" {attributes}>{content}</memory>' if content else ""


class _Frame(Struct, frozen=True, kw_only=True):
    """How one style writes a memory, and what it puts before and behind all of them."""

    line: Callable[[Memory, datetime, Sequence[int]], str]
    before: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()

    def around(self, lines: Sequence[str]) -> str:
        """Return the whole block."""
        body = "\n".join((*self.first, *lines, *self.last))
        return "\n".join((*self.before, opening(body), body, closing(body)))


_FRAMES: Final[Mapping[str, _Frame]] = {
    "markdown": _Frame(line=_markdown_line, before=(HEADING,)),
    "compact": _Frame(line=_compact_line),
    "xml": _Frame(line=_xml_line, first=("<memories>",), last=("</memories>",)),
}


def choose(reply: Reply, *, told: Mapping[str, object]) -> tuple[Memory, ...]:
    """Return the memories of *reply* worth telling: only of a real answer, trusted, and not told in these words."""
    if reply.outcome != "answered":
        return ()
    memories = (hit.memory for hit in reply.hits if hit.memory.trust != "untrusted")
    return tuple(each for each in memories if told.get(str(each.id)) != each.meaning.hex())


def told_conflicts(reply: Reply) -> dict[int, tuple[int, ...]]:
    """Return which hits of *reply* conflict with which, untrusted ones aside: nothing of them is told."""
    trusted = {hit.id for hit in reply.hits if hit.memory.trust != "untrusted"}
    return {hit.id: tuple(row for row in hit.conflicts if row in trusted) for hit in reply.hits}


def inject(
    reply: Reply,
    *,
    store: Store,
    now: datetime,
    session: str | None = None,
    project: str = "",
    style: Style = "markdown",
    limit: int = 5,
    budget: int = 500,
) -> Rendered:
    """Return the block that tells what *reply* found, and note in the session's ledger what was told.

    A session of one project is another than a session of the same name in a second one.
    """
    chosen = choose(reply, told=ledger.told(store, session, project=project))
    rendered = render(
        chosen,
        now=now,
        style=style,
        counter=count_tokens_mixed,
        limit=limit,
        budget=budget,
        conflicts=told_conflicts(reply),
        exchanges={hit.id: [turn for turn in hit.exchange if turn.id is not None] for hit in reply.hits},
    )
    if session is not None and rendered.ids:
        told = [each for each in chosen if each.id in rendered.ids]
        ledger.note_told(store, session, told, project=project, at=now)
    return rendered
