-- The fleet: who provides machines, what the engines reported about them, and which GPUs are sold to whom.
--
-- Hardware is what an engine said, never what somebody typed in. A GPU is sold at most once: the partial unique index on
-- allocated_gpus refuses a second live row, whatever the code above it believes.

create table providers (
  id text primary key check (length(id) between 1 and 63),
  variant text not null,
  driver text not null check (driver in ('incus', 'ironic', 'mock')),
  mode text not null check (mode in ('live', 'test')),
  enabled boolean not null default true,
  configured boolean not null default true,
  updated_at timestamptz not null,
  unique (id, mode),
  constraint providers_only_mock_is_test check ((variant = 'mock') = (mode = 'test'))
);
revoke delete on providers from millrace_app;
comment on table providers is 'Who runs machines for us. Written from the configuration at start; only enabled is the operator''s to change.';
comment on column providers.variant is 'Decides the shape of providerData in rental records.';
comment on column providers.mode is 'test for the mock provider, which is all that test keys reach; live for every other.';
comment on column providers.enabled is 'The operator''s switch. Off: nothing new is placed; what runs stays.';
comment on column providers.configured is 'False once the configuration no longer names it: it sells nothing and its rows stay for the record.';

create table provider_regions (
  provider_id text not null references providers (id) on delete restrict,
  region text not null check (length(region) between 1 and 64),
  enabled boolean not null default true,
  configured boolean not null default true,
  custom_ports boolean not null,
  updated_at timestamptz not null,
  primary key (provider_id, region)
);
revoke delete on provider_regions from millrace_app;
comment on table provider_regions is 'Where a provider has machines.';
comment on column provider_regions.custom_ports is 'Whether a rental there may open ports of its own choice.';

create table clusters (
  id uuid primary key,
  name text not null check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  provider_id text not null,
  region text not null,
  driver text not null check (driver in ('incus', 'ironic', 'mock')),
  endpoint text not null check (length(endpoint) between 1 and 2048),
  credential_ref text check (length(credential_ref) between 1 and 255),
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  offer text not null check (offer in ('virtual-machine', 'bare-metal', 'marketplace')),
  connection_type text not null check (connection_type in ('ethernet', 'infiniband')),
  supplier_org_id uuid references organisations (id) on delete restrict,
  port_first integer not null default 20000,
  port_last integer not null default 29999,
  origin text not null check (origin in ('configuration', 'operator', 'supplier')),
  configured boolean not null default true,
  status text not null check (status in ('connecting', 'connected', 'silent', 'removed')),
  status_reason text,
  status_since timestamptz not null,
  engine text,
  last_seen_at timestamptz,
  observer text,
  observer_until timestamptz,
  watching_since timestamptz,
  beat_at timestamptz,
  created_at timestamptz not null,
  removed_at timestamptz,
  foreign key (provider_id, region) references provider_regions (provider_id, region) on delete restrict,
  constraint clusters_ports_in_range check (port_first between 1024 and port_last and port_last <= 65535),
  constraint clusters_removed_when_removed check ((status = 'removed') = (removed_at is not null)),
  constraint clusters_observed_by_somebody check ((observer is null) = (observer_until is null))
) with (fillfactor = 70);
create unique index clusters_name_idx on clusters (name) where status <> 'removed';
create index clusters_provider_idx on clusters (provider_id, region);
revoke delete on clusters from millrace_app;
comment on table clusters is 'One endpoint of one engine.';
comment on column clusters.credential_ref is 'The name of a secret that the installation knows, never the secret.';
comment on column clusters.settings is 'What the driver needs to know beyond the endpoint.';
comment on column clusters.offer is 'What its nodes are sold as.';
comment on column clusters.connection_type is 'How its nodes are connected, unless the engine says otherwise of a node.';
comment on column clusters.port_first is 'With port_last: the ports of a node''s address that machines on it may be given.';
comment on column clusters.configured is 'False once the configuration that named it no longer does: it sells nothing and is still watched.';
comment on column clusters.last_seen_at is 'When its engine last answered a full read.';
comment on column clusters.observer is 'The process that watches it, until observer_until unless it renews.';
comment on column clusters.watching_since is 'Since when it has been watched without a gap. Silence is counted from here at the earliest.';
comment on column clusters.beat_at is 'When its observer last looked, whether or not the engine answered.';

create table cluster_observers (
  holder text primary key check (length(holder) between 1 and 200),
  expires_at timestamptz not null
);
comment on table cluster_observers is 'The processes that watch clusters, so that they can share them.';

create table fabrics (
  id uuid primary key,
  cluster_id uuid not null references clusters (id) on delete restrict,
  name text not null check (length(name) between 1 and 100),
  unique (cluster_id, name)
);
revoke update, delete on fabrics from millrace_app;
comment on table fabrics is 'Nodes that can be rented as one gang: those on one fast network.';

create table nodes (
  id uuid primary key,
  cluster_id uuid not null references clusters (id) on delete restrict,
  name text not null check (length(name) between 1 and 253),
  status text not null check (status in
    ('node_registering', 'node_ready', 'node_draining', 'node_offline', 'node_quarantined', 'node_removed')),
  status_reason text,
  status_since timestamptz not null,
  back_to text check (back_to in ('node_registering', 'node_ready', 'node_draining')),
  drain_deadline_at timestamptz,
  address text,
  cpu_model text,
  cpu_count integer check (cpu_count >= 0),
  ram_mb integer check (ram_mb >= 0),
  storage_gb integer check (storage_gb >= 0),
  gpu_form_factor text check (gpu_form_factor in ('sxm5', 'sxm6', 'pcie')),
  driver_version text,
  cuda_version text,
  hardware_read_at timestamptz,
  hardware_digest text check (length(hardware_digest) between 1 and 64),
  first_seen_at timestamptz not null,
  last_seen_at timestamptz,
  unreachable_since timestamptz,
  forgotten_at timestamptz,
  transitions integer not null default 1 check (transitions >= 1),
  constraint nodes_offline_knows_the_way_back check ((status = 'node_offline') = (back_to is not null)),
  constraint nodes_ready_was_read check (status <> 'node_ready' or hardware_read_at is not null)
) with (fillfactor = 85);
create unique index nodes_name_idx on nodes (cluster_id, name) where status <> 'node_removed';
create index nodes_status_idx on nodes (status, id);
-- For reads of a cluster, which ask for all that its engine may list.
create index nodes_cluster_idx on nodes (cluster_id) where status <> 'node_removed' or forgotten_at is null;
revoke delete on nodes from millrace_app;
comment on table nodes is 'Machines of the clusters, as their engines report them.';
comment on column nodes.name is 'The engine''s own name of it.';
comment on column nodes.back_to is 'What an offline node is again when it is back.';
comment on column nodes.address is 'Where ports of machines on it are opened.';
comment on column nodes.cuda_version is 'The newest CUDA that its driver supports.';
comment on column nodes.hardware_digest is 'Of the hardware as it was last applied: a read that finds the same writes nothing.';
comment on column nodes.last_seen_at is 'When its engine last said that it can be reached, before unreachable_since; while that is null the cluster''s counts.';
comment on column nodes.unreachable_since is 'The first of the reads in a row in which its engine did not reach it or did not list it; null while it is reached.';
comment on column nodes.forgotten_at is 'When its engine stopped listing a removed node. Before that its name is not taken for a new one.';
comment on column nodes.transitions is 'The number of its newest transition.';

create table node_transitions (
  node_id uuid not null references nodes (id) on delete restrict,
  seq integer not null check (seq >= 1),
  from_status text,
  to_status text not null,
  reason text not null check (length(reason) between 1 and 1000),
  actor text not null check (length(actor) between 1 and 100),
  at timestamptz not null,
  primary key (node_id, seq),
  constraint node_transitions_begin_somewhere check ((seq = 1) = (from_status is null))
);
revoke update, delete on node_transitions from millrace_app;
create trigger node_transitions_append_only before update or delete on node_transitions
  for each row execute function refuse_ledger_change();
comment on table node_transitions is 'What happened to each node, by whom and why. Append-only.';

create table gpus (
  id uuid primary key,
  node_id uuid not null references nodes (id) on delete restrict,
  pci_address text not null check (length(pci_address) between 1 and 32),
  device_uuid text check (length(device_uuid) between 1 and 100),
  model text not null check (length(model) between 1 and 200),
  gpu_type text check (gpu_type in ('h100', 'h200', 'b200')),
  ram_mb integer check (ram_mb >= 0),
  numa_node smallint,
  state text not null check (state in ('present', 'missing', 'faulty', 'replaced')),
  state_reason text,
  first_seen_at timestamptz not null,
  unique (id, node_id)
);
create unique index gpus_address_idx on gpus (node_id, pci_address) where state <> 'replaced';
-- For the count of a node, which is taken at every placement, by NUMA node, and looks at replaced GPUs too.
create index gpus_node_idx on gpus (node_id, numa_node);
-- For the question whether a device that turns up is known elsewhere.
create index gpus_device_idx on gpus (device_uuid) where state = 'present';
revoke update, delete on gpus from millrace_app;
grant update (device_uuid, model, gpu_type, ram_mb, numa_node, state, state_reason) on gpus to millrace_app;
comment on table gpus is 'Devices that can be sold, one row each.';
comment on column gpus.device_uuid is 'The maker''s id of the device. Another id at the same address is another GPU: the old row becomes replaced.';
comment on column gpus.gpu_type is 'What it is sold as; null: a model that rentals do not offer.';
comment on column gpus.state is 'Only present ones are sold. missing: the engine no longer lists it. faulty: taken out by a person or a failed check.';

-- What may stand in columns of the tables below, which every sale writes. PostgreSQL reads the text of each check of a
-- table anew for every statement that writes a row of it, which took a tenth of a sale and a quarter of a release. It
-- asks a domain only when a value comes in.
create domain fleet_mode as text check (value in ('live', 'test'));
create domain fleet_offer as text check (value in ('virtual-machine', 'bare-metal', 'marketplace'));
create domain fleet_gpu_type as text check (value in ('h100', 'h200', 'b200', 'other'));
create domain fleet_connection_type as text check (value in ('ethernet', 'infiniband'));
create domain fleet_count as integer check (value > 0);
create domain fleet_cuda as integer check (value >= 0);
create domain fleet_spread as integer check (value >= 0 and value < 2147483647);
create domain allocation_holder as text check (value in ('rental', 'instance'));
create domain allocation_state as text check (value in ('live', 'releasing', 'released'));
create domain port_protocol as text check (value in ('tcp', 'udp'));
create domain port_number as integer check (value between 1 and 65535);

create table node_capacity (
  node_id uuid primary key references nodes (id) on delete restrict,
  mode fleet_mode not null,
  offer fleet_offer not null,
  provider_id text not null,
  region text not null,
  cluster_id uuid not null references clusters (id) on delete restrict,
  fabric_id uuid references fabrics (id) on delete restrict,
  gpu_type fleet_gpu_type,
  connection_type fleet_connection_type not null,
  cuda fleet_cuda,
  ready boolean not null default false,
  open boolean not null default false,
  placeable boolean not null default false,
  pool bigint not null default 0,
  gpus_total smallint not null default 0,
  gpus_free smallint not null default 0,
  gpus_allocated smallint not null default 0,
  largest_numa_free smallint not null default 0,
  idle boolean not null default false,
  spread fleet_spread not null,
  foreign key (provider_id, mode) references providers (id, mode) on delete restrict,
  foreign key (provider_id, region) references provider_regions (provider_id, region) on delete restrict
) with (fillfactor = 60);
-- Numbers only: PostgreSQL compares all that match on a page of it, however few are wanted.
create index node_capacity_pool_idx on node_capacity (pool, gpus_free, largest_numa_free, spread) where placeable;
create index node_capacity_gang_idx on node_capacity (fabric_id, node_id) where placeable and idle;
create index node_capacity_cluster_idx on node_capacity (cluster_id);
revoke insert, update, delete on node_capacity from millrace_app;
grant insert (node_id, mode, offer, provider_id, region, cluster_id, fabric_id, gpu_type, connection_type, cuda, ready,
              open, spread) on node_capacity to millrace_app;
grant update (fabric_id, gpu_type, connection_type, cuda, ready, open, spread) on node_capacity to millrace_app;
comment on table node_capacity is 'What placement asks about a node, and nothing else: narrow, because every placement writes it. Whoever changes what is sold of a node holds this row''s lock.';
comment on column node_capacity.gpu_type is 'What its GPUs are sold as. other: all of one model that rentals do not offer; only the marketplace sells those.';
comment on column node_capacity.cuda is 'The newest CUDA of its driver as a number: 12.8 is 1208.';
comment on column node_capacity.ready is 'The node is node_ready.';
comment on column node_capacity.open is 'Its provider, region and cluster sell.';
comment on column node_capacity.placeable is 'Ready, open and of a type that is sold. Set by trigger.';
comment on column node_capacity.pool is 'pool_of what placement matches exactly. Two pools may have one number, so those columns are asked too. Set by trigger.';
comment on column node_capacity.gpus_total is 'GPUs that are present. Counted by trigger.';
comment on column node_capacity.gpus_free is 'Of these, how many are not allocated. Counted by trigger.';
comment on column node_capacity.gpus_allocated is 'GPUs with a live allocation, also those that went missing. Counted by trigger.';
comment on column node_capacity.largest_numa_free is 'The most free GPUs that share a NUMA node. Counted by trigger.';
comment on column node_capacity.idle is 'Nothing of it is sold or missing: it can join a gang. Set by trigger, with the counts.';
comment on column node_capacity.spread is 'A random number. Placements that find many equal nodes start at different ones and do not queue for the same.';

create table allocations (
  id uuid primary key,
  org_id uuid not null references organisations (id) on delete restrict,
  mode fleet_mode not null,
  external_id uuid not null,
  holder allocation_holder not null,
  region text not null,
  gpu_count fleet_count not null,
  node_count fleet_count not null,
  state allocation_state not null,
  frees_at timestamptz,
  created_at timestamptz not null,
  released_at timestamptz,
  unique (id, mode, org_id),
  constraint allocations_released_when_released check ((state = 'released') = (released_at is not null))
);
create unique index allocations_live_once on allocations (external_id) where state = 'live';
create index allocations_org_idx on allocations (org_id, id) where state <> 'released';
create index allocations_frees_idx on allocations (region, frees_at) where state <> 'released' and frees_at is not null;
revoke update, delete on allocations from millrace_app;
grant update (state, frees_at, released_at) on allocations to millrace_app;
comment on table allocations is 'GPUs set aside for one rental or instance on its nodes.';
comment on column allocations.external_id is 'The machine''s id at the driver. It has one live allocation; one that is being released after a move may stand beside it.';
comment on column allocations.state is 'releasing: the engine has not yet confirmed that the machine is gone, so its GPUs are not sold again.';
comment on column allocations.frees_at is 'When it is known to end, if it is.';

create table allocated_gpus (
  allocation_id uuid not null,
  gpu_id uuid not null,
  node_id uuid not null,
  org_id uuid not null,
  mode fleet_mode not null,
  released_at timestamptz,
  primary key (allocation_id, gpu_id),
  foreign key (allocation_id, mode, org_id) references allocations (id, mode, org_id) on delete restrict,
  foreign key (gpu_id, node_id) references gpus (id, node_id) on delete restrict
);
create unique index allocated_gpus_sold_once_idx on allocated_gpus (gpu_id) where released_at is null;
create index allocated_gpus_node_idx on allocated_gpus (node_id) where released_at is null;
revoke update, delete on allocated_gpus from millrace_app;
grant update (released_at) on allocated_gpus to millrace_app;
comment on table allocated_gpus is 'Which GPU is sold to whom. No GPU has two rows that are not released.';
comment on column allocated_gpus.mode is 'That of the allocation, and of the node: the count of the node refuses another.';

create table allocated_ports (
  allocation_id uuid not null,
  node_id uuid not null,
  org_id uuid not null,
  mode fleet_mode not null,
  protocol port_protocol not null,
  external_port port_number not null,
  internal_port port_number not null,
  released_at timestamptz,
  primary key (allocation_id, node_id, protocol, external_port),
  foreign key (allocation_id, mode, org_id) references allocations (id, mode, org_id) on delete restrict
);
create unique index allocated_ports_given_once_idx on allocated_ports (node_id, protocol, external_port)
  where released_at is null;
revoke update, delete on allocated_ports from millrace_app;
grant update (released_at) on allocated_ports to millrace_app;
comment on table allocated_ports is 'Ports of a node''s address that lead to machines on it.';

create function pool_of(mode text, offer text, region text, gpu_type text, connection_type text) returns bigint
  language sql immutable parallel safe
  return hashtextextended(mode || ' ' || offer || ' ' || region || ' ' || coalesce(gpu_type, '') || ' ' || connection_type, 0);
comment on function pool_of is 'One number for what placement matches exactly.';

-- Not generated columns: each of those is looked at for every sale, though a sale changes nothing that they depend on.
create function mark_pool() returns trigger language plpgsql set search_path = pg_catalog, public as $$
begin
  new.placeable := new.ready and new.open and new.gpu_type is not null;
  new.pool := pool_of(new.mode, new.offer, new.region, new.gpu_type, new.connection_type);
  return new;
end $$;
create trigger node_capacity_pool
  before insert or update of mode, offer, region, gpu_type, connection_type, ready, open, placeable, pool on node_capacity
  for each row execute function mark_pool();

-- The counts of a node are derived from its GPUs and their allocations, here and nowhere else, so that no writer can
-- forget them. Its row is locked by a statement before this: only then does the count see what those before us
-- committed. Nodes are counted one by one, in the order of their ids: a join with a list is planned anew for each list,
-- or once as if the list were long, by reading the whole table. The row is written also where its counts stay as they
-- were: by its version whoever has read its GPUs sees that they have changed since.
create function recount_node(one uuid) returns void language plpgsql as $$
begin
  update node_capacity as capacity
     set gpus_total = counted.total, gpus_free = counted.free, gpus_allocated = counted.allocated,
         largest_numa_free = counted.largest,
         idle = counted.total > 0 and counted.free = counted.total and counted.allocated = 0
    from (
      select coalesce(sum(total), 0)::smallint as total, coalesce(sum(free), 0)::smallint as free,
             coalesce(sum(allocated), 0)::smallint as allocated, coalesce(max(free), 0)::smallint as largest
        from (
          select sum(present::int)::int as total, sum((present and not sold)::int)::int as free,
                 sum(sold::int)::int as allocated
            from (
              select gpu.numa_node, gpu.state = 'present' as present,
                     gpu.id = any (array(select gpu_id from allocated_gpus
                                          where node_id = one and released_at is null)) as sold
                from gpus as gpu where gpu.node_id = one offset 0) as each_gpu
           group by numa_node) as each_numa) as counted
   where capacity.node_id = one;
end $$;
revoke execute on function recount_node(uuid) from public;

-- A machine is given what is at an address. While a GPU is sold its row keeps the address, so that no other row can have it.
create function recount_changed_nodes() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
declare
  one uuid;
begin
  foreach one in array array(select distinct node_id from changed order by node_id) loop
    perform from node_capacity where node_id = one for no key update;
    if exists (select from gpus as gpu
                 join allocated_gpus as sold on sold.gpu_id = gpu.id and sold.released_at is null
                where gpu.node_id = one and gpu.state = 'replaced') then
      raise check_violation using
        message = format('a GPU of node %s is sold and cannot be replaced', one), table = 'gpus';
    end if;
    perform recount_node(one);
  end loop;
  return null;
end $$;

-- What is sold is of the mode of its node. The row is at hand here, so this is asked here: a foreign key would ask again
-- for each GPU, and would need an index of the two that every sale writes.
create function recount_sold_nodes() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
declare
  one record;
begin
  for one in select distinct node_id, mode from changed order by node_id loop
    perform from node_capacity where node_id = one.node_id and mode = one.mode for no key update;
    if not found then
      raise foreign_key_violation using
        message = format('node %s sells nothing in mode %s', one.node_id, one.mode), table = 'allocated_gpus';
    end if;
    perform recount_node(one.node_id);
  end loop;
  return null;
end $$;

create trigger allocated_gpus_insert_recount after insert on allocated_gpus
  referencing new table as changed for each statement execute function recount_sold_nodes();
create trigger allocated_gpus_update_recount after update on allocated_gpus
  referencing new table as changed for each statement execute function recount_sold_nodes();
create trigger gpus_insert_recount after insert on gpus
  referencing new table as changed for each statement execute function recount_changed_nodes();
create trigger gpus_update_recount after update on gpus
  referencing new table as changed for each statement execute function recount_changed_nodes();
