-- What the file system said of a file when it was imported, and pieces by their words and by the memory that holds them:
-- a large source is compared part by part.

alter table source add column stamp text not null default '';
create index piece_by_digest on piece (project, source, digest);
create index piece_by_memory on piece (memory_id);
