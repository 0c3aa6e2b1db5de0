-- Maintenance: announced times in which nodes are away, which nodes a window keeps from new work, and who was told.

create table maintenance_windows (
  id uuid primary key,
  summary text not null check (length(summary) between 3 and 500),
  status text not null check (status in ('announced', 'in_progress', 'completed', 'cancelled')),
  drains_at timestamptz not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  ended_at timestamptz,
  created_at timestamptz not null,
  constraint maintenance_windows_in_order check (drains_at <= starts_at and starts_at < ends_at),
  constraint maintenance_windows_end_once check ((status in ('completed', 'cancelled')) = (ended_at is not null)),
  constraint maintenance_windows_never_longer check (ended_at <= ends_at)
);
create index maintenance_windows_open_idx on maintenance_windows (starts_at, id)
  where status in ('announced', 'in_progress');
revoke update, delete on maintenance_windows from millrace_app;
grant update (status, ended_at) on maintenance_windows to millrace_app;
comment on table maintenance_windows is 'Times in which nodes are away, as they were announced.';
comment on column maintenance_windows.summary is 'What is done, in words for the tenants.';
comment on column maintenance_windows.drains_at is 'From then on nothing new is placed on its nodes.';
comment on column maintenance_windows.ended_at is 'When it was over: ends_at, or earlier if it was called off. Before starts_at: it never began.';

create table maintenance_nodes (
  window_id uuid not null references maintenance_windows (id) on delete restrict,
  node_id uuid not null references nodes (id) on delete restrict,
  hold text not null default 'waiting' check (hold in ('waiting', 'held', 'left')),
  primary key (window_id, node_id)
);
create index maintenance_nodes_node_idx on maintenance_nodes (node_id);
create index maintenance_nodes_held_idx on maintenance_nodes (window_id) where hold = 'held';
revoke update, delete on maintenance_nodes from millrace_app;
grant update (hold) on maintenance_nodes to millrace_app;
comment on table maintenance_nodes is 'The nodes of each window. Whoever changes hold has locked the node''s row before.';
comment on column maintenance_nodes.hold is 'waiting: not drained yet. held: the window drained it and gives it back. left: somebody else''s word counts, or it was given back.';

create table maintenance_notices (
  window_id uuid not null references maintenance_windows (id) on delete restrict,
  allocation_id uuid not null,
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  told text not null check (told in ('announced', 'started', 'ended')),
  told_at timestamptz not null,
  primary key (window_id, allocation_id),
  foreign key (allocation_id, mode, org_id) references allocations (id, mode, org_id) on delete restrict
);
create index maintenance_notices_open_idx on maintenance_notices (window_id) where told <> 'ended';
revoke update, delete on maintenance_notices from millrace_app;
grant update (told, told_at) on maintenance_notices to millrace_app;
comment on table maintenance_notices is 'Which allocations a window touches, and the last that their organisation was told of it.';
