-- Writers side by side. No row is written by all of them: ids come from sequences, totals and versions are counted by
-- project, and the word index numbers its rows by the transaction that wrote them. A transaction holds the lock of its
-- project; one that concerns the whole store holds the lock of the schema, which all others share.

create sequence memory_ids;
create sequence fact_ids;
select setval('memory_ids', greatest(value, 1), value > 0) from meta where key = 'newest';
select setval('fact_ids', greatest(value, 1), value > 0) from meta where key = 'newest_fact';

create function last_id(kind text) returns bigint language sql volatile security definer
return coalesce(pg_sequence_last_value((kind || '_ids')::regclass), 0);

-- `changes` counts documents that were indexed or removed. The project '' takes over the counts of erased projects.

alter table collection_stats add column version bigint not null default 0, add column changes bigint not null default 0;

insert into collection_stats (project, documents, stem_length, exact_length, code, version, changes)
select '', 0, 0, 0, 0, (select value from meta where key = 'version'), (select value from meta where key = 'seq')
on conflict (project) do update set version = excluded.version, changes = excluded.changes;

create function keep_counts() returns trigger language plpgsql security definer as $$
begin
  insert into collection_stats as c (project, documents, stem_length, exact_length, code, version, changes)
  select '', 0, 0, 0, 0, sum(version), sum(changes) from gone having count(*) > 0
  on conflict (project) do update set version = c.version + excluded.version, changes = c.changes + excluded.changes;
  return null;
end $$;

create trigger counts_kept after delete on collection_stats referencing old table as gone
for each statement execute function keep_counts();

create function grow_version() returns void language sql security definer as $$
  update collection_stats set version = version + 1 where project = ''
$$;

-- The number of a row of the word index is that of its transaction. Numbers begin behind those given before.

alter table removed drop constraint removed_pkey, add primary key (seq, id);

insert into meta (key, value) select 'first_number', value from meta where key = 'seq';
insert into meta (key, value) values ('pruned', 0);
insert into meta (key, value) select 'cluster', system_identifier from pg_control_system();
delete from meta where key in ('newest', 'newest_fact', 'version', 'vectors', 'seq');

create function row_number_of_transaction() returns bigint language sql volatile
return pg_current_xact_id()::text::bigint + (select value from meta where key = 'first_number');

-- A copy on another cluster counts transactions from elsewhere: its numbers begin behind all that it holds.

create or replace function follow_timeline() returns void language plpgsql security definer as $$
declare
  here bigint;
begin
  if pg_is_in_recovery() or current_setting('transaction_read_only')::boolean then
    return;
  end if;
  select system_identifier into here from pg_control_system();
  if timeline() = (select value from meta where key = 'timeline')
    and here = (select value from meta where key = 'cluster') then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtext(current_schema()));
  if timeline() = (select value from meta where key = 'timeline')
    and here = (select value from meta where key = 'cluster') then
    return;
  end if;
  update meta set value = timeline() where key = 'timeline';
  update meta set value = here where key = 'cluster';
  update meta set value = greatest(
    value, coalesce((select max(seq) from tokens), 0), coalesce((select max(seq) from removed), 0),
    coalesce((select max(upto) from segment), 0)
  ) where key = 'first_number';
  update meta set value = floor(random() * 4611686018427387904)::bigint where key = 'lineage';
  update collection_stats set version = version + 1000000 where project = '';
end $$;

-- How many vectors a model has, by the hash of their project: a hash names nobody.

create table vector_count (
  generation_id bigint not null,
  project_hash integer not null,
  memories bigint not null,
  passages bigint not null,
  primary key (generation_id, project_hash)
);

insert into vector_count (generation_id, project_hash, memories, passages)
select v.generation_id, hashtext(coalesce(m.project, '')), count(*) filter (where v.ordinal = 0), count(*)
from vector v left join memory m on m.id = v.memory_id group by 1, 2;

drop trigger generation_named on generation;
drop function count_from_none();
alter table generation drop column memories, drop column passages;

create or replace function count_added() returns trigger language plpgsql security definer as $$
begin
  insert into vector_count as c (generation_id, project_hash, memories, passages)
  select v.generation_id, hashtext(coalesce(m.project, '')), count(*) filter (where v.ordinal = 0), count(*)
  from added v left join memory m on m.id = v.memory_id group by 1, 2 order by 1, 2
  on conflict (generation_id, project_hash)
  do update set memories = c.memories + excluded.memories, passages = c.passages + excluded.passages;
  return null;
end $$;

create or replace function count_gone() returns trigger language plpgsql security definer as $$
begin
  insert into vector_count as c (generation_id, project_hash, memories, passages)
  select v.generation_id, hashtext(coalesce(m.project, '')), -count(*) filter (where v.ordinal = 0), -count(*)
  from gone v left join memory m on m.id = v.memory_id group by 1, 2 order by 1, 2
  on conflict (generation_id, project_hash)
  do update set memories = c.memories + excluded.memories, passages = c.passages + excluded.passages;
  return null;
end $$;

create function count_no_more() returns trigger language plpgsql security definer as $$
begin
  delete from vector_count where generation_id = old.id;
  return null;
end $$;

create trigger generation_gone after delete on generation for each row execute function count_no_more();

alter table vector_count enable row level security;
create policy told on vector_count for select using (true);

-- A restricted role takes ids by a function that notes which transaction got them. It may also put back a row whose id
-- was given before, while it holds the lock of the whole schema: then nobody else is about to use an id.

create table given (
  kind text collate "C" not null,
  id bigint not null,
  xid xid8 not null,
  primary key (kind, id)
);
alter table given enable row level security;

create function take_ids(kind text, many bigint) returns setof bigint language plpgsql security definer as $$
begin
  delete from given g where g.xid < pg_snapshot_xmin(pg_current_snapshot());
  return query insert into given as g (kind, id, xid)
  select take_ids.kind, nextval(take_ids.kind || '_ids'), pg_current_xact_id()
  from generate_series(1, least(many, 1000000)) returning g.id;
end $$;

create function give_ids(kind text, many bigint) returns setof bigint language plpgsql as $$
begin
  if many > 0 and row_security_active('memory') then
    return query select take_ids(kind, many);
  elsif many > 0 then
    return query select nextval(kind || '_ids') from generate_series(1, many);
  end if;
end $$;

drop policy counted on meta;
drop trigger meta_counted on meta;
drop function go_on();
drop function counter(text);

create function require_own_id(kind text, number bigint) returns void language plpgsql as $$
begin
  delete from given g where g.kind = require_own_id.kind and g.id = number and g.xid = pg_current_xact_id();
  if found or (
    number <= last_id(kind) and exists (
      select 1 from pg_locks l where l.pid = pg_backend_pid() and l.locktype = 'advisory' and l.granted
        and l.mode = 'ExclusiveLock' and l.objsubid = 1
        and (l.classid::bigint << 32 | l.objid::bigint) = hashtext(current_schema())::bigint
    )
  ) then
    return;
  end if;
  raise insufficient_privilege using message = format('the number %s of %s was not given to you', number, kind);
end $$;

create or replace function guard_memory() returns trigger language plpgsql security definer as $$
begin
  if tg_op = 'INSERT' or new.id <> old.id then
    perform require_own_id('memory', new.id);
  end if;
  perform require_readable(
    is_moment(new.created_at) and is_moment(new.updated_at)
    and (new.observed_at is null or is_moment(new.observed_at))
    and (new.deleted_at is null or is_moment(new.deleted_at))
    and (new.superseded_at is null or is_moment(new.superseded_at))
    and (new.valid_from is null or is_moment(new.valid_from))
    and (new.valid_until is null or is_moment(new.valid_until))
    and is_number(new.confidence, 0, 1) and new.trust in ('owner', 'agent', 'untrusted')
    and is_list_of(new.tags, 'string') and is_mapping(new.metadata) and is_context(new.context), 'memory');
  return null;
end $$;

create or replace function guard_fact() returns trigger language plpgsql security definer as $$
begin
  if tg_op = 'INSERT' or new.id <> old.id then
    perform require_own_id('fact', new.id);
  end if;
  perform require_readable(
    is_number(new.confidence, 0, 1) and is_number(new.decay_rate, 0, 1e9) and is_moment(new.last_reinforced)
    and new.state in ('active', 'superseded'), 'fact');
  return null;
end $$;

-- A fact that is restated keeps its id: it is deleted and inserted again.

create function give_back_fact() returns trigger language plpgsql security definer as $$
begin
  insert into given (kind, id, xid) values ('fact', old.id, pg_current_xact_id()) on conflict do nothing;
  return null;
end $$;

create or replace function guard_collection_stats() returns trigger language plpgsql security definer as $$
begin
  if tg_op = 'UPDATE' and (
    new.project <> old.project or new.version < old.version or new.version > old.version + 1000000
    or new.changes < old.changes or new.changes > old.changes + 1000000
  ) then
    raise insufficient_privilege using message = 'a version goes on and never back';
  end if;
  perform require_readable(
    new.documents between 0 and last_id('memory')
    and new.version between 0 and 1000000000000000 and new.changes between 0 and 1000000000000000
    and new.code between 0 and new.documents and new.stem_length between 0 and new.documents::numeric * 100000000
    and new.exact_length between 0 and new.documents::numeric * 100000000, 'collection_stats');
  return null;
end $$;

-- A row of the word index has the number of its own transaction, unless only something else of it changes.

create function require_own_number(number bigint, name text) returns void language plpgsql as $$
begin
  if number is distinct from row_number_of_transaction() then
    raise insufficient_privilege using message = format('the number %s of %s was not given to you', number, name);
  end if;
end $$;

create or replace function guard_tokens() returns trigger language plpgsql security definer as $$
begin
  perform require_readable(
    length(new.stem) - length(replace(new.stem, E'\n', '')) = 9
    and length(new.exact) - length(replace(new.exact, E'\n', '')) = 9, 'tokens');
  perform require_own_number(new.seq, 'tokens');
  return null;
end $$;

create or replace function guard_removed() returns trigger language plpgsql security definer as $$
begin
  perform require_own_number(new.seq, 'removed');
  return null;
end $$;

-- What a granted role may do, again with the tables of this step.

alter function recollect_grant(name, text) rename to grant_tables;

create function recollect_grant(role_name name, project_name text) returns void language plpgsql
set search_path from current as $$
begin
  perform grant_tables(role_name, project_name);
  execute format('grant select on vector_count to %I', role_name);
end $$;

revoke execute on function recollect_grant(name, text) from public;

do $$
declare
  name text;
begin
  execute format(
    'create trigger given_back after delete on fact for each row when (row_security_active(%L::regclass)) '
    'execute function give_back_fact()', format('%I.fact', current_schema())
  );
  for name in select distinct a.role::text from access a loop
    execute format('grant select on vector_count to %I', name);
  end loop;
  for name in
    select p.oid::regprocedure::text from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.prosecdef
  loop
    execute format('alter function %s set search_path = %I, pg_temp', name, current_schema());
  end loop;
end $$;
