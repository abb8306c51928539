"""What was typed, read without click where it is plain: a verb, its words, and options that are written out.

To load click and to build a command takes longer than a search. Whatever is not plain (help, completion, a mistake)
is left to click, so that nothing is refused in two ways; what is read here is read as click reads it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from recollect.surfaces.operations.answer import Operation
    from recollect.surfaces.operations.request import Parameter

GLOBAL: Final = {
    "db": "the store: a path, :memory: or postgresql://… (RECOLLECT_DB)",
    "project": "the project to write to and to search (RECOLLECT_PROJECT)",
    "profile": "how to rank: default, cortex, oro, boocode, nornicdb, engram, or a .toml file (RECOLLECT_PROFILE)",
    "model": "the embedding model: a name, a folder, or none (RECOLLECT_MODEL)",
    "reranker": "the folder of a cross-encoder that reads the best hits again, or none (RECOLLECT_RERANKER)",
}
SEVERAL: Final = ("paths", "words", "ids")
"""Kinds of arguments that take all the words that are left."""
_LONGEST: Final = 18
"""How many digits a number has that any store can count to."""


class _NotPlainError(Exception):
    """It is for click to read."""


class Typed(Struct, frozen=True, kw_only=True):
    """A command: its operation, what it was given, and the global options."""

    operation: "Operation"
    given: dict[str, Any]
    chosen: dict[str, Any]


def read_typed(words: Sequence[str]) -> Typed | None:
    """Return what *words* mean; None where they are not plain."""
    try:
        return _read(words)
    except _NotPlainError:
        return None


def _read(words: Sequence[str]) -> Typed:
    before = _split(words, _GLOBAL_OPTIONS, spoken=False, ends=True)
    operation = _operation(before.places[0] if before.places else "")
    spoken = any(each.kind == "words" for each in operation.parameters)
    split = _split(before.places[1:], _GLOBAL_OPTIONS | _options(operation), spoken=spoken)
    own = {each.name for each in operation.parameters}
    given = {each.name: _given(each, split) for each in operation.parameters if not each.place}
    chosen: dict[str, Any] = {
        name: (None if name in own else _single(split.options.get(name))) or _single(before.options.get(name))
        for name in (*GLOBAL, "as_json")
    }
    chosen["as_json"] = bool(chosen["as_json"])
    places = [each for each in operation.parameters if each.place]
    return Typed(operation=operation, given=given | _placed(places, split.places), chosen=chosen)


def _operation(verb: str) -> "Operation":
    from recollect.surfaces.operations import OPERATIONS  # noqa: PLC0415  (not for what is no verb)

    found = OPERATIONS.get(verb)
    if found is None:
        raise _NotPlainError
    return found


# --- options --------------------------------------------------------------------------------


class _Option(Struct, frozen=True):
    name: str
    sets: bool | None = None
    """What a flag sets; None where a value follows."""


class _Split(Struct, frozen=True):
    options: dict[str, list[Any]]
    places: list[str]


_GLOBAL_OPTIONS: Final = {
    **{f"--{name}": _Option(name) for name in GLOBAL},
    "--json": _Option("as_json", sets=True),
}


def _options(operation: "Operation") -> dict[str, _Option]:
    """Return the options of *operation* by every name they have."""
    found: dict[str, _Option] = {}
    for each in operation.parameters:
        if not each.place:
            sets = True if each.kind == "flag" else None
            found[f"--{each.name.strip('_').replace('_', '-')}"] = _Option(each.name, sets)
            found |= {f"-{each.hints.short}": _Option(each.name, sets)} if each.hints.short else {}
            found |= {f"--{each.hints.off.replace('_', '-')}": _Option(each.name, sets=False)} if each.hints.off else {}
    return found


def _split(words: Sequence[str], options: Mapping[str, _Option], *, spoken: bool, ends: bool = False) -> _Split:
    """Return the options among *words* and all others; where it *ends*, all is another from the first one on."""
    found: dict[str, list[Any]] = {}
    places: list[str] = []
    left = iter(words)
    for word in left:
        if _is_word(word, spoken=spoken):
            places.append(word)
            if ends:
                places += left
            continue
        name, sign, value = word.partition("=")
        option = options.get(name)
        if option is None or (sign and (option.sets is not None or not name.startswith("--"))):
            raise _NotPlainError
        if option.sets is None and not sign:
            value = next(left, "-")
            if value.startswith("-"):
                raise _NotPlainError
        found.setdefault(option.name, []).append(value if option.sets is None else option.sets)
    return _Split(found, places)


def _is_word(word: str, *, spoken: bool) -> bool:
    """Tell whether *word* is no option: in a command that takes words, -friday is one of them."""
    begins = word[1:3]
    return word[:1] != "-" or word == "-" or (spoken and len(begins) > 1 and begins.isascii() and begins.isalpha())


# --- values ---------------------------------------------------------------------------------


def _single(values: Sequence[Any] | None) -> Any:
    """Return the one of *values*; what is said twice is not plain."""
    if values is not None and len(values) != 1:
        raise _NotPlainError
    return None if values is None else values[0]


def _given(parameter: "Parameter", split: _Split) -> Any:
    """Return what an option was given, or what it is otherwise."""
    values = split.options.get(parameter.name)
    if parameter.kind == "texts":
        return tuple(values or ())
    value = _single(values)
    if value is None:
        return bool(parameter.default) if parameter.kind == "flag" else parameter.default
    return value if parameter.kind == "flag" else _converted(parameter, value)


def _placed(parameters: Sequence["Parameter"], words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments; the last one may take all words that are left."""
    several = bool(parameters) and parameters[-1].kind in SEVERAL
    single, last = (parameters[:-1], parameters[-1]) if several else (parameters, None)
    required = sum(each.is_required for each in parameters)
    if len(words) < required or (not several and len(words) > len(single)):
        raise _NotPlainError
    given = {each.name: _converted(each, words[at]) if at < len(words) else None for at, each in enumerate(single)}
    return given if last is None else given | {last.name: _all(last, words[len(single) :])}


def _all(parameter: "Parameter", words: Sequence[str]) -> Any:
    if parameter.kind == "words":
        return " ".join(word[1:] if word.startswith(" -") else word for word in words)
    return tuple(_converted(parameter, word) for word in words)


def _converted(parameter: "Parameter", text: str) -> Any:
    """Return *text* as the kind of *parameter* has it."""
    kind = parameter.kind
    if kind in ("number", "id", "ids"):
        digits = text if kind == "number" else text.removeprefix("#")
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST):
            raise _NotPlainError
        return int(digits)
    if kind == "float":
        try:
            return float(text)
        except ValueError as error:
            raise _NotPlainError from error
    if kind == "choice" and text not in parameter.choices:
        raise _NotPlainError
    return text
