"""Take secrets out of a memory, field by field, and say how many were in each."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from recollect.records import Context, Memory
from recollect.text.code import PRIVATE_KEY, Span

_START: Final = r"(?<![A-Za-z0-9])"

# A kind must not contain a name that _ASSIGNED looks for, or its own mark would be read as an assignment.
# Every body is one character class to its end, so that no text is scanned more than a few times.
_TOKENS: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    ("aws", ("AKIA", "ASIA"), r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{30,}"),
    ("github", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{22,}"),
    ("gitlab", ("glpat-", "gldt-", "glrt-", "glptt-"), r"gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{20,}"),
    ("slack", ("xox", "xapp-"), r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    ("slack", ("hooks.slack.com/services/",), r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,}"),
    ("stripe", ("k_live_", "k_test_", "whsec_"), r"(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}"),
    ("anthropic", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{16,}"),
    ("openai", ("sk-",), r"sk-(?=[A-Za-z_-]{0,60}[0-9])(?=[a-z0-9_-]{0,60}[A-Z])[A-Za-z0-9_-]{20,}"),
    ("google", ("AIza", "ya29.", "GOCSPX-"), r"(?:AIza[A-Za-z0-9_-]{35,}|(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,})"),
    ("npm", ("npm_",), r"npm_[A-Za-z0-9]{36,}"),
    ("pypi", ("pypi-AgE",), r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    ("huggingface", ("hf_",), r"hf_[A-Za-z0-9]{30,}"),
    ("jwt", ("eyJ",), r"(?<![_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
)
_PATTERNS: Final = tuple((kind, cues, re.compile(_START + pattern)) for kind, cues, pattern in _TOKENS)

_KEY_LINE: Final = re.compile(
    r"(?:-----|\n|\\n)[ \t\r]*[A-Za-z0-9+/=]{8,}[ \t\r]*(?=-----|\n|\\[nr])|[A-Za-z0-9+/=]{32,}"
)
_KEY_REST: Final = re.compile(r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{20,})+")

_LOGIN: Final = re.compile(r"://[^\s:/?#@\[\]\"'<>]{0,100}:([^\s/\"'<>]{1,200})(?=@)")
_BEARER: Final = re.compile(
    r"(?i)authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:bearer|basic|token)[ \t]{1,3}([^\s\"'`,;<>]{8,})"
)
_ASSIGNED: Final = re.compile(
    r"(?i)(pass(?:word|wd|phrase)|pwd|secret|token|api[_-]?key|access[_-]?key)"
    r"(?:s|[_-][a-z0-9_-]{0,30})?[\"'`]?\]?\*{0,2}[ \t]{0,3}(?::=|=>|==?|:)\*{0,2}[ \t]{0,3}"
    r"([\"'`]?)([^\s\"'`,;<>]{8,200})"
)
_VALUE_REST: Final = re.compile(r"[^\s\"'`,;<>]*")
_NAMES: Final = ("pass", "pwd", "secret", "token", "key")

_PLACEHOLDER: Final = re.compile(r"(?i)\*{3}|x{4}|\.{3}|your|example|change_?me|placeholder|redacted|dummy")
_REFERENCE: Final = re.compile(r"[$%{\[(/~@&]|\.{1,2}/|[a-z][a-z0-9+.-]{1,20}://", re.IGNORECASE)
_CODE: Final = re.compile(r"[(\[{]|^[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+$")
_DIGIT: Final = re.compile(r"\d")
_SYMBOL: Final = re.compile(r"[!$%^]")

# Few texts hold a hyphen or an underscore, and without one most cues need not be looked for.
_CUES: Final = tuple(cue for _, cues, _ in _TOKENS for cue in cues)
_CUES_BY_SIGN: Final = (
    ("", tuple(cue for cue in _CUES if cue[-1] not in "_-/.")),
    *((sign, tuple(cue for cue in _CUES if cue[-1] == sign)) for sign in "_-/."),
)
_SHORTEST: Final = len("://:x@")  # of all that is ever replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedText:
    """A text without its secrets, and how many were taken."""

    text: str
    count: int


def redact_text(text: str) -> RedactedText:
    """Return *text* with each secret replaced by `[redacted:<kind>]`."""
    if not _may_hold_secrets(text):
        return RedactedText(text=text, count=0)
    text, count = _replace(text, _private_keys(text), "private-key")
    text, tokens = _replace_tokens(text)
    count += tokens
    for kind, find in _NAMED_SECRETS:
        text, taken = _replace(text, find(text), kind)
        count += taken
    return RedactedText(text=text, count=count)


def _may_hold_secrets(text: str) -> bool:
    """Tell in a moment whether *text* is worth a closer look; few are. What is assigned has a sign before it."""
    return len(text) >= _SHORTEST and (":" in text or "=" in text or "PRIVATE KEY" in text or _holds_cue(text))


def _holds_cue(text: str) -> bool:
    for sign, cues in _CUES_BY_SIGN:
        if sign in text:
            for cue in cues:
                if cue in text:
                    return True
    return False


def _replace(text: str, spans: Iterable[Span], kind: str) -> tuple[str, int]:
    """Return *text* with *spans* replaced, but for one inside another, and how many were."""
    pieces: list[str] = []
    last = count = 0
    for begin, end in spans:
        if begin >= last:
            pieces += (text[last:begin], f"[redacted:{kind}]")
            last = end
            count += 1
    return ("".join((*pieces, text[last:])) if count else text), count


def _replace_tokens(text: str) -> tuple[str, int]:
    count = 0
    for kind, cues, pattern in _PATTERNS if _holds_cue(text) else ():
        if any(cue in text for cue in cues):
            text, taken = pattern.subn(f"[redacted:{kind}]", text)
            count += taken
    return text, count


# --- where secrets stand --------------------------------------------------------------------


def _private_keys(text: str) -> list[Span]:
    """Return where private keys stand, an outer one before those inside it.

    A key that was cut off before its end counts as far as its lines go; marks around mere prose do not count.
    """
    if "PRIVATE KEY" not in text:
        return []
    lines = [line.start() for line in _KEY_LINE.finditer(text)]
    begun: list[re.Match[str]] = []
    spans: list[Span] = []
    for mark in PRIVATE_KEY.finditer(text):
        if mark[1] == "BEGIN":
            begun.append(mark)
        elif begun:
            begin = begun.pop()
            first = bisect_left(lines, begin.end() - len("-----"))
            if first < len(lines) and lines[first] < mark.start():
                spans.append((begin.start(), mark.end()))
    rests = ((begin, _KEY_REST.match(text, begin.end())) for begin in begun)
    return sorted(spans + [(begin.start(), rest.end()) for begin, rest in rests if rest])


def _logins(text: str) -> Iterator[Span]:
    found = _LOGIN.finditer(text) if "://" in text and "@" in text else ()
    return (match.span(1) for match in found if not _is_reference(match[1]))


def _bearers(text: str) -> Iterator[Span]:
    found = _BEARER.finditer(text) if "authorization" in text.lower() else ()
    return (match.span(1) for match in found if not _is_reference(match[1]))


def _assigned(text: str) -> Iterator[Span]:
    """Yield where a value stands that looks like a secret behind a name such as `password`."""
    lowered = text.lower()
    at = 0 if any(name in lowered for name in _NAMES) else len(text)
    while match := _ASSIGNED.search(text, at):
        value = match[3].rstrip(".)]}:!?")
        at = match.start(3)  # a value that is no secret may hold another assignment
        if _looks_secret(value, digits_do=match[1].lower().startswith("p"), quoted=bool(match[2])):
            end = _end_of_value(text, match, at + len(value))
            yield at, end
            at = end


def _end_of_value(text: str, match: re.Match[str], end: int) -> int:
    """Return where the value of *match* ends: at *end*, or behind it where the pattern saw only its first part."""
    rest = _VALUE_REST.match(text, match.end())
    return rest.end() if rest and rest[0] else end


def _looks_secret(value: str, *, digits_do: bool, quoted: bool) -> bool:
    """Tell whether *value* mixes letters with digits or symbols, and is neither code nor a reference."""
    digit = _DIGIT.search(value) is not None
    if len(value) < 8 or not (digit or _SYMBOL.search(value)):
        return False
    if not (digit and digits_do) and not any(map(str.isalpha, value)):
        return False
    return not _is_reference(value) and (quoted or not _CODE.search(value))


def _is_reference(value: str) -> bool:
    """Tell whether *value* stands for a secret kept elsewhere: a variable, a path, a mask, a sample."""
    return bool(_REFERENCE.match(value) or _PLACEHOLDER.search(value))


_NAMED_SECRETS: Final = (("login", _logins), ("bearer", _bearers), ("credential", _assigned))


# --- a whole memory -------------------------------------------------------------------------

_OWN: Final = ("content", "title", "tags", "metadata")
_REDACTED: Final = (*_OWN, "section", "context")
_NO_CONTEXT: Final = Context()


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedMemory:
    """A memory without its secrets, and how many were taken out of each field that had any."""

    memory: Memory
    counts: Mapping[str, int]

    @property
    def count(self) -> int:
        """How many secrets were the memory's own: a section and its neighbours' words are counted where they belong."""
        return sum(self.counts.get(field, 0) for field in _OWN)


def redact_memory(memory: Memory) -> RedactedMemory:
    """Return *memory* with the secrets of every field replaced; itself if it has none."""
    changed: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for field in _REDACTED:
        value = getattr(memory, field)
        redacted, count = _redact_value(value) if value and value != _NO_CONTEXT else (value, 0)
        if count:
            changed[field], counts[field] = redacted, count
    return RedactedMemory(memory=replace(memory, **changed) if changed else memory, counts=counts)


def _redact_value(value: Any, key: str = "") -> tuple[Any, int]:
    """Return *value*, however deep, without the secrets in its texts, and how many there were."""
    if isinstance(value, str):
        return _redact_named(key, value)
    if isinstance(value, list | tuple):
        parts = [_redact_value(each, key) for each in value]
        return type(value)(each for each, _ in parts), sum(count for _, count in parts)
    if isinstance(value, Context):
        (before, after, around), count = _redact_value((value.before, value.after, value.around))
        return (Context(before=before, after=after, around=around) if count else value), count
    if isinstance(value, Mapping):
        pairs = {name: _redact_value(each, str(name)) for name, each in value.items()}
        return {name: each for name, (each, _) in pairs.items()}, sum(count for _, count in pairs.values())
    return value, 0


def _redact_named(key: str, value: str) -> tuple[str, int]:
    """Return the text under *key* without secrets; a key such as `password` makes one of what else would not be."""
    alone = redact_text(value)
    named = redact_text(f"{key}={value}") if key and not alone.count else alone
    if named.count and not alone.count and named.text.startswith(f"{key}="):
        return named.text.removeprefix(f"{key}="), named.count
    return alone.text, alone.count
