"""What can be wrong with the file, and how to tell."""

import apsw

NARROW = (
    "select count(*) from vector v join generation g on g.id = v.generation_id "
    "where length(v.embedding) <> 4 * g.dimensions"
)
COUNTS = {
    "memories that cannot be found by word": (
        "select count(*) from memory m left join live l on l.id = m.id where m.deleted_at is null and l.id is null"
    ),
    "index entries of memories that are gone": (
        "select count(*) from live l left join memory m on m.id = l.id and m.deleted_at is null where m.id is null"
    ),
    "projects whose totals are wrong": (
        "select count(*) from volume v where (docs, stems, exacts, codes) is not (select count(*), "
        "coalesce(sum(stems), 0), coalesce(sum(exacts), 0), coalesce(sum(code), 0) from live where project = v.project)"
    ),
}


def check(db: apsw.Connection) -> tuple[str, ...]:
    """Return what is wrong, one line each."""
    found = [line for (line,) in db.execute("pragma integrity_check(20)") if line != "ok"]
    for index in ("stem", "exact"):
        try:
            db.execute(f"insert into {index} ({index}) values ('integrity-check')")
        except apsw.CorruptError:
            found.append(f"the {index} index is damaged; run: recollect reindex")
    for what, sql in COUNTS.items():
        count = db.execute(sql).get
        if count:
            found.append(f"{count} {what}; run: recollect reindex")
    narrow = db.execute(NARROW).get
    if narrow:
        found.append(
            f"{narrow} vectors have a wrong width and are not searched; change the words or add the memory again"
        )
    return tuple(found)
