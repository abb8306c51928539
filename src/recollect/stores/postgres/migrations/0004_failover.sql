-- Every promotion of a standby begins a new timeline. What the old primary had told and the new one never got is gone
-- then, and the numbers it was known by are given anew. So a store counts on far behind them, and its words are of
-- another lineage: nothing that a process kept of what is gone is ever taken for what is there.

create function timeline() returns bigint language sql volatile as $$
  select ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint
$$;

insert into meta (key, value) values ('timeline', timeline());

create function follow_timeline() returns void language plpgsql security definer as $$
begin
  if pg_is_in_recovery() or current_setting('transaction_read_only')::boolean
    or timeline() = (select value from meta where key = 'timeline') then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtext(current_schema()));
  update meta set value = timeline() where key = 'timeline' and value <> timeline();
  if found then
    update meta set value = value + 1000000 where key = 'version';
    update meta set value = floor(random() * 4611686018427387904)::bigint where key = 'lineage';
  end if;
end $$;

-- It runs as its owner, so no table that its caller made for the moment may stand before those of the store.

do $$ begin
  execute format('alter function follow_timeline() set search_path = %I, pg_temp', current_schema());
end $$;
