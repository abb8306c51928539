"""The planner's statistics: samples of columns, which a server keeps outside of the tables.

Columns with texts are not sampled (`set statistics 0`). Names of projects and types are, so the samples are taken again
after an erasure.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import psycopg
from psycopg import sql

from recollect.stores.sql.engine import Session

ALLOWED: Final = (
    "select (select rolsuper from pg_roles where rolname = current_user), "
    "pg_has_role(datdba, 'member') from pg_database where datname = current_database()"
)
"""Whether this user may delete from system catalogs, and whether it may rewrite them."""
DROP_UNSAMPLED: Final = (
    "delete from pg_statistic s using pg_attribute a, pg_class c "
    "where a.attrelid = s.starelid and a.attnum = s.staattnum and c.oid = s.starelid "
    "and c.relnamespace = %s::regnamespace and (a.attstattarget = 0 or c.reltuples <= 0)"
)
"""Takes away what a new sample does not replace: columns that are sampled no more, tables that are empty."""
SAMPLES: Final = (
    "select tablename || '.' || attname, coalesce(most_common_vals::text, '') || coalesce(histogram_bounds::text, '') "
    "|| coalesce(most_common_elems::text, '') from pg_stats where schemaname = current_schema()"
)
LEFT: Final = (
    "the statistics of the server may still hold samples of what was deleted; "
    "the owner of the database runs: vacuum full pg_statistic"
)


def renew(db: "psycopg.Connection[Any]", schema: str, tables: Iterable[str]) -> tuple[str, ...]:
    """Sample *tables* again and rewrite the catalog of samples; return what stood against it."""
    for name in tables:
        db.execute(sql.SQL("analyze {}").format(sql.Identifier(schema, name)))
    ((is_superuser, is_database_owner),) = db.execute(ALLOWED).fetchall()
    if is_superuser:
        db.execute(DROP_UNSAMPLED, (schema,))
    if not (is_superuser or is_database_owner):
        return (LEFT,)
    db.execute("vacuum full pg_catalog.pg_statistic")
    return ()


def find(session: Session, probes: Sequence[bytes]) -> tuple[tuple[str, bytes], ...]:
    """Return which samples hold which of *probes*: the table and column, and the probe."""
    samples = [(name, text.encode("utf-8", "surrogatepass")) for name, text in session.rows(SAMPLES)]
    return tuple(
        (f"pg_stats of {name}", probe)
        for name, text in samples
        for probe in probes
        if probe in text or probe.hex().encode() in text
    )
