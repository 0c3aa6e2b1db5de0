-- Rentals: machines sold to tenants, whichever of three kinds they are (virtual machines, bare metal, marketplace instances),
-- what was agreed about them, the machines under them at the engines, and the steps by which they come and go.
--
-- All that a rental still has to do follows from these rows. Whoever works on one may die or lose everything it knew:
-- next_action_at says when somebody must look again, and deadline_at from when it is late.

create table rentals (
  id uuid primary key,
  wire_id integer not null unique check (wire_id > 0),
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  kind text not null check (kind in ('virtual-machine', 'bare-metal', 'instance')),
  user_id uuid not null references users (id) on delete restrict,
  key_id uuid references api_keys (id) on delete restrict,
  provider_id text not null references providers (id) on delete restrict,
  region text not null check (length(region) between 1 and 64),
  gpu_type text not null check (gpu_type in ('h100', 'h200', 'b200', 'other')),
  gpus_per_node integer not null check (gpus_per_node between 1 and 64),
  node_count integer not null check (node_count between 1 and 10000),
  gpu_count integer not null generated always as (gpus_per_node * node_count) stored,
  connection_type text not null check (connection_type in ('ethernet', 'infiniband')),
  cuda integer check (cuda >= 0),
  name text check (length(name) between 1 and 255),
  label text check (length(label) <= 1000),
  tags jsonb not null check (jsonb_typeof(tags) = 'object'),
  image text check (length(image) between 1 and 255),
  user_data text check (length(user_data) <= 65536),
  ssh_keys text[] not null,
  custom_ports integer[] not null default '{}',
  labels jsonb not null check (jsonb_typeof(labels) = 'object'),
  monitoring boolean not null default false,
  convert_on_expiry boolean not null,
  disk_price jsonb check (jsonb_typeof(disk_price) = 'object'),
  status text not null check (status in ('Pending', 'Running', 'Unknown', 'Failed', 'Terminating', 'Terminated')),
  status_reason text check (length(status_reason) between 1 and 1000),
  status_since timestamptz not null,
  task text check (task in ('provision', 'stop', 'start', 'reboot', 'release')),
  task_options jsonb not null check (jsonb_typeof(task_options) = 'object'),
  task_deadline_at timestamptz,
  power text not null check (power in ('on', 'off', 'changing')),
  gpu_held boolean not null default true,
  attempt smallint not null default 1 check (attempt >= 1),
  first_attempt smallint not null default 1 check (first_attempt between 1 and attempt),
  allocation_id uuid,
  trouble_since timestamptz,
  billing_paused_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz,
  started_at timestamptz,
  end_accepted_at timestamptz,
  ended_at timestamptz,
  end_reason text check (length(end_reason) between 1 and 255),
  expires_at timestamptz,
  max_nano_usd bigint check (max_nano_usd > 0),
  idle_after_seconds integer check (idle_after_seconds >= 300),
  idle_action text check (idle_action in ('stop', 'terminate')),
  told_expiring_at timestamptz,
  next_action_at timestamptz,
  deadline_at timestamptz,
  transitions integer not null default 1 check (transitions >= 1),
  steps integer not null default 0 check (steps >= 0),
  version integer not null default 1 check (version >= 1),
  unique (id, mode),
  constraint rentals_mode_of_provider foreign key (provider_id, mode) references providers (id, mode) on delete restrict,
  constraint rentals_allocation_is_its_own
    foreign key (allocation_id, mode, org_id) references allocations (id, mode, org_id) on delete restrict,
  constraint rentals_live_ones_are_looked_at check (
    (status = 'Terminated') = (next_action_at is null) and (next_action_at is null) = (deadline_at is null)),
  constraint rentals_ended_when_ended check ((status = 'Terminated') = (ended_at is not null)),
  constraint rentals_pending_has_a_task check (status <> 'Pending' or task = 'provision'),
  constraint rentals_leaving_has_a_task check ((status in ('Terminating', 'Failed')) = (task is not null and task = 'release')),
  constraint rentals_task_has_a_deadline check ((task is null) = (task_deadline_at is null)),
  constraint rentals_running_was_started check (status not in ('Running', 'Unknown') or started_at is not null),
  constraint rentals_leaving_was_accepted check (status <> 'Terminating' or end_accepted_at is not null),
  constraint rentals_idle_is_whole check ((idle_after_seconds is null) = (idle_action is null)),
  constraint rentals_unknown_knows_since_when check (status <> 'Unknown' or trouble_since is not null)
) with (fillfactor = 80);
create index rentals_live_idx on rentals (org_id, mode, kind, status, id) where status <> 'Terminated';
create index rentals_ended_idx on rentals (org_id, mode, kind, ended_at, id) where status = 'Terminated';
create index rentals_due_idx on rentals (next_action_at) where next_action_at is not null;
create index rentals_key_idx on rentals (key_id) where status <> 'Terminated';
create index rentals_allocation_idx on rentals (allocation_id) where allocation_id is not null;
revoke update, delete on rentals from millrace_app;
grant update (provider_id, name, label, tags, monitoring, convert_on_expiry, user_data, status, status_reason, status_since, task,
              task_options, task_deadline_at, power, gpu_held, attempt, first_attempt, allocation_id, trouble_since, billing_paused_at,
              updated_at, started_at, end_accepted_at, ended_at, end_reason, expires_at, max_nano_usd, idle_after_seconds, idle_action,
              told_expiring_at, next_action_at, deadline_at, transitions, steps, version) on rentals to millrace_app;
comment on table rentals is 'Machines sold to tenants. One mechanism for virtual machines, bare metal and marketplace instances; kind tells them apart.';
comment on column rentals.id is 'Also its externalId on the wire and, for its first machine, its name at the engine.';
comment on column rentals.wire_id is 'The 32-bit id that clients know.';
comment on column rentals.provider_id is 'Who runs its machines now.';
comment on column rentals.cuda is 'The CUDA that its nodes must support at least, as a number: 12.8 is 1208.';
comment on column rentals.image is 'As it was asked for; null: the default of the cluster.';
comment on column rentals.user_data is 'The tenant''s, started once after the proof and forgotten then; kept while a machine that runs has not taken it.';
comment on column rentals.ssh_keys is 'The tenant''s public keys as they were when it was accepted, one line of authorized_keys each.';
comment on column rentals.labels is 'Handed to the engine; the mock reads its faults there. Only test mode takes them from tags.';
comment on column rentals.disk_price is 'The frozen price of its disk while it is stopped and its GPUs are given back.';
comment on column rentals.task is 'What is being done to it. One at a time; release overrides the others.';
comment on column rentals.task_deadline_at is 'When the task has failed if it is not done.';
comment on column rentals.gpu_held is 'False after a stop that gave the GPUs back.';
comment on column rentals.attempt is 'Counts the placements it ever had. Machines carry the attempt that they belong to.';
comment on column rentals.first_attempt is 'The first attempt of the present task: one automatic move to another host is made for each task.';
comment on column rentals.allocation_id is 'The GPUs it holds now.';
comment on column rentals.trouble_since is 'The last good sign before its engine fell silent or its machine was missing; null while all is well.';
comment on column rentals.billing_paused_at is 'From when its meters are paused because of that trouble.';
comment on column rentals.end_accepted_at is 'When its end was accepted: billing stopped there. Null: it failed before anyone ended it.';
comment on column rentals.expires_at is 'The end of its time to live.';
comment on column rentals.max_nano_usd is 'It is ended before it costs more than this.';
comment on column rentals.told_expiring_at is 'The instant at which the newest rental.expiring was due, so that each is told once.';
comment on column rentals.next_action_at is 'When somebody must look at it again, whoever did so last.';
comment on column rentals.deadline_at is 'When that look is late: counted and alerted.';
comment on column rentals.transitions is 'The number of its newest transition.';
comment on column rentals.steps is 'The number of its newest step.';
comment on column rentals.version is 'Grows with each change: who decided by an older one decides again.';

create table rental_transitions (
  rental_id uuid not null references rentals (id) on delete restrict,
  seq integer not null check (seq >= 1),
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  from_status text,
  to_status text not null,
  reason text check (length(reason) between 1 and 1000),
  actor text not null check (length(actor) between 1 and 100),
  at timestamptz not null,
  primary key (rental_id, seq),
  constraint rental_transitions_begin_somewhere check ((seq = 1) = (from_status is null))
);
revoke update, delete on rental_transitions from millrace_app;
create trigger rental_transitions_append_only before update or delete on rental_transitions
  for each row execute function refuse_ledger_change();
comment on table rental_transitions is 'What became of each rental, by whom and why. Append-only.';

create table rental_terms (
  rental_id uuid not null,
  seq integer not null check (seq >= 1),
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  term_type text not null check (term_type in ('on-demand', 'reserved', 'private-cloud')),
  price jsonb not null check (jsonb_typeof(price) = 'object'),
  hold_id uuid,
  meter_name text not null check (length(meter_name) between 1 and 50),
  effective_at timestamptz,
  ends_at timestamptz,
  created_at timestamptz not null,
  primary key (rental_id, seq),
  foreign key (rental_id, mode) references rentals (id, mode) on delete restrict,
  constraint rental_terms_reserved_ends check (term_type = 'reserved' or ends_at is null),
  constraint rental_terms_in_order check (ends_at > effective_at)
);
revoke update, delete on rental_terms from millrace_app;
grant update (effective_at, ends_at, hold_id) on rental_terms to millrace_app;
comment on table rental_terms is 'What a rental is paid by, one row for each term in its order: the first, each extension, and what follows on demand. The price is frozen.';
comment on column rental_terms.hold_id is 'What was set aside for it when it was accepted, until its meter takes it over.';
comment on column rental_terms.meter_name is 'The meter of the rental that charges it.';
comment on column rental_terms.effective_at is 'Null until the machine is proven usable: nothing is owed before.';
comment on column rental_terms.ends_at is 'Reserved: the committed end.';

create table rental_machines (
  rental_id uuid not null,
  attempt smallint not null check (attempt >= 1),
  position smallint not null check (position >= 1),
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  external_id text not null unique check (length(external_id) between 1 and 63),
  allocation_id uuid,
  cluster_id uuid not null references clusters (id) on delete restrict,
  node_id uuid not null references nodes (id) on delete restrict,
  gpu_addresses text[] not null,
  ports jsonb not null check (jsonb_typeof(ports) = 'array'),
  cpu_count integer not null check (cpu_count >= 1),
  ram_mb integer not null check (ram_mb >= 1),
  disk_gb integer not null check (disk_gb >= 1),
  state text not null check (state in ('wanted', 'made', 'proven', 'open', 'doomed', 'gone')),
  proof_key text,
  address text,
  private_ip text,
  ssh_user text,
  host_key text,
  starting boolean not null default false,
  cut_at timestamptz,
  absent_seen smallint not null default 0 check (absent_seen between 0 and 2),
  gone_at timestamptz,
  tries integer not null default 0 check (tries >= 0),
  next_try_at timestamptz,
  doomed_at timestamptz,
  last_error text check (length(last_error) <= 2000),
  primary key (rental_id, attempt, position),
  foreign key (rental_id, mode) references rentals (id, mode) on delete restrict,
  foreign key (allocation_id, mode, org_id) references allocations (id, mode, org_id) on delete restrict,
  constraint rental_machines_gone_is_confirmed check ((state = 'gone') = (gone_at is not null) and (state <> 'gone' or absent_seen = 2)),
  constraint rental_machines_doomed_since check ((doomed_at is not null) = (state in ('doomed', 'gone'))),
  constraint rental_machines_proof_key_is_forgotten check (proof_key is null or state in ('wanted', 'made', 'proven'))
) with (fillfactor = 80);
create index rental_machines_cluster_idx on rental_machines (cluster_id) where state <> 'gone';
create index rental_machines_node_idx on rental_machines (node_id) where state <> 'gone';
create index rental_machines_allocation_idx on rental_machines (allocation_id);
revoke update, delete on rental_machines from millrace_app;
grant update (allocation_id, gpu_addresses, ports, state, proof_key, address, private_ip, ssh_user, host_key, starting, cut_at, absent_seen, gone_at,
              tries, next_try_at, doomed_at, last_error) on rental_machines to millrace_app;
comment on table rental_machines is 'The machines of rentals at their engines: one for each node, and new ones for each attempt. Written before the engine is asked, so nothing is made that nobody knows of.';
comment on column rental_machines.external_id is 'Its name at the engine: the rental''s id, with attempt and position added where they are not the first.';
comment on column rental_machines.allocation_id is 'The GPUs it holds. Null while it is stopped and has given them back.';
comment on column rental_machines.state is 'wanted: the engine may or may not have it. made: it exists with the platform''s key. proven: seen to be as sold. open: the tenant can get in, and that key is refused. doomed: to be removed. gone: the engine said so twice.';
comment on column rental_machines.proof_key is 'The private half of the one-time platform key, sealed; forgotten when it is refused.';
comment on column rental_machines.host_key is 'The SSH host key seen in the proof, as SHA256 fingerprint. Later logins must show the same.';
comment on column rental_machines.starting is 'It let us in before its engine had ended its start: whether that ends well is still to be seen.';
comment on column rental_machines.cut_at is 'When the engine had ended all access.';
comment on column rental_machines.absent_seen is 'How often the engine has said that it has no such machine.';
comment on column rental_machines.next_try_at is 'When what failed or was not ready yet is tried again.';

create table rental_steps (
  rental_id uuid not null,
  seq integer not null check (seq >= 1),
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  attempt smallint not null check (attempt >= 1),
  name text not null check (length(name) between 1 and 50),
  status text not null check (status in ('running', 'done', 'failed', 'undone')),
  started_at timestamptz not null,
  ended_at timestamptz,
  message text check (length(message) <= 1000),
  primary key (rental_id, seq),
  foreign key (rental_id, mode) references rentals (id, mode) on delete restrict,
  constraint rental_steps_ended_when_ended check ((status = 'running') = (ended_at is null))
);
revoke update, delete on rental_steps from millrace_app;
grant update (status, ended_at, message) on rental_steps to millrace_app;
comment on table rental_steps is 'What was done to bring a rental up or down, with times, as the tenant sees it.';
comment on column rental_steps.message is 'For people, nothing secret.';

create or replace view metered_things as
  select case when kind = 'instance' then 'instance' else 'rental' end as kind, wire_id::text as id, org_id, mode
    from rentals
   where status in ('Running', 'Unknown') or (status = 'Pending' and started_at is not null);

-- What happened to one thing is read by itself, however much else happened to its organisation.
create index events_resource_idx on events (org_id, resource_kind, resource_id, seq);

-- What is kept of a thing whose money has ended may cost less than running it: the disk of a rental without its GPUs.
alter table meters add column kept_nano_usd_per_hour bigint not null default 0 check (kept_nano_usd_per_hour >= 0);
update meters set kept_nano_usd_per_hour = rate_nano_usd_per_hour where retention_ms > 0;
comment on column meters.kept_nano_usd_per_hour is 'What an hour of retention costs: the rate of what is kept, at which retention_ms is set aside.';
