"""Every statement of a store names tables of its own schema alone: whoever shards by schema can route each of them.

So it is with Citus, where a schema can be what rows are
distributed by. What is looked at are the statements that arrived at a server while every verb and every method was
asked, and all SQL in the source, both read by PostgreSQL's own parser.
"""

import ast
import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pglast
import psycopg
import pytest
from pglast import ast as tree
from pglast.visitors import Visitor
from questions import methods, verbs
from told import answer, called, public
from two_projects import OURS, fill_two_projects, open_address

import recollect.stores
from kit import NOON, plain
from postgres_server import second_server
from recollect import Recollection
from recollect.operations import OPERATIONS
from recollect.records import Insert, Memory
from recollect.stores.postgres import open_postgres
from recollect.stores.postgres.engine import migrations
from recollect.stores.postgres.vectors import HalfPrecisionScan

OWN = "recollect"
SYSTEM = frozenset({"pg_catalog", "information_schema"})
SEQUENCES = frozenset({"memory_ids", "fact_ids"})
LOGGED = re.compile(r"^\d[\d:. -]+\w+ \[\d+\] LOG:  (?:statement|execute [^:]+): (.*(?:\n\t.*)*)", re.MULTILINE)
NAMES_A_TABLE = frozenset({"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "ONLY", "TRUNCATE", "REFERENCES"})


class Tables(Visitor):
    """The tables that a statement names, with their schemas; what it calls so itself is none."""

    def __init__(self) -> None:
        super().__init__()
        self.named: set[tuple[str, str]] = set()
        self.own: set[str] = set()

    def visit_RangeVar(self, _: object, node: tree.RangeVar) -> None:  # noqa: N802  (as the parser calls it)
        self.named.add((node.schemaname or "", node.relname))

    def visit_CommonTableExpr(self, _: object, node: tree.CommonTableExpr) -> None:  # noqa: N802
        self.own.add(node.ctename)


def tables_of(statement: str) -> set[tuple[str, str]]:
    """Return the schemas, blank where none is named, and the names of the tables in *statement*."""
    found = Tables()
    found(pglast.parse_sql(statement))
    return {each for each in found.named if each[1] not in found.own or each[0]}


def foreign(statement: str, own: frozenset[str]) -> set[tuple[str, str]]:
    """Return the tables in *statement* that are neither *own* nor the server's."""
    return {
        (schema, name)
        for schema, name in tables_of(statement)
        if schema not in SYSTEM and not (schema in ("", OWN) and (name in own or name.startswith("pg_")))
    }


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> tuple[frozenset[str], frozenset[str]]:
    """Return every statement that a server heard while a store was asked for everything, and the store's tables."""
    folder, server = tmp_path_factory.mktemp("routing"), second_server()
    with psycopg.connect(server.url(), autocommit=True) as admin:
        admin.execute("drop database if exists routed with (force)")
        admin.execute("create database routed")
        admin.execute("alter database routed set log_statement = 'all'")
        admin.execute("alter database routed set log_min_messages = 'log'")
    address, begin = server.url("routed"), (server.folder / "log").stat().st_size
    fill_two_projects(address, folder)
    with open_address(address) as db:
        view = db.in_project(OURS)
        for name, operation in OPERATIONS.items():
            for values in verbs(folder)[name]:
                answer(operation, view, {**values})
        for name in sorted(public(Recollection) - {"close"}):
            for args, more in methods(folder)[name]:
                called(attrgetter(name)(view), args, dict(more))
        db.backups.create(folder / "whole.db")
        db.backups.restore(folder / "whole.db")
        db.doctor(deep=True)
        view.flush()
        _ask_large(address, folder, view)
    with psycopg.connect(address) as admin:
        rows = admin.execute("select tablename from pg_tables where schemaname = 'recollect'").fetchall()
    text = (server.folder / "log").read_bytes()[begin:].decode("utf-8", "replace")
    return frozenset(each[1] for each in LOGGED.finditer(text)), frozenset(name for (name,) in rows)


def _ask_large(address: str, folder: Path, view: Recollection) -> None:
    """Ask what only a large store does: walk a graph of vectors, seal segments, and search a copy of them."""
    for machine in ("one", "two"):
        store = open_postgres(address, plain, analyser=9, cache=folder / machine)
        store.scan = HalfPrecisionScan(few=1, graph=1)
        if machine == "one":
            store.apply([Insert(memory=Memory(content=f"word{n} word{n % 300}")) for n in range(2_600)], at=NOON)
            store.settle()
        Recollection(store=store, profile=view.profile, models=view.models).search("lighthouse word7")
        store.close()


def test_every_statement_of_every_verb_names_tables_of_its_own_schema_alone(
    heard: tuple[frozenset[str], frozenset[str]],
) -> None:
    statements, own = heard

    wrong = {each: found for each in statements if (found := foreign(each, own | SEQUENCES))}

    assert wrong == {}
    asked = [each for each in statements if each.lower().startswith(("select", "insert", "update", "delete", "with"))]
    assert own - {name for each in asked for _, name in tables_of(each)} == {"access", "given"}


def test_a_statement_that_leaves_its_schema_is_noticed() -> None:
    own = frozenset({"memory", "tokens"})

    assert foreign("select 1 from memory m join other.tokens t on t.id = m.id", own) == {("other", "tokens")}
    assert foreign("delete from memory where id in (select id from elsewhere)", own) == {("", "elsewhere")}
    assert foreign("with few as (select 1 from memory) select 1 from few, pg_class", own) == set()


def texts_of(module: ast.Module) -> Iterator[str]:
    """Yield every text of a module that may be SQL; a hole in it is a name."""
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(each.value) if isinstance(each, ast.Constant) else "hole" for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def qualified(text: str) -> list[str]:
    """Return the tables that *text* names together with their schema, as far as PostgreSQL's lexer reads it."""
    try:
        tokens = pglast.parser.scan(text)
    except (pglast.Error, UnicodeError):  # no SQL
        return []
    following = zip(tokens, tokens[1:], tokens[3:], strict=False)
    named = (text[one.start : last.end + 1] for word, one, last in following if word.name in NAMES_A_TABLE)
    return [each for each in named if re.fullmatch(r"\w+\.\w+", each) and each.partition(".")[0] not in SYSTEM]


def test_no_sql_of_the_source_names_a_schema() -> None:
    folder = Path(recollect.stores.__file__).parent
    sources = [*(folder / "sql").rglob("*.py"), *(folder / "postgres").rglob("*.py"), folder / "moving.py"]
    texts = [text for path in sources for text in texts_of(ast.parse(path.read_text(encoding="utf-8")))]
    steps = migrations()

    assert len(sources) > 15
    assert [found for text in (*texts, *steps) for found in qualified(text)] == []
    assert qualified("select 1 from memory m join other.tokens t on true") == ["other.tokens"]
