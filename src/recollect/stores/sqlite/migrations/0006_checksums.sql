-- What each row was sealed with; -1 is a row of before, which the rebuild that comes with opening seals.

alter table memory add column checksum integer not null default -1;
alter table wording add column checksum integer not null default -1;
alter table event add column checksum integer not null default -1;
alter table fact add column checksum integer not null default -1;
alter table vector add column checksum integer not null default -1;

-- When the rebuild that is under way was last at work, and which one it is.

insert into meta (key, value) values ('rebuilding', 0), ('rebuilder', 0);
update meta set value = -1 where key = 'analyser';
