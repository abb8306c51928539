"""Load a library that an extra brings, or say in one line which extra is missing."""

from importlib import import_module
from typing import Any

from recollect.errors import FileError


def need(library: str, *, extra: str, what: str) -> Any:
    """Return the module *library*; without it raise FileError, which names *what* needs it and the *extra*."""
    try:
        return import_module(library)
    except ImportError as error:
        raise FileError(
            f"{what} needs the library {library.partition('.')[0]}, which is not installed",
            hint=f'run: pip install "recollect[{extra}]"',
        ) from error
