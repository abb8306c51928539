"""Read a file as memories: Markdown, text, JSON, JSONL, YAML, CSV and conversations in them."""

import os
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final

from recollect.remember.find_files import SUFFIXES, read_text, suffix_of
from recollect.remember.formats.chat import with_context
from recollect.remember.formats.csv_text import read_csv
from recollect.remember.formats.json_text import read_json, read_jsonl
from recollect.remember.formats.markdown import read_markdown
from recollect.remember.formats.plain import read_plain
from recollect.remember.formats.record import Exported, Origin, Parsed, Reader
from recollect.text.dates import date_in_name

__all__ = ["READERS", "Exported", "Parsed", "read_file", "with_context"]


def _read_yaml(text: str, origin: Origin) -> Parsed:
    from recollect.remember.formats.yaml_text import read_yaml  # noqa: PLC0415 - the YAML library loads slowly

    return read_yaml(text, origin)


READERS: Final[Mapping[str, Reader]] = {
    "markdown": read_markdown,
    "text": read_plain,
    "json": read_json,
    "jsonl": read_jsonl,
    "yaml": _read_yaml,
    "csv": read_csv,
}
"""How each format is read."""


def read_file(path: Path, *, root: Path | None = None) -> Parsed:
    """Return the memories in the file at *path*, chosen by its suffix; an unknown suffix is read as text.

    A date in the file's name, or in a folder's name below *root*, is when its memories were true unless they say
    otherwise. Raise FileError when the file cannot be read at all.
    """
    text = read_text(path)
    full = path.absolute()
    # A name that is not UTF-8 could not be stored as it is.
    source = os.fsencode(full.as_posix()).decode("utf-8", "backslashreplace")
    origin = Origin(source=source, date=date_in_name(_below(full, root)))
    return READERS[SUFFIXES.get(suffix_of(path.name), "text")](text, origin)


def _below(path: Path, root: Path | None) -> PurePath:
    """Return the part of *path* whose names may hold a date: its name, with the folders below *root*."""
    inside = root is not None and root.absolute() in path.parents
    return path.relative_to(root.absolute()) if root is not None and inside else PurePath(path.name)
