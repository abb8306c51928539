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
