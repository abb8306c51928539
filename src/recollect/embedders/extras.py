"""Bring in a library at the point of use, and say which extra holds it when it is missing."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final

from recollect.errors import ModelError

RUN: Final = ("numpy", "onnxruntime", "tokenizers")
CONVERT: Final = ("onnx",)


def need(library: str) -> ModuleType:
    """Return *library*, or raise ModelError with the command that installs it."""
    try:
        return import_module(library)
    except ImportError as error:
        raise _missing(library) from error


def need_all(libraries: Sequence[str]) -> None:
    """Raise ModelError for the first of *libraries* that is not here, without loading any of them."""
    for library in libraries:
        try:
            found = find_spec(library) is not None
        except (ImportError, ValueError):
            found = False
        if not found:
            raise _missing(library)


def _missing(library: str) -> ModelError:
    extra = "model,convert" if library in CONVERT else "model"
    return ModelError(
        f"the embedding model needs the library {library}, which is not installed",
        hint=f'run: pip install "recollect[{extra}]"',
    )
