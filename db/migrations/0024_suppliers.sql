-- Suppliers: organisations that put machines of their own on the marketplace, how these joined, and what they earned.
--
-- A supplier's machine is a cluster of one node, so that whatever reads, places and drives machines needs to know nothing
-- of suppliers. What is here is only what a supplier adds: who joined it, how far it came, its price and whether it is shown.

create table suppliers (
  id uuid primary key,
  org_id uuid not null unique references organisations (id) on delete restrict,
  name text not null check (length(name) between 1 and 100),
  about text not null check (length(about) <= 2000),
  status text not null check (status in ('applied', 'approved', 'rejected', 'suspended')),
  status_reason text check (length(status_reason) between 1 and 1000),
  fee_ppm integer not null default 0 check (fee_ppm between 0 and 1000000),
  applied_at timestamptz not null,
  approved_at timestamptz,
  updated_at timestamptz not null,
  unique (id, org_id),
  constraint suppliers_approved_when_approved check (status not in ('approved', 'suspended') or approved_at is not null)
);
create index suppliers_status_idx on suppliers (status, id);
revoke update, delete on suppliers from millrace_app;
grant update (name, about, status, status_reason, fee_ppm, applied_at, approved_at, updated_at) on suppliers to millrace_app;
comment on table suppliers is 'Organisations that applied to supply machines. One row each, also after a rejection.';
comment on column suppliers.fee_ppm is 'The operator''s part of each charge, in millionths. What is rented keeps the fee it was rented with.';

-- Who may act as a supplier depends on the organisation, not on the person: whoever joins it, leaves it or gets another
-- role in it is what the role says from then on.
alter table organisations add column supplier_since timestamptz;
comment on column organisations.supplier_since is 'Since when its owners and admins act as suppliers; null: it supplies nothing. Never taken back: who supplied once has money and machines here.';

create table supplier_join_tokens (
  id uuid primary key,
  supplier_id uuid not null,
  org_id uuid not null,
  description text not null check (length(description) <= 255),
  cluster_name text not null check (cluster_name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  region text not null check (length(region) between 1 and 64),
  max_machines integer not null check (max_machines between 1 and 1000),
  used_machines integer not null default 0,
  secret_hash bytea not null unique check (length(secret_hash) = 32),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  created_by uuid not null references users (id) on delete restrict,
  created_at timestamptz not null,
  foreign key (supplier_id, org_id) references suppliers (id, org_id) on delete restrict,
  constraint supplier_join_tokens_used_within_bounds check (used_machines between 0 and max_machines)
);
create index supplier_join_tokens_org_idx on supplier_join_tokens (org_id, id);
revoke update, delete on supplier_join_tokens from millrace_app;
grant update (used_machines, revoked_at) on supplier_join_tokens to millrace_app;
comment on table supplier_join_tokens is 'With one of these a machine joins, without a key of the supplier being on it. Only the hash of the token is kept.';
comment on column supplier_join_tokens.cluster_name is 'What the marketplace shows as the cluster of the machines that join with it.';

create table supplier_machines (
  id uuid primary key,
  supplier_id uuid not null,
  org_id uuid not null,
  join_token_id uuid not null references supplier_join_tokens (id) on delete restrict,
  cluster_id uuid unique references clusters (id) on delete restrict,
  node_id uuid unique references nodes (id) on delete restrict,
  name text not null check (length(name) between 1 and 63),
  cluster_name text not null check (length(cluster_name) between 1 and 63),
  region text not null check (length(region) between 1 and 64),
  endpoint text not null check (length(endpoint) between 1 and 2048),
  server_certificate text not null check (length(server_certificate) between 1 and 16384),
  server_fingerprint text not null check (server_fingerprint ~ '^[0-9a-f]{64}$'),
  trust_token text check (length(trust_token) between 1 and 16384),
  stage text not null check (stage in ('trusting', 'inspecting', 'testing', 'enrolled', 'refused', 'withdrawn')),
  problem text check (length(problem) between 1 and 1000),
  tries integer not null default 0 check (tries >= 0),
  next_try_at timestamptz,
  deadline_at timestamptz,
  tests jsonb check (jsonb_typeof(tests) = 'object'),
  tested_at timestamptz,
  approval text not null default 'pending' check (approval in ('pending', 'approved', 'rejected')),
  approval_reason text check (length(approval_reason) between 1 and 1000),
  listed boolean not null default false,
  drained_at timestamptz,
  price_nano_usd_per_gpu_hour bigint check (price_nano_usd_per_gpu_hour > 0),
  recent_price_nano_usd_per_gpu_hour bigint check (recent_price_nano_usd_per_gpu_hour > 0),
  recent_price_until timestamptz,
  joined_at timestamptz not null,
  enrolled_at timestamptz,
  withdrawn_at timestamptz,
  version integer not null default 1 check (version >= 1),
  foreign key (supplier_id, org_id) references suppliers (id, org_id) on delete restrict,
  constraint supplier_machines_at_work_is_looked_at check (
    (stage in ('trusting', 'inspecting', 'testing')) = (next_try_at is not null)
    and (next_try_at is null) = (deadline_at is null)),
  constraint supplier_machines_secret_is_used_up check (stage = 'trusting' or trust_token is null),
  constraint supplier_machines_inspected_has_a_cluster check (stage not in ('inspecting', 'testing', 'enrolled') or cluster_id is not null),
  constraint supplier_machines_tested_has_a_node check (stage not in ('testing', 'enrolled') or node_id is not null),
  constraint supplier_machines_enrolled_was_tested check (
    stage <> 'enrolled' or (tests is not null and tested_at is not null and enrolled_at is not null)),
  constraint supplier_machines_listed_has_a_price check (not listed or price_nano_usd_per_gpu_hour is not null),
  constraint supplier_machines_recent_price_has_an_end check (
    (recent_price_nano_usd_per_gpu_hour is null) = (recent_price_until is null)),
  constraint supplier_machines_withdrawn_when_withdrawn check ((stage = 'withdrawn') = (withdrawn_at is not null))
);
create index supplier_machines_org_idx on supplier_machines (org_id, id);
-- For operators, who look for the few that wait for their word.
create index supplier_machines_approval_idx on supplier_machines (approval, id);
create index supplier_machines_due_idx on supplier_machines (next_try_at) where next_try_at is not null;
-- One daemon joins once: two rows of it would sell its GPUs twice. Those that are still to be trusted keep nobody from it,
-- because anybody can name the address and the certificate of somebody else's.
create unique index supplier_machines_endpoint_idx on supplier_machines (endpoint) where stage in ('inspecting', 'testing', 'enrolled');
create unique index supplier_machines_server_idx on supplier_machines (server_fingerprint) where stage in ('inspecting', 'testing', 'enrolled');
create index supplier_machines_asking_idx on supplier_machines (join_token_id) where stage = 'trusting';
revoke update, delete on supplier_machines from millrace_app;
grant update (cluster_id, node_id, endpoint, server_certificate, server_fingerprint, trust_token, stage, problem, tries,
              next_try_at, deadline_at, tests, tested_at, approval,
              approval_reason, listed, drained_at, price_nano_usd_per_gpu_hour, recent_price_nano_usd_per_gpu_hour, recent_price_until,
              enrolled_at, withdrawn_at, version)
  on supplier_machines to millrace_app;
comment on table supplier_machines is 'Machines of suppliers, from the moment that they ask to join. What they consist of is in nodes and gpus, as of every machine.';
comment on column supplier_machines.endpoint is 'Where its daemon is reached: https, a host and a port.';
comment on column supplier_machines.server_certificate is 'The only certificate that is believed there. Public.';
comment on column supplier_machines.server_fingerprint is 'The SHA-256 of that certificate: one daemon has one, by whatever names it is reached.';
comment on column supplier_machines.trust_token is 'What the daemon takes once in exchange for trust in our certificate, sealed. Gone as soon as it was used.';
comment on column supplier_machines.stage is 'trusting: our certificate is being made known, for one project only. inspecting: its hardware is read. testing: it must show what it can. Only what is enrolled can be sold.';
comment on column supplier_machines.tests is 'What the self-test measured, and what a person needs to know of it.';
comment on column supplier_machines.listed is 'The supplier wants it shown. It is shown if the operator approved it too.';
comment on column supplier_machines.drained_at is 'Since when its supplier has taken it out of use, and may put it back; null: the supplier has not.';
comment on column supplier_machines.recent_price_nano_usd_per_gpu_hour is 'The least that was asked shortly before its price was raised or it was taken off the list. Who rents it until recent_price_until pays no more: it may be the price that was seen.';

create table supplier_payouts (
  id uuid primary key,
  supplier_id uuid not null,
  org_id uuid not null,
  amount_nano_usd bigint not null check (amount_nano_usd > 0),
  status text not null check (status in ('requested', 'paid', 'rejected')),
  reference text check (length(reference) <= 255),
  reason text check (length(reason) between 1 and 1000),
  hold_id uuid not null unique,
  transfer_id uuid unique,
  requested_by uuid not null references users (id) on delete restrict,
  requested_at timestamptz not null,
  settled_at timestamptz,
  foreign key (supplier_id, org_id) references suppliers (id, org_id) on delete restrict,
  constraint supplier_payouts_settled_when_settled check ((status = 'requested') = (settled_at is null)),
  constraint supplier_payouts_paid_by_a_transfer check ((status = 'paid') = (transfer_id is not null))
);
create index supplier_payouts_org_idx on supplier_payouts (org_id, id);
create index supplier_payouts_open_idx on supplier_payouts (id) where status = 'requested';
revoke update, delete on supplier_payouts from millrace_app;
grant update (status, reference, reason, transfer_id, settled_at) on supplier_payouts to millrace_app;
comment on table supplier_payouts is 'What suppliers asked to be paid, and what became of it. Money leaves the ledger when an operator says that it was paid.';
comment on column supplier_payouts.hold_id is 'What sets the amount aside in the ledger from the moment it was asked for, so that nothing is asked for twice. Closed when it is settled.';
comment on column supplier_payouts.reference is 'By which the money can be found, such as the number of a bank transfer.';
comment on column supplier_payouts.reason is 'What the operator said; shown to the supplier where it was rejected.';

create table supplier_statements (
  id uuid primary key,
  supplier_id uuid not null,
  org_id uuid not null,
  period_start timestamptz not null,
  period_end timestamptz not null,
  gross_nano_usd bigint not null,
  fee_nano_usd bigint not null,
  net_nano_usd bigint not null,
  lines jsonb not null check (jsonb_typeof(lines) = 'array'),
  created_at timestamptz not null,
  unique (supplier_id, period_start),
  foreign key (supplier_id, org_id) references suppliers (id, org_id) on delete restrict,
  constraint supplier_statements_period_is_one check (period_start < period_end),
  constraint supplier_statements_add_up check (gross_nano_usd = fee_nano_usd + net_nano_usd)
);
create index supplier_statements_org_idx on supplier_statements (org_id, id);
revoke update, delete on supplier_statements from millrace_app;
comment on table supplier_statements is 'What the ledger posted in a month (UTC) for a supplier''s machines, by machine, less what was given back. Written once, when the month is over.';
comment on column supplier_statements.lines is 'By machine: [{"machineId": …, "gpuSeconds": …, "grossNanoUsd": "…", "feeNanoUsd": "…"}]. They add up to the statement.';

-- What a supplier earned is found from its meters; all others are not in it.
create index meters_supplier_idx on meters (supplier_org_id, id) where supplier_org_id is not null;

-- What a tenant pays for a supplier's machine is split by what was agreed when it was rented.
alter table rentals
  add column supplier_org_id uuid references organisations (id) on delete restrict,
  add column supplier_rate_nano_usd_per_hour bigint check (supplier_rate_nano_usd_per_hour >= 0),
  add constraint rentals_supplier_has_a_rate check ((supplier_org_id is null) = (supplier_rate_nano_usd_per_hour is null));
comment on column rentals.supplier_rate_nano_usd_per_hour is 'The supplier''s part of the rate of all of its GPUs, after the operator''s fee.';

-- Events about an instance call it by its name, and whoever works on it knows nothing of the marketplace.
alter table rentals
  add column told_as jsonb check (jsonb_typeof(told_as) = 'object'),
  add constraint rentals_instances_have_a_name check ((kind = 'instance') = (told_as is not null));
comment on column rentals.told_as is 'Of an instance: its name, its machine and its cluster, as the marketplace shows them. What its events say.';

create table instances (
  rental_id uuid primary key,
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  name text not null check (name ~ '^[a-z0-9]+(-[a-z0-9]+){2,4}$' and length(name) <= 63),
  node_id uuid not null references nodes (id) on delete restrict,
  cluster_name text not null check (length(cluster_name) between 1 and 63),
  price_nano_usd_per_gpu_hour bigint not null check (price_nano_usd_per_gpu_hour >= 0),
  fee_ppm integer not null check (fee_ppm between 0 and 1000000),
  record jsonb not null check (jsonb_typeof(record) = 'object'),
  foreign key (rental_id, mode) references rentals (id, mode) on delete restrict,
  constraint instances_name_once unique (name)
);
create index instances_org_idx on instances (org_id, mode, rental_id);
-- What came up on a machine lately is found by when it was accepted, which its id tells.
create index instances_node_idx on instances (node_id, rental_id);
revoke update, delete on instances from millrace_app;
comment on table instances is 'What a rental of a marketplace machine has beyond a rental: its name, and the machine as it was when it was rented. Append-only: how it stands is the rental''s.';
comment on column instances.record is 'The machine''s record on the marketplace at that moment, without its instances.';

-- How far the machines of suppliers can be trusted: what hosts did to tenants, what was measured of each machine, and the
-- score that follows.

create table node_faults (
  node_id uuid not null references nodes (id) on delete restrict,
  at timestamptz not null,
  rental_id uuid not null references rentals (id) on delete restrict,
  kind text not null check (kind in ('start', 'loss')),
  reason text not null check (length(reason) between 1 and 1000),
  primary key (node_id, at, rental_id, kind)
);
-- For whoever looks for nodes at which something went wrong lately.
create index node_faults_at_idx on node_faults (at);
revoke update, delete on node_faults from millrace_app;
create trigger node_faults_append_only before update or delete on node_faults
  for each row execute function refuse_ledger_change();
comment on table node_faults is 'What went wrong for tenants by a fault of the host. Append-only; written with the end of the attempt or of the rental, and only then, so it costs nothing where all is well.';
comment on column node_faults.kind is 'start: a machine did not come up. loss: one that ran is lost.';
comment on column node_faults.reason is 'For people. Names no tenant: the owner of the node reads it.';

create table supplier_machine_trust (
  machine_id uuid primary key references supplier_machines (id) on delete restrict,
  measured_until timestamptz not null,
  score_ppm integer not null check (score_ppm between 0 and 1000000),
  uptime_ppm integer not null check (uptime_ppm between 0 and 1000000),
  starting_ppm integer not null check (starting_ppm between 0 and 1000000),
  quarantines integer not null default 0 check (quarantines >= 0)
) with (fillfactor = 80);
create index supplier_machine_trust_due_idx on supplier_machine_trust (measured_until);
revoke update, delete on supplier_machine_trust from millrace_app;
grant update (measured_until, score_ppm, uptime_ppm, starting_ppm, quarantines) on supplier_machine_trust to millrace_app;
comment on table supplier_machine_trust is 'Of each machine that was enrolled how reliable it is, by what was measured of it over the last 30 days.';
comment on column supplier_machine_trust.measured_until is 'All before this is in supplier_machine_days, once.';
comment on column supplier_machine_trust.quarantines is 'How often it was taken out of sale for what it did.';

create table supplier_machine_days (
  machine_id uuid not null references supplier_machines (id) on delete restrict,
  day date not null,
  watched_ms bigint not null check (watched_ms >= 0),
  up_ms bigint not null,
  starts integer not null check (starts >= 0),
  failed_starts integer not null check (failed_starts >= 0),
  losses integer not null check (losses >= 0),
  primary key (machine_id, day),
  constraint supplier_machine_days_up_while_watched check (up_ms between 0 and watched_ms)
) with (fillfactor = 80);
create index supplier_machine_days_day_idx on supplier_machine_days (day);
revoke update on supplier_machine_days from millrace_app;
grant update (watched_ms, up_ms, starts, failed_starts, losses) on supplier_machine_days to millrace_app;
comment on table supplier_machine_days is 'What was measured of a machine on each day: how long somebody watched it, how much of that it was there, what came up on it and what did not. Kept for 90 days.';
