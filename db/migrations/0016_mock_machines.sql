-- The machines of the mock engine: what test keys rent. The engine is a function of these rows and the time, so any
-- number of processes can be it at once; each change names the one before it.

create sequence mock_machine_changes;

create table mock_machines (
  cluster text not null check (length(cluster) between 1 and 100),
  org_id uuid not null references organisations (id) on delete restrict,
  external_id text not null check (external_id ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  mode text not null check (mode in ('live', 'test')),
  machine jsonb check (jsonb_typeof(machine) = 'object' and octet_length(machine::text) <= 1048576),
  what text check (length(what) between 1 and 50),
  change_seq bigint not null default nextval('mock_machine_changes'),
  changed_at timestamptz not null,
  primary key (cluster, org_id, external_id)
);
create index mock_machines_changes_idx on mock_machines (cluster, change_seq);
create index mock_machines_gone_idx on mock_machines (changed_at) where machine is null;
alter sequence mock_machine_changes owned by mock_machines.change_seq;
revoke update on mock_machines from millrace_app;
grant update (machine, what, change_seq, changed_at) on mock_machines to millrace_app;
comment on table mock_machines is 'Machines of the mock engine, by cluster. The engine of a cluster is these rows and nothing else.';
comment on column mock_machines.mode is 'live or test. Only test keys reach the mock in production.';
comment on column mock_machines.machine is 'The whole record; null for a machine that was deleted, whose row stays for an hour so that its end is told.';
comment on column mock_machines.what is 'What changed last, as listeners are told; null when nobody is.';
comment on column mock_machines.change_seq is 'Drawn anew with each change. It is the version that a change must name; and listeners remember the highest that they saw, which may skip one that commits late: they are told hints.';
