"""Take memories out of what a worker wrote: marker lines it meant for us, and sentences that say "keep this"."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

from recollect.lazy import regex
from recollect.records import Memory
from recollect.text.code import fenced_blocks, is_inside

MARKED: Final = 0.8
"""How sure we are of what a worker marked itself."""
CUED: Final = 0.6
"""How sure we are of what a cue made us think is worth keeping."""

CONFIDENCE_FLOORS: Final[Mapping[str, float]] = {"decision": 0.9, "preference": 0.9}
"""The least confidence by type where a worker states none: Oro stores decisions and preferences with 0.9 to 1.0."""

_MARKER: Final = regex(r"\[MEMORY\](?P<fields>(?:[ \t]+\w+=[^\s:]*)+)[ \t]*:[ \t]*(?P<text>\S.*)")
_BARE: Final = regex(r"\[MEMORY\][ \t]+(?P<text>(?!\w+=)\S.*)")
_MARKER_FIELDS: Final = frozenset({"type", "tags", "confidence"})
_CONFIDENCE: Final = regex(r"0?\.\d{1,6}|[01](?:\.0{1,6})?")
_CUE: Final = regex(
    r"(?:^|(?<=[.!?]\s))[ \t#*+-]{0,12}(?:\d{1,3}[.)] )?[*_]{0,3}"
    r"(?:(?P<learned>i (?:have )?learned that)\b|(?P<label>note|gotcha|pattern|decision|decided|important)[*_]{0,3}:)"
    r"[*_]{0,3}\s+",
    re.IGNORECASE,
)
_TYPES: Final[Mapping[str, str]] = {
    "note": "lesson",
    "gotcha": "gotcha",
    "pattern": "pattern",
    "decision": "decision",
    "decided": "decision",
    "important": "lesson",
}


def capture(text: str) -> tuple[Memory, ...]:
    """Return the memories *text* holds, in its order, each once.

    A line `[MEMORY] type=decision tags=go,testing confidence=0.9: text` is one, source "self_report", and so is
    `[MEMORY] text`, a note; a malformed marker is none. A sentence that opens with "I learned that", "Note:",
    "Gotcha:", "Pattern:", "Decision:", "Decided:" or "Important:" is one, source "daemon_extracted". Code and
    quotations are not searched for cues.
    """
    found: dict[tuple[str, str], Memory] = {}
    for memory in _memories(text):
        found.setdefault((memory.type, memory.content), memory)
    return tuple(found.values())


def _memories(text: str) -> Iterator[Memory]:
    """Yield what each line holds."""
    blocks = fenced_blocks(text)
    at = 0
    for line in text.splitlines(keepends=True):
        if line.startswith("[MEMORY]"):
            yield from _marked(line.rstrip())
        elif not line.lstrip().startswith(">") and not is_inside(at, blocks):
            yield from _cued(line)
        at += len(line)


def _marked(line: str) -> Iterator[Memory]:
    """Yield the memory of a marker line, if it is well formed; one without fields is a note."""
    bare = _BARE.fullmatch(line)
    if bare and not low_signal(bare["text"]):
        yield Memory(content=bare["text"], confidence=MARKED, source="self_report")
        return
    marker = _MARKER.fullmatch(line)
    fields = dict(field.split("=", 1) for field in marker["fields"].split()) if marker else {}
    stated = fields.get("confidence")
    if not marker or not fields.get("type") or not fields.keys() <= _MARKER_FIELDS:
        return
    if stated is not None and not _CONFIDENCE.fullmatch(stated):
        return
    if not low_signal(marker["text"]):
        tags = tuple(filter(None, fields.get("tags", "").split(",")))
        kind = fields["type"].casefold()
        sure = _least(MARKED, kind) if stated is None else float(stated)
        yield Memory(content=marker["text"], type=kind, tags=tags, confidence=sure, source="self_report")


def _least(confidence: float, kind: str) -> float:
    return max(confidence, CONFIDENCE_FLOORS.get(kind, 0.0))


def _cued(line: str) -> Iterator[Memory]:
    """Yield what follows each cue of *line*, up to the next one."""
    cues = list(_CUE.finditer(line))
    ends = [*(cue.start() for cue in cues[1:]), len(line)]
    for cue, end in zip(cues, ends, strict=False):
        content = line[cue.end() : end].strip().strip("*_").strip()
        if len(content) > 3 and not low_signal(content):
            kind = "lesson" if cue["learned"] else _TYPES[cue["label"].casefold()]
            yield Memory(content=content, type=kind, confidence=_least(CUED, kind), source="daemon_extracted")


# --- what is not worth keeping --------------------------------------------------------------

_WORDS: Final = """
    ok okay k kk yes yep yeah yup no nope sure thanks thank thx ty you very much cool great nice perfect
    awesome good fine done noted understood roger ack acknowledged lgtm got it sounds right alright please continue
    proceed go on ahead next hi hello hey bye ping pong test testing
    好 好的 谢谢 收到 はい ありがとう 了解 네 감사합니다
"""
_ACKNOWLEDGING: Final = frozenset(_WORDS.split())
"""Words of which an acknowledgement is made; a text of up to six of them says nothing else."""

_NUDGE: Final = regex(
    r"heartbeat(?:[ _-]?(?:ok|ping|check|poll))?"
    r"|(?:fire|run|start|trigger|rerun|re-run)(?: the| a)? tests?(?: now| again| please)?"
    r"|(?:try|do it|run it) (?:again|now)"
    r"|no (?:reply|response|output|changes)"
)


def low_signal(text: str) -> bool:
    """Return whether *text* as a whole is an acknowledgement, a heartbeat or a nudge, or has no word at all."""
    words = re.findall(r"[\w'-]+", unicodedata.normalize("NFKC", text).casefold())
    if _NUDGE.fullmatch(" ".join(words)):
        return True
    return len(words) <= 6 and all(word in _ACKNOWLEDGING for word in words)
