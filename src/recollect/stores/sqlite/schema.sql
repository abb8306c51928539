-- The truth: what was remembered, and every change of it.

create table meta (
  key text primary key,
  value integer not null
) without rowid;

insert into meta (key, value) values ('newest', 0), ('version', 0);

create table memory (
  id integer primary key,
  project text not null,
  kind text not null,
  type text not null,
  created_at text not null,
  updated_at text not null,
  observed_at text,
  happened_at text not null generated always as (coalesce(observed_at, created_at)) virtual,
  deleted_at text,
  superseded_by integer,
  confidence real not null,
  pinned integer not null,
  trust text not null,
  digest blob not null,
  external_id text,
  source text,
  line integer,
  section text,
  thread text,
  turn integer,
  title text not null,
  tags text not null,
  metadata text not null,
  context text not null,
  content text not null
);

create unique index memory_by_external_id on memory (project, external_id) where external_id is not null;
create index memory_by_digest on memory (digest, project) where deleted_at is null;
create index memory_by_time on memory (happened_at, id) where deleted_at is null;
create index memory_by_source on memory (source) where source is not null;

create table tagged (
  tag text not null,
  memory_id integer not null,
  primary key (tag, memory_id)
) without rowid;

create table wording (
  memory_id integer not null,
  ordinal integer not null,
  digest blob not null,
  content text not null,
  primary key (memory_id, ordinal)
) without rowid;

create index wording_by_digest on wording (digest);

create table event (
  id integer primary key,
  memory_id integer not null,
  verb text not null,
  at text not null,
  detail text not null
);

create index event_by_memory on event (memory_id, id);

-- Where memories came from: each imported file and the pieces it consists of.

create table source (
  name text primary key,
  fingerprint text not null
) without rowid;

create table piece (
  source text not null,
  ordinal integer not null,
  digest blob not null,
  memory_id integer not null,
  section text,
  primary key (source, ordinal)
) without rowid;

-- Derived from the truth, made anew by `rebuild`: the rows that can be found, and their tokens.

create table live (
  id integer primary key,
  project text not null,
  superseded integer not null,
  stems integer not null,
  exacts integer not null,
  code integer not null
);

create index live_superseded on live (id) where superseded;

create table volume (
  project text primary key,
  docs integer not null,
  stems integer not null,
  exacts integer not null,
  codes integer not null
) without rowid;

create table sketch (
  key integer not null,
  memory_id integer not null,
  primary key (key, memory_id)
) without rowid;

create virtual table stem using fts5 (
  title, body, before, after, around, section, tags, path, date, extra,
  content = '', contentless_delete = 1, tokenize = "ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~'''"
);

create virtual table stem_token using fts5vocab (stem, instance);

create virtual table exact using fts5 (
  title, body, before, after, around, section, tags, path, date, extra,
  content = '', contentless_delete = 1, tokenize = "ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~'''"
);

create virtual table exact_token using fts5vocab (exact, instance);
-- Vectors: derived from the memories by a model, kept because they are dear to make.

create table generation (
  id integer primary key,
  fingerprint text not null unique,
  dimensions integer not null,
  model text not null
);

create table vector (
  id integer primary key,
  generation_id integer not null,
  memory_id integer not null,
  ordinal integer not null,
  start integer not null,
  stop integer not null,
  embedding blob not null
);

create unique index vector_by_memory on vector (generation_id, memory_id, ordinal);

insert into meta (key, value) values ('vectors', 0);
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
-- Tables by the names the field has for what they hold.

alter table live rename to document;
alter table document rename column stems to stem_length;
alter table document rename column exacts to exact_length;
drop index live_superseded;
create index document_superseded on document (id) where superseded;

alter table volume rename to collection_stats;
alter table collection_stats rename column docs to documents;
alter table collection_stats rename column stems to stem_length;
alter table collection_stats rename column exacts to exact_length;
alter table collection_stats rename column codes to code;

alter table sketch rename to minhash;

drop table stem_token;
drop table stem_spread;
drop table exact_token;
drop table exact_spread;
create virtual table stem_posting using fts5vocab (stem, instance);
create virtual table stem_frequency using fts5vocab (stem, col);
create virtual table exact_posting using fts5vocab (exact, instance);
create virtual table exact_frequency using fts5vocab (exact, col);

-- What a memory is known by belongs to its kind: its external id and its words.

drop index memory_by_external_id;
drop index memory_by_digest;
create unique index memory_by_external_id on memory (project, kind, external_id) where external_id is not null;
create index memory_by_digest on memory (project, kind, digest) where deleted_at is null;

-- Vectors of turns with something of their neighbours, made with the weights of their generation; those there are get
-- the weights with which neighbours were mixed in while searching. The stamp of a row is the count of changes at which
-- it was last written.

alter table generation add column context_weights text not null default '[]';
update generation set context_weights = '[0.5, 0.3, 0.25, 0.15]';
alter table vector add column context_embedding blob;
alter table vector add column stamp integer not null default 0;
create index vector_by_stamp on vector (generation_id, stamp);
create index vector_in_context on vector (generation_id) where context_embedding is not null;
create index memory_by_thread on memory (project, thread, coalesce(turn, 0), id) where thread is not null;

-- In which scope a search was made: a JSON list of projects, or null for all.

alter table recall rename column projects to scope;
update recall set scope = 'null' where scope is null;

-- The last id given to a fact, and by which analyser the word index was made: of those made so far nobody knows, so
-- that what is derived from the memories is rebuilt when the file is opened next.

insert into meta (key, value) values
  ('newest_fact', coalesce((select seq from sqlite_sequence where name = 'fact'), 0)),
  ('analyser', -1);
-- What was imported belongs to the project it was imported for: so far, that of the memories that hold it. The device
-- of its folder and the root it was found below are not known of what is there; no piece of it is gone.

create table source_of_project (
  project text not null,
  name text not null,
  fingerprint text not null,
  device integer not null,
  root text not null,
  primary key (project, name)
) without rowid;

insert into source_of_project (project, name, fingerprint, device, root)
select distinct m.project, s.name, s.fingerprint, 0, ''
from source s join piece p on p.source = s.name join memory m on m.id = p.memory_id;

create table piece_of_project (
  project text not null,
  source text not null,
  ordinal integer not null,
  digest blob not null,
  memory_id integer not null,
  section text,
  gone integer not null,
  primary key (project, source, ordinal)
) without rowid;

insert into piece_of_project (project, source, ordinal, digest, memory_id, section, gone)
select m.project, p.source, p.ordinal, p.digest, p.memory_id, p.section, 0
from piece p join memory m on m.id = p.memory_id;

drop table source;
drop table piece;
alter table source_of_project rename to source;
alter table piece_of_project rename to piece;

-- A note belongs to a project; those there are belong to none.

create table note_of_project (
  project text not null,
  kind text not null,
  name text not null,
  value text not null,
  primary key (project, kind, name)
) without rowid;

insert into note_of_project (project, kind, name, value) select '', kind, name, value from note;

drop table note;
alter table note_of_project rename to note;
-- What each row was sealed with; -1 is a row of before, which the rebuild that comes with opening seals.

alter table memory add column checksum integer not null default -1;
alter table wording add column checksum integer not null default -1;
alter table event add column checksum integer not null default -1;
alter table fact add column checksum integer not null default -1;
alter table vector add column checksum integer not null default -1;

-- When the rebuild that is under way was last at work, and which one it is.

insert into meta (key, value) values ('rebuilding', 0), ('rebuilder', 0);
update meta set value = -1 where key = 'analyser';
-- What the file system said of a file when it was imported, and pieces by their words and by the memory that holds them:
-- a large source is compared part by part.

alter table source add column stamp text not null default '';
create index piece_by_digest on piece (project, source, digest);
create index piece_by_memory on piece (memory_id);
-- A longer memory has vectors of its short passages too, where they say something else than the whole. Those that it has
-- were made without: they are let go of, so that the memory waits for new ones like one that was just written. Vectors
-- that callers brought stay.

delete from vector
where generation_id in (select id from generation where fingerprint not like 'external-%')
  and memory_id in (select id from memory where length(content) > 200);

update meta set value = value + 1 where key in ('vectors', 'version');
-- The words of documents as rows that anything can be built from: tokens by field, in the order of the fields, one field
-- a line. Each row has a number that grows with every change; what left the index or was written anew is noted under one
-- too. A segment is a folder of arrays beside the file and holds the rows numbered behind one number up to another. The lineage is
-- another one whenever the numbers begin anew. FTS5's tables go.

create table tokens (
  id integer primary key,
  seq integer not null,
  stem text not null,
  exact text not null
);

create index tokens_by_seq on tokens (seq);

create table removed (
  seq integer primary key,
  id integer not null
);

create table segment (
  name text primary key,
  after integer not null,
  upto integer not null,
  documents integer not null
) without rowid;

drop table if exists stem_posting;
drop table if exists stem_frequency;
drop table if exists exact_posting;
drop table if exists exact_frequency;
drop table if exists stem;
drop table if exists exact;

insert into meta (key, value) values ('seq', 0), ('lineage', 0);
update meta set value = -1 where key = 'analyser';
