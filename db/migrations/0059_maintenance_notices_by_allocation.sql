-- no-transaction
-- A foreign key without an index reads the whole table when its target changes.
create index concurrently maintenance_notices_allocation_idx on maintenance_notices (allocation_id);
