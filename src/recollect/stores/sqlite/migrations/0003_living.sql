-- Valid time, and since when a memory is superseded.

alter table memory add column valid_from text;
alter table memory add column valid_until text;
alter table memory add column superseded_at text;

update memory set superseded_at = coalesce(
  (select max(at) from event where memory_id = memory.id and verb = 'supersede'), updated_at
) where superseded_by is not null;

create index memory_by_deletion on memory (deleted_at) where deleted_at is not null;

-- What memories state; an id is never given twice, for the recall log speaks of facts by id.

create table fact (
  id integer primary key autoincrement,
  memory_id integer not null,
  subject text not null,
  folded text not null,
  predicate text not null,
  object text not null,
  type text not null,
  confidence real not null,
  decay_rate real not null,
  quote text not null,
  last_reinforced text not null,
  state text not null
);

create index fact_by_memory on fact (memory_id, type);
create index fact_by_subject on fact (folded);

-- Small named values: lenses, ledgers, settings.

create table note (
  kind text not null,
  name text not null,
  value text not null,
  primary key (kind, name)
) without rowid;

-- Each search, what it showed and what it nearly showed. A list of projects is sorted JSON; null means all.

create table recall (
  id integer primary key,
  query text not null,
  session text,
  lens text,
  mode text not null,
  outcome text not null,
  at text not null,
  projects text
);

create index recall_by_session on recall (session, id) where session is not null;
create index recall_unanswered on recall (query) where outcome = 'none';

create table recalled (
  recall_id integer not null,
  ordinal integer not null,
  memory_id integer not null,
  rank integer not null,
  score real not null,
  shown integer not null,
  fact_ids text not null,
  primary key (recall_id, ordinal)
) without rowid;

create index recalled_by_memory on recalled (memory_id, shown);
create index recalled_with_facts on recalled (recall_id) where fact_ids <> '[]';

create index event_feedback on event (memory_id) where verb = 'feedback';

-- How many memories hold a token, by column, over the whole store.

create virtual table stem_spread using fts5vocab (stem, col);
create virtual table exact_spread using fts5vocab (exact, col);
