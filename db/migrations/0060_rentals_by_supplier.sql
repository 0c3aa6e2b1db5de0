-- no-transaction
-- A foreign key without an index reads the whole table when its target changes.
create index concurrently rentals_supplier_org_idx on rentals (supplier_org_id) where supplier_org_id is not null;
