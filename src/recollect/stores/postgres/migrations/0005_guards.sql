-- What a restricted role may write, beyond which project: no id that was not given, no value that cannot be read back,
-- no count of the recall log. A role could otherwise stop the writes of all projects, empty their log or break the
-- reads of the owner. The owner is not checked, so that a damaged store can be moved here and looked at.
--
-- And what the planner may know: its statistics are samples of columns, so none are taken of columns with texts.

-- Numbers: counters of `meta` go on in small steps, and the size of the recall log is not for roles to write.

alter policy counted on meta using (key in ('newest', 'newest_fact', 'version', 'vectors', 'seq'));
drop policy begun on meta;

create or replace function go_on() returns trigger language plpgsql as $$
begin
  if row_security_active(tg_relid)
    and (new.key <> old.key or new.value < old.value or new.value > old.value + 1000000) then
    raise insufficient_privilege using message = format('the counter %s goes on and never back', old.key);
  end if;
  return new;
end $$;

insert into meta (key, value)
select 'recall_bytes', coalesce(sum(
  120 + 60 * (select count(*) from recalled h where h.recall_id = r.id)
  + octet_length(r.query || coalesce(r.session, '') || coalesce(r.lens, ''))
), 0)::bigint from recall r
on conflict do nothing;

create function count_recall() returns trigger language plpgsql security definer as $$
declare
  grown bigint := 0;
begin
  if tg_op = 'DELETE' then
    grown := -120 - octet_length(old.query || coalesce(old.session, '') || coalesce(old.lens, ''));
  else
    grown := 120 + octet_length(new.query || coalesce(new.session, '') || coalesce(new.lens, ''));
  end if;
  update meta set value = value + grown where key = 'recall_bytes';
  return null;
end $$;

create function count_recalled() returns trigger language plpgsql security definer as $$
begin
  update meta set value = value + case when tg_op = 'DELETE' then -60 else 60 end where key = 'recall_bytes';
  return null;
end $$;

-- Values: the same as the program writes, because it could not read others back.

create function is_moment(value text) returns boolean language sql immutable
return value ~ '^\d{4}-\d\d-\d\dT([01]\d|2[0-3])(:[0-5]\d){2}\.\d{6}\+00:00$'
  and pg_input_is_valid(value, 'timestamptz');

create function is_number(value double precision, low double precision, high double precision) returns boolean
language sql immutable return value >= low and value <= high;

-- JSON with neither numbers nor nesting beyond what a reader takes.

create function is_plain_json(value text) returns boolean language plpgsql immutable as $$
declare
  bare text := value;
  inner_removed text;
begin
  if value is not json then
    return false;
  end if;
  if length(value) - length(translate(value, '[{', '')) <= 100 and value !~ '\d{255}' then
    return true;
  end if;
  bare := regexp_replace(value, '"(?:\\.|[^"\\])*"', '', 'g');
  if bare ~ '\d{255}' then
    return false;
  end if;
  for round in 1..100 loop
    inner_removed := regexp_replace(bare, '[\[{][^\[\]{}]*[\]}]', '', 'g');
    exit when inner_removed = bare;
    bare := inner_removed;
  end loop;
  return bare !~ '[\[{]';
end $$;

create function is_mapping(value text) returns boolean language sql immutable
return case when value is json object then is_plain_json(value) else false end;

create function is_list_of(value text, kind text) returns boolean language sql immutable
return case when value is json array then
  is_plain_json(value) and not exists (select 1 from json_array_elements(value::json) e where json_typeof(e) <> kind)
else false end;

create function is_context(value text) returns boolean language sql immutable
return case when value is json object then not exists (
  select 1 from json_each(value::json) e
  where e.key not in ('before', 'after', 'around') or json_typeof(e.value) <> 'string'
) else false end;

-- The detail of an event: where it may name a memory or a fact, no other number than an id.

create function is_detail(value text) returns boolean language sql immutable
return case when value is json object then is_plain_json(value) and not exists (
  select 1 from json_each(value::json) e
  where e.key in ('of', 'proposes', 'by', 'into', 'near', 'fact')
    and not (json_typeof(e.value) in ('string', 'null') or e.value::text ~ '^-?\d{1,18}$')
) else false end;

-- The numbers of a vector, 4 bytes each with the sign and the exponent in the last two: none is infinite or undefined.

create function is_vector(value bytea, width bigint) returns boolean language sql immutable
return length(value) = 4 * width and not exists (
  select 1 from generate_series(0, length(value) / 4 - 1) i
  where get_byte(value, 4 * i + 3) & 127 = 127 and get_byte(value, 4 * i + 2) & 128 = 128
);

create function is_as_wide(value halfvec, width bigint) returns boolean language sql immutable
return vector_dims(value) = width;

-- One guard for each table. Guards run as the owner, only for roles to which row security applies, after the row is
-- there: what is inserted `on conflict` is looked at as it ends up.

create function counter(name text) returns bigint language sql stable return (select value from meta where key = name);

create function require_given(number bigint, last bigint, name text) returns void language plpgsql as $$
begin
  if (number <= last) is not true then
    raise insufficient_privilege using message = format('the number %s of %s was never given', number, name);
  end if;
end $$;

create function require_readable(fine boolean, name text) returns void language plpgsql as $$
begin
  if fine is not true then
    raise check_violation using message = format('a row of %s could not be read back', name);
  end if;
end $$;

create function guard_memory() returns trigger language plpgsql security definer as $$
begin
  perform require_given(new.id, counter('newest'), 'memory');
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

create function guard_fact() returns trigger language plpgsql security definer as $$
begin
  perform require_given(new.id, counter('newest_fact'), 'fact');
  perform require_readable(
    is_number(new.confidence, 0, 1) and is_number(new.decay_rate, 0, 1e9) and is_moment(new.last_reinforced)
    and new.state in ('active', 'superseded'), 'fact');
  return null;
end $$;

create function guard_event() returns trigger language plpgsql security definer as $$
begin
  perform require_given(new.id, pg_sequence_last_value(pg_get_serial_sequence('event', 'id')), 'event');
  perform require_readable(is_moment(new.at) and is_detail(new.detail), 'event');
  return null;
end $$;

create function guard_recall() returns trigger language plpgsql security definer as $$
begin
  perform require_given(new.id, pg_sequence_last_value(pg_get_serial_sequence('recall', 'id')), 'recall');
  perform require_readable(is_moment(new.at) and is_list_of(new.scope, 'string'), 'recall');
  return null;
end $$;

create function guard_recalled() returns trigger language plpgsql security definer as $$
begin
  perform require_readable(
    is_number(new.score, -1e300, 1e300) and new.fact_ids ~ '^\[(\d{1,18}(,\d{1,18})*)?\]$', 'recalled');
  return null;
end $$;

create function guard_note() returns trigger language plpgsql security definer as $$
begin
  perform require_readable(is_mapping(new.value), 'note');
  return null;
end $$;

create function guard_document() returns trigger language plpgsql security definer as $$
begin
  perform require_readable(
    new.stem_length between 0 and 100000000 and new.exact_length between 0 and 100000000 and new.code in (0, 1),
    'document');
  return null;
end $$;

create function guard_collection_stats() returns trigger language plpgsql security definer as $$
begin
  perform require_readable(
    new.documents between 0 and counter('newest') and new.code between 0 and new.documents
    and new.stem_length between 0 and new.documents::numeric * 100000000
    and new.exact_length between 0 and new.documents::numeric * 100000000, 'collection_stats');
  return null;
end $$;

create function guard_tokens() returns trigger language plpgsql security definer as $$
begin
  perform require_given(new.seq, counter('seq'), 'tokens');
  perform require_readable(
    length(new.stem) - length(replace(new.stem, E'\n', '')) = 9
    and length(new.exact) - length(replace(new.exact, E'\n', '')) = 9, 'tokens');
  return null;
end $$;

create function guard_removed() returns trigger language plpgsql security definer as $$
begin
  perform require_given(new.seq, counter('seq'), 'removed');
  return null;
end $$;

create function guard_generation() returns trigger language plpgsql security definer as $$
begin
  perform require_given(new.id, pg_sequence_last_value(pg_get_serial_sequence('generation', 'id')), 'generation');
  perform require_readable(
    new.dimensions between 1 and 16000 and is_list_of(new.context_weights, 'number')
    and length(new.context_weights) <= 1000, 'generation');
  return null;
end $$;

create function guard_vector() returns trigger language plpgsql security definer as $$
declare
  width bigint := (select g.dimensions from generation g where g.id = new.generation_id);
begin
  perform require_given(new.id, pg_sequence_last_value(pg_get_serial_sequence('vector', 'id')), 'vector');
  perform require_readable(
    is_vector(new.embedding, width) and (new.context_embedding is null or is_vector(new.context_embedding, width))
    and (new.alone is null or is_as_wide(new.alone, width))
    and (new.context is null or is_as_wide(new.context, width)), 'vector');
  return null;
end $$;

-- A vector without its halves would be left for the next writer to make.

create function guard_halves() returns trigger language plpgsql security definer as $$
begin
  if exists (select 1 from vector v where v.id = new.id and (v.alone is null or v.context is null)) then
    raise check_violation using message = 'a vector is not there in half precision';
  end if;
  return null;
end $$;

-- A document is that of a memory of its project.

drop policy granted on document;
create policy granted on document using (project in (select a.project from access a where a.role = current_user))
with check (exists (select 1 from memory m where m.id = document.id and m.project = document.project));

do $$
declare
  name text;
begin
  foreach name in array array[
    'memory', 'fact', 'event', 'recall', 'recalled', 'note', 'document', 'collection_stats', 'tokens', 'removed',
    'generation', 'vector'
  ] loop
    execute format(
      'create trigger guarded after insert or update on %1$I for each row when (row_security_active(%2$L::regclass)) '
      'execute function %3$I()', name, format('%I.%I', current_schema(), name), 'guard_' || name
    );
  end loop;
  execute format(
    'create constraint trigger halved after insert or update on vector deferrable initially deferred for each row '
    'when (row_security_active(%L::regclass)) execute function guard_halves()', format('%I.vector', current_schema())
  );
  foreach name in array array['recall', 'recalled'] loop
    execute format(
      'create trigger counted after insert or delete on %1$I for each row when (row_security_active(%2$L::regclass)) '
      'execute function %3$I()', name, format('%I.%I', current_schema(), name), 'count_' || name
    );
  end loop;
  -- What runs as the owner finds no table and no function that its caller made for the moment.
  for name in
    select p.oid::regprocedure::text from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.prosecdef
  loop
    execute format('alter function %s set search_path = %I, pg_temp', name, current_schema());
  end loop;
end $$;

-- Statistics: those of a text are dropped with the type of its column, which stays the same, and taken no more.

do $$
declare
  of record;
begin
  for of in
    select c.relname as name, a.attname as part, a.atttypid = 'text'::regtype as is_text
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and a.attnum > 0
      and format_type(a.atttypid, null) ~ '^(text|bytea|(.*\.)?halfvec)$'
      and a.attname not in (
        'project', 'kind', 'type', 'trust', 'verb', 'state', 'mode', 'outcome', 'scope', 'created_at', 'updated_at',
        'observed_at', 'happened_at', 'deleted_at', 'superseded_at', 'valid_from', 'valid_until', 'at',
        'last_reinforced', 'context_weights', 'fact_ids', 'key', 'fingerprint', 'model'
      )
      and c.relname <> 'segment'
  loop
    if of.is_text then
      execute format('alter table %I alter column %I type text collate "C"', of.name, of.part);
    end if;
    execute format('alter table %I alter column %I set statistics 0', of.name, of.part);
  end loop;
  -- An index by an expression has samples of its own.
  for of in select c.relname as name from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'i' and c.relname like 'near\_%'
  loop
    execute format('alter index %I alter column 1 set statistics 0', of.name);
  end loop;
end $$;
