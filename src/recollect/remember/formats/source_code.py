"""Read source code: its doc comments, with the name, signature and line of each definition.

A file gives one memory with its own doc comment and the names it defines, and one for each documented definition.
Bodies are left out: who looks for them has the file. Python is parsed; in other languages a doc comment is the comment
that stands directly above a definition, by a table of how comments are written.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.lazy import regex
from recollect.records import Memory
from recollect.remember.chunk import chunk
from recollect.remember.formats.plain import of_chunks
from recollect.remember.formats.record import Origin, Parsed

_MAX_LINE_CHARS: Final = 5000
"""A line of more characters was written by a program."""
_MAX_NAMES: Final = 60
_MAX_SIGNATURE_CHARS: Final = 300
_MIN_LETTERS: Final = 5

_LICENSE: Final = regex(
    r"copyright|licen[cs]e|spdx-|all rights reserved|generated (?:by|from)|do not edit", re.IGNORECASE
)
_DRAWN: Final = regex(r"[-=*_~#+/<>|\s]*")


class _Comments(Struct, frozen=True, kw_only=True):
    """How comments are written: what begins one to the end of its line, and pairs that enclose one."""

    line: tuple[str, ...] = ()
    block: tuple[tuple[str, str], ...] = ()


_C: Final = _Comments(line=("///", "//!", "//"), block=(("/*", "*/"),))
_HASH: Final = _Comments(line=("#",))
_LANGUAGES: Final = {
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), ("javascript", _C)),
    **dict.fromkeys((".ts", ".mts", ".cts", ".tsx"), ("typescript", _C)),
    **dict.fromkeys((".c", ".h", ".m"), ("c", _C)),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), ("c++", _C)),
    **dict.fromkeys((".kt", ".kts"), ("kotlin", _C)),
    **dict.fromkeys((".sh", ".bash", ".zsh"), ("shell", _HASH)),
    **dict.fromkeys((".pl", ".pm"), ("perl", _HASH)),
    **dict.fromkeys((".py", ".pyi"), ("python", _HASH)),
    **dict.fromkeys(
        (".ex", ".exs"), ("elixir", _Comments(line=("#",), block=(('@doc """', '"""'), ('@moduledoc """', '"""'))))
    ),
    ".go": ("go", _C),
    ".rs": ("rust", _C),
    ".java": ("java", _C),
    ".scala": ("scala", _C),
    ".swift": ("swift", _C),
    ".cs": ("c#", _C),
    ".dart": ("dart", _C),
    ".zig": ("zig", _C),
    ".proto": ("protobuf", _C),
    ".php": ("php", _Comments(line=("//", "#"), block=(("/*", "*/"),))),
    ".rb": ("ruby", _Comments(line=("#",), block=(("=begin", "=end"),))),
    ".r": ("r", _Comments(line=("#'", "#"))),
    ".jl": ("julia", _Comments(line=("#",), block=(("#=", "=#"), ('"""', '"""')))),
    ".lua": ("lua", _Comments(line=("---", "--"), block=(("--[[", "]]"),))),
    ".sql": ("sql", _Comments(line=("--",), block=(("/*", "*/"),))),
    ".hs": ("haskell", _Comments(line=("-- |", "-- ^", "--"), block=(("{-", "-}"),))),
}

_KEYWORD: Final = regex(
    r"""(?:^|[\s(])(?:func|function\*?|fn|fun|def|defp|defmacro|defmodule|class|struct|enum|union|trait|interface|impl
        |protocol|extension|object|module|namespace|record|type|typedef|macro_rules!|mod|sub|message|service|rpc
        |create\s+(?:or\s+replace\s+)?(?:table|view|function|procedure|index|trigger))
        \s+(?:\([^()]{0,80}\)\s*)?(?:if\s+not\s+exists\s+)?(?:self\.)?[`"']?(?P<name>[A-Za-z_$][\w$.:]*)""",
    re.VERBOSE | re.IGNORECASE,
)
_CALLED: Final = regex(r"(?P<before>[^(=.\"']{0,200}?)(?P<name>[A-Za-z_~$][\w:~$]{0,100})\s?(?:<[^<>()]{0,80}>)?\(")
_VALUE: Final = regex(
    r"(?:(?:export|default|pub|public|private|static|final|declare|local)\s+)*(?:const|let|var|val|static|#define)\s+"
    r"(?:\w+\s+)?(?P<name>[A-Za-z_$][\w$]*)"
)
_ATTRIBUTE: Final = regex(r"\s*(?:@\w|#\[|\[\w|template\s*<|#\[\[)")
_NO_NAMES: Final = frozenset(
    {
        *("package", "if", "for", "while", "switch", "return", "catch", "else", "do", "case", "import", "from"),
        *("require", "use", "using", "assert", "throw", "new", "delete", "await", "yield", "include", "echo"),
        *("print", "sizeof", "defined", "try"),
    }
)
_SCOPED: Final = regex(
    r"\s*(?:pub\S*\s+|export\s+|default\s+|abstract\s+|public\s+|final\s+)*(?:class|impl|trait|interface|module)\s"
)


class _Definition(Struct, frozen=True, kw_only=True):
    """A definition in a file: its name, its signature, its line, and its doc comment."""

    name: str
    signature: str
    line: int
    doc: str = ""


def read_code(text: str, origin: Origin) -> Parsed:
    """Return the doc comment of the file with the names it defines, and the doc comment of each definition."""
    if any(len(line) > _MAX_LINE_CHARS for line in text.split("\n")):
        return Parsed(skipped={"file written by a program": 1})
    path = PurePosixPath(origin.source)
    language, comments = _LANGUAGES.get(path.suffix.lower(), ("", _C))
    found = _python(text) if language == "python" else None
    doc, definitions = found or _commented(text.split("\n"), comments)
    template = Memory(
        content="", source=origin.source, observed_at=origin.date, metadata={"language": language} if language else {}
    )
    memories = [*_of_file(path.name, doc, definitions, template)]
    for each in definitions:
        if each.doc:
            memories += _of_definition(each, replace(template, section=path.name))
    return Parsed(memories=tuple(memories))


def _of_file(name: str, doc: str, definitions: Sequence[_Definition], template: Memory) -> Iterator[Memory]:
    """Yield what the file says of itself, and the names it defines."""
    names = list(dict.fromkeys(each.name for each in definitions))
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    defines = f"Defines {', '.join(names[:_MAX_NAMES])}{more}." if names else ""
    text = "\n\n".join(filter(None, (doc, defines)))
    for memory in of_chunks(chunk(text), replace(template, title=name)):
        yield replace(memory, line=1)


def _of_definition(each: _Definition, template: Memory) -> Iterator[Memory]:
    for memory in of_chunks(chunk(f"{each.signature}\n\n{each.doc}"), replace(template, title=each.name)):
        yield replace(memory, line=each.line)


# --- Python ---------------------------------------------------------------------------------


def _python(text: str) -> tuple[str, list[_Definition]] | None:
    """Return the docstring and the definitions of a module; None if it is not current Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        return ast.get_docstring(tree) or "", list(_defined(tree, ""))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _defined(node: ast.Module | ast.ClassDef, within: str) -> Iterator[_Definition]:
    for each in node.body:
        if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{within}{each.name}"
            yield _Definition(
                name=name, signature=_signature(each), line=each.lineno, doc=ast.get_docstring(each) or ""
            )
            if isinstance(each, ast.ClassDef):
                yield from _defined(each, f"{name}.")


def _signature(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, node.bases))
        shown = f"class {node.name}({bases})" if bases else f"class {node.name}"
    else:
        word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        shown = f"{word} {node.name}({ast.unparse(node.args)}){returns}"
    return _cut(shown)


def _cut(signature: str) -> str:
    words = " ".join(signature.split())
    return words if len(words) <= _MAX_SIGNATURE_CHARS else f"{words[: _MAX_SIGNATURE_CHARS - 1]}\u2026"


# --- other languages ------------------------------------------------------------------------


def _commented(lines: Sequence[str], comments: _Comments) -> tuple[str, list[_Definition]]:
    """Return the comment at the head of a file, and its definitions with the comments above them."""
    head, definitions, scope = "", list[_Definition](), (-1, "")
    begin = 1 if lines[0].startswith("#!") else 0
    doc, at, seen = "", begin, False
    while at < len(lines):
        words = lines[at].strip()
        end, comment = _comment(lines, at, comments)
        if end > at:
            if not seen and not head and not _is_above_code(lines, end):
                head = comment
            doc, at = comment, end
            continue
        at += 1
        if not words:
            # A comment belongs to the line directly below it.
            doc = ""
        elif not _ATTRIBUTE.match(words):
            seen = True
            indent = len(lines[at - 1]) - len(lines[at - 1].lstrip())
            scope = (-1, "") if indent <= scope[0] else scope
            found = _definition(lines, at - 1, doc, scope)
            if found is not None:
                definitions.append(found)
                if _SCOPED.match(lines[at - 1]):
                    scope = (indent, found.name)
            doc = ""
    return head, definitions


def _is_above_code(lines: Sequence[str], at: int) -> bool:
    """Tell whether a definition is directly at *at*, so that the comment above belongs to it and not to the file."""
    return at < len(lines) and bool(lines[at].strip()) and _definition(lines, at, "x", (-1, "")) is not None


def _definition(lines: Sequence[str], at: int, doc: str, scope: tuple[int, str]) -> _Definition | None:
    """Return what the line at *at* defines; without a keyword it is a definition only below a comment."""
    words = " ".join(lines[at].split())
    if words.split(None, 1)[0].strip("({") in _NO_NAMES:
        return None
    indent = len(lines[at]) - len(lines[at].lstrip())
    keyword = _KEYWORD.search(words)
    if indent and not doc and not scope[1]:
        return None  # a name of a body
    name = keyword["name"].strip(".:") if keyword else _unmarked(words, indent) if doc else ""
    if not name:
        return None
    full = f"{scope[1]}.{name}" if scope[1] and indent > scope[0] else name
    return _Definition(name=full, signature=_signature_at(lines, at), line=at + 1, doc=doc)


def _unmarked(words: str, indent: int) -> str:
    """Return the name that a line defines without a keyword: a function of the C family, or a value of the file."""
    called = _CALLED.match(words)
    if called and called["name"] not in _NO_NAMES and (not indent or called["before"].strip() or words.endswith("{")):
        return called["name"]
    value = None if indent else _VALUE.match(words)
    return value["name"] if value else ""


def _signature_at(lines: Sequence[str], at: int) -> str:
    """Return the definition from its line on, up to where its body begins."""
    said = ""
    for line in lines[at : at + 6]:
        said = f"{said} {line.strip()}"
        if said.count("(") <= said.count(")"):
            break
    return _cut(re.sub(r"\s*(?:\{.*|;|=>|=)\s*\Z", "", said))


def _comment(lines: Sequence[str], at: int, comments: _Comments) -> tuple[int, str]:
    """Return where the comment ends that begins at *at*, and its words; *at* itself if there is none."""
    words = lines[at].strip()
    for opening, closing in comments.block:
        if words.startswith(opening):
            return _block(lines, at, opening, closing)
    end = at
    said: list[str] = []
    while end < len(lines) and (mark := next((m for m in comments.line if lines[end].strip().startswith(m)), "")):
        if mark == "#" and lines[end].strip().startswith("#["):
            break
        said.append(lines[end].strip()[len(mark) :].removeprefix("!"))
        end += 1
    return end, _tidy(said)


def _block(lines: Sequence[str], at: int, opening: str, closing: str) -> tuple[int, str]:
    said = [lines[at].strip()[len(opening) :]]
    for end in count(at + 1):
        inside, found, _ = said[-1].partition(closing)
        if found or end >= len(lines):
            said[-1] = inside
            # The rest of the line after a comment is code.
            return end, _tidy(said)
        said.append(lines[end].strip())
    return at, ""


def _tidy(lines: Sequence[str]) -> str:
    """Return the words of a comment without its decoration; nothing for a licence or a drawn line."""
    bare = [re.sub(r"\A\*+(?:\s|\Z)|\A[*!<]+\s?", "", line.strip()) for line in lines]
    kept = [line.strip() for line in bare if not line or not _DRAWN.fullmatch(line)]
    text = "\n".join(kept).strip()
    letters = sum(map(str.isalpha, text))
    return "" if letters < _MIN_LETTERS or _LICENSE.search(text) else text
