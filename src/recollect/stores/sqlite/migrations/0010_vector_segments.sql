-- Vectors as folders of arrays beside the file: each holds what was written between two stamps. Rows that are deleted or
-- written anew since are noted, by whatever does so.

create table vector_segment (
  name text primary key,
  generation_id integer not null,
  low integer not null,
  upto integer not null,
  removed integer not null,
  passages integer not null
) without rowid;

create table vector_removed (
  seq integer primary key autoincrement,
  generation_id integer not null,
  id integer not null
);

create trigger vector_deleted after delete on vector begin
  insert into vector_removed (generation_id, id) values (old.generation_id, old.id);
end;

create trigger vector_renewed after update of embedding, context_embedding, stamp on vector begin
  insert into vector_removed (generation_id, id) values (old.generation_id, old.id);
end;
