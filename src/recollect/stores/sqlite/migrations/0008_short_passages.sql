-- A longer memory has vectors of its short passages too, where they say something else than the whole. Those that it has
-- were made without: they are let go of, so that the memory waits for new ones like one that was just written. Vectors
-- that callers brought stay.

delete from vector
where generation_id in (select id from generation where fingerprint not like 'external-%')
  and memory_id in (select id from memory where length(content) > 200);

update meta set value = value + 1 where key in ('vectors', 'version');
