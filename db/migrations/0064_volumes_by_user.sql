-- no-transaction
-- A foreign key without an index reads the whole table when its target changes.
create index concurrently volumes_user_idx on volumes (user_id) where user_id is not null;
