-- Volumes: storage that tenants pay for by its size and attach to their rentals, the storage nodes that serve it, and what
-- each node was last told to serve.
--
-- All that is still to be done for a volume follows from these rows. next_action_at says when somebody must look at it again;
-- wish_seq, what the backend has to be brought to; served_clients, whom it may be letting in until it has confirmed otherwise.

create table storage_nodes (
  id uuid primary key,
  name text not null unique check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  region text not null check (length(region) between 1 and 64),
  mode text not null check (mode in ('live', 'test')),
  kind text not null check (kind in ('nfs', 'mock')),
  endpoint text not null check (length(endpoint) between 1 and 2048),
  credential_ref text check (length(credential_ref) between 1 and 255),
  settings jsonb not null check (jsonb_typeof(settings) = 'object'),
  vip_first text not null check (vip_first ~ '^[0-9]{1,3}([.][0-9]{1,3}){3}$'),
  vip_last text not null check (vip_last ~ '^[0-9]{1,3}([.][0-9]{1,3}){3}$'),
  capacity_gb integer not null check (capacity_gb > 0),
  configured boolean not null default true,
  status text not null check (status in ('connecting', 'connected', 'silent')),
  status_reason text check (length(status_reason) between 1 and 1000),
  status_since timestamptz not null,
  beat_at timestamptz,
  watch_since timestamptz,
  seen_at timestamptz,
  next_look_at timestamptz not null,
  created_at timestamptz not null,
  unique (id, mode),
  constraint storage_nodes_mock_is_for_test_keys check ((kind = 'mock') = (mode = 'test')),
  constraint storage_nodes_connected_was_seen check (status <> 'connected' or seen_at is not null)
) with (fillfactor = 80);
create index storage_nodes_look_idx on storage_nodes (next_look_at);
revoke update, delete on storage_nodes from millrace_app;
grant update (endpoint, credential_ref, settings, vip_first, vip_last, capacity_gb, configured, status, status_reason,
              status_since, beat_at, watch_since, seen_at, next_look_at) on storage_nodes to millrace_app;
comment on table storage_nodes is 'Where volumes are kept: from the configuration of the workers. One node is one storage agent.';
comment on column storage_nodes.mode is 'What is kept for test keys is never kept beside what live ones pay for.';
comment on column storage_nodes.credential_ref is 'The name of a credential of the installation. No secret is here.';
comment on column storage_nodes.vip_first is 'With vip_last: the addresses that volumes of this node are served on, one each.';
comment on column storage_nodes.capacity_gb is 'What may be sold of it, by the sizes of its volumes and snapshots.';
comment on column storage_nodes.configured is 'False: the configuration names it no longer. It takes no new volumes and goes on with those it has.';
comment on column storage_nodes.beat_at is 'When a worker last tried to look at it.';
comment on column storage_nodes.watch_since is 'Since when it is looked at without a gap: silence before that is nobody''s but ours.';
comment on column storage_nodes.seen_at is 'When it last answered.';
comment on column storage_nodes.next_look_at is 'Whoever looks moves this on first, so one worker looks at a time.';

create table volumes (
  id uuid primary key,
  wire_id integer not null unique check (wire_id > 0),
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  user_id uuid not null references users (id) on delete restrict,
  key_id uuid references api_keys (id) on delete restrict,
  node_id uuid not null,
  region text not null check (length(region) between 1 and 64),
  vip text not null check (vip ~ '^[0-9]{1,3}([.][0-9]{1,3}){3}$'),
  label text not null check (length(label) between 4 and 255),
  name text check (length(name) between 1 and 255),
  tags jsonb not null check (jsonb_typeof(tags) = 'object'),
  size_gb integer not null check (size_gb between 1 and 64000),
  price jsonb not null check (jsonb_typeof(price) = 'object'),
  hold_id uuid,
  grow_to_gb integer check (grow_to_gb between 1 and 64000),
  grow_price jsonb check (jsonb_typeof(grow_price) = 'object'),
  grow_hold_id uuid,
  grow_by timestamptz,
  max_nano_usd bigint check (max_nano_usd > 0),
  phase text not null check (phase in ('provisioning', 'live', 'frozen', 'leaving', 'purging', 'purged')),
  status text not null check (status in ('inactive', 'active', 'unknown')),
  status_reason text check (length(status_reason) between 1 and 1000),
  status_since timestamptz not null,
  end_reason text check (length(end_reason) between 1 and 255),
  created_at timestamptz not null,
  updated_at timestamptz,
  started_at timestamptz,
  end_accepted_at timestamptz,
  purge_at timestamptz,
  deleted_at timestamptz,
  wish_seq integer not null default 1 check (wish_seq >= 1),
  served_seq integer not null default 0 check (served_seq between 0 and wish_seq),
  served_clients text[] not null default '{}',
  trouble_since timestamptz,
  tries integer not null default 0 check (tries >= 0),
  last_error text check (length(last_error) <= 2000),
  next_action_at timestamptz,
  transitions integer not null default 1 check (transitions >= 1),
  version integer not null default 1 check (version >= 1),
  unique (id, mode),
  constraint volumes_mode_of_node foreign key (node_id, mode) references storage_nodes (id, mode) on delete restrict,
  constraint volumes_live_ones_are_looked_at check ((phase = 'purged') = (next_action_at is null)),
  constraint volumes_deleted_when_purged check ((phase = 'purged') = (deleted_at is not null)),
  constraint volumes_purged_lets_nobody_in check (phase <> 'purged' or (served_clients = '{}' and status = 'inactive')),
  constraint volumes_active_was_started check (phase not in ('live', 'frozen', 'leaving') or started_at is not null),
  constraint volumes_active_is_live check (status <> 'active' or phase = 'live'),
  constraint volumes_live_is_seen_or_unknown check (phase <> 'live' or status in ('active', 'unknown')),
  constraint volumes_provisioning_is_inactive check (phase <> 'provisioning' or status = 'inactive'),
  constraint volumes_leaving_is_purged_at_some_time check (
    (phase in ('frozen', 'leaving', 'purging')) <= (purge_at is not null)),
  constraint volumes_growth_is_whole check (
    (grow_to_gb is null) = (grow_price is null) and (grow_to_gb is null) = (grow_by is null)
    and (grow_hold_id is null or grow_to_gb is not null) and (grow_to_gb is null or grow_to_gb > size_gb))
) with (fillfactor = 80);
create index volumes_org_idx on volumes (org_id, mode, id) where phase <> 'purged';
create index volumes_due_idx on volumes (next_action_at) where next_action_at is not null;
create index volumes_node_idx on volumes (node_id) where phase <> 'purged';
create index volumes_key_idx on volumes (key_id) where phase <> 'purged';
create unique index volumes_label_idx on volumes (org_id, mode, label) where phase in ('provisioning', 'live', 'frozen');
create unique index volumes_vip_idx on volumes (node_id, vip) where phase <> 'purged';
revoke update, delete on volumes from millrace_app;
grant update (label, tags, size_gb, price, hold_id, grow_to_gb, grow_price, grow_hold_id, grow_by, phase, status, status_reason,
              status_since, end_reason, updated_at, started_at, end_accepted_at, purge_at, deleted_at, wish_seq, served_seq,
              served_clients, trouble_since, tries, last_error, next_action_at, transitions, version) on volumes to millrace_app;
comment on table volumes is 'Storage sold to tenants. One volume is one file system, one server process and one address.';
comment on column volumes.id is 'Also its externalId on the wire and its name at the backend.';
comment on column volumes.wire_id is 'The 32-bit id that clients know.';
comment on column volumes.vip is 'Where it is served. Unique among the volumes of its node that are not purged.';
comment on column volumes.label is 'Unique in the organisation among volumes that were not deleted.';
comment on column volumes.size_gb is 'What it has, as the backend confirmed, and what is paid for.';
comment on column volumes.price is 'Frozen for this size.';
comment on column volumes.hold_id is 'What was set aside when it was accepted, until its first meter takes it over.';
comment on column volumes.grow_to_gb is 'What it was asked to become. With its price and what was set aside for it, until the backend has confirmed.';
comment on column volumes.grow_by is 'When the growth has failed if it is not done.';
comment on column volumes.max_nano_usd is 'It is ended, its retention included, before it costs more than this.';
comment on column volumes.phase is 'provisioning: being made. live: usable. frozen: kept for want of money, may go on. leaving: deleted, kept for its retention. purging: its data is being deleted. purged: gone.';
comment on column volumes.status is 'As the contract shows it. unknown: the backend of a volume that was active is silent; what became of it meanwhile shows when it answers.';
comment on column volumes.started_at is 'When it was first usable: from here it is billed.';
comment on column volumes.end_accepted_at is 'When its deletion was accepted.';
comment on column volumes.purge_at is 'When its data is deleted. Nothing is billed after it.';
comment on column volumes.wish_seq is 'Grows with each change of what the backend has to serve.';
comment on column volumes.served_seq is 'The wish that the backend confirmed last.';
comment on column volumes.served_clients is 'Addresses that the backend may be letting in. Written before it is asked to, and shortened only once it has confirmed.';
comment on column volumes.trouble_since is 'Since when the backend has not confirmed what is wished, though it was asked.';
comment on column volumes.version is 'Grows with each change: who decided by an older one decides again.';

create table volume_transitions (
  volume_id uuid not null references volumes (id) on delete restrict,
  seq integer not null check (seq >= 1),
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  from_status text,
  to_status text,
  reason text check (length(reason) between 1 and 1000),
  actor text not null check (length(actor) between 1 and 100),
  at timestamptz not null,
  primary key (volume_id, seq),
  constraint volume_transitions_begin_somewhere check ((seq = 1) = (from_status is null))
);
revoke update, delete on volume_transitions from millrace_app;
create trigger volume_transitions_append_only before update or delete on volume_transitions
  for each row execute function refuse_ledger_change();
comment on table volume_transitions is 'What became of each volume, by whom and why. Append-only.';
comment on column volume_transitions.to_status is 'Null: it is gone.';

create table volume_attachments (
  id bigint generated always as identity primary key,
  volume_id uuid not null,
  rental_id uuid not null,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  attached_at timestamptz not null,
  detached_at timestamptz check (detached_at >= attached_at),
  foreign key (volume_id, mode) references volumes (id, mode) on delete restrict,
  foreign key (rental_id, mode) references rentals (id, mode) on delete restrict
);
create unique index volume_attachments_once_idx on volume_attachments (volume_id, rental_id) where detached_at is null;
create index volume_attachments_rental_idx on volume_attachments (rental_id);
revoke update, delete on volume_attachments from millrace_app;
grant update (detached_at) on volume_attachments to millrace_app;
comment on table volume_attachments is 'Which rentals may use which volume, and which could. A volume may have several at once.';

create table volume_snapshots (
  id uuid primary key,
  volume_id uuid not null,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  label text not null check (length(label) between 1 and 255),
  size_gb integer not null check (size_gb >= 0),
  price jsonb not null check (jsonb_typeof(price) = 'object'),
  hold_id uuid,
  status text not null check (status in ('creating', 'ready', 'failed', 'deleting', 'deleted')),
  created_at timestamptz not null,
  make_by timestamptz not null,
  ready_at timestamptz,
  ended_at timestamptz,
  tries integer not null default 0 check (tries >= 0),
  last_error text check (length(last_error) <= 2000),
  foreign key (volume_id, mode) references volumes (id, mode) on delete restrict,
  constraint volume_snapshots_ready_since check (status <> 'ready' or ready_at is not null),
  constraint volume_snapshots_ended_when_ended check ((status in ('failed', 'deleted')) = (ended_at is not null))
) with (fillfactor = 80);
create index volume_snapshots_volume_idx on volume_snapshots (volume_id, id) where status <> 'deleted';
revoke update, delete on volume_snapshots from millrace_app;
grant update (size_gb, price, hold_id, status, ready_at, ended_at, tries, last_error) on volume_snapshots to millrace_app;
comment on table volume_snapshots is 'What a volume held at an instant. Kept, and paid for, beside it; gone when it is purged.';
comment on column volume_snapshots.size_gb is 'At most the size of the volume while it is made; what it takes once it is ready.';
comment on column volume_snapshots.price is 'Frozen for this size.';
comment on column volume_snapshots.make_by is 'When it has failed if it is not ready.';

create or replace view metered_things as
  select case when kind = 'instance' then 'instance' else 'rental' end as kind, wire_id::text as id, org_id, mode
    from rentals
   where status in ('Running', 'Unknown') or (status = 'Pending' and started_at is not null)
  union all
  select 'volume', wire_id::text, org_id, mode from volumes where phase in ('live', 'frozen', 'leaving');
