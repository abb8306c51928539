"""Names that a store holds, for a shell that completes them: read in a moment, nothing made, nothing changed."""

from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Final

import apsw

from recollect.stores.sqlite.copies import APPLICATION
from recollect.stores.sqlite.place import beside

SECONDS: Final = 0.4
"""How long somebody waits for a completion at most; what is not read by then is not offered."""
MOST: Final = 200
STEPS: Final = 1_000
"""After how many steps of SQLite the clock is looked at."""
_LIVE: Final = "deleted_at is null and (:project = '' or project = :project)"
_HELD: Final = f"memory_id in (select id from memory where {_LIVE})"
_BEGINS: Final = "substr({0}, 1, length(:begins)) = :begins"
_QUERIES: Final[Mapping[str, str]] = {
    "project": (
        "select project, documents || ' memories' from collection_stats "
        f"where documents > 0 and {_BEGINS.format('project')}"
    ),
    "tag": f"select distinct tag, '' from tagged where {_BEGINS.format('tag')} and {_HELD}",
    "lens": f"select name, '' from note where kind = 'lens' and project = :project and {_BEGINS.format('name')}",
    "fact_type": f"select distinct type, '' from fact where {_BEGINS.format('type')} and {_HELD}",
    "fact": (
        "select cast(id as text), subject || ' ' || predicate || ' ' || object from fact "
        f"where {_BEGINS.format('cast(id as text)')} and {_HELD} order by id desc"
    ),
    "id": (
        "select cast(id as text), case title when '' then substr(content, 1, 200) else title end from memory "
        f"where {_BEGINS.format('cast(id as text)')} and {_LIVE} order by id desc"
    ),
    **{
        name: f"select distinct {name}, '' from memory where {_BEGINS.format(name)} and {_LIVE}"
        for name in ("type", "kind", "source")
    },
}
KINDS: Final = frozenset(_QUERIES)
"""What names can be asked for: of projects, tags, types, …, and ids."""


def find_names(path: Path, kind: str, *, begins: str = "", project: str = "") -> tuple[tuple[str, str], ...]:
    """Return the names of a *kind* that begin so, each with a short text; nothing where there is no store to read."""
    if not path.is_file():
        return ()
    log = beside(path, "-wal")
    option = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    end = monotonic() + SECONDS
    found: list[tuple[str, str]] = []
    try:
        address = f"{path.resolve().as_uri()}?{option}"
        with apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI) as db:
            db.set_busy_timeout(int(SECONDS * 1000))
            db.set_progress_handler(lambda: monotonic() > end, STEPS)
            given = {"begins": begins, "project": project, "most": MOST}
            ours = db.pragma("application_id") == APPLICATION
            for name, about in db.execute(f"{_QUERIES[kind]} limit :most", given) if ours else ():
                found.append((str(name), str(about)))
    except apsw.Error:  # an older store, one that is locked, damaged or too large: what was read will do
        pass
    return tuple(found)
