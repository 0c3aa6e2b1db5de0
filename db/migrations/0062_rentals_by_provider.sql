-- no-transaction
-- A foreign key without an index reads the whole table when its target changes.
create index concurrently rentals_provider_idx on rentals (provider_id) where provider_id is not null;
