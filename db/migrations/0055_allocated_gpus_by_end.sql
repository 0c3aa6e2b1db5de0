-- no-transaction
-- Released GPUs are deleted by age.
create index concurrently allocated_gpus_released_idx on allocated_gpus (released_at) where released_at is not null;
