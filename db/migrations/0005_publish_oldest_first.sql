-- The relay publishes the oldest events of each shard first. By organisation, as it was, one with a small id and many
-- events would have kept the others of its shard waiting for as long as it went on.
drop index events_unpublished_idx;
create index events_unpublished_idx on events (shard, recorded_at, seq) where published_at is null;
