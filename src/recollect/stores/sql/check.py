"""What can be wrong with a store, and how to tell."""

from recollect.errors import StoreDamaged
from recollect.records import ALL_PROJECTS
from recollect.stores.contract import unused_generations
from recollect.stores.sql.engine import OPEN, Database
from recollect.stores.sql.vectors import generations
from recollect.vectors import WIDTH

REBUILT = {
    "memories that cannot be found by word": (
        "select count(*) from memory m left join document d on d.id = m.id where m.deleted_at is null and d.id is null"
    ),
    "index entries of memories that are gone": (
        "select count(*) from document d left join memory m on m.id = d.id and m.deleted_at is null where m.id is null"
    ),
    "projects whose totals are wrong": (
        "select count(*) from collection_stats c where (documents, stem_length, exact_length, code) not in "
        "(select count(*), coalesce(sum(stem_length), 0), coalesce(sum(exact_length), 0), coalesce(sum(code), 0) "
        "from document where project = c.project)"
    ),
}
MAX_NAMED = 5
"""How many memories of a circle are named."""
NARROW = (
    "select count(*) from vector v join generation g on g.id = v.generation_id "
    f"where length(v.embedding) <> {WIDTH} * g.dimensions"
)


def check(db: Database) -> tuple[str, ...]:
    """Return what is wrong, one line each."""
    return (*db.engine.check(), *_words(db), *_vectors(db), *_circles(db))


def _circles(db: Database) -> list[str]:
    """Return the memories that supersede each other in a circle, so that none of them is shown."""
    with db.engine.session() as session:
        successors = dict(session.rows("select id, superseded_by from memory where superseded_by is not null"))
    found = []
    while successors:
        row, path = next(iter(successors)), []
        while row in successors:
            path.append(row)
            row = successors.pop(row)
        if row in path:
            circle = ", ".join(map(str, path[path.index(row) :][:MAX_NAMED]))
            found.append(
                f"a circle of memories supersede each other, none is shown: {circle}; run: recollect restore {row}"
            )
    return found


def _words(db: Database) -> list[str]:
    found = []
    try:
        with db.engine.session() as session:
            db.words.frequencies(session, "stem", ["a"], scope=OPEN, whole=True)
            db.words.frequencies(session, "exact", ["a"], scope=OPEN, whole=True)
    except StoreDamaged:
        found.append("the word index cannot be read; run: recollect reindex")
    with db.engine.session() as session:
        for what, sql in REBUILT.items():
            count = session.value(sql)
            if count:
                found.append(f"{count} {what}; run: recollect reindex")
        if session.value("select value from meta where key = 'analyser'") != db.analyser:
            found.append("the word index was made by another version of this program; run: recollect reindex")
    return found


def _vectors(db: Database) -> list[str]:
    found = []
    with db.engine.session() as session:
        narrow = session.value(NARROW)
    if narrow:
        found.append(
            f"{narrow} vectors have a wrong width and are not searched; change the words or add the memory again"
        )
    found += [
        f"{each.memories} memories have vectors of {each.model} that nothing needs any more; run: recollect model prune"
        for each in unused_generations(generations(db, scope=ALL_PROJECTS))
    ]
    return found
