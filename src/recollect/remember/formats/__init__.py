"""Read a file as memories. A format is one module of this package and one line in the table `FORMATS`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recollect.remember.find_files import read_text, suffix_of
from recollect.remember.formats.chat import with_context
from recollect.remember.formats.csv_text import read_csv
from recollect.remember.formats.entries import as_exported
from recollect.remember.formats.json_text import decode, read_json, read_jsonl
from recollect.remember.formats.markdown import read_markdown
from recollect.remember.formats.plain import read_plain
from recollect.remember.formats.record import Exported, Origin, Parsed, Reader
from recollect.text.dates import date_in_name

__all__ = ["FORMATS", "READERS", "SUFFIXES", "Exported", "Parsed", "as_exported", "decode", "read_file", "with_context"]


def _read_yaml(text: str, origin: Origin) -> Parsed:
    from recollect.remember.formats.yaml_text import read_yaml  # noqa: PLC0415 - the YAML library loads slowly

    return read_yaml(text, origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format: its name, how its text becomes memories, and how the names of its files end."""

    name: str
    read: Reader
    suffixes: tuple[str, ...]


FORMATS: Final = (
    Format(name="markdown", read=read_markdown, suffixes=(".md", ".markdown", ".mdx")),
    Format(name="text", read=read_plain, suffixes=(".txt", ".text", ".rst", ".log", ".org", "")),
    Format(name="json", read=read_json, suffixes=(".json",)),
    Format(name="jsonl", read=read_jsonl, suffixes=(".jsonl", ".ndjson")),
    Format(name="yaml", read=_read_yaml, suffixes=(".yaml", ".yml")),
    Format(name="csv", read=read_csv, suffixes=(".csv", ".tsv")),
)
READERS: Final = {each.name: each.read for each in FORMATS}
SUFFIXES: Final = {suffix: each.name for each in FORMATS for suffix in each.suffixes}


def read_file(path: Path) -> Parsed:
    """Return the memories in the file at *path*, read by its suffix; an unknown suffix is read as text.

    A date in the file's name is when its memories were true unless they say otherwise. Raise FileError when the file
    cannot be read at all.
    """
    text = read_text(path)
    # A name that is not UTF-8 could not be stored as it is.
    source = os.fsencode(path.absolute().as_posix()).decode("utf-8", "backslashreplace")
    read = READERS[SUFFIXES.get(suffix_of(path.name), "text")]
    return read(text, Origin(source=source, date=date_in_name(path.name)))
