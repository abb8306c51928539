-- Vectors with the turns around them mixed in, and the stamp at which a row was last written.

alter table vector add column context_embedding blob;
alter table vector add column stamp integer not null default 0;
alter table generation add column context_weights text not null default '[]';

create index vector_by_stamp on vector (generation_id, stamp);
create index memory_by_thread on memory (project, thread, turn) where thread is not null;

-- An external id names a memory of its project and kind.

drop index memory_by_external_id;
create unique index memory_by_external_id on memory (project, kind, external_id) where external_id is not null;
