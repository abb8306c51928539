"""Find secrets in a text: by prefix, by form, by the name before them, by the sentence around them.

Every pattern is bounded or possessive and every search goes forward, so the time grows linearly with the text. A
pattern is compiled when a text first contains its cue; most texts contain none.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from recollect.remember.secret_looks import (
    FOREIGN,
    Strength,
    compiled,
    has_digit,
    has_function_word,
    is_code,
    is_digest,
    is_id,
    is_login,
    is_made_by_machine,
    is_mixed,
    is_more_than_letters,
    is_opaque,
    is_passphrase,
    is_password,
    is_placeholder,
    is_random,
    is_reference,
    is_slug,
    names_itself,
    strength_of,
)

MARK: Final = "[redacted:"
"""How the mark in place of a secret begins; nothing inside a mark is a secret."""

_MAX_ROUNDS: Final = 3
_MAX_VALUE_CHARACTERS: Final = 200
"""How many characters of a value are checked; the rest of it is redacted with it."""


class SecretSpan(Struct, frozen=True, kw_only=True):
    """The position and the kind of a secret in a text."""

    start: int
    stop: int
    kind: str


def find_secrets(text: str, key: str = "") -> tuple[SecretSpan, ...]:
    """Return the secrets of *text*, in order and without overlap; *key* is the name of its field, if any."""
    spans = _search(text, key)
    for _ in range(_MAX_ROUNDS if spans else 0):  # one token may have hidden another
        more = _search(replace_secrets(text, spans), key)
        if not more:
            break
        spans = _merged([*spans, *_before_replacing(more, spans)])
    return spans


def replace_secrets(text: str, spans: Iterable[SecretSpan]) -> str:
    """Return *text* with a mark such as `[redacted:github]` in place of each of *spans*."""
    pieces: list[str] = []
    last = 0
    for span in spans:
        pieces += (text[last : span.start], _mark(span))
        last = span.stop
    return "".join((*pieces, text[last:]))


def _mark(span: SecretSpan) -> str:
    return f"{MARK}{span.kind}]"


def _before_replacing(more: Iterable[SecretSpan], spans: Sequence[SecretSpan]) -> Iterator[SecretSpan]:
    """Yield the positions of *more* before *spans* were replaced; a span that touches a mark covers all it replaced."""
    marks: list[tuple[int, int, SecretSpan]] = []
    shift = 0
    for span in spans:
        marks.append((span.start - shift, shift, span))
        shift += span.stop - span.start - len(_mark(span))

    def place(at: int, *, stop: bool) -> int:
        index = bisect_left(marks, at + (not stop), key=lambda each: each[0]) - 1
        if index < 0:
            return at
        begin, shift, span = marks[index]
        if at < begin + len(_mark(span)) + stop:
            return span.stop if stop else span.start
        return at + shift + span.stop - span.start - len(_mark(span))

    yield from (replace(each, start=place(each.start, stop=False), stop=place(each.stop, stop=True)) for each in more)


def _search(text: str, key: str) -> tuple[SecretSpan, ...]:
    spans = [*_under_key(text, key)] if key else []
    for found in _found(text):
        spans.extend(found)
    return _merged([*spans, *_repeated(text, spans)]) if spans else ()


def _found(text: str) -> Iterator[Iterable[SecretSpan]]:
    """Yield what each kind of rule finds, the surest kind first; kinds without a cue in *text* are skipped."""
    plain = text.encode("ascii", "replace")  # as long as the text, so that positions agree
    lowered = plain.lower().decode()
    signed = ":" in text or "=" in text or (not text.isascii() and "：" in text)  # noqa: RUF001
    long = _long_words(plain)
    if "key" in lowered:
        yield _private_keys(text)
    if long:
        yield _tokens(text, long)
    if len(plain.translate(None, _NO_DIGITS)) >= len(_CARD_RUN) and _CARD_RUN in plain.translate(_DIGITS, b" -"):
        yield _cards(text)
    if signed and ("://" in text or "@" in text or ":5432:" in text):
        yield _logins(text)
    if long or (signed and "auth" in lowered):
        yield _authorizations(text, lowered)
    if " -" in text or "identified by" in lowered or (signed and "/user:" in text):
        yield _commands(text, lowered)
    if cues := [cue for cue in (_SIGNED_CUES if signed else _STATED_CUES) if cue in lowered]:
        yield _named(text, lowered, cues)
    if not text.isascii():
        yield _named_abroad(text)
    if "phrase" in lowered or "mnemonic" in lowered or (signed and "codes" in lowered):
        yield _phrases(text)


# Bytes that a token can be made of become x, all others a space; digits become d, all others a point.
_TOKEN_BYTES: Final = bytes(120 if chr(byte) in "_+/=.%~:@$-" or chr(byte).isalnum() else 32 for byte in range(128)) * 2
_DIGITS: Final = bytes(100 if chr(byte).isdigit() else 46 for byte in range(128)) * 2
_NO_DIGITS: Final = bytes(byte for byte in range(256) if not 48 <= byte <= 57)
_TOKEN_RUN: Final = b"x" * 20
_CARD_RUN: Final = b"d" * 14


def _long_words(plain: bytes) -> str:
    """Return the words that are long enough for a token; prose has few, which leaves little to search."""
    if _TOKEN_RUN not in plain.translate(_TOKEN_BYTES):
        return ""
    long = b" ".join([word for word in plain.split() if len(word) >= len(_TOKEN_RUN)]).decode()
    return long if has_digit(long) else ""


def _merged(spans: list[SecretSpan]) -> tuple[SecretSpan, ...]:
    """Return *spans* in order, those that overlap as one, of the kind that was found first."""
    ranked = sorted(enumerate(spans), key=lambda each: (each[1].start, each[0]))
    merged: list[tuple[int, SecretSpan]] = []
    for rank, span in ranked:
        if merged and span.start < merged[-1][1].stop:
            best, last = merged[-1]
            kind = span.kind if rank < best else last.kind
            merged[-1] = (min(rank, best), replace(last, stop=max(last.stop, span.stop), kind=kind))
        else:
            merged.append((rank, span))
    return tuple(span for _, span in merged)


def _repeated(text: str, spans: list[SecretSpan]) -> Iterator[SecretSpan]:
    """Yield every other occurrence of a value that was found, even if nothing names it."""
    values = {text[span.start : span.stop]: span.kind for span in spans}
    known = [
        (value, kind) for value, kind in values.items() if len(value) <= _MAX_VALUE_CHARACTERS and is_random(value, 12)
    ]
    for value, kind in known[:16]:
        at = text.find(value)
        while at >= 0:
            yield SecretSpan(start=at, stop=at + len(value), kind=kind)
            at = text.find(value, at + len(value))


def _span(match: re.Match[str], kind: str) -> SecretSpan:
    return SecretSpan(start=match.start("value"), stop=match.end("value"), kind=kind)


# --- private keys ---------------------------------------------------------------------------

_KEY_MARK: Final = r"-----(BEGIN|END)[A-Z0-9 ]{0,40} PRIVATE KEY[A-Z ]{0,10}-----"
_KEY_LINE: Final = (
    r"(?:-----|\n|\\n)[ \t\r]{0,40}[A-Za-z0-9+/=]{8,}+[ \t\r]{0,40}(?=-----|\n|\\[nr])|[A-Za-z0-9+/=]{32,}+"
)
_KEY_REST: Final = r"(?:(?:\s|\\[nr]){0,80}[A-Za-z0-9+/=]{20,}+)++"
_PUTTY: Final = r"Private-Lines: \d{1,4}\r?\n(?P<value>(?:[A-Za-z0-9+/=]{1,80}+(?:\r?\n|\Z)){1,400}+)"

_KUBERNETES_KEY: Final = r"client-key-data[\"']?:[ \t]{0,4}[\"']?(?P<value>[A-Za-z0-9+/=]{20,}+)"


def _private_keys(text: str) -> Iterator[SecretSpan]:
    if "PRIVATE KEY" in text:
        yield from _between_marks(text)
    if "client-key-data" in text:
        yield from (_span(match, "private-key") for match in compiled(_KUBERNETES_KEY).finditer(text))
    if "Private-Lines" in text:
        yield from (_span(match, "private-key") for match in compiled(_PUTTY).finditer(text))


def _between_marks(text: str) -> Iterator[SecretSpan]:
    """Yield keys from mark to mark. A truncated one ends with its lines; marks around prose do not count."""
    lines = [line.start() for line in compiled(_KEY_LINE).finditer(text)]
    begun: list[re.Match[str]] = []
    for mark in compiled(_KEY_MARK).finditer(text):
        if mark[1] == "BEGIN":
            begun.append(mark)
        elif begun:
            begin = begun.pop()
            first = bisect_left(lines, begin.end() - len("-----"))
            if first < len(lines) and lines[first] < mark.start():
                yield SecretSpan(start=begin.start(), stop=mark.end(), kind="private-key")
    for begin in begun:
        if rest := compiled(_KEY_REST).match(text, begin.end()):
            yield SecretSpan(start=begin.start(), stop=rest.end(), kind="private-key")


# --- tokens known by how they begin ---------------------------------------------------------

BODIES: Final = {
    "w": r"[A-Za-z0-9]*+",
    "n": r"[A-Za-z0-9_-]*+",
    "h": r"[0-9a-f-]*+",
    "s": r"[A-Za-z0-9+/=_-]*+",
    "d": r"[A-Za-z0-9_.-]*+",
    "p": r"[A-Za-z0-9_%-]*+",
    "c": r"[A-Za-z0-9/@_.-]*+",
}


class _Prefix(Struct, frozen=True, kw_only=True):
    """How a token begins, and what must follow; an address stays when its end is redacted."""

    kind: str
    cue: str
    body: str
    least: int
    stays: bool


def _table(name: str) -> list[str]:
    """Return the rows of a data file next to this module."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    return [row for row in text.splitlines() if row and not row.startswith("#")]


@cache
def _prefixes() -> tuple[tuple[str, tuple[_Prefix, ...]], ...]:
    """Return the prefixes by their last character: in a text without an underscore, half of them cannot occur.

    An address ends with a slash, and stays when what follows is redacted.
    """
    rows = [row.split() for row in _table("secret_prefixes.txt")]
    every = [
        _Prefix(kind=kind, cue=cue, body=BODIES[body[0]], least=int(body[1:]), stays=cue.endswith("/"))
        for kind, *cues, body in rows
        for cue in cues
    ]
    signed = [(sign, tuple(each for each in every if each.cue[-1] == sign)) for sign in "_-./"]
    return (*signed, ("", tuple(each for each in every if each.cue[-1] not in "_-./")))


def _tokens(text: str, long: str) -> Iterator[SecretSpan]:
    """Yield the tokens of *text*; only prefixes that its *long* words contain are searched for."""
    for sign, prefixes in _prefixes():
        if sign in long:
            for prefix in prefixes:
                if prefix.cue in long:
                    yield from _with_prefix(text, prefix)
    for kind, cues, pattern in _shapes():
        for cue in cues:
            if cue in long:
                yield from _with_shape(text, kind, pattern)
                break
    if '"kty"' in text:
        yield from (_span(match, "private-key") for match in compiled(_JWK).finditer(text))


def _with_prefix(text: str, prefix: _Prefix) -> Iterator[SecretSpan]:
    at = text.find(prefix.cue)
    while at >= 0:
        begin = stop = at + len(prefix.cue)
        if prefix.stays or _begins(text, at):
            stop = _end_of(prefix.body, text, begin)
            stop -= text[begin:stop].endswith(".")
            if stop - begin >= prefix.least and is_made_by_machine(
                text[begin : min(stop, begin + _MAX_VALUE_CHARACTERS)]
            ):
                stop = _end_of(BODIES["w"], text, stop)
                yield SecretSpan(start=begin if prefix.stays else at, stop=stop, kind=prefix.kind)
        at = text.find(prefix.cue, stop)


def _begins(text: str, at: int) -> bool:
    """Return whether a token may begin at *at*: not after a letter or digit, unless of an escape or a color code."""
    if not (at and text[at - 1].isalnum()):
        return True
    return bool(compiled(r"(?:\\[nrtbf]|%[0-9A-F]{2}|\x1b\[[0-9;]{1,8}m)\Z").search(text, max(0, at - 12), at))


def _end_of(run: str, text: str, at: int) -> int:
    """Return where the characters of *run* end that start at *at*."""
    match = compiled(run).match(text, at)
    return match.end() if match else at


# --- tokens known by their form -------------------------------------------------------------


@cache
def _shapes() -> tuple[tuple[str, tuple[str, ...], str], ...]:
    """Return the kind, the cues and the pattern of each form."""
    rows = (row.split(None, 2) for row in _table("secret_shapes.txt"))
    return tuple((kind, tuple(cues.split(",")), pattern) for kind, cues, pattern in rows)


_JWK: Final = r"\"d\"\s{0,4}:\s{0,4}\"(?P<value>[A-Za-z0-9_-]{40,}+)"
_ALPHANUMERIC: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def _with_shape(text: str, kind: str, pattern: str) -> Iterator[SecretSpan]:
    for match in compiled(pattern).finditer(text):
        start, stop = match.span()
        if kind == "discord":
            start -= _discord_id(text[max(0, start - 28) : start])
            if start == match.start():
                continue
        if not is_placeholder(text[start : min(stop, start + _MAX_VALUE_CHARACTERS)]):
            yield SecretSpan(start=start, stop=_end_of(BODIES["w"], text, stop), kind=kind)


def _discord_id(before: str) -> int:
    """Return the length of the id that a bot's token begins with, 0 if *before* does not end with one."""
    word = before[len(before.rstrip(_ALPHANUMERIC)) :]
    return len(word) if 24 <= len(word) <= 27 and word[0] in "MNO" else 0


# --- cards ----------------------------------------------------------------------------------

_CARD: Final = (
    r"(?<![\w./+-])(?<!\w\()(?<!\d )(?:"
    r"(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6011|6[45]\d\d|62\d\d|35\d\d)(?P<four>[ -]?)\d{4}(?P=four)\d{4}(?P=four)\d{4}"
    r"|3(?:[47]\d\d(?P<six>[ -]?)\d{6}(?P=six)\d{5}|[0689]\d\d(?P<ten>[ -])\d{6}(?P=ten)\d{4})"
    r")(?![\w-]|[.,]\d| [0-9A-F]{4}(?!\w))"
)
TEST_CARDS: Final = frozenset(
    {"378282246310005", "371449635398431", "378734493671000", "6011000990139424", "6011981111111113", "30569309025904"}
    | {"36227206271667", "6555900000604105", "3566002020360505", "6200000000000005", "6205500000000000004"}
    | {"4000056655665556", "5200828282828210", "4000002500003155", "4000002760003184", "4000003800000446"}
    | {"4012888888881881", "4917610000000000", "6799990100000000019", "2223003122003222", "4000000000003220"}
)
"""Test numbers that payment services publish: nobody can pay with them."""


def _cards(text: str) -> Iterator[SecretSpan]:
    """Yield payment cards with a valid Luhn checksum; sample numbers in docs repeat digits."""
    for match in compiled(_CARD).finditer(text):
        digits = [int(digit) for digit in match[0] if digit.isdigit()]
        doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
        number = "".join(map(str, digits))
        if (sum(digits[::-2]) + sum(doubled)) % 10 == 0 and len(set(digits)) > 3 and number not in TEST_CARDS:
            yield SecretSpan(start=match.start(), stop=match.end(), kind="card")


# --- addresses ------------------------------------------------------------------------------

_LOGIN: Final = r"://[^\s:/?#@\[\]\"'<>]{0,100}:(?P<value>[^\s/\"'<>]{1,200})@"
_LONE_USER: Final = r"https?://(?P<value>[A-Za-z0-9_-]{20,200})@"
_ORACLE: Final = r"thin:[\w.-]{1,60}/(?P<value>[^\s/@\"'<>]{1,100})@"
_PARAMETER: Final = (
    r"[?&#;](?i:amp;)?(?i:[\w-]{0,20}sig(?:nature)?|key|code|auth|hash|hmac|sas)="
    r"(?P<value>[A-Za-z0-9%_.~+/=-]{16,}+)"
)
_PGPASS: Final = r"(?<!\S)[^\s:]{1,100}:5432:[^\s:]{1,64}:[^\s:]{1,64}:(?P<value>[^\s:]{1,200})(?!\S)"
# The cue in the text, the pattern, the kind, and the length from which on the value must look random (0: never).
_PLACES: Final = (
    ("://", _LOGIN, "login", 0),
    ("://", _LONE_USER, "login", 20),
    ("://", _PARAMETER, "credential", 16),
    ("thin:", _ORACLE, "login", 0),
    (":5432:", _PGPASS, "login", 0),
)
_SAMPLES: Final = frozenset(["password", "passwd", "pass", "pwd", "pw", "secret", "token"])
"""Sample passwords in the addresses and commands of manuals."""


def _logins(text: str) -> Iterator[SecretSpan]:
    for cue, pattern, kind, least in _PLACES:
        if cue in text:
            for match in compiled(pattern).finditer(text):
                if is_random(match["value"], least) if least else _is_given(match["value"]):
                    yield _span(match, kind)


def _is_given(value: str) -> bool:
    """Return whether *value* can be a password: anything but a variable or a sample."""
    return any(map(str.isalnum, value)) and not is_reference(value) and value.lower() not in _SAMPLES


# --- authorization --------------------------------------------------------------------------

_AUTHORIZATION: Final = (
    r"(?i)(?<![a-z:])authorization[\\\"']{0,2}[ \t]{0,3}[:=,][ \t]{0,3}f?[\\\"'`]{0,2}"
    r"(?P<scheme>(?:bearer|basic|token|apikey|key|ssws|splunk|bot|negotiate|digest)[ \t]{1,3})?"
    r"(?:[a-z_]{1,20}=[\"']?)?(?P<value>[^\s\"'`,;<>\\]{8,}+)"
)
_BEARER: Final = r"(?i)(?<![a-z])bearer[ \t]{1,3}(?P<value>[a-z0-9_.~+/=-]{16,}+)"
_BASIC: Final = (
    r"(?i)(?<![a-z])(?:basic[ \t]{1,3}|\"?_?auth\"?[ \t]{0,3}[:=][ \t]{0,3}\"?)(?P<value>[a-z0-9+/]{8,}+={0,2})"
)


def _authorizations(text: str, lowered: str) -> Iterator[SecretSpan]:
    if "authorization" in lowered:
        for match in compiled(_AUTHORIZATION).finditer(text):
            if _is_credential(match["value"]) if match["scheme"] else is_random(match["value"], 16):
                yield _span(match, "bearer")
    if "bearer" in lowered:
        for match in compiled(_BEARER).finditer(text):
            if is_random(match["value"], 16):
                yield _span(match, "bearer")
    if "basic " in lowered or "auth" in lowered:
        yield from (_span(match, "login") for match in compiled(_BASIC).finditer(text) if is_login(match["value"]))


def _is_credential(value: str) -> bool:
    """Return whether *value* after `Bearer` is a credential: not a word, a variable or a call."""
    return not value.isalpha() and not is_reference(value) and not compiled(r"\w[(\[{]").search(value)


# --- commands -------------------------------------------------------------------------------

_QUOTED: Final = r"(?:N?'(?P<single>[^'\n]{1,200})'|\"(?P<double>[^\"\n]{1,200})\")"
_WORD: Final = rf"(?:{_QUOTED}|(?P<plain>[^\s\"'`]{{1,200}}))"
_PAIR: Final = (
    r"(?:\"[^\s:\"]{0,80}:(?P<double>[^\"\n]{1,200})\"|'[^\s:']{0,80}:(?P<single>[^'\n]{1,200})'"
    r"|[^\s:\"'`]{0,80}:(?P<plain>[^\s\"'`]{1,200}))"
)
_OPTIONS: Final = r"(?:\\\n|[^\n]){0,300}?[ \t]"
_OPTION: Final = r" (?:-(?:-(?:user|auth|proxy-user|body)|[a-zA-Z]{0,6}[uUpPaAXb]|pass)|/user:|(?i:by|string) )"
_COMMANDS: Final = (
    ("curl", rf"(?<!\w)curl\b{_OPTIONS}(?:-[a-zA-Z]{{0,6}}u|--user|-U|--proxy-user)[ \t=]{{0,2}}{_PAIR}"),
    ("http ", rf"(?<![\w/.-])http(?= ){_OPTIONS}(?:-a|--auth)[ \t=]{{1,2}}{_PAIR}"),
    ("sshpass", rf"(?<!\w)sshpass[ \t]{{1,3}}-p[ \t]{{0,3}}{_WORD}"),
    ("mysql", rf"(?<!\w)mysql\w{{0,10}}\b{_OPTIONS}-p(?=\S){_WORD}"),
    ("redis-cli", rf"(?<!\w)redis-cli\b{_OPTIONS}-a[ \t]{{1,3}}{_WORD}"),
    ("docker login", rf"(?<!\w)docker login\b{_OPTIONS}-p[ \t]{{1,3}}{_WORD}"),
    ("az login", rf"(?<!\w)az login\b{_OPTIONS}-p[ \t]{{1,3}}{_WORD}"),
    ("sqlcmd", rf"(?<!\w)sqlcmd\b{_OPTIONS}-P[ \t]{{0,3}}{_WORD}"),
    ("zip ", rf"(?<!\w)(?:un)?zip\b{_OPTIONS}-P[ \t]{{0,3}}{_WORD}"),
    ("7z ", rf"(?<!\w)7z {_OPTIONS}-p(?=\S){_WORD}"),
    ("snmp", rf"(?<!\w)snmp\w{{1,10}}\b{_OPTIONS}-[AX][ \t]{{1,3}}{_WORD}"),
    ("net use", rf"(?<!\w)net use\b{_OPTIONS}/user:\S{{1,60}}[ \t]{{1,3}}{_WORD}"),
    ("pass:", rf"-pass(?:in|out)?[ \t]{{1,3}}pass:{_WORD}"),
    ("identified by", rf"(?i)\bidentified by[ \t]{{1,3}}(?:password[ \t]{{1,3}})?{_QUOTED}"),
    ("securestring", rf"(?i)ConvertTo-SecureString[ \t]{{1,3}}(?:-String[ \t]{{1,3}})?{_QUOTED}"),
    ("secret set", rf"(?i)secret set {_OPTIONS}(?:--body|-b)[ \t=]{{1,3}}{_WORD}"),
)


def _commands(text: str, lowered: str) -> Iterator[SecretSpan]:
    if not compiled(_OPTION).search(text):
        return
    for cue, pattern in _COMMANDS:
        if cue in lowered:
            for match in compiled(pattern).finditer(text):
                group = match.lastgroup or "plain"
                value = match[group].rstrip(".,;)")
                if _is_given(value):
                    start = match.start(group)
                    yield SecretSpan(start=start, stop=start + len(value), kind="credential")


# --- names and their values -------------------------------------------------------

_STATED_CUES: Final = ("pass", "pw", "secret", "token", "key", "kennwort")
_SIGNED_CUES: Final = (*_STATED_CUES, "cred", "_pat", "psk", "sess", "senha")
"""Parts of names: those that a sentence may state, and in addition those that need a colon or an equals sign."""


class _Name(Struct, frozen=True, kw_only=True):
    """A name in a text, and what it says about the value after it; `token` *alone* may be anything."""

    start: int
    stop: int
    strength: Strength
    written: str
    alone: bool = False


def _named(text: str, lowered: str, cues: list[str]) -> Iterator[SecretSpan]:
    for cue in cues:
        at = lowered.find(cue)
        while at >= 0:
            name = _name_at(text, at, at + len(cue))
            stop = max(name.stop, at + len(cue))
            if name.strength != "none" and (span := _under_name(text, name)):
                yield span
                stop = span.stop
            at = lowered.find(cue, stop)
    if "|" in text and "---" in text:
        yield from _in_tables(text)


def _named_abroad(text: str) -> Iterator[SecretSpan]:
    if any(map(text.__contains__, ("密", "口令", "ワード", "비밀", "ароль", "ontraseña"))):
        stop = 0
        for match in compiled("|".join(FOREIGN)).finditer(text):
            name = _Name(start=match.start(), stop=match.end(), strength="password", written=match[0])
            if name.start >= stop and (span := _under_name(text, name) or _stated_abroad(text, name)):
                yield span
                stop = span.stop


def _stated_abroad(text: str, name: _Name) -> SecretSpan | None:
    """Return the password that a sentence in Chinese, Japanese or Korean states: `密码是Tiger2024`."""
    match = compiled(r"[ \t]{0,2}(?:是|为|為|は|은|는)[ \t]{0,2}:?[ \t]{0,2}(?P<value>[!-~]{6,64}+)").match(
        text, name.stop
    )
    if match is None:
        return None
    value = _Value(text=_cut(match["value"], in_address=False), start=match.start("value"), how="stated", quoted=False)
    if not _is_secret(value, name):
        return None
    return SecretSpan(start=value.start, stop=value.start + len(value.text), kind="credential")


_NEXT_LINE: Final = r"[ \t]{0,4}\n(?:[ \t]{0,8}\n)?[ \t>]{0,8}(?=(?P<value>[^\s\"'`]{6,200})[ \t]{0,4}(?:\n|\Z))"


def _name_at(text: str, start: int, stop: int) -> _Name:
    """Return the whole identifier around *start* and *stop* and its strength (`API key` with the word before it)."""
    before = text[max(0, start - 48) : start]
    start -= len(before) - len(before.rstrip(_ALPHANUMERIC + "_.-"))
    written = text[start : _end_of(r"[A-Za-z0-9_.-]{0,64}+", text, stop)].rstrip(".-")
    stop = start + len(written)
    strength = strength_of(written)
    if strength == "none" and written.lower() in {"key", "keys"}:
        strength = "secret" if strength_of(f"{_word_before(text, start)}_key") == "secret" else "none"
    if strength != "none" and (text[max(0, start - len(MARK)) : start] == MARK or _is_a_step(text, start)):
        strength = "none"
    alone = written.lower() == "token" and _word_before(text, start).lower() in {"", "the", "commit", "sha"}
    return _Name(start=start, stop=stop, strength=strength, written=written.lower(), alone=alone)


def _word_before(text: str, start: int) -> str:
    """Return the word before *start*, if only a space is between."""
    if text[start - 1 : start] != " ":
        return ""
    before = text[max(0, start - 21) : start - 1]
    return before[len(before.rstrip(_ALPHANUMERIC)) :]


def _is_a_step(text: str, start: int) -> bool:
    """Return whether the name at *start* is one segment of a longer path, as in `arn:aws:…:secret:…`."""
    if text[max(0, start - 5) : start].lower() == "$env:":  # a variable, as PowerShell writes it
        return False
    return start > 1 and text[start - 1] == ":" and (text[start - 2].isalnum() or text[start - 2] in ":)*")


How = Literal["assigned", "noted", "setting", "word", "stated", "beside"]
"""How a value is joined to its name: `=`, `:`, a line of settings, as its argument, by a sentence, by nothing."""

_CLOSERS: Final = r"[\\\"'`*\])]{0,4}(?:[ \t]{1,2}\([^()\n]{1,30}\))?[ \t]{0,4}"
_OPENERS: Final = r"[bBuUrRfN]?(?P<quote>\\?[\"'`])|[“‘«„]|"  # noqa: RUF001
_ASSIGNED: Final = rf"{_CLOSERS}(?P<sign>:[=-]|=>|->|={{1,3}}|:|：|→|(?<=[ \t])\|(?=[ \t]))\*{{0,2}}[ \t]{{0,4}}"  # noqa: RUF001
_PAIRED: Final = r"[\"']?,?\s{0,20}[\"']?value[\"']?[ \t]{0,3}[:=][ \t]{0,3}"
_STATED: Final = (
    r"(?:[ \t](?:for|of|on|at|in|to|für|vom|zum|zur|von|des|der|im)"
    r"(?:[ \t](?:the|our|my|your|this|den|die|das|dem|der|unseren?|meinen?))?(?:[ \t][\w.-]{1,24}){1,2})?[ \t]{1,2}"
    r"(?:is|was|to|ist|lautet|heißt|est|es|é|are)(?:[ \t]now)?[ \t]{0,2}:?[ \t]{1,2}"
)
_ENDS: Final = {"“": "”", "‘": "’", "«": "»", "„": "“"}  # noqa: RUF001


class _Value(Struct, frozen=True, kw_only=True):
    """The value of a name, and how it is joined to it."""

    text: str
    start: int
    how: How
    quoted: bool


def _under_name(text: str, name: _Name) -> SecretSpan | None:
    for at, how in _links(text, name):
        value = _value_at(text, at, how, name)
        if value.text and _is_secret(value, name):
            stop = value.start + len(value.text)
            if len(value.text) == _MAX_VALUE_CHARACTERS:
                stop = _end_of(f"{_run(how)}*+", text, stop)
            return SecretSpan(start=value.start, stop=stop, kind="credential")
    return None


def _links(text: str, name: _Name) -> Iterator[tuple[int, How]]:
    """Yield where the value of *name* may begin and how it is joined, the surest way first."""
    if below := _below(text, name):
        yield below, "noted"
    elif link := compiled(_ASSIGNED).match(text, name.stop):
        yield link.end(), _how(text, name, link)
    elif link := _set_apart(text, name):
        yield link.end(), "assigned"
    else:
        if name.written != "pass" and (link := compiled(_STATED).match(text, name.stop)):
            yield link.end(), "stated"
        if link := compiled(r"[ \t]{1,3}").match(text, name.stop):
            yield link.end(), "word" if _takes_a_word(text, name, link.end()) else "beside"


def _below(text: str, name: _Name) -> int:
    """Return where the value of *name* begins on its own line after a colon; 0 if there is none."""
    colon = compiled(rf"{_CLOSERS}(?:is|are|ist|lautet)?[ \t]{{0,2}}[:：]").match(text, name.stop)  # noqa: RUF001
    found = compiled(_NEXT_LINE).match(text, colon.end()) if colon else None
    if found is None or not is_mixed(found["value"]):
        return 0
    is_name = is_slug(found["value"]) and not compiled(r"[!$%^#&*?~=]").search(found["value"])
    return 0 if is_name else found.end()


def _set_apart(text: str, name: _Name) -> re.Match[str] | None:
    """Return what joins *name* to its value where both are marked up: an element, a pair in a list, a call."""
    if text[name.start - 1 : name.start] == "<":
        return compiled(r">[ \t]{0,4}(?=[^<>\n]{1,200}</)").match(text, name.stop)
    if _is_argument(text, name.start) and (link := compiled(r"[\"'],[ \t]{0,3}(?=[\"'])").match(text, name.stop)):
        return link
    return compiled(_PAIRED).match(text, name.stop)


def _is_argument(text: str, start: int) -> bool:
    """Return whether the name at *start* is the first string in a call: `define('DB_PASSWORD', '…')`."""
    return text[start - 2 : start] in {"('", '("'} and text[start - 3 : start - 2].isalnum()


def _how(text: str, name: _Name, link: re.Match[str]) -> How:
    """Distinguish a line of settings (`DB_PASSWORD=…` to the end of the word), an assignment and a note."""
    begins = text[name.start - 1 : name.start] in {"", "\n", " ", "\t"}
    if begins and link[0] == "=" and name.written.upper() == text[name.start : name.stop]:
        return "setting"
    return "assigned" if "=" in link["sign"] else "noted"


def _takes_a_word(text: str, name: _Name, at: int) -> bool:
    """Return whether the word after *name* is its value: an option, a line of a known file, an SQL statement."""
    if name.written.startswith("-") or name.written in {"requirepass", "bindpw"}:
        return True
    if name.written != "password":
        return False
    before = text[max(0, name.start - 120) : name.start]
    return text[at : at + 1] == "'" or bool(compiled(r"login\s{1,8}\S{1,80}\s{1,8}\Z").search(before))


def _value_at(text: str, at: int, how: How, name: _Name) -> _Value:
    opener = compiled(_OPENERS).match(text, at)
    if opener and opener.end() > at:
        closer = _ENDS.get(opener[0]) or opener["quote"]
        inside = r"(?:[^\\\n%s]|\\.){1,200}+" if closer in {'"', "'"} else r"[^\\\n%s]{1,200}+"
        value = compiled(inside % closer[-1]).match(text, opener.end())
        if value and text.startswith(closer, value.end()):
            return _Value(text=value[0], start=opener.end(), how=how, quoted=True)
        at = opener.end()
    found = text[at : _end_of(f"{_run(how)}{{0,200}}+", text, at)]
    in_address = text[name.start - 1 : name.start] in {"?", "&", "#"}
    return _Value(text=_cut(found, in_address=in_address), start=at, how=how, quoted=False)


def _run(how: How) -> str:
    """Return the characters of a value without quotes; a setting extends to the end of the word."""
    return r"[^\s\"'`]" if how == "setting" else r"[^\s\"'`,;<>]"


def _cut(value: str, *, in_address: bool) -> str:
    """Return *value* without what follows it: the next parameter, the end of a sentence."""
    if end := compiled(r"[&#]" if in_address else r"&(?=[A-Za-z_]{1,30}=)|\\[\"nrt]|</").search(value):
        value = value[: end.start()]
    return value if len(value) == _MAX_VALUE_CHARACTERS else value.rstrip(".,:;)]}")


def _is_secret(value: _Value, name: _Name) -> bool:
    """Return whether *value* is a secret, given its *name*."""
    written = value.text
    if not value.quoted and value.how != "setting" and not is_more_than_letters(written):
        return False
    if MARK in written or is_reference(written) or (not value.quoted and is_code(written)):
        return False
    if " " in written:
        return name.strength == "password" and value.how != "beside" and is_passphrase(written)
    if value.how == "beside":
        return written.isascii() and is_random(written, 16) and not _is_known(value, name)
    return _is_password(value, name) if name.strength == "password" else _is_token(value, name)


def _is_password(value: _Value, name: _Name) -> bool:
    sure = value.quoted or value.how == "setting"
    noted = not sure and value.how in {"noted", "stated"}
    letters = sure and value.how in {"assigned", "noted", "setting"} and len(name.written) > 4
    return is_password(value.text, sure=sure, noted=noted, quoted=value.quoted, letters=letters)


def _is_token(value: _Value, name: _Name) -> bool:
    if not value.quoted and _is_known(value, name):
        return False
    if name.strength == "opaque":
        return is_random(value.text, 20) and not names_itself(value.text, quoted=value.quoted)
    least = {"setting": 6, "stated": 12}.get(value.how, 8)
    return is_opaque(value.text, least, quoted=value.quoted)


def _is_known(value: _Value, name: _Name) -> bool:
    """Return whether a value is more likely a commit, a checksum or an id than a secret."""
    if value.how == "setting":
        return False
    return is_digest(value.text) if name.alone else name.strength == "opaque" and is_id(value.text)


def _under_key(text: str, key: str) -> Iterator[SecretSpan]:
    """Yield all of *text* if the field name *key* makes it a secret."""
    name, written = key.strip(), text.strip()
    if name.lower() in {"authorization", "proxy-authorization"}:
        before = "authorization: "
        for span in _authorizations(before + text, "authorization: bearer basic "):
            yield replace(span, start=span.start - len(before), stop=span.stop - len(before))
        return
    strength = "password" if name in FOREIGN else strength_of(name[-64:])
    if written and strength != "none" and "\n" not in written and len(written) <= 10 * _MAX_VALUE_CHARACTERS:
        start = text.find(written)
        value = _Value(text=written, start=start, how="assigned", quoted=True)
        if _is_secret(value, _Name(start=0, stop=0, strength=strength, written="the key")):
            yield SecretSpan(start=start, stop=start + len(written), kind="credential")


# --- cells of tables ------------------------------------------------------------------------


def _in_tables(text: str) -> Iterator[SecretSpan]:
    """Yield the secrets in the cells of a table, by the name of their column."""
    names: list[str] = []
    at, before = 0, ""
    for line in text.splitlines(keepends=True):
        if "---" in line and "|" in before and not line.strip().strip("|:- \t"):
            names = [cell.strip(" \t`*") for cell in before.strip().strip("|").split("|")]
        elif "|" not in line:
            names = []
        elif names:
            yield from _in_cells(line, at, names)
        at, before = at + len(line), line


def _in_cells(row: str, at: int, names: Sequence[str]) -> Iterator[SecretSpan]:
    lead = len(row) - len(row.lstrip(" \t|"))
    for cell, name in zip(compiled(r"[^|\n]++").finditer(row, lead), names, strict=False):
        written, strength = cell[0].strip().strip("`*"), strength_of(name[-64:])
        if not written or " " in written or strength == "none":
            continue
        start = at + row.find(written, cell.start())
        value = _Value(text=written, start=start, how="noted", quoted=False)
        if _is_secret(value, _Name(start=0, stop=0, strength=strength, written=name.lower())):
            yield SecretSpan(start=start, stop=start + len(written), kind="credential")


# --- phrases and codes ----------------------------------------------------------------------

_PHRASE: Final = (
    rf"(?i:mnemonic|(?:seed|recovery|secret|backup|wallet)[ _-]phrase){_CLOSERS}(?:[:=]|is)?\s{{0,4}}[\"'`]?"
    r"(?P<value>(?:[a-z]{3,8},?[ \n]){11,23}[a-z]{3,8})(?![a-z])"
)
_ONE_CODE: Final = (
    r"(?:[-*]\s{1,2})?(?=[A-Za-z-]{0,11}[0-9])[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}|[A-Za-z0-9]{2,6})(?![A-Za-z0-9])"
)
_CODES: Final = (
    r"(?i:(?:recovery|backup|2fa|mfa)[ _-]codes)[\"'`*]{0,3}[ \t]{0,3}[:=]\*{0,2}\s{0,4}"
    rf"(?P<value>{_ONE_CODE}(?:[\s,]{{1,4}}{_ONE_CODE}){{0,20}})"
)


def _phrases(text: str) -> Iterator[SecretSpan]:
    """Yield seed phrases and recovery codes that are announced as such."""
    for match in compiled(_PHRASE).finditer(text):
        if not has_function_word(match["value"]):
            yield _span(match, "seed")
    yield from (_span(match, "codes") for match in compiled(_CODES).finditer(text))
