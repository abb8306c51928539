"""Making every derived table anew from the memories."""

from typing import Any

import apsw

from recollect.records import ALL_PROJECTS, Progress
from recollect.stores.contract import Analyse
from recollect.stores.sqlite.pen import Pen
from recollect.stores.sqlite.read import wordings
from recollect.stores.sqlite.rows import COLUMNS, to_memory

BATCH = 1000
"""How many memories are read and indexed together."""


def index_anew(db: apsw.Connection, analyse: Analyse, progress: Progress | None) -> int:
    """Make the word index and all that counts it anew, inside an open transaction; return of how many memories."""
    db.execute(
        "delete from live; delete from volume; delete from sketch; "
        "insert into stem (stem) values ('delete-all'); insert into exact (exact) values ('delete-all')"
    )
    total: int = db.execute("select count(*) from memory where deleted_at is null").get
    sql = f"select {COLUMNS} from memory where id > ? and deleted_at is null order by id limit {BATCH}"
    pen, last, done = Pen(db, analyse), 0, 0
    while done < total:
        rows: list[Any] = db.execute(sql, (last,)).fetchall()
        said = wordings(db, [row[0] for row in rows], ALL_PROJECTS)
        for row in rows:
            pen.index(to_memory(row), said.get(row[0], ()))
        pen.rest()
        last, done = rows[-1][0], done + len(rows)
        if progress is not None:
            progress(done, total, "memories")
    return done
