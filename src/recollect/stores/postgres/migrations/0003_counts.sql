-- How many memories have vectors of a generation, and how many vectors these are: counted as they come and go, so that a
-- search need not. A memory with vectors has one numbered 0.

alter table generation add column memories bigint not null default 0, add column passages bigint not null default 0;

update generation g set (memories, passages) = (
  select count(*) filter (where v.ordinal = 0), count(*) from vector v where v.generation_id = g.id
);

create function count_added() returns trigger language plpgsql security definer set search_path from current as $$
begin
  update generation g set memories = g.memories + a.memories, passages = g.passages + a.passages
  from (
    select generation_id, count(*) filter (where ordinal = 0) as memories, count(*) as passages from added group by 1
  ) a where g.id = a.generation_id;
  return null;
end $$;

create function count_gone() returns trigger language plpgsql security definer set search_path from current as $$
begin
  update generation g set memories = g.memories - a.memories, passages = g.passages - a.passages
  from (
    select generation_id, count(*) filter (where ordinal = 0) as memories, count(*) as passages from gone group by 1
  ) a where g.id = a.generation_id;
  return null;
end $$;

create trigger vector_added after insert on vector referencing new table as added
for each statement execute function count_added();
create trigger vector_gone after delete on vector referencing old table as gone
for each statement execute function count_gone();

-- Whoever names a model does not say how many vectors it has.

create function count_from_none() returns trigger language plpgsql as $$
begin
  new.memories := 0;
  new.passages := 0;
  return new;
end $$;

create trigger generation_named before insert on generation for each row execute function count_from_none();
