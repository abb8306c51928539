"""How PostgreSQL builds an index beside the one in use: in tables that are always there.

No table is made, dropped or renamed, so that nobody who reads has to wait: rows are replaced in one transaction, and
those who began before it go on with the old ones. A trigger notes what others change while `rebuilding` is not 0.
"""

from recollect.stores.sql.engine import Rebuilding

EMPTY = (
    "delete from changed",
    "delete from document_beside",
    "delete from minhash_beside",
    "delete from tokens_beside",
)

UNBOUNDED = "set local statement_timeout = 0"
"""What rewrites a whole table takes as long as it must."""

POSTGRES = Rebuilding(
    begin=EMPTY,
    swap=(
        UNBOUNDED,
        "delete from document",
        "insert into document select * from document_beside",
        "delete from minhash",
        "insert into minhash select * from minhash_beside",
        "delete from collection_stats",
        (
            "insert into collection_stats (project, documents, stem_length, exact_length, code) "
            "select project, count(*), sum(stem_length), sum(exact_length), sum(code) from document group by project"
        ),
        "delete from tagged",
        (
            "insert into tagged (tag, memory_id) select distinct t.value, m.id from memory m, json_each(m.tags) t "
            "where t.type = 'text'"
        ),
        *EMPTY,
    ),
    clear=(*EMPTY, "update meta set value = 0 where key = 'rebuilding'"),
    mend=(
        "delete from generation where not json_valid(context_weights)",
        (
            "update generation g set (memories, passages) = "
            "(select count(distinct v.memory_id), count(*) from vector v where v.generation_id = g.id)"
        ),
    ),
    beside=("delete from tokens_beside",),
    swap_words=(
        UNBOUNDED,
        "delete from tokens",
        "insert into tokens select * from tokens_beside",
        "delete from removed",
        "delete from segment",
    ),
)
