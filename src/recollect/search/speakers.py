"""Who speaks in a turn, the person or an assistant, and whose words a question asks for.

A person's messages are short and an assistant's replies are long, so replies that repeat what the person said would
rank above it. A question in the first person ("which car did I buy") asks for the person's own words, "what did you
recommend" for the assistant's.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, Literal

from recollect.lazy import regex
from recollect.search.state import Outlined

Role = Literal["person", "assistant"]

SPEAKER: Final = regex(r"([^\W\d][^:\n]{0,39}):\s+(?=\S)")
"""The name before the words of a turn."""
_PERSONS: Final = frozenset({"user", "human", "me", "customer"})
_ASSISTANTS: Final = frozenset({"assistant", "ai", "bot", "chatbot", "model", "chatgpt", "gpt", "claude", "gemini"})
MIN_TURNS: Final = 3
"""A speaker with fewer turns among the candidates is not judged by their length."""
LONGER: Final = 4.0
"""An unknown speaker whose turns are this many times as long as those of the others is an assistant."""
_SAID: Final = (
    r"suggested|recommended|mentioned|told|said|gave|listed|advised|proposed|explained|described|provided|wrote|showed"
    r"|shared|created|generated|drafted|compiled|outlined|answered|offered|named|cited|came\sup"
)
_SAY: Final = (
    r"suggest|recommend|mention|tell|say|give|list|advise|propose|explain|describe|provide|write|show|name|cite"
)
_ASSISTANT_ASKED: Final = regex(
    rf"\byou(?:['\u2019]ve|['\u2019]d|\shad|\shave)?(?:\s\w+ly)?\s(?:{_SAID})\b|\bdid\syou(?:\s\w+ly)?\s(?:{_SAY})\b"
    r"|\byour\s(?:suggestion|advice|recommendation|answer|list|explanation|response|reply|example|outline|draft)"
    r"|\bthe\s(?:assistant|chatbot|ai)\b",
    re.IGNORECASE,
)
_EITHER_ASKED: Final = regex(
    r"\bremind\sme\b|\bour\s(?:previous|last|earlier|past)\s(?:chat|conversation|discussion|talk|session)",
    re.IGNORECASE,
)
_PERSON_ASKED: Final = regex(
    r"\b(?:I|[Mm]y|(?<!tell\s)(?<!show\s)(?<!give\s)(?<!help\s)(?<!let\s)me|[Mm]ine|[Mm]yself)\b"
    r"|\bi(?:['\u2019](?:m|ve|d|ll))?\s"
)


def asked_speaker(question: str) -> Role | None:
    """Return whose words *question* asks for; None if it does not say."""
    if _ASSISTANT_ASKED.search(question):
        return "assistant"
    if _EITHER_ASKED.search(question) or not _PERSON_ASKED.search(question):
        return None
    return "person"


def roles_of(memories: Mapping[int, Outlined]) -> dict[int, Role]:
    """Return who speaks in each turn of a conversation with an assistant; turns of others are absent."""
    turns: dict[str, list[int]] = defaultdict(list)
    for row, memory in memories.items():
        if memory.thread is not None and (speaker := SPEAKER.match(memory.content)) is not None:
            turns[speaker[1].strip().lower()].append(row)
    assistants = _ASSISTANTS & turns.keys() or set(_longest(turns, memories))
    persons = turns.keys() - assistants if assistants else _PERSONS & turns.keys()
    roles: dict[int, Role] = {row: "assistant" for name in assistants for row in turns[name]}
    return roles | {row: "person" for name in persons for row in turns[name]}


def _longest(turns: Mapping[str, list[int]], memories: Mapping[int, Outlined]) -> list[str]:
    """Return the speaker whose turns are much longer than those of all others, if there is one."""
    spoken = {name: sorted(len(memories[row].content) for row in rows) for name, rows in turns.items()}
    long = {name: lengths[len(lengths) // 2] for name, lengths in spoken.items() if len(lengths) >= MIN_TURNS}
    if len(long) < 2:
        return []
    last, before = sorted(long, key=long.__getitem__)[:-3:-1]
    return [last] if long[last] >= LONGER * long[before] else []
