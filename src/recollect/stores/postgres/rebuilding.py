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
        "update collection_stats set documents = 0, stem_length = 0, exact_length = 0, code = 0",
        (
            "insert into collection_stats (project, documents, stem_length, exact_length, code) "
            "select project, count(*), sum(stem_length), sum(exact_length), sum(code) from document group by project "
            "on conflict (project) do update set documents = excluded.documents, stem_length = excluded.stem_length, "
            "exact_length = excluded.exact_length, code = excluded.code"
        ),
        "delete from collection_stats where documents = 0",
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
        "delete from vector_count",
        (
            "insert into vector_count (generation_id, project_hash, memories, passages) select v.generation_id, "
            "hashtext(coalesce(m.project, '')), count(distinct v.memory_id), count(*) "
            "from vector v left join memory m on m.id = v.memory_id group by 1, 2"
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
