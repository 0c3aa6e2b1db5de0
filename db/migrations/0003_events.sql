-- The event feed: what the relay makes of the outbox. A row leaves `outbox` and enters `events` in one statement, and
-- only there does it get its number, so the numbers of an organisation have no holes and appear in order.

create table event_heads (
  org_id uuid primary key,
  last_seq bigint not null check (last_seq >= 0),
  first_seq bigint not null default 1 check (first_seq >= 1),
  constraint event_heads_in_order check (first_seq <= last_seq + 1)
) with (fillfactor = 70);
comment on table event_heads is 'One row per organisation that ever had an event. Its row lock is what makes two writers take turns.';
comment on column event_heads.org_id is 'No foreign key: the row that announced the event was written in a transaction that knew the organisation.';
comment on column event_heads.last_seq is 'The number of the newest event. Grows in the statement that stores the events, so it never runs ahead of them.';
comment on column event_heads.first_seq is 'The number of the oldest event still kept. A reader further back is told so instead of skipping silently.';

create table events (
  org_id uuid not null,
  seq bigint not null check (seq >= 1),
  id uuid not null,
  type text not null check (type ~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)+$' and length(type) <= 100),
  resource_kind text not null check (length(resource_kind) between 1 and 50),
  resource_id text not null check (length(resource_id) between 1 and 100),
  mode text not null check (mode in ('live', 'test')),
  cell smallint not null check (cell between 0 and 1023),
  shard smallint not null check (shard between 0 and 63),
  actor jsonb not null check (actor ?& array['kind', 'id']),
  traceparent text check (length(traceparent) = 55),
  schema_version integer not null check (schema_version > 0),
  api_version text not null check (api_version ~ '^[0-9]+\.[0-9]+\.[0-9]+$'),
  occurred_at timestamptz not null,
  recorded_at timestamptz not null default clock_timestamp(),
  published_at timestamptz,
  data jsonb not null,
  primary key (org_id, seq),
  constraint events_id_key unique (id),
  constraint events_data_is_a_bounded_object check (
    jsonb_typeof(data) = 'object' and octet_length(data::text) <= 262144
  )
) with (fillfactor = 85);
create index events_unpublished_idx on events (shard, org_id, seq) where published_at is null;
create index events_test_mode_idx on events (org_id, seq) where mode = 'test';
create index events_recorded_idx on events using brin (recorded_at);
comment on table events is 'The feed of every organisation, in order. Written by the relay alone; changed only to note publication; removed only by retention.';
comment on column events.seq is 'Counts from 1 within the organisation, without holes. Allotted after commit of the cause, by the relay that holds the shard.';
comment on column events.id is 'The id of the outbox row: the same event cannot be stored twice, and JetStream drops a second publication by it.';
comment on column events.mode is 'live or test. A test key reads the test events only.';
comment on column events.shard is 'As in the outbox, so that a relay finds what it still has to publish.';
comment on column events.api_version is 'The version of the interface whose shapes the data has.';
comment on column events.occurred_at is 'When the cause happened, by the clock of the process that wrote it.';
comment on column events.recorded_at is 'When the event got its number, by the clock of the database. Retention goes by this.';
comment on column events.published_at is 'When JetStream acknowledged it; null means the relay still has to publish it.';
comment on column events.data is 'What the event says, at most 256 KiB, which fits a NATS message with room to spare. Never a secret.';

-- A row that can never be delivered must not stand in the way of the others: it is tried a bounded number of times and
-- then parked, with the reason, for a person to look at.
alter table outbox
  add column attempts integer not null default 0 check (attempts >= 0),
  add column next_attempt_at timestamptz,
  add column last_error text check (length(last_error) <= 2000),
  add column parked_at timestamptz,
  add constraint outbox_parked_has_an_error check (parked_at is null or last_error is not null);
drop index outbox_shard_seq_idx;
create index outbox_events_idx on outbox (shard, seq) where kind = 'event' and parked_at is null;
create index outbox_commands_idx on outbox (shard, seq) where kind = 'command' and parked_at is null;
create index outbox_retrying_idx on outbox (shard, service, object_key)
  where kind = 'command' and parked_at is null and next_attempt_at is not null;
create index outbox_parked_idx on outbox (parked_at) where parked_at is not null;
comment on index outbox_events_idx is 'Events and commands queue apart: commands that wait for an engine that is down must not be waded through to find events.';
comment on column outbox.attempts is 'How often delivery of this row was refused. Outages of the other side do not count.';
comment on column outbox.next_attempt_at is 'Not tried again before this instant, by the clock of the database.';
comment on column outbox.last_error is 'Why the latest attempt was refused.';
comment on column outbox.parked_at is 'Since when the relay leaves this row alone. Clearing parked_at and attempts tries it again.';

-- A queue table is mostly dead rows; the default thresholds, made for tables that grow, would let the index bloat.
alter table outbox set (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);

create table relays (
  holder text primary key check (length(holder) between 1 and 200),
  expires_at timestamptz not null
);
comment on table relays is 'The relay processes alive now. Each takes its share of the shards, so a new one must be visible before it holds any.';
comment on column relays.expires_at is 'Kept ahead by the process while it lives, by the clock of the database.';
