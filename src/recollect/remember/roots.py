"""Roots: the files and folders that were imported and are to be imported again, kept with the store."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, cast, get_args

from msgspec import Struct
from msgspec.structs import asdict

from recollect.errors import InputError
from recollect.records import Trust
from recollect.remember.reading import resolved
from recollect.stores.contract import Store

KIND: Final = "root"
"""The kind of the notes that roots are kept as."""
_KEY: Final = frozenset({"path", "project"})


class Root(Struct, frozen=True, kw_only=True):
    """What is to be imported again: an absolute path, or what a program keeps; and how it was imported."""

    json_members: ClassVar[str] = "path project trust redact follow_links as=as_? from=from_?"

    path: str = ""
    project: str = ""
    """The project it is imported for; blank: each record says so itself, or it is the default one."""
    trust: Trust = "owner"
    redact: bool = True
    follow_links: bool = False
    as_: str | None = None
    """The format its files are read as; None: what they look like."""
    from_: str | None = None
    """The program whose usual place it is, where there is no path."""

    @property
    def name(self) -> str:
        """What it is called: its path, or the program."""
        return self.path or self.from_ or ""

    @property
    def options(self) -> dict[str, Any]:
        """What an import of it is told."""
        return {name: value for name, value in asdict(self).items() if name not in _KEY}

    @property
    def places(self) -> tuple[str, ...]:
        """The paths it stands for now."""
        paths = [self.path] if self.path else []
        return tuple(map(str, resolved(paths, as_=self.as_, from_=self.from_, dry_run=False)[0]))


def keep_root(root: Root, store: Store) -> None:
    """Keep *root* in its project, in place of one with the same name; one within a root that is read alike is there."""
    kept = roots(store, project=root.project)
    above = [each for each in kept if each.path and root.path.startswith(f"{each.path.rstrip('/')}/")]
    if not any(each.options == root.options for each in above):
        store.put_note(KIND, root.name, root.options, project=root.project)


def drop_root(name: str, store: Store, *, project: str) -> None:
    """Keep the root *name* no longer; what was imported from it stays."""
    if not store.put_note(KIND, name, None, project=project):
        raise InputError(f"{name} is no root", hint="see: recollect roots list")


def roots(store: Store, *, project: str) -> tuple[Root, ...]:
    """Return the roots of *project*, by name."""
    kept = store.notes(KIND, project=project)
    return tuple(_read(name, value, project) for name, value in sorted(kept.items()))


def _read(name: str, value: Mapping[str, Any], project: str) -> Root:
    """Return the root that a note tells of; what is wrong with it is read with the most caution."""
    trust, as_, from_ = (value.get(each) for each in ("trust", "as_", "from_"))
    return Root(
        path="" if from_ else name,
        project=project,
        trust=cast("Trust", trust) if trust in get_args(Trust) else "untrusted",
        redact=value.get("redact") is not False,
        follow_links=value.get("follow_links") is True,
        as_=as_ if isinstance(as_, str) else None,
        from_=from_ if isinstance(from_, str) else None,
    )


def by_options(found: Sequence[Root]) -> list[list[Root]]:
    """Return *found* in groups that are imported alike and for the same project, so that each is one import."""
    groups: dict[tuple[object, ...], list[Root]] = {}
    for root in found:
        groups.setdefault((root.project, *root.options.values()), []).append(root)
    return list(groups.values())
