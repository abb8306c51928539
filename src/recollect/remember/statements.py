"""Decide which distilled statements took the place of earlier ones: the newest word on a subject holds.

A statement supersedes an earlier one of its project if it announces a change, is about the same subject, and either
gives another value of the same kind (a day, a port, a command), lifts what was forbidden, or drops what was chosen.
The result does not depend on the order in which transcripts are imported, only on the dates of the statements.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import ModelError
from recollect.lazy import regex
from recollect.records import DISTILLED, STATEMENT_TYPES, Filter, Memory, Scope
from recollect.remember.clean import superseding
from recollect.remember.context import IngestContext
from recollect.text.changes import announces_change
from recollect.text.wording import stems_of, word_table
from recollect.trust import may_replace
from recollect.vectors import matrix, pack

MAX_STATEMENTS: Final = 2_000
"""How many statements of a project are compared with a new one, the newest first."""
SAME_SUBJECT: Final = 0.9
"""How alike two statements are, words and meaning added up, to be about the same subject whatever they say."""
NEAR_SUBJECT: Final = 0.5
"""How alike they are if one gives another value, or lifts or drops what the other says."""

_CHANGES: Final = regex(
    r"(?<!\w)(?:go(?:es|ing)? back|back to|switch(?:ed|ing|es)?|drop(?:s|ped|ping)?|rais(?:e|es|ed|ing)"
    r"|lower(?:s|ed)?|mov(?:e|es|ed|ing)"
    r"|replac(?:e|es|ed|ing)|after all|from now on|(?:is|are) (?:gone|over|back|open|dead)|no longer|instead of"
    r"|taken over|takes over"
    r"|took over|collides?|too (?:early|late|slow|expensive|small|big|long|short)|make (?:it|that|them)"
    r"|chang(?:e|es|ed|ing)|bump(?:ed)?"
    r"|differs?|different|now|again|any ?more|signed off)(?!\w)",
    re.IGNORECASE,
)
_FORBIDS: Final = regex(
    r"(?<!\w)(?:never|do ?n[o'\u2019]?t|not|no|nothing|until|till|only|frozen|off limits|away|closed|must not)(?!\w)",
    re.IGNORECASE,
)
_ALLOWS: Final = regex(
    r"(?<!\w)(?:can|may|(?:is|are|can|may|gets?|allowed|open)\b.{0,30}\bagain|(?:is|are) (?:back|over|open|done"
    r"|allowed|fine now)|allowed|signed off|lifted|from now on)(?!\w)",
    re.IGNORECASE,
)
_DROPS: Final = regex(
    r"(?<!\w)(?:drop(?:s|ped|ping)?|remove[sd]?|instead of|replac(?:e|es|ed|ing)|no longer(?: use)?|goes out"
    r"|killed|moved? (?:away )?from|(?:taken?|took|takes) over|(?:get|got) rid of)"
    r"\s+(?:the |our |using )?[`'\"]?(?P<what>[\w.-]+)|[`'\"]?(?P<gone>[\w.-]+)[`'\"]? (?:is|are) (?:gone|dead"
    r"|out|dropped|removed)",
    re.IGNORECASE,
)
_REVERSES: Final = regex(
    r"(?<!\w)(?:go(?:es|ing)? back|after all|revert(?:ed|s)?|(?:changed|change) (?:my|our) minds?|the other way"
    r"|undo)(?!\w)",
    re.IGNORECASE,
)
_MONTHS: Final = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_KINDS: Final = (
    ("day", regex(r"\b(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:days?)?\b(?! the)", re.IGNORECASE)),
    (
        "date",
        regex(rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTHS})\w*|\b(?:{_MONTHS})\w* \d{{1,2}}\b", re.IGNORECASE),
    ),
    ("percent", regex(r"\b\d+(?:\.\d+)? ?(?:%|percent)", re.IGNORECASE)),
    ("hours", regex(r"\b\d+ ?(?:h|hours?|minutes?|min|seconds?|days?|weeks?)\b", re.IGNORECASE)),
    ("clock", regex(r"\b\d{1,2}:\d\d\b|\b\d{1,2} ?(?:am|pm)\b", re.IGNORECASE)),
    ("version", regex(r"\bv?\d+\.\d+(?:\.\d+)?\b")),
    ("port", regex(r"(?<![\w./-])\d{4,5}(?![\w./-])|(?<=:)\d{4,5}\b")),
    ("command", regex(r"`[a-z][\w-]*(?: [^`]*)?`")),
)
"""The kinds of values that a subject has one of at a time."""
_HEADED: Final = regex(r"\b(?P<head>[a-z]{3,}) (?:code |is |to |of |port |at )?(?P<value>\d[\w.]*)\b", re.IGNORECASE)


def is_distilled(memory: Memory) -> bool:
    """Return whether a memory was distilled from a turn."""
    return DISTILLED in memory.metadata


class _Subject(Struct, frozen=True, kw_only=True):
    """A statement, its stems and its vector."""

    memory: Memory
    stems: frozenset[str]


def supersede_statements(rows: Collection[int], context: IngestContext) -> int:
    """Supersede what the new statements *rows* changed, and those of them that a later one changed; return how many."""
    store, new = context.store, set(rows)
    fresh = store.load(sorted(new), scope=context.scope)
    count = 0
    for project in sorted({each.project for each in fresh.values()}):
        scope = Scope(projects=frozenset({project}))
        ids = store.browse(scope=scope, where=Filter(types=STATEMENT_TYPES), limit=MAX_STATEMENTS).ids
        held = [each for each in store.load(ids, scope=scope).values() if is_distilled(each)]
        pairs = _changed(held, new, _cosines(held, new, context))
        with store.transaction():
            for old, by in pairs:
                write = superseding(old, by, successors={})
                store.apply([replace(write, detail={"by": "statement"})], at=context.now)
        count += len(pairs)
    return count


def _changed(
    held: Sequence[Memory], new: Collection[int], cosines: Mapping[tuple[int, int], float]
) -> list[tuple[Memory, Memory]]:
    """Return what is superseded and by what, each statement once, by the first one that changed it."""
    subjects = [
        _Subject(memory=each, stems=stems_of(each.content))
        for each in sorted(held, key=lambda each: (each.when, each.id))
    ]
    frequencies = Counter(stem for each in subjects for stem in each.stems)
    rarity = {stem: math.log(1 + (len(subjects) + 1) / (count + 0.5)) for stem, count in frequencies.items()}
    gone: dict[int, Memory] = {}
    for at, later in enumerate(subjects):
        if not (announces_change(later.memory.content) or _CHANGES.search(later.memory.content)):
            continue
        for earlier in subjects[:at]:
            one, other = earlier.memory, later.memory
            if (
                one.id in gone
                or not ({one.id, other.id} & set(new))
                or one.metadata.get(DISTILLED) == other.metadata.get(DISTILLED)
            ):
                continue
            if may_replace(other.trust, one) and _replaces(later, earlier, rarity, cosines.get(_key(one, other))):
                gone[one.id] = other
    by_id = {each.id: each for each in held}
    return [(by_id[row], by) for row, by in gone.items()]


def _replaces(later: _Subject, earlier: _Subject, rarity: Mapping[str, float], cosine: float | None) -> bool:
    """Return whether the later statement is the newer word on the subject of the earlier one."""
    shared = later.stems & earlier.stems
    if not shared:
        return False
    weights = [sum(rarity[stem] for stem in each.stems) for each in (later, earlier)]
    overlap = sum(rarity[stem] for stem in shared) / max(0.1, min(weights))
    alike = overlap + (min(1.0, 1.2 * overlap) if cosine is None else max(0.0, cosine))
    new, old = later.memory.content, earlier.memory.content
    if alike >= SAME_SUBJECT and _other_value(new, old):
        return True
    if _same_head(new, old):
        return True
    if alike < NEAR_SUBJECT:
        return _names_old_value(new, old) and alike >= NEAR_SUBJECT / 2
    if alike >= SAME_SUBJECT and _REVERSES.search(new):
        return True
    return _names_old_value(new, old) or _other_value(new, old) or _lifts(new, old) or _drops(new, shared)


def _values(text: str) -> dict[str, frozenset[str]]:
    return {kind: frozenset(each.lower().rstrip("s") for each in pattern.findall(text)) for kind, pattern in _KINDS}


def _other_value(new: str, old: str) -> bool:
    """Return whether both give values of one kind, and the new text gives one that the old one lacks."""
    ours, theirs = _values(new), _values(old)
    return any(ours[kind] - theirs[kind] and theirs[kind] and not theirs[kind] <= ours[kind] for kind in ours)


def _names_old_value(new: str, old: str) -> bool:
    """Return whether the new text names a value of the old one and another one of the same kind."""
    ours, theirs = _values(new), _values(old)
    return any(
        ours[kind] & theirs[kind] and ours[kind] - theirs[kind]
        for kind in ("port", "version", "hours", "percent", "clock")
    )


def _same_head(new: str, old: str) -> bool:
    """Return whether both give a number for the same word ("exit 0", "exit 141")."""
    ours = {each["head"].lower(): each["value"] for each in _HEADED.finditer(new)}
    theirs = {each["head"].lower(): each["value"] for each in _HEADED.finditer(old)}
    shared = ours.keys() & theirs.keys() - _HEADLESS
    return any(ours[head] != theirs[head] for head in shared)


_HEADLESS: Final = word_table(
    """
    the and for with than least most about top only over under below above from until till before after every
    next last line version
    """
)


def _lifts(new: str, old: str) -> bool:
    return bool(_FORBIDS.search(old) and _ALLOWS.search(new))


def _drops(new: str, shared: Collection[str]) -> bool:
    """Return whether the new text drops a thing that the old one is about."""
    dropped = {(each["what"] or each["gone"]).lower() for each in _DROPS.finditer(new)}
    return any(stems_of(each) & set(shared) for each in dropped if each)


def _key(one: Memory, other: Memory) -> tuple[int, int]:
    return min(one.id, other.id), max(one.id, other.id)


def _cosines(held: Sequence[Memory], new: Collection[int], context: IngestContext) -> dict[tuple[int, int], float]:
    """Return the cosines between new statements and all others; none without a model."""
    embedder = context.embedder
    if embedder is None or len(held) < 2:
        return {}
    fresh = [each for each in held if each.id in new]
    others = [each for each in held if each.id not in new]
    try:
        if not embedder.scale.tells:
            return {}
        made = embedder.embed_passages([each.content for each in fresh])
        scope = Scope(projects=frozenset({held[0].project}))
        stored = context.store.vectors(embedder.fingerprint, [each.id for each in others], scope=scope)
        rows = [(each.id, passages[0].vector) for each in others if (passages := stored.get(each.id))]
        missing = [each for each in others if each.id not in {row for row, _ in rows}]
        more = embedder.embed_passages([each.content for each in missing]) if missing else []
    except ModelError:
        return {}
    packed = [*rows, *((each.id, pack(v)) for each, v in zip([*missing, *fresh], [*more, *made], strict=True))]
    table = matrix([vector for _, vector in packed], dimensions=embedder.dimensions)
    found: dict[tuple[int, int], float] = {}
    for each, vector in zip(fresh, made, strict=True):
        products = embedder.scale.of_all(table.products(pack(vector), range(len(packed))))
        for (row, _), cosine in zip(packed, products, strict=True):
            if row != each.id:
                found[min(row, each.id), max(row, each.id)] = cosine
    return found
