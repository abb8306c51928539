-- Who sees what. The owner of the tables sees everything. Any other role sees and writes the projects that the owner
-- granted to it, whatever statement it runs:
--
--   select recollect.recollect_grant('ida', 'web');    select recollect.recollect_revoke('ida', 'web');

create table access (
  role name not null,
  project text collate "C" not null,
  primary key (role, project)
);

alter table access enable row level security;
create policy own on access for select using (role = current_user);

-- Tables that name a project.

do $$
declare
  name text;
begin
  foreach name in array array['memory', 'document', 'collection_stats', 'source', 'note'] loop
    execute format('alter table %I enable row level security', name);
    execute format(
      'create policy granted on %I using (project in (select a.project from access a where a.role = current_user))', name
    );
  end loop;
end $$;

-- Tables that name a memory: what is seen of memories decides.

do $$
declare
  name text;
begin
  foreach name in array array['tagged', 'wording', 'event', 'fact', 'vector', 'minhash'] loop
    execute format('alter table %I enable row level security', name);
    execute format(
      'create policy granted on %I using (exists (select 1 from memory m where m.id = %I.memory_id))', name, name
    );
  end loop;
end $$;

alter table tokens enable row level security;
create policy granted on tokens using (exists (select 1 from memory m where m.id = tokens.id));

-- A piece belongs to a project, and is a piece of a memory there.

alter table piece enable row level security;
create policy granted on piece using (project in (select a.project from access a where a.role = current_user))
with check (
  project in (select a.project from access a where a.role = current_user)
  and exists (select 1 from memory m where m.id = piece.memory_id)
);

-- A search is seen by whoever may see all projects that it looked at.

create function is_granted(projects text) returns boolean language sql stable begin atomic
  select coalesce(
    projects is json array and not exists (
      select 1 from json_array_elements_text(case when projects is json array then projects::json else '[]'::json end) e
      where e collate "C" not in (select a.project from access a where a.role = current_user)
    ),
    false
  );
end;

alter table recall enable row level security;
create policy granted on recall using (is_granted(scope));

alter table recalled enable row level security;
create policy granted on recalled using (exists (select 1 from recall r where r.id = recalled.recall_id))
with check (
  exists (select 1 from recall r where r.id = recalled.recall_id)
  and exists (select 1 from memory m where m.id = recalled.memory_id)
);

-- Numbers without words: which rows of the index are gone is told to all, so that what they hold follows; noted only
-- of what is theirs. Segments hold words of every project: who is restricted reads the rows of tokens instead.

alter table removed enable row level security;
create policy told on removed for select using (true);
create policy granted on removed for insert with check (exists (select 1 from memory m where m.id = removed.id));

alter table segment enable row level security;
alter table segment_data enable row level security;

-- Models are named by all and forgotten by the owner alone.

alter table generation enable row level security;
create policy told on generation for select using (true);
create policy named on generation for insert with check (context_weights = '[]');
create policy weighed on generation for update using (context_weights = '[]') with check (true);

-- Counters go on, and never back.

alter table meta enable row level security;
create policy told on meta for select using (true);
create policy counted on meta for update
  using (key in ('newest', 'newest_fact', 'version', 'vectors', 'seq', 'recall_bytes'));
create policy begun on meta for insert with check (key = 'recall_bytes');

create function go_on() returns trigger language plpgsql as $$
begin
  if row_security_active(tg_relid) and new.key <> 'recall_bytes'
    and (new.key <> old.key or new.value < old.value or new.value > old.value + 1000000000) then
    raise insufficient_privilege using message = format('the counter %s goes on and never back', old.key);
  end if;
  return new;
end $$;

create trigger meta_counted before update on meta for each row execute function go_on();

-- Granting is for the owner: nobody else may write to `access`.

create function recollect_grant(role_name name, project_name text) returns void language plpgsql
set search_path from current as $$
begin
  insert into access (role, project) values (role_name, project_name) on conflict do nothing;
  execute format('grant usage on schema %I to %I', current_schema(), role_name);
  execute format(
    'grant select, insert, update, delete on memory, document, collection_stats, source, note, tagged, wording, event, '
    'fact, vector, minhash, tokens, piece, recall, recalled to %I', role_name
  );
  execute format('grant select, insert on removed, generation, meta to %I', role_name);
  execute format('grant update on meta to %I', role_name);
  execute format('grant update (context_weights) on generation to %I', role_name);
  execute format('grant insert on changed to %I', role_name);
  execute format('grant select on access, segment, segment_data to %I', role_name);
end $$;

create function recollect_revoke(role_name name, project_name text) returns void language plpgsql
set search_path from current as $$
begin
  delete from access where role = role_name and project = project_name;
  if not exists (select 1 from access where role = role_name) then
    execute format('revoke all on all tables in schema %I from %I', current_schema(), role_name);
    execute format('revoke usage on schema %I from %I', current_schema(), role_name);
  end if;
end $$;

revoke execute on function recollect_grant(name, text) from public;
revoke execute on function recollect_revoke(name, text) from public;
