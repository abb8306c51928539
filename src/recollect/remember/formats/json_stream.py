"""Read JSON of any size value by value, with the line on which each value begins.

The standard library's scanner parses the values, so NaN, lone surrogates and long numbers are handled in one place.
ijson needs memory quadratic in the nesting depth (20 KB of brackets take 1 GB) and has no line numbers.
"""

import json
import math
from collections.abc import Iterator
from typing import Final, TextIO

from msgspec import Struct

from recollect.lazy import regex
from recollect.remember.find_files import MAX_DOCUMENT_BYTES
from recollect.remember.formats.values import MAX_DEPTH, plain


def _fraction(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


# NaN, Infinity and 1e999 are not numbers to a store; they stay text.
_DECODER: Final = json.JSONDecoder(parse_constant=str, parse_float=_fraction)
_BLANKS: Final = " \t\n\r"
_BLANK: Final = regex(rf"[{_BLANKS}]*")
_CLOSING: Final = {"[": "]", "{": "}"}
BLOCK_CHARS: Final = 1_000_000
"""How much of a stream is read at a time."""


class JsonError(ValueError):
    """A text is not JSON: the message of the scanner, and the line where it gave up."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.message = message


class Item(Struct, frozen=True, kw_only=True):
    """One value of an array or object, its key there, the line it begins on, and its text."""

    value: object
    line: int
    text: str
    key: str | None = None

    def plain(self) -> object:
        """Return the value without what stores cannot keep; raise TooMuch if it is nested too deeply."""
        return _plain(self.value, self.text)


def decode(text: str) -> object:
    """Return the one value in *text* without what stores cannot keep; raise JsonError if it is not JSON."""
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise JsonError(_message(error)) from error
    return _plain(value, text)


class JsonStream:
    """A JSON text that is read from a stream; only the value being read is in memory."""

    def __init__(
        self, file: TextIO, *, max_value_chars: int = MAX_DOCUMENT_BYTES, block_chars: int | None = None
    ) -> None:
        self._file = file
        self._max, self._block = max_value_chars, block_chars or BLOCK_CHARS
        self._text, self._at = "", 0
        self.line = 1

    def peek(self) -> str:
        """Go to the next character that is not blank and return it; nothing at the end."""
        mark = self._text[self._at : self._at + 1]
        while not mark or mark in _BLANKS:
            blank = _BLANK.match(self._text, self._at)
            self._advance(blank.end() if blank else self._at)
            if self._at == len(self._text) and not self._read_more():
                return ""
            mark = self._text[self._at : self._at + 1]
        return mark

    def expect(self, mark: str) -> None:
        """Go past *mark*."""
        if self.peek() != mark:
            raise JsonError(f"Expecting '{mark}' delimiter", self.line)
        self._advance(self._at + 1)

    def key(self) -> str:
        """Return the name of the next member of an object, and go to its value."""
        if self.peek() != '"':
            raise JsonError("Expecting property name enclosed in double quotes", self.line)
        name = str(self.value().plain())
        self.expect(":")
        self.peek()
        return name

    def value(self) -> Item:
        """Return the value that begins here, and go past it."""
        self.peek()
        line = self.line
        value, text = self._scan()
        return Item(value=value, line=line, text=text)

    def _scan(self) -> tuple[object, str]:
        """Return the value that begins exactly here and its text, and go past it."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                if isinstance(error, RecursionError) or not self._read_more():
                    raise self._error(error) from error
            else:
                if end < len(self._text) or not self._read_more():  # a number may continue
                    break
        text = self._text[self._at : end]
        self._advance(end)
        return value, text

    def items(self) -> Iterator[Item]:
        """Yield the elements of the array, or the members of the object, that begins here."""
        opening = self.peek()
        closing = _CLOSING.get(opening, "")
        self.expect(opening if closing else "[")
        more = self.peek() != closing
        while more:
            line = self.line
            key = self.key() if closing == "}" else None
            value, text = self._scan()
            yield Item(value=value, line=line, text=text, key=key)
            more = self.peek() != closing
            if more:
                self.expect(",")
                self.peek()
        self.expect(closing)

    def finish(self) -> None:
        """Check that nothing follows."""
        if self.peek():
            raise JsonError("Extra data", self.line)

    def _advance(self, to: int) -> None:
        self.line += self._text.count("\n", self._at, to)
        self._at = to

    def _read_more(self) -> bool:
        """Read on, forgetting the text before the current position; return whether there was more."""
        left = len(self._text) - self._at
        if left > self._max:
            raise JsonError(f"an element of more than {self._max // 2**20} MB", self.line)
        # A long value is scanned again after each read, so each read doubles it.
        more = self._file.read(max(self._block, left))
        if more:
            self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)

    def _error(self, error: Exception) -> JsonError:
        if isinstance(error, RecursionError):
            return JsonError(_message(error))
        return JsonError(_message(error), self.line + self._text.count("\n", self._at, getattr(error, "pos", self._at)))


def _message(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def _plain(value: object, text: str) -> object:
    """Return *value* made plain if *text* has escapes or deep nesting; nothing else can need it."""
    doubtful = "\\u" in text or text.count("[") + text.count("{") > MAX_DEPTH
    return plain(value) if doubtful else value
