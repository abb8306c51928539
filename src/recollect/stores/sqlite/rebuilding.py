"""How SQLite builds an index beside the one in use and puts it in its place: with tables that come and go."""

from recollect.stores.sql.engine import Rebuilding

_DOCUMENT = (
    "(id integer primary key, project text not null, superseded integer not null, stem_length integer not null, "
    "exact_length integer not null, code integer not null)"
)
BEGIN = (
    "drop trigger if exists document_added",
    "drop trigger if exists document_removed",
    "drop table if exists changed",
    "drop table if exists document_beside",
    "drop table if exists minhash_beside",
    "create table changed (id integer primary key)",
    f"create table if not exists document {_DOCUMENT}",
    "create trigger document_added after insert on document begin insert or ignore into changed values (new.id); end",
    "create trigger document_removed after delete on document begin insert or ignore into changed values (old.id); end",
    f"create table document_beside {_DOCUMENT}",
    (
        "create table minhash_beside (key integer not null, memory_id integer not null, primary key (key, memory_id)) "
        "without rowid"
    ),
)
SWAP = (
    "drop table document",
    "drop table if exists minhash",
    "drop table changed",
    "alter table document_beside rename to document",
    "alter table minhash_beside rename to minhash",
    "create index document_superseded on document (id) where superseded",
    "delete from collection_stats",
    (
        "insert into collection_stats (project, documents, stem_length, exact_length, code) "
        "select project, count(*), sum(stem_length), sum(exact_length), sum(code) from document group by project"
    ),
    "delete from tagged",
    (
        "insert into tagged (tag, memory_id) select distinct t.value, m.id from memory m, json_each(m.tags) t "
        "where json_valid(m.tags) and t.type = 'text'"
    ),
)


TOKENS = "(id integer primary key, seq integer not null, stem text not null, exact text not null)"
SWAP_WORDS = (
    "drop table if exists tokens",
    "alter table tokens_beside rename to tokens",
    "create index tokens_by_seq on tokens (seq)",
    "drop table if exists removed",
    "create table removed (seq integer primary key, id integer not null)",
    "drop table if exists segment",
    (
        "create table segment (name text primary key, after integer not null, upto integer not null, "
        "documents integer not null) without rowid"
    ),
)
"""How what was built takes the place of what there was; nothing that was made from the old rows is used any more."""

SQLITE = Rebuilding(
    begin=BEGIN,
    swap=SWAP,
    clear=(*BEGIN[:5], "update meta set value = 0 where key = 'rebuilding'"),
    mend=("delete from generation where typeof(dimensions) <> 'integer' or not json_valid(context_weights)",),
    beside=("drop table if exists tokens_beside", f"create table tokens_beside {TOKENS}"),
    swap_words=SWAP_WORDS,
    packs_tokens=True,
)
