"""Roots: the files and folders that were imported and are to be imported again, kept with the store."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, cast, get_args

from recollect.errors import InputError
from recollect.records import Trust
from recollect.stores.contract import Store

KIND: Final = "root"
"""The kind of the notes that roots are kept as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A file or folder to be imported again: its absolute path, and how it was imported."""

    path: str
    project: str = ""
    """The project it is imported for; blank: each record says so itself, or it is the default one."""
    trust: Trust = "owner"
    redact: bool = True
    follow_links: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """What an import of it is told."""
        return {name: value for name, value in asdict(self).items() if name not in {"path", "project"}}


def keep_root(root: Root, store: Store) -> Root | None:
    """Keep *root* in its project, in place of one with the same path; return that one.

    A path within a root that is imported alike is there already, and nothing is kept.
    """
    kept = {each.path: each for each in roots(store, project=root.project)}
    above = [each for each in kept.values() if root.path.startswith(f"{each.path.rstrip('/')}/")]
    if any(each.options == root.options for each in above):
        return None
    value = {name: value for name, value in asdict(root).items() if name not in {"path", "project"}}
    store.put_note(KIND, root.path, value, project=root.project)
    return kept.get(root.path)


def drop_root(path: str, store: Store, *, project: str) -> None:
    """Keep the root at *path* no longer; what was imported from it stays."""
    if not store.put_note(KIND, path, None, project=project):
        raise InputError(f"{path} is no root", hint="see: recollect roots list")


def roots(store: Store, *, project: str) -> tuple[Root, ...]:
    """Return the roots of *project*, by path."""
    kept = store.notes(KIND, project=project)
    return tuple(_read(path, value, project) for path, value in sorted(kept.items()))


def _read(path: str, value: Mapping[str, Any], project: str) -> Root:
    """Return the root that a note tells of; what is wrong with it is read with the most caution."""
    trust = value.get("trust")
    return Root(
        path=path,
        project=project,
        trust=cast("Trust", trust) if trust in get_args(Trust) else "untrusted",
        redact=value.get("redact") is not False,
        follow_links=value.get("follow_links") is True,
    )


def by_options(found: Sequence[Root]) -> list[list[Root]]:
    """Return *found* in groups that are imported alike and for the same project, so that each is one import."""
    groups: dict[tuple[object, ...], list[Root]] = {}
    for root in found:
        groups.setdefault((root.project, *root.options.values()), []).append(root)
    return list(groups.values())
