-- no-transaction
-- A foreign key without an index reads the whole table when its target changes.
create index concurrently node_faults_rental_idx on node_faults (rental_id) where rental_id is not null;
