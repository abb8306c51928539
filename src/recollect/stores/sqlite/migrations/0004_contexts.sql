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
