"""Read e-mail: one mail in a file, or a mailbox of any length, mail by mail.

A mail is a memory: who wrote, the subject as the title, and the words that are new in it. What it quotes stands before
it as context, so that "I will" is found by what was asked. Attachments are named and not read.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec import Struct

from recollect.errors import FileError
from recollect.records import Context, Memory
from recollect.remember.find_files import open_file, shown
from recollect.remember.formats.format import Glimpse
from recollect.remember.formats.portions import numbered_lines, portions
from recollect.remember.formats.record import Origin, Parsed
from recollect.remember.formats.values import clean
from recollect.text.dates import as_moment

MAX_MAIL_BYTES: Final = 25 * 1024 * 1024
"""How many bytes of a mail are read; what follows are attachments."""
_MAX_TEXT_BYTES: Final = 1024 * 1024
_MAX_HEADER_CHARS: Final = 20_000
_PORTION_MAILS: Final = 50
_MAX_QUOTE_CHARS: Final = 2000
"""How many characters of what a mail quotes are its context."""
_MAILBOX: Final = re.compile(rb"From [^\n]{5,200}\n(?:[!-9;-~]{1,76}: ?[^\n]*\n)", re.DOTALL)
_PLAIN_HEADS: Final = ("From", "Subject", "Date", "Message-ID", "To")
_ATTRIBUTION: Final = re.compile(
    r"^(?:On|Am|Le|El|Il|Em|Op|Den|På|W dniu)\b.{5,300}?"
    r"(?:wrote|writes|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|skrev|napisał\(?a?\)?)[^\n:]{0,120}:\s*",
    re.DOTALL | re.MULTILINE,
)
_ORIGINAL: Final = re.compile(
    r"^(?:-{2,} ?(?:Original Message|Original Appointment|Ursprüngliche Nachricht|Message d'origine|Mensaje original"
    r"|Messaggio originale|Mensagem original|Oorspronkelijk bericht) ?-{2,}"
    r"|(?:_{10,}\n)?(?:From|Von|De|Da|Van): [^\n]+\n(?:Sent|Gesendet|Envoyé|Enviado|Inviato|Verzonden|Date|Datum): )",
    re.IGNORECASE | re.MULTILINE,
)
_SIGNATURE: Final = re.compile(
    r"^(?:-- ?|Sent from my .{2,30}|Von meinem .{2,30} gesendet|Get Outlook for .{2,20}|Envoyé de mon .{2,20})$",
    re.IGNORECASE | re.MULTILINE,
)
_UNWANTED: Final = frozenset({"spam", "trash", "drafts", "papierkorb", "entwürfe"})
_SYSTEM_LABELS: Final = re.compile(
    r"(?i)inbox|sent|unread|opened|important|starred|archived|category .*|chat|posteingang|geöffnet|ungelesen"
)


# --- which files ----------------------------------------------------------------------------


def is_mail(glimpse: Glimpse) -> bool:
    """Tell whether a file is a mail or a mailbox; one without an ending must begin as a mailbox does."""
    return bool(glimpse.suffix) or bool(_MAILBOX.match(glimpse.head.replace(b"\r\n", b"\n")))


def read_mail(path: Path, origin: Origin) -> Iterator[Parsed]:
    """Yield the mails of a file; one that cannot be understood is a problem and stops no other."""
    single = path.suffix.lower() in {".eml", ".emlx"}
    mails = iter([(1, _single(path))]) if single else _mails(path)
    for portion in portions(mails, _PORTION_MAILS):
        found, problems, skipped = list[Memory](), list[str](), Counter[str]()
        for line, raw in portion:
            try:
                made = _memory(raw, origin, None if single else line)
            except _NoMail as error:
                problems.append(f"line {line}: {error}")
                continue
            if isinstance(made, Memory):
                found.append(made)
            else:
                skipped[made] += 1
        if single and problems:
            raise FileError(f"{shown(path)} is not a mail", hint="a mail begins with lines such as From: and Subject:")
        yield Parsed(memories=tuple(found), problems=tuple(problems), skipped=skipped)


def _single(path: Path) -> bytes:
    """Return the mail in a file; Apple puts its length on a line before it."""
    with open_file(path) as file:
        raw = file.read(MAX_MAIL_BYTES)
    if path.suffix.lower() != ".emlx":
        return raw
    length, _, rest = raw.partition(b"\n")
    return rest[: int(length)] if length.strip().isdigit() and len(length) < 12 else rest


def _mails(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each mail of a mailbox and its line; one begins where a line `From ` follows a blank one."""
    pending = bytearray()
    begin, blank = 0, True
    for number, line in numbered_lines(path):
        if blank and line.startswith(b"From "):
            if pending:
                yield begin, bytes(pending)
            pending.clear()
            begin = number
        elif begin and len(pending) < MAX_MAIL_BYTES:
            pending += line[1:] if line.startswith((b">From ", b">>From ")) else line
        blank = not line.strip()
    if pending:
        yield begin, bytes(pending)


# --- a mail ---------------------------------------------------------------------------------


class _NoMail(ValueError):
    """Some bytes are not a mail."""


def _memory(raw: bytes, origin: Origin, line: int | None) -> Memory | str:
    """Return the memory of a mail, or why it is skipped."""
    try:
        return _of(message_from_bytes(raw), origin, line)
    except _NoMail:
        raise
    except Exception as error:  # the parser of the standard library raises many kinds of errors on broken mails
        raise _NoMail(f"the mail cannot be understood ({type(error).__name__})") from error


def _of(mail: Message, origin: Origin, line: int | None) -> Memory | str:
    if not any(name in mail for name in _PLAIN_HEADS):
        raise _NoMail("not a mail: it has no headers")
    labels = [each.strip() for each in _header(mail, "X-Gmail-Labels").split(",")]
    if any(each.lower() in _UNWANTED for each in labels):
        return "spam, trash or draft"
    body = _body(mail)
    sender, subject = _people(mail, "From"), _header(mail, "Subject")
    ids = _ids(mail, "References") or _ids(mail, "In-Reply-To")
    own = next(iter(_ids(mail, "Message-ID")), "") or _digest(mail, body.words)
    words = body.words or subject or ", ".join(body.files)
    if not words:
        return "mail without words"
    people = {name.lower(): list(_addresses(mail, name)) for name in ("From", "To", "Cc")}
    about: dict[str, object] = {name: found for name, found in people.items() if found}
    return Memory(
        content=f"{sender}: {words}" if sender else words,
        title=subject,
        tags=tuple(each for each in labels if each and not _SYSTEM_LABELS.fullmatch(each)),
        source=origin.source,
        line=line,
        thread=f"mail:{ids[0] if ids else own}",
        turn=len(ids) + 1,
        context=Context(before=body.quoted[:_MAX_QUOTE_CHARS].strip()),
        observed_at=_date(mail) or origin.date,
        external_id=f"mail:{own}",
        metadata={**about, "attachments": list(body.files)} if body.files else about,
    )


def _header(mail: Message, name: str) -> str:
    """Return a header as one line of text, even if it is badly encoded."""
    value = str(mail.get(name, ""))[:_MAX_HEADER_CHARS]
    try:
        text = str(make_header(decode_header(value)))
    except (ValueError, LookupError, TypeError, AttributeError):
        text = value
    return " ".join(clean(text).split())


def _addresses(mail: Message, name: str) -> Iterator[str]:
    """Yield the people of a heading as `Name <address>`."""
    for shown_name, address in getaddresses([_header(mail, name)])[:50]:
        if shown_name and address:
            yield f"{shown_name} <{address}>"
        elif shown_name or address:
            yield shown_name or address


def _people(mail: Message, name: str) -> str:
    found = next(iter(getaddresses([_header(mail, name)])), ("", ""))
    return found[0] or found[1] or _header(mail, name)


def _ids(mail: Message, name: str) -> list[str]:
    return re.findall(r"<([^<>\s]{1,500})>", _header(mail, name))


def _digest(mail: Message, words: str) -> str:
    """Return an id for a mail that has none."""
    parts = (*(_header(mail, name) for name in ("Date", "From", "Subject")), words)
    return blake2b("\x1f".join(parts).encode(), digest_size=12).hexdigest()


def _date(mail: Message) -> datetime | None:
    received = _header(mail, "Received").rpartition(";")[2]
    for text in (_header(mail, "Date"), received):
        try:
            moment = parsedate_to_datetime(text.strip())
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        found = as_moment(moment)
        if found:
            return found.astimezone(UTC)
    return None


# --- its words ------------------------------------------------------------------------------


class _Body(Struct, frozen=True, kw_only=True):
    """The contents of a mail: its own words, its quotations, the names of its attachments."""

    words: str
    quoted: str = ""
    files: tuple[str, ...] = ()


def _body(mail: Message) -> _Body:
    plain: list[str] = []
    rich: list[str] = []
    files: list[str] = []
    for part in _parts(mail):
        name = part.get_filename()
        if name is not None or part.get_content_disposition() == "attachment":
            files.append(_file_name(name))
        elif part.get_content_type() == "text/plain":
            plain.append(_text(part))
        elif part.get_content_type() == "text/html":
            rich.append(_text(part))
    text = "\n".join(plain) if any(each.strip() for each in plain) else "\n".join(map(_stripped, rich))
    words, quoted = _split(text.replace("\r\n", "\n").replace("\r", "\n").replace("\u00a0", " "))
    return _Body(words=words, quoted=quoted, files=tuple(filter(None, files)))


def _parts(mail: Message) -> Iterator[Message]:
    """Yield the parts that have no parts; a mail inside a mail is an attachment."""
    waiting = [mail]
    while waiting:
        part = waiting.pop(0)
        inner = part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(inner, list):
            waiting[:0] = [each for each in inner if isinstance(each, Message)]
        elif part.get_content_maintype() != "message":
            yield part


def _file_name(name: str | None) -> str:
    try:
        return " ".join(clean(str(make_header(decode_header(name or "")))).split())
    except (ValueError, LookupError):
        return clean(name or "")


def _text(part: Message) -> str:
    raw = part.get_payload(decode=True)
    if not isinstance(raw, bytes):
        return ""
    try:
        text = raw[:_MAX_TEXT_BYTES].decode(part.get_content_charset() or "utf-8", "replace")
    except (LookupError, ValueError):
        text = raw[:_MAX_TEXT_BYTES].decode("utf-8", "replace")
    return clean(text)


def _split(text: str) -> tuple[str, str]:
    """Return the words of a mail that are its own, without its signature, and those that it quotes."""
    original = _ORIGINAL.search(text)
    own, quoted = (text[: original.start()], [text[original.end() :]]) if original else (text, [])
    if any(line.startswith(">") for line in own.split("\n")):
        own = _ATTRIBUTION.sub("", own, count=20)
    lines = own.split("\n")
    cited = [line.lstrip("> ") for line in lines if line.startswith(">")]
    words = "\n".join(line for line in lines if not line.startswith(">"))
    signature = _SIGNATURE.search(words)
    bare = words[: signature.start()].strip() if signature else words.strip()
    said = "\n".join([*cited, *quoted]).strip()
    return (_tidy(bare), _tidy(said)) if bare else (_tidy(words.strip() or said), "")


def _tidy(text: str) -> str:
    return re.sub(r"\n\s*\n\s*\n+", "\n\n", text)


_BLOCKS: Final = frozenset(
    ("p", "div", "br", "tr", "li", "h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol", "blockquote", "hr", "pre")
)
_HIDING: Final = frozenset({"script", "style", "head", "title"})
_COMMENT: Final = "!--"
_TAG: Final = re.compile(r"/?([a-zA-Z][a-zA-Z0-9]*)")


def _stripped(source: str) -> str:
    """Return the text of HTML: a block is a line, a quotation is marked as in plain text.

    Each character is looked at once, whatever is left open: the parser of the standard library takes minutes for
    some megabytes of unclosed tags.
    """
    text = html.unescape("".join(_shown(source)))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line.strip("> "))


def _shown(source: str) -> Iterator[str]:
    """Yield the text between the tags that is shown, and the ends of lines."""
    hidden, quotes = "", 0
    begin, *rest = source.split("<")
    yield _one_line(begin)
    for segment in rest:
        if hidden == _COMMENT or segment.startswith(_COMMENT):
            hidden, behind = _COMMENT, segment.partition("-->")[2]
            if "-->" not in segment:
                continue
            hidden = ""
        else:
            inner, _, behind = segment.partition(">")
            found = _TAG.match(inner)
            name, closing = found[1].lower() if found else "", inner.startswith("/")
            if hidden and not (closing and name == hidden):
                continue
            hidden = name if name in _HIDING and not closing else ""
            quotes = max(0, quotes + (-1 if closing else 1)) if name == "blockquote" else quotes
            if name in _BLOCKS:
                yield "\n> " if quotes else "\n"
        if not hidden:
            yield _one_line(behind)


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")
