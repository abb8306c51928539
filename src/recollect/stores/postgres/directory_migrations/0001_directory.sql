-- Which shards a store is spread over, which project lives on which, and what belongs to no project: tokens, and the key
-- by which secrets in names are told apart.

create table meta (
  key text collate "C" primary key,
  value bigint not null
);

insert into meta (key, value) values ('version', 0);

create table shard (
  number bigint generated always as identity primary key,
  name text collate "C" not null unique,
  address text collate "C" not null,
  store text collate "C" not null unique,
  open boolean not null default true
);

create table placement (
  project text collate "C" primary key,
  shard bigint not null references shard
);
create index placement_by_shard on placement (shard);

create table note (
  project text collate "C" not null,
  kind text collate "C" not null,
  name text collate "C" not null,
  value text collate "C" not null,
  primary key (project, kind, name)
);
