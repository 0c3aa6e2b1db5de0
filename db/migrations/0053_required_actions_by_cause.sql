-- no-transaction
-- Dunning asks whether an action was required before, done or not: the indexes of open actions do not have the finished ones.
create index concurrently required_actions_cause_idx on required_actions (org_id, mode, cause_kind, cause_id, action, created_at);
