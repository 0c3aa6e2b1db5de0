-- Items of the product's loops that are claimed by a worker or that failed: other items go first.

create table loop_items (
  loop text not null check (length(loop) between 1 and 100),
  item text not null check (length(item) between 1 and 200),
  failures integer not null check (failures >= 0),
  free_at timestamptz not null,
  failing_since timestamptz,
  problem text check (length(problem) <= 500),
  primary key (loop, item),
  check ((failures > 0) = (failing_since is not null))
);
create index loop_items_by_time on loop_items (free_at);
comment on table loop_items is 'One row for each item of a loop that a worker has claimed, or that failed and waits for its next attempt. An item that succeeds has no row.';
comment on column loop_items.loop is 'The name of the loop, as in metrics.';
comment on column loop_items.item is 'The id of the item within the loop.';
comment on column loop_items.failures is 'Failures in a row; 0 for an item that is only claimed.';
comment on column loop_items.free_at is 'From when the item may be taken: the end of the claim, or of the wait after a failure.';
comment on column loop_items.failing_since is 'The first failure in a row.';
comment on column loop_items.problem is 'The last failure, for operators.';
