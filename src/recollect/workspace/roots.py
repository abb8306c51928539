"""Roots: files and folders that are imported again."""

from pathlib import Path
from typing import TYPE_CHECKING

from recollect import remember
from recollect.arguments import guarded
from recollect.errors import InputError
from recollect.records import Progress, Trust
from recollect.trust import level

if TYPE_CHECKING:
    from recollect.workspace import Workspace


@guarded
class Roots:
    """Roots: files and folders that are imported again."""

    def __init__(self, db: "Workspace") -> None:
        self._db = db

    def add(
        self,
        path: str | Path = "",
        *,
        trust: Trust = "owner",
        redact: bool = True,
        follow_links: bool = False,
        as_: str | None = None,
        from_: str | None = None,
    ) -> "remember.roots.Root":
        """Keep a file or folder, or what the program *from_* keeps, as a root: `roots.import_` imports it again.

        The options are those of `import_`, and are told to it then.

        Example:
            >>> db.roots.add("notes", trust="agent").trust
            'agent'
        """
        remember.reading.resolved([path] if path else [], as_=as_, from_=from_, dry_run=False)
        place = remember.import_files.source_of(Path(path).expanduser()) if path else ""
        if not (place or from_) or self._db._ingest_context(embed=False).source_name(place) != place:
            raise InputError("this path cannot be kept", hint="name a file or folder whose path holds no secret")
        root = remember.roots.Root(
            path=place,
            project=self._db._notes,
            trust=trust,
            redact=redact,
            follow_links=follow_links,
            as_=as_,
            from_=from_,
        )
        remember.roots.keep_root(root, self._db.store)
        return root

    def list(self) -> "tuple[remember.roots.Root, ...]":
        """Return the roots of the project chosen, or of all projects.

        Example:
            >>> kept = db.roots.add("notes")
            >>> db.roots.list() == (kept,)
            True
        """
        names = [self._db.project] if self._db.project is not None else sorted({"", *self._db.store.projects()})
        return tuple(each for name in names for each in remember.roots.roots(self._db.store, project=name))

    def remove(self, path: str | Path) -> None:
        """Keep a root no longer; the memories that came from it stay.

        Example:
            >>> kept = db.roots.add("notes")
            >>> db.roots.remove("notes")
            >>> db.roots.list()
            ()
        """
        kept = {each.name for each in self.list()}
        place = remember.import_files.source_of(Path(path).expanduser())
        remember.roots.drop_root(str(path) if str(path) in kept else place, self._db.store, project=self._db._notes)

    def import_(
        self,
        *,
        trust: Trust = "owner",
        prune: bool = False,
        embed: bool = True,
        dry_run: bool = False,
        defer: bool = False,
        background: bool = False,
        progress: Progress | None = None,
    ) -> "remember.import_files.ImportReport":
        """Import every root again, each as it was imported and for its project, trusted at most as *trust* says.

        See `roots.add`.

        Example:
            >>> kept = db.roots.add("notes")
            >>> db.roots.import_().memories["new"]
            1
        """
        kept = self.list()
        if not kept:
            raise InputError("no roots are kept here", hint="name files or folders: recollect import PATH")
        total = remember.import_files.ImportReport()
        for group in remember.roots.by_options(kept):
            view = self._db.in_project(group[0].project) if group[0].project else self._db
            report = view.import_(
                *(each.path for each in group if each.path),
                **{**group[0].options, "trust": min(group[0].trust, trust, key=level)},
                prune=prune,
                embed=embed,
                dry_run=dry_run,
                defer=True,
                progress=progress,
            )
            total.add(report)
        if embed and not (defer or dry_run):
            self._db.embed_imported(total, background=background, progress=progress)
        return total
