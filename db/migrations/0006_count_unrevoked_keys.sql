-- no-transaction
-- Creating a key counts the organisation's keys that are not revoked, at most 500. Without this the count also walks
-- every key that was ever revoked, so it would grow for as long as an organisation rotates its keys.
create index concurrently api_keys_unrevoked_idx on api_keys (org_id) where revoked_at is null;
