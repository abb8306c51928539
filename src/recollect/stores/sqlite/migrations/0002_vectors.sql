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
