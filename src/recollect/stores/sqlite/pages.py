"""What SQLite itself says of a file: which of its trees are damaged, and what that means for whoever uses it."""

import re
from collections.abc import Iterable, Iterator

import apsw

DERIVED = frozenset({"document", "collection_stats", "minhash", "tagged", "changed", "live", "volume", "sketch"})
"""The tables that are made from others, by their names today and before."""
_WORDS = re.compile(r"(stem|exact)(_|$)")
_TREE = re.compile(r"Tree (\d+)")
_TABLE = re.compile(r"value in (\w+)\.")
_SHAPE = re.compile(r"\*\*\*|Tree |Page |Freelist|Main freelist|On |2nd ")
MOST = 100

REINDEX, RECOVER = "run: recollect reindex", "run: recollect recover OLD NEW"


def is_derived(table: str) -> bool:
    """Tell whether *table* can be made from others."""
    return table in DERIVED or table.endswith("_beside") or bool(_WORDS.match(table))


def damage(db: apsw.Connection) -> tuple[str, ...]:
    """Return what is wrong with the file, one line for each table or index, and what to do about it."""
    owners = _owners(db)
    told: dict[tuple[str, str], list[str]] = {}
    for line in _lines(db, "integrity_check"):
        told.setdefault(_judged(line, owners), []).append(line)
    return tuple(
        f"{name}{lines[0]}{f' (and {len(lines) - 1} more)' if len(lines) > 1 else ''}; {command}"
        for (name, command), lines in told.items()
    )


def _judged(line: str, owners: dict[int, tuple[str, str]]) -> tuple[str, str]:
    """Return what *line* is about and what to do about it."""
    tree, column = _TREE.match(line), _TABLE.search(line)
    if tree:
        name, table = owners.get(int(tree[1]), ("", ""))
        lost = name == table and name != "" and not is_derived(name)
        return f"{name}: " if name else "", RECOVER if lost else REINDEX
    lost = column is not None and not is_derived(column[1])
    return "", RECOVER if lost else REINDEX


def are_damaged(db: apsw.Connection) -> bool:
    """Tell whether pages are damaged; what is in such a tree cannot be dropped, for it may lead to pages of others."""
    return any(_SHAPE.match(line) for line in _lines(db, "quick_check"))


def lost(db: apsw.Connection) -> tuple[str, ...]:
    """Return what is wrong with the trees of tables that nothing else holds."""
    owners = _owners(db)
    kept = {name for name, table in owners.values() if name == table and not is_derived(name)}
    lines = [line for name in sorted(kept) for line in _of_table(db, "quick_check", name)]
    return tuple(line for line in lines if _judged(line, owners)[1] == RECOVER)


def tables(db: apsw.Connection) -> tuple[str, ...]:
    """Return the names of all tables."""
    return tuple(str(name) for (name,) in db.execute("select name from sqlite_schema where type = 'table'").fetchall())


def indexes(db: apsw.Connection) -> tuple[str, ...]:
    """Return the indexes on tables that are not derived."""
    rows = db.execute("select name, tbl_name from sqlite_schema where type = 'index' and sql is not null")
    return tuple(name for name, table in rows if not is_derived(table))


def _owners(db: apsw.Connection) -> dict[int, tuple[str, str]]:
    """Return the names of the trees and of the tables that they belong to, by their first page."""
    rows = db.execute("select rootpage, name, tbl_name from sqlite_schema where rootpage > 0")
    return {page: (name, table) for page, name, table in rows}


def _lines(db: apsw.Connection, check: str) -> Iterator[str]:
    """Yield what a *check* says of the whole file; if it cannot go on, what it says of each table."""
    try:
        yield from _split(db.execute(f"pragma {check}({MOST})"))
    except apsw.CorruptError:
        for name in tables(db):
            yield from _of_table(db, check, name)


def _of_table(db: apsw.Connection, check: str, name: str) -> Iterator[str]:
    try:
        yield from _split(db.execute(f"pragma {check}({name})"))
    except apsw.CorruptError as error:
        yield f"Page of {name}: {error}"


def _split(rows: Iterable[tuple[str]]) -> Iterator[str]:
    return (line for (text,) in rows for line in text.splitlines() if line != "ok" and not line.startswith("***"))
