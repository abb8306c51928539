-- What was imported belongs to the project it was imported for: so far, that of the memories that hold it. The device
-- of its folder and the root it was found below are not known of what is there; no piece of it is gone.

create table source_of_project (
  project text not null,
  name text not null,
  fingerprint text not null,
  device integer not null,
  root text not null,
  primary key (project, name)
) without rowid;

insert into source_of_project (project, name, fingerprint, device, root)
select distinct m.project, s.name, s.fingerprint, 0, ''
from source s join piece p on p.source = s.name join memory m on m.id = p.memory_id;

create table piece_of_project (
  project text not null,
  source text not null,
  ordinal integer not null,
  digest blob not null,
  memory_id integer not null,
  section text,
  gone integer not null,
  primary key (project, source, ordinal)
) without rowid;

insert into piece_of_project (project, source, ordinal, digest, memory_id, section, gone)
select m.project, p.source, p.ordinal, p.digest, p.memory_id, p.section, 0
from piece p join memory m on m.id = p.memory_id;

drop table source;
drop table piece;
alter table source_of_project rename to source;
alter table piece_of_project rename to piece;

-- A note belongs to a project; those there are belong to none.

create table note_of_project (
  project text not null,
  kind text not null,
  name text not null,
  value text not null,
  primary key (project, kind, name)
) without rowid;

insert into note_of_project (project, kind, name, value) select '', kind, name, value from note;

drop table note;
alter table note_of_project rename to note;
