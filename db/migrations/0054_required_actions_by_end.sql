-- no-transaction
-- Finished actions are deleted by age.
create index concurrently required_actions_done_idx on required_actions (done_at) where done_at is not null;
