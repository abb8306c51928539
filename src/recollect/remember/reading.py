"""How the files of an import are read: by recognized format, or as the caller says."""

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from recollect.errors import InputError
from recollect.remember.find_files import suffix_of
from recollect.remember.formats import BY_NAME, FORMATS, SUFFIXES, Format, format_of, named
from recollect.remember.places import paths_of, place_named
from recollect.settings import environment_of

_SURE: Final = frozenset(suffix for each in FORMATS if not each.recognizer for suffix in each.suffixes)
"""The suffixes of files that some format reads whatever their contents."""


class Reading(Struct, frozen=True, kw_only=True):
    """How the files of an import are read."""

    form: Format | None = None
    """The format to read all files as; None to recognize each."""
    only: frozenset[str] = frozenset()
    """The formats that are read; where there are none, all."""
    dry_run: bool = False
    """Whether to report only, without reading."""

    @property
    def suffixes(self) -> Container[str]:
        """The endings of the files that a folder is looked through for."""
        return SUFFIXES if self.form is None else self.form.suffixes

    @property
    def is_partial(self) -> bool:
        """Whether some files are not looked at, so that a file not seen may still exist."""
        return self.form is not None or bool(self.only)

    def wants(self, path: Path, *, named: bool) -> bool:
        """Tell whether a file is read; one that the caller *named* always is, as text if nothing else fits."""
        if self.only:
            found = format_of(path)
            return found is not None and found.name in self.only
        return named or self.form is not None or suffix_of(path.name) in _SURE or format_of(path) is not None

    def chosen(self, path: Path) -> Format:
        """Return the format that a file is read as."""
        return self.form or format_of(path) or BY_NAME["text"]


def resolved(
    paths: Sequence[str | Path], *, as_: str | None, from_: str | None, dry_run: bool
) -> tuple[tuple[str | Path, ...], Reading]:
    """Return what to import and how: *paths* read as the format *as_*, or what the program *from_* keeps."""
    form = named(as_) if as_ is not None else None
    if from_ is None:
        return tuple(paths), Reading(form=form, dry_run=dry_run)
    place = place_named(from_)
    if paths or form:
        raise InputError(
            f"either name files, or let those of {from_} be found", hint="leave out --from, or the paths and --as"
        )
    only = frozenset(place.formats)
    return paths_of(from_, environment_of(place.variable)), Reading(only=only, dry_run=dry_run)


AS_FOUND: Final = Reading()
"""Files are read by their recognized format."""
