-- What the comparison of rentals with their engines remembers: for each cluster when it was last looked at and last compared
-- as a whole, and the machines at its engine that no rental knows.
--
-- A machine that is as it should be costs no write: its last good sign is the last whole comparison of its cluster. What is
-- wrong with one is written to its rental before that time moves on.

create table cluster_comparisons (
  cluster_id uuid primary key references clusters (id) on delete restrict,
  turn bigint not null default 0 check (turn >= 0),
  holder text check (length(holder) between 1 and 255),
  held_until timestamptz,
  looked_at timestamptz,
  watching_since timestamptz,
  whole_at timestamptz,
  problem text check (length(problem) between 1 and 1000),
  reap_allowed_until timestamptz,
  constraint cluster_comparisons_held_whole check ((holder is null) = (held_until is null)),
  constraint cluster_comparisons_watched_whole check ((looked_at is null) = (watching_since is null))
) with (fillfactor = 50);
create index cluster_comparisons_due_idx on cluster_comparisons (looked_at nulls first);
revoke update, delete on cluster_comparisons from millrace_app;
grant update (turn, holder, held_until, looked_at, watching_since, whole_at, problem, reap_allowed_until)
  on cluster_comparisons to millrace_app;
comment on table cluster_comparisons is 'Each cluster''s comparison with its rentals: who makes it, when it was last tried, and when it last succeeded as a whole.';
comment on column cluster_comparisons.turn is 'Grows with each comparison that begins. What an older one found is not written any more.';
comment on column cluster_comparisons.looked_at is 'When a comparison last began, whether or not the engine answered.';
comment on column cluster_comparisons.watching_since is 'Since when there were comparisons without a gap: silence is counted from here at the earliest.';
comment on column cluster_comparisons.whole_at is 'When the newest comparison began that the engine answered and whose findings are all written down: the last good sign of every machine of the cluster that is not in trouble.';
comment on column cluster_comparisons.problem is 'Why the newest comparison was not whole; null: it was.';
comment on column cluster_comparisons.reap_allowed_until is 'Until when a person allows more machines that nobody knows to be removed at once than is done unasked.';

create table stray_machines (
  cluster_id uuid not null references clusters (id) on delete restrict,
  org_id uuid not null,
  external_id text not null check (length(external_id) between 1 and 255),
  mode text not null check (mode in ('live', 'test')),
  node_name text not null check (length(node_name) between 1 and 255),
  first_seen_at timestamptz not null,
  reap_begun_at timestamptz,
  last_error text check (length(last_error) <= 2000),
  primary key (cluster_id, org_id, external_id)
);
revoke update on stray_machines from millrace_app;
grant update (node_name, reap_begun_at, last_error) on stray_machines to millrace_app;
comment on table stray_machines is 'Machines of ours at engines that no rental knows. Removed once two comparisons far enough apart have seen them; the row goes when the engine lists it no more.';
comment on column stray_machines.org_id is 'As the engine says; the organisation need not be known.';
comment on column stray_machines.reap_begun_at is 'When its removal was first tried.';

create index rentals_late_idx on rentals (deadline_at) where deadline_at is not null;
