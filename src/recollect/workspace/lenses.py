"""Lenses: filters and boosts kept under a name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from recollect import recall, remember
from recollect.arguments import guarded
from recollect.filters import Moment, Names, names

if TYPE_CHECKING:
    from recollect.workspace import Workspace


@guarded
class Lenses:
    """Lenses: filters and boosts kept under a name."""

    def __init__(self, db: "Workspace") -> None:
        self._db = db

    def keep(self, lens: "recall.lens.Lens") -> None:
        """Keep a lens under its name, in the project chosen or in none.

        Example:
            >>> from recollect.recall.lens import Lens
            >>> db.lenses.keep(Lens(name="decided", types=("decision",)))
            >>> [hit.id for hit in db.search("", lens="decided").hits]
            [1]
        """
        unquoted = remember.redact.redact_record(lens, self._db._digest()).record
        recall.lens.keep_lens(unquoted, self._db.store, project=self._db._notes)

    def create(  # noqa: PLR0913  (each is a filter of its own)
        self,
        name: str,
        *,
        only_project: Names | None = None,
        type: Names | None = None,  # noqa: A002  (as the option)
        tag: Names | None = None,
        source: Names | None = None,
        kind: Names | None = None,
        fact_type: Names | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        boost: Mapping[str, float] = MappingProxyType({}),
    ) -> "recall.lens.Lens":
        """Keep a lens under its name: what it leaves in view, and what it ranks higher or lower.

        A date given as text, such as "last week", is read anew with each search.

        Example:
            >>> db.lenses.create("ops", type="config", boost={"tag:staging": 1.5}).name
            'ops'
            >>> [hit.id for hit in db.search("", lens="ops").hits]
            [2]
        """
        chosen = {"projects": only_project, "types": type, "tags": tag, "sources": source, "kinds": kind}
        several = {key: names(value) for key, value in {**chosen, "fact_types": fact_type}.items() if value is not None}
        dates = {key: str(value) for key, value in {"since": since, "until": until}.items() if value is not None}
        made = recall.lens.Lens(name=name, boosts=boost, **several, **dates)  # type: ignore[arg-type]
        self.keep(made)
        return made

    def list(self) -> "tuple[recall.lens.Lens, ...]":
        """Return the lenses kept in the project chosen, or in none.

        Example:
            >>> [lens.name for lens in db.lenses.list()]
            ['recent']
        """
        return recall.lens.lenses(self._db.store, project=self._db._notes)

    def drop(self, name: str) -> None:
        """Drop a lens.

        Example:
            >>> db.lenses.drop("recent")
            >>> db.lenses.list()
            ()
        """
        recall.lens.drop_lens(self._db._named(name) or name, self._db.store, project=self._db._notes)
