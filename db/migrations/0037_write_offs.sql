-- Machines whose host never returned and that an operator wrote off. If the host returns after all, its machine is an orphan:
-- nothing may be placed there before the orphan is gone.

create table written_off_machines (
  org_id uuid not null references organisations (id) on delete restrict,
  cluster_id uuid not null references clusters (id) on delete restrict,
  external_id text not null check (length(external_id) between 1 and 255),
  mode text not null check (mode in ('live', 'test')),
  node_id uuid not null references nodes (id) on delete restrict,
  written_off_at timestamptz not null,
  absent_at timestamptz,
  primary key (org_id, cluster_id, external_id)
);
create index written_off_machines_node_idx on written_off_machines (node_id) where absent_at is null;
create index written_off_machines_cluster_idx on written_off_machines (cluster_id) where absent_at is null;
revoke update, delete on written_off_machines from millrace_app;
grant update (absent_at) on written_off_machines to millrace_app;
comment on table written_off_machines is 'Machines that an operator wrote off because their host never returned. A node with one that may still exist is not put back into use.';
comment on column written_off_machines.absent_at is 'When the engine, asked again, was seen to have no such machine. Null: nobody knows.';

-- Ended rentals whose access is still to be cut, by when the next try is due: a worker finds them without Restate.
create index rental_machines_uncut_idx on rental_machines (next_try_at) where state = 'doomed' and cut_at is null;
