-- no-transaction
-- Released ports are deleted by age.
create index concurrently allocated_ports_released_idx on allocated_ports (released_at) where released_at is not null;
