r"""Text as it leaves for a terminal or a pipe: what would steer the reader's screen or deceive the eye is spelled out.

Every stream of the command line goes through here, so that no verb can forget it. A character is spelled as JSON
spells it (`\u001b`): what is printed as JSON says the same as before, and needs no door of its own.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol, TextIO

from recollect.lazy import regex
from recollect.settings import is_plain_terminal
from recollect.text.normalise import HIDDEN, IGNORED, compiled

_UNSEEN: Final = f"\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\ufff9-\ufffb\ud800-\udfff{IGNORED}"
"""Controls of terminals (C0, C1), line separators, directions, all that has no width; tabs and line breaks stay."""
_JOINED: Final = "\u0600-\u109f\u1700-\u1fff\u2100-\u2bff\u3000-\ud7ff\ufb1d-\ufdff\U0001f000-\U0001faff"
"""What a joiner or a variation selector behind it belongs to: scripts that join, signs, pictures."""
_KEPT: Final = (
    rf"(?:(?<=[{_JOINED}])(?<![{IGNORED}])|(?<=[0-9#*\u00a9\u00ae]))\ufe0f"
    rf"|(?:(?<=[{_JOINED}])(?<![{IGNORED}])|(?<=\ufe0f))[\u200c\u200d]"
)
_PATTERN: Final = rf"(?P<kept>{_KEPT})|\r(?=\n)|[{_UNSEEN}]"
STYLES: Final[Mapping[str, str]] = {"title": "1", "mark": "1;4", "faint": "2", "good": "32", "bad": "1;31"}
"""The codes of each style: of the sixteen colours that every theme, light or dark, brings in its own shade."""
_ADDRESS: Final = regex(r"(?:file|https?)://[!-~]+")


def visible(text: str) -> str:
    """Return *text* with every character spelled out that a terminal obeys or that a reader cannot see.

    Of a line break in two characters one is left; joiners and selectors stay where writing needs them.
    """
    if text.replace("\n", "").replace("\t", "").isprintable() and HIDDEN.isdisjoint(text):
        return text
    return compiled(_PATTERN).sub(_spelled, text)


def visible_line(text: str) -> str:
    """Return *text* as one line: tabs and line breaks are spelled out too."""
    return visible(text.replace("\r\n", "\n")).replace("\n", "\\n").replace("\t", "\\t")


def _spelled(match: re.Match[str]) -> str:
    if match["kept"] is not None:
        return match.group()
    if match.group() == "\r" and match.string[match.end() : match.end() + 1] == "\n":
        return ""
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


class VisibleStream:
    """A text stream that writes only what `visible` leaves; its bytes take the same way."""

    def __init__(self, stream: TextIO) -> None:
        self.raw = stream

    def write(self, text: str) -> int:
        """Write *text*, made visible."""
        return self.raw.write(visible(text))

    def writelines(self, lines: Iterator[str]) -> None:
        """Write *lines*, made visible."""
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> "_VisibleBytes":
        """Where bytes are written: as text, like all else."""
        return _VisibleBytes(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


class _VisibleBytes:
    """The bytes of a visible stream."""

    def __init__(self, stream: VisibleStream) -> None:
        self._stream = stream

    def write(self, piece: bytes) -> int:
        """Write *piece* as text, made visible."""
        self._stream.write(bytes(piece).decode("utf-8", "replace"))
        return len(piece)

    def flush(self) -> None:
        """Write what waits."""
        self._stream.flush()


class Styled(Protocol):
    """A stretch of text with the name of a style and an address to open; both may be blank."""

    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def style(self) -> str: ...  # noqa: D102
    @property
    def link(self) -> str: ...  # noqa: D102


def is_screen(stream: Any) -> bool:
    """Return whether somebody reads *stream* on a terminal."""
    return bool(stream.isatty())


def is_styled(stream: Any) -> bool:
    """Return whether codes may go to *stream*: a terminal that knows any, and whose user did not ask for none."""
    return is_screen(stream) and not is_plain_terminal()


def write_rows(stream: Any, rows: Iterable[Iterable[Styled]]) -> None:
    """Write *rows*, made visible, with the codes of their styles and links where *stream* takes them."""
    raw, styled = _raw(stream), is_styled(stream)
    for row in rows:
        raw.write("".join(_coded(each) if styled else visible(each.text) for each in row) + "\n")
    raw.flush()


def _coded(piece: Styled) -> str:
    """Return *piece* between the codes of its style, and as a link where it has an address without any code in it."""
    text = visible(piece.text)
    if piece.style in STYLES:
        text = f"\x1b[{STYLES[piece.style]}m{text}\x1b[0m"
    if _ADDRESS.fullmatch(piece.link):
        text = f"\x1b]8;;{piece.link}\x1b\\{text}\x1b]8;;\x1b\\"
    return text


def redraw(stream: Any, text: str) -> None:
    """Write *text*, made visible, in the place of the line that stands there."""
    raw = _raw(stream)
    raw.write(f"\r\x1b[K{visible(text)}" if is_screen(raw) else visible(text))
    raw.flush()


def _raw(stream: Any) -> Any:
    return stream.raw if isinstance(stream, VisibleStream) else stream


@contextmanager
def visible_streams() -> Iterator[None]:
    """Let all that is written to standard output and standard error go through `visible`."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (VisibleStream(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
