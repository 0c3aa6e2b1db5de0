-- Pots: leases of credit to the Valkey of a cell, from which inference spends without asking the ledger each time.
--
-- Every amount of a lease only ever grows (granted, recalled, settled), so a message that comes twice, late or out of
-- order changes nothing. What the lease still sets aside is granted less recalled less settled, and that is its hold.

create table pot_servers (
  cell smallint primary key check (cell between 0 and 1023),
  namespace text not null default left(replace(gen_random_uuid()::text, '-', ''), 12) check (namespace ~ '^[0-9a-f]{12}$'),
  generation bigint not null check (generation > 0),
  incarnation text not null check (length(incarnation) between 1 and 100),
  initialised_at timestamptz not null
);
revoke update, delete on pot_servers from millrace_app;
grant update (generation, incarnation, initialised_at) on pot_servers to millrace_app;
comment on table pot_servers is 'Which incarnation of a cell''s pot Valkey is the present one. Leases of an earlier generation are never lent on.';
comment on column pot_servers.namespace is 'Part of every key and script on the server, so that installations that share one leave each other alone.';
comment on column pot_servers.generation is 'Grows each time a server is made ready: after a restart, a restore, a promotion or a wipe.';
comment on column pot_servers.incarnation is 'The replication id that the server had then. It changes when a server takes over the data of another.';

create table pots (
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  cell smallint not null check (cell between 0 and 1023),
  last_epoch bigint not null default 0 check (last_epoch >= 0),
  calm_until timestamptz,
  primary key (org_id, mode, cell)
) with (fillfactor = 80);
revoke update, delete on pots from millrace_app;
grant update (last_epoch, calm_until) on pots to millrace_app;
comment on table pots is 'One row for each pot. Its row lock makes everything that is done to the leases of a pot take turns.';
comment on column pots.cell is 'Whose Valkey holds it.';
comment on column pots.last_epoch is 'The newest epoch given out. Never given out again: a pot that shows another one is not to be trusted.';
comment on column pots.calm_until is 'After a recall: until then the pot takes no more than its requests need, so that the money reaches what it was recalled for.';

create table pot_leases (
  id uuid primary key,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  cell smallint not null check (cell between 0 and 1023),
  epoch bigint not null check (epoch > 0),
  generation bigint not null check (generation > 0),
  hold_id uuid not null,
  granted_nano_usd bigint not null check (granted_nano_usd >= 0),
  recalled_nano_usd bigint not null default 0 check (recalled_nano_usd >= 0),
  settled_nano_usd bigint not null default 0 check (settled_nano_usd >= 0),
  changes bigint not null default 0 check (changes >= 0),
  used_nano_usd bigint not null default 0 check (used_nano_usd >= 0),
  used_at timestamptz not null,
  state text not null check (state in ('open', 'closing', 'closed')),
  opened_at timestamptz not null,
  expires_at timestamptz not null,
  closing_at timestamptz,
  closed_at timestamptz,
  constraint pot_leases_epoch_once unique (org_id, mode, cell, epoch),
  constraint pot_leases_hold_once unique (hold_id),
  constraint pot_leases_recall_what_was_granted check (recalled_nano_usd <= granted_nano_usd),
  constraint pot_leases_state_has_its_time check (
    (closing_at is not null) = (state in ('closing', 'closed')) and (closed_at is not null) = (state = 'closed'))
) with (fillfactor = 80);
create unique index pot_leases_one_open_idx on pot_leases (org_id, mode, cell) where state = 'open';
create index pot_leases_expiring_idx on pot_leases (cell, expires_at) where state = 'open';
create index pot_leases_closing_idx on pot_leases (cell, closing_at) where state = 'closing';
revoke update, delete on pot_leases from millrace_app;
grant update (granted_nano_usd, recalled_nano_usd, settled_nano_usd, changes, used_nano_usd, used_at, state, expires_at,
              closing_at, closed_at) on pot_leases to millrace_app;
comment on table pot_leases is 'Credit lent to a pot: a hold with an epoch. Closed only when nobody can have spent from it unseen.';
comment on column pot_leases.generation is 'The incarnation of the pot Valkey that it was lent to; it is good there and nowhere else.';
comment on column pot_leases.granted_nano_usd is 'All that was ever lent. Written here before Valkey hears of it.';
comment on column pot_leases.recalled_nano_usd is 'All that was ever taken back. Taken from Valkey before it is written here.';
comment on column pot_leases.settled_nano_usd is 'All usage charged to it, also what went beyond it.';
comment on column pot_leases.changes is 'Counts changes of the hold; names each of them in the ledger.';
comment on column pot_leases.used_nano_usd is 'What had been used, reservations included, when the lease was last enlarged: with used_at, the recent burn.';
comment on column pot_leases.expires_at is 'Prolonged with each request for it. After this it is called in; it is not closed by time alone.';

create table pot_gateways (
  gateway_id text primary key check (gateway_id ~ '^[A-Za-z0-9._-]{1,100}$'),
  cell smallint not null check (cell between 0 and 1023),
  last_seen_at timestamptz not null
);
create index pot_gateways_silent_idx on pot_gateways (last_seen_at);
comment on table pot_gateways is 'The gateway processes that have asked for leases. An id is one run of a process and never used again.';

create table pot_lease_gateways (
  lease_id uuid not null references pot_leases (id) on delete restrict,
  gateway_id text not null,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  told_at timestamptz not null,
  declared_dead_at timestamptz,
  ended_stream text check (length(ended_stream) between 1 and 200),
  ended_at_seq bigint check (ended_at_seq > 0),
  settled_at timestamptz,
  given_back_at timestamptz,
  primary key (lease_id, gateway_id),
  constraint pot_lease_gateways_end_has_its_stream check ((ended_stream is null) = (ended_at_seq is null)),
  constraint pot_lease_gateways_only_the_ended_are_settled check (settled_at is null or ended_at_seq is not null),
  constraint pot_lease_gateways_settled_before_given_back check (given_back_at is null or settled_at is not null)
);
create index pot_lease_gateways_using_idx on pot_lease_gateways (gateway_id) where ended_at_seq is null;
create index pot_lease_gateways_dead_idx on pot_lease_gateways (declared_dead_at)
  where declared_dead_at is not null and given_back_at is null;
create index pot_lease_gateways_ended_idx on pot_lease_gateways (lease_id)
  where ended_at_seq is not null and given_back_at is null;
revoke update, delete on pot_lease_gateways from millrace_app;
grant update (declared_dead_at, ended_stream, ended_at_seq, settled_at, given_back_at) on pot_lease_gateways to millrace_app;
comment on table pot_lease_gateways is 'Who was told of a lease. Written before it is told, so whoever can spend from a lease stands here.';
comment on column pot_lease_gateways.declared_dead_at is 'Silent for too long: its end was published on its behalf.';
comment on column pot_lease_gateways.ended_at_seq is 'Where its end-of-epoch marker stands in the usage stream: all its usage of the lease stands before.';
comment on column pot_lease_gateways.settled_at is 'Usage that comes after this is recorded and not charged, so that what is still reserved can be given back.';
comment on column pot_lease_gateways.given_back_at is 'What it had left reserved in the pot was given back, save what had been charged; or the whole lease was closed.';

create table pot_lease_budgets (
  lease_id uuid not null references pot_leases (id) on delete restrict,
  budget_id uuid not null,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  hold_id uuid not null unique,
  granted_nano_usd bigint not null check (granted_nano_usd >= 0),
  recalled_nano_usd bigint not null default 0 check (recalled_nano_usd >= 0),
  settled_nano_usd bigint not null default 0 check (settled_nano_usd >= 0),
  changes bigint not null default 0 check (changes >= 0),
  primary key (lease_id, budget_id),
  constraint pot_lease_budgets_recall_what_was_granted check (recalled_nano_usd <= granted_nano_usd)
);
revoke update, delete on pot_lease_budgets from millrace_app;
grant update (granted_nano_usd, recalled_nano_usd, settled_nano_usd, changes) on pot_lease_budgets to millrace_app;
comment on table pot_lease_budgets is 'The part of a budget lent with a lease, in the same shape: absolute amounts and a hold of its own.';

create table usage_watermarks (
  stream text primary key check (length(stream) between 1 and 200),
  passed_seq bigint not null check (passed_seq >= 0)
);
revoke delete on usage_watermarks from millrace_app;
comment on table usage_watermarks is 'How far the sink has worked through each usage stream: everything up to passed_seq is charged or recorded.';

create table usage_charges (
  request_id uuid primary key,
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  key_id uuid,
  lease_id uuid,
  gateway_id text not null check (length(gateway_id) between 1 and 100),
  product text not null check (length(product) between 1 and 200),
  amount_nano_usd bigint not null check (amount_nano_usd >= 0),
  borne_nano_usd bigint not null default 0 check (borne_nano_usd >= 0),
  transfer_id uuid,
  outcome text not null check (outcome in ('charged', 'late', 'unknown_lease')),
  recorded_at timestamptz not null,
  constraint usage_charges_only_charged_has_a_transfer check (transfer_id is null or outcome = 'charged')
) partition by range (request_id);
create index usage_charges_transfer_idx on usage_charges (transfer_id) where transfer_id is not null;
create table usage_charges_rest partition of usage_charges default;
revoke update, delete on usage_charges from millrace_app;
revoke all on usage_charges_rest from millrace_app;
comment on table usage_charges is 'One row for each request that was ever used, so that none is charged twice. Append-only. Partitioned by the day in the request id, which is a UUIDv7; partitions are made ahead by the worker.';
comment on table usage_charges_rest is 'What came before the partition of its day was made: it is moved there then.';
comment on column usage_charges.product is 'The model or other thing that was used: requests of one product, key and lease in a batch share a transfer.';
comment on column usage_charges.amount_nano_usd is 'What the request cost; charged only when the outcome says so.';
comment on column usage_charges.borne_nano_usd is 'What its price said beyond what had been reserved for it: posted to the operator''s shortfall account.';
comment on column usage_charges.transfer_id is 'The transfer it was charged with; null for a charge of nothing.';
comment on column usage_charges.outcome is 'late: the lease was closed, or its gateway settled, before this came. unknown_lease: no such lease of this organisation. Neither is charged.';
