"""What SQLite itself says of a file: which of its trees are damaged, and what that means for whoever uses it."""

import re
from collections.abc import Iterable, Iterator

import apsw

DERIVED = frozenset(
    {"document", "collection_stats", "minhash", "tagged", "changed", "live", "volume", "sketch"}
    | {"tokens", "removed", "segment"}
)
"""The tables that are made from others, by their names today and before."""
FORGIVEN = frozenset({"vector", "generation"})
"""What a model makes again."""
_WORDS = re.compile(r"(stem|exact)(_|$)")
_TREE = re.compile(r"Tree (\d+)")
_TABLE = re.compile(r"value in (\w+)\.")
_SHAPE = re.compile(r"\*\*\*|Tree |Page |Freelist|Main freelist|On |2nd ")
MOST = 100

REINDEX, RECOVER = "run: recollect reindex", "run: recollect recover OLD NEW"


def is_derived(table: str) -> bool:
    """Tell whether *table* can be made from others."""
    return table in DERIVED or table.endswith("_beside") or bool(_WORDS.match(table))


def is_precious(table: str) -> bool:
    """Tell whether nothing else holds what *table* does, nor can a model make it again."""
    return not (is_derived(table) or table in FORGIVEN)


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
        lost = name == table and name != "" and is_precious(name)
        return f"{name}: " if name else "", RECOVER if lost else REINDEX
    name = column[1] if column else ""
    lost = name in {table for _, table in owners.values()} and is_precious(name)
    return "", RECOVER if lost else REINDEX


def are_damaged(db: apsw.Connection) -> bool:
    """Tell whether pages are damaged; what is in such a tree cannot be dropped, for it may lead to pages of others."""
    return any(_SHAPE.match(line) for line in _lines(db, "quick_check"))


def lost(db: apsw.Connection) -> tuple[str, ...]:
    """Return the tables that nothing else holds and whose trees are damaged."""
    owners = _owners(db)
    kept = sorted({name for name, table in owners.values() if name == table and is_precious(name)})
    return tuple(name for name in kept if any(_is_lost(line, owners) for line in _of_table(db, "quick_check", name)))


def _is_lost(line: str, owners: dict[int, tuple[str, str]]) -> bool:
    return _TREE.match(line) is not None and _judged(line, owners)[1] == RECOVER


def tables(db: apsw.Connection) -> tuple[str, ...]:
    """Return the names of all tables."""
    return tuple(str(name) for (name,) in db.execute("select name from sqlite_schema where type = 'table'").fetchall())


def indexes(db: apsw.Connection) -> tuple[str, ...]:
    """Return the indexes on tables that are not derived."""
    rows = db.execute("select name, tbl_name from sqlite_schema where type = 'index'").fetchall()
    return tuple(str(name) for name, table in rows if not is_derived(str(table)))


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
    yield from _of_other_kinds(db)


def _of_other_kinds(db: apsw.Connection) -> Iterator[str]:
    """Yield the indexes that hold pages of tables: SQLite's own checks take them for sound."""
    for name, table, sql in db.execute("select name, tbl_name, sql from sqlite_schema where type = 'index'").fetchall():
        _, partial, condition = str(sql).rpartition(" where ")
        try:
            db.execute(
                f"select count(*) from {table} indexed by {name} where {condition if partial else 'true'}"
            ).fetchall()
        except apsw.CorruptError as error:
            yield f"Page of {name}: {error}"


def _of_table(db: apsw.Connection, check: str, name: str) -> Iterator[str]:
    try:
        yield from _split(db.execute(f"pragma {check}({name})"))
    except apsw.CorruptError as error:
        yield f"Page of {name}: {error}"


def _split(rows: Iterable[tuple[str]]) -> Iterator[str]:
    return (line for (text,) in rows for line in text.splitlines() if line != "ok" and not line.startswith("***"))
