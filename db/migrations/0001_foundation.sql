-- The ground for every feature: what leaves a transaction (outbox), what makes a request repeatable
-- (idempotency_keys), what deals 32-bit ids to cells (id_blocks), who may relay (relay_leases), and the role that
-- the processes work as.

-- Roles belong to the whole server, not to one database: another database may have made this one already, two may try
-- at the same instant, and where the owner may not create roles an administrator makes it beforehand.
do $$
begin
  if not exists (select from pg_roles where rolname = 'millrace_app') then
    create role millrace_app nologin;
  end if;
exception
  when duplicate_object or unique_violation then null;
end
$$;

grant usage on schema public to millrace_app;
-- Tables of later migrations are readable and writable for the processes unless the migration takes that back.
-- Append-only tables must: `revoke update, delete on … from millrace_app`.
alter default privileges in schema public grant select, insert, update, delete on tables to millrace_app;
alter default privileges in schema public grant usage, select on sequences to millrace_app;
-- The migrator makes this table before the first migration, hence before the default above.
grant select on schema_migrations to millrace_app;

create table outbox (
  id uuid primary key,
  seq bigint generated always as identity,
  kind text not null check (kind in ('event', 'command')),
  cell smallint not null check (cell between 0 and 1023),
  shard smallint not null check (shard between 0 and 63),
  org_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  type text check (type ~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)+$' and length(type) <= 100),
  resource_kind text check (length(resource_kind) between 1 and 50),
  resource_id text check (length(resource_id) between 1 and 100),
  service text check (length(service) between 1 and 100),
  object_key text check (length(object_key) between 1 and 200),
  handler text check (length(handler) between 1 and 100),
  not_before timestamptz,
  payload jsonb not null,
  actor jsonb not null check (actor ?& array['kind', 'id']),
  traceparent text check (length(traceparent) = 55),
  schema_version integer not null check (schema_version > 0),
  occurred_at timestamptz not null,
  created_at timestamptz not null default now(),
  constraint outbox_event_shape check (
    kind <> 'event'
    or (type is not null and resource_kind is not null and resource_id is not null
        and service is null and object_key is null and handler is null and not_before is null)
  ),
  constraint outbox_command_shape check (
    kind <> 'command'
    or (service is not null and object_key is not null and handler is not null
        and type is null and resource_kind is null and resource_id is null)
  )
);
create index outbox_shard_seq_idx on outbox (shard, seq);
comment on table outbox is 'What a transaction wants the world to know or to do. Written with the cause, delivered at least once by the relay, deleted after delivery.';
comment on column outbox.id is 'Also the id of the event in the feed, and the idempotency key of the command.';
comment on column outbox.seq is 'Order of insertion. Not the order of commit, and with gaps: readers must not treat it as a watermark.';
comment on column outbox.kind is 'An event goes to JetStream and the feed; a command calls a Restate handler.';
comment on column outbox.cell is 'The cell whose transaction wrote this row.';
comment on column outbox.shard is 'Low six bits of org_id. One relay at a time works a shard, so an organisation has one writer.';
comment on column outbox.type is 'Events only: what happened, such as key.created.';
comment on column outbox.resource_kind is 'Events only: what it happened to.';
comment on column outbox.resource_id is 'Events only: the public id of what it happened to.';
comment on column outbox.service is 'Commands only: the Restate service to call.';
comment on column outbox.object_key is 'Commands only: the key of the Restate object to call.';
comment on column outbox.handler is 'Commands only: the handler to call.';
comment on column outbox.not_before is 'Commands only: the instant before which the handler must not run. An instant and not a delay, so that an outage adds nothing to it.';
comment on column outbox.payload is 'The data of the event or the argument of the command; its shape is named by schema_version.';
comment on column outbox.actor is 'Who caused it: {"kind": "key" | "user" | "operator" | "system", "id": "…"}.';
comment on column outbox.traceparent is 'W3C trace context of the cause, so that one trace spans request, relay and handler.';
comment on column outbox.schema_version is 'Version of the payload''s shape.';
comment on column outbox.occurred_at is 'When the cause happened, by the clock of the process.';
comment on column outbox.created_at is 'When the transaction that wrote the row began, by the clock of the database.';

create table idempotency_keys (
  org_id uuid not null,
  key text not null check (length(key) between 1 and 255),
  operation_row_id uuid not null,
  operation_id text not null check (length(operation_id) between 1 and 100),
  request_hash bytea not null check (length(request_hash) = 32),
  mode text not null check (mode in ('live', 'test')),
  actor jsonb not null check (actor ?& array['kind', 'id']),
  status integer check (status between 200 and 299),
  body jsonb,
  resource_kind text check (length(resource_kind) between 1 and 50),
  resource_id text check (length(resource_id) between 1 and 100),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (org_id, key),
  constraint idempotency_keys_operation_row_id_key unique (operation_row_id),
  constraint idempotency_keys_expires_after_creation check (expires_at > created_at)
);
create index idempotency_keys_expires_at_idx on idempotency_keys (expires_at);
comment on table idempotency_keys is 'One row for each effect made under an Idempotency-Key, in the same transaction as the effect. Refusals leave no row.';
comment on column idempotency_keys.key is 'As the caller sent it; unique within the organisation.';
comment on column idempotency_keys.operation_row_id is 'The public id (op_…) under which the caller can look this operation up.';
comment on column idempotency_keys.operation_id is 'Which operation of the contract it was.';
comment on column idempotency_keys.request_hash is 'SHA-256 over operation, path and canonical body: the same key with another request is refused.';
comment on column idempotency_keys.status is 'HTTP status answered. Null only inside the transaction that is making the effect.';
comment on column idempotency_keys.body is 'The answer to replay, without secrets that are shown once.';
comment on column idempotency_keys.resource_kind is 'What the operation made or changed.';
comment on column idempotency_keys.resource_id is 'The public id of what the operation made or changed.';
comment on column idempotency_keys.expires_at is 'After this the key may be forgotten and used anew.';

create table id_blocks (
  kind text not null check (kind in ('rental', 'volume')),
  block smallint not null check (block between 0 and 2047),
  cell smallint not null check (cell between 0 and 63),
  next_id bigint not null,
  dealt_at timestamptz not null default now(),
  primary key (kind, block),
  constraint id_blocks_dealt_by_rule check (block % 64 = cell),
  constraint id_blocks_within_block check (
    next_id between greatest(1, block::bigint * 1048576) and (block::bigint + 1) * 1048576
  )
);
create index id_blocks_cell_idx on id_blocks (kind, cell, block);
revoke delete on id_blocks from millrace_app;
comment on table id_blocks is 'Blocks of 32-bit wire ids this cell has taken, each 1048576 ids long. Block n belongs to cell n mod 64 for ever, so cells need not ask each other.';
comment on column id_blocks.kind is 'Rentals and volumes count separately.';
comment on column id_blocks.block is 'The block holds the ids from block * 1048576 up to the next block; id 0 is never given.';
comment on column id_blocks.next_id is 'The first id of the block not yet handed to a process. Equal to the start of the next block when this one is used up.';

create table relay_leases (
  shard smallint primary key check (shard between 0 and 63),
  holder text not null check (length(holder) between 1 and 200),
  fence bigint not null check (fence > 0),
  expires_at timestamptz not null
);
comment on table relay_leases is 'Which process relays a shard of the outbox. Losing the lease is harmless: the fence refuses the late writer.';
comment on column relay_leases.holder is 'Names the process, for operators.';
comment on column relay_leases.fence is 'Grows with every change of holder. Whatever the holder writes is guarded by it.';
comment on column relay_leases.expires_at is 'By the clock of the database, which all relays share.';
